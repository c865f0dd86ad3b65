# `make` alone lists the targets. Each sets up what it needs in .venv; the second run starts at once.

PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
JOBS ?= 2

# An install is good for one pyproject.toml in one folder: the stamp's name is a sum of both.
KEY := $(shell { pwd; cat pyproject.toml; } | cksum | cut -d ' ' -f 1)
BASE := .venv/.base-$(KEY)
BENCH := .venv/.bench-$(KEY)
PEERS := .venv/.peers-$(KEY)
DEV := .venv/.dev-$(KEY)
DOCS := .venv/.docs-$(KEY)
QUICK := benchmarks/results-quick

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install demo test test-oldest check fuzz bench bench-quick docs clean

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(BASE)  ## a first look, on bundled data and simulated annotators; ends with a report to open
	$(PY) $(BIN)/whoknows demo --out demo

# One thread a process: with more, parallel tests only get in their own way. Fixtures of a file are made once; the
# small files come last, so that no core waits for the other one. Byte code is kept, whatever the environment says: else
# each of the many processes that tests start compiles the package again.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =
test: $(DEV)  ## every test, doctest and code block of the docs
	$(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Tests of what results depend on; tools that only other tests use need not be old.
OLDEST := .venv-oldest/bin/python
test-oldest: export OMP_NUM_THREADS = 1
test-oldest:  ## the mathematics with the oldest supported numpy, scipy and scikit-learn
	test -x $(OLDEST) || $(PYTHON) -m venv .venv-oldest
	$(OLDEST) -m pip install -qq --disable-pip-version-check --constraint tests/oldest.txt --editable '.[ann,dask,excel,io,skops]' hypothesis pandas polars pytest pytest-xdist
	$(OLDEST) -m pytest -n $(JOBS) --dist loadfile tests/contracts tests/data tests/estimators tests/fit tests/insight tests/model tests/paper

install: $(DEV)  ## what the tests need, and nothing else

check: $(DEV)  ## style, types and who imports whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy --config-file= --ignore-missing-imports examples/*.py
	$(PY) $(BIN)/lint-imports --no-cache

fuzz: export OMP_NUM_THREADS = 1
fuzz: $(DEV)  ## random input for readers and estimators, for 10 minutes: SECONDS=60 SEED=1 for others
	$(PY) -m tests.fuzz --seconds $(or $(SECONDS),600) --seed $(or $(SEED),0)

# What was measured at another commit of the library is measured again, cell by cell; what was stopped goes on.
# Timings come last; they need an idle machine. `python -m benchmarks.claims --one-commit` then tells whether anything is left.
bench: $(DEV) $(PEERS)  ## every number of README and docs: hours (data sets from WHOKNOWS_DATA)
	$(PY) -m benchmarks.paper.figure3 --renew
	$(PY) -m benchmarks.paper.figures45 --renew
	$(PY) -m benchmarks.paper.unlabelled --renew
	$(PY) -m benchmarks.crowds.run --renew
	$(PY) -m benchmarks.rivals.run --renew
	$(PY) -m benchmarks.who_is_right.run --renew
	$(PY) -m benchmarks.capacity --renew
	$(PY) -m benchmarks.gold --renew
	$(PY) -m benchmarks.rates --renew
	$(PY) -m benchmarks.ask.simulate --renew
	$(PY) -m benchmarks.intervals --renew
	$(PY) -m benchmarks.coverage classifiers
	$(PY) -m benchmarks.coverage real
	$(PY) -m benchmarks.calibration --shares 1,0.33,0.1
	$(PY) -m benchmarks.classes
	$(PY) -m benchmarks.choice
	$(PY) -m benchmarks.speed.graphs --renew
	$(PY) -m benchmarks.speed.run
	$(PY) -m benchmarks.speed.update --renew
	$(PY) -m benchmarks.speed.dask
	if $(PY) -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then $(PY) -m benchmarks.speed.gpu; fi
	FSYNC=on .ci/postgres $(PY) -m benchmarks.web.load
	$(PY) -m benchmarks.paper.charts
	$(PY) -m benchmarks.crowds.charts
	$(PY) -m benchmarks.page

bench-quick: $(BENCH)  ## a small part of it, in minutes, in benchmarks/results-quick
	$(PY) -m benchmarks.paper.figure3 --quick --out $(QUICK)/paper
	$(PY) -m benchmarks.paper.figures45 --quick --out $(QUICK)/paper
	$(PY) -m benchmarks.paper.unlabelled --quick --out $(QUICK)/paper
	$(PY) -m benchmarks.crowds.run --quick --out $(QUICK)
	$(PY) -m benchmarks.rivals.run --quick --out $(QUICK)
	$(PY) -m benchmarks.who_is_right.run --quick --out $(QUICK)
	$(PY) -m benchmarks.speed.run --quick --out $(QUICK)
	$(PY) -m benchmarks.paper.charts --out $(QUICK)/paper
	$(PY) -m benchmarks.crowds.charts --out $(QUICK)
	$(PY) -m benchmarks.page --results $(QUICK) --out $(QUICK)/results.md

docs: $(DOCS)  ## the pages, in docs/_build
	$(PY) -m sphinx -W --keep-going -q docs docs/_build

clean:  ## remove caches and built pages; .venv stays
	rm -rf docs/_build docs/gallery dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "whoknows needs Python 3.11 or newer, but $(PYTHON) --version says: $$($(PYTHON) --version 2>&1)"; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; } >&2
	$(PYTHON) -m venv --clear .venv

.venv/.%-$(KEY): | $(PY)
	@echo "Setting up .venv ($*); this happens once."
	@$(PY) -m pip install -qq --disable-pip-version-check --editable '.$(if $(filter-out base,$*),[$*])'
	@rm -f .venv/.$*-* && touch $@
