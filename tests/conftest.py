"""Under CI=true a skipped test is a failure: what a machine did not run, it did not check."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read at import: without it scikit-learn skips a check

import hypothesis
import pytest

hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")

CI = os.environ.get("CI") == "true"


def fail_if_skipped(report):
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason} (under CI=true a skip is a failure)"
    return report


@pytest.fixture
def few_members(monkeypatch):
    """An ensemble of nine members instead of dozens, where a test is not about the choice among them."""
    from whoknows.estimators.auto import ensemble

    every = ensemble.default_members
    monkeypatch.setattr(ensemble, "default_members", lambda *given: every(*given)[:9])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return fail_if_skipped((yield))
