"""What stands around the package: the Action, the hook, workflows, templates and the list of licences."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SCRIPT = ACTION["runs"]["steps"][-1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture
def run_action(tmp_path):
    """Run the script of the Action as a runner does, in a folder with votes of two judges and gold."""
    votes = [
        {"item": i, "judge": judge, "verdict": i % n} for i in range(20) for judge, n in (("alpha", 2), ("beta", 1))
    ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in votes))
    (tmp_path / "people.csv").write_text("item,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))

    def run(**inputs):
        given = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        given |= {"votes": "votes.jsonl", "gold": "people.csv"} | {k.replace("_", "-"): v for k, v in inputs.items()}
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
            for name, value in SCRIPT["env"].items()
        }
        runner = {f"GITHUB_{name}": str(tmp_path / name) for name in ("OUTPUT", "STEP_SUMMARY")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | runner | variables | {"PATH": path, "RUNNER_TEMP": str(tmp_path)}
        done = subprocess.run(
            ["bash", "-e", "-c", SCRIPT["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return done, (tmp_path / "STEP_SUMMARY").read_text()

    return run


def test_the_action_passes_and_shows_the_tables(run_action):
    done, summary = run_action(fail_under="kappa=0.6 accuracy=0.9", options="--positive 1")
    assert done.returncode == 0, done.stderr
    assert "| alpha" in summary


def test_the_action_fails_as_the_gate_does(run_action):
    done, summary = run_action(fail_under="every:kappa=0.5")
    assert done.returncode == 1
    assert "kappa" in done.stdout + done.stderr
    assert "| alpha" in summary


def test_text_of_an_input_is_never_a_command(run_action, tmp_path):
    done, _ = run_action(votes="$(touch broken).jsonl", options="; touch broken")
    assert done.returncode != 0
    assert not (tmp_path / "broken").exists()


def test_every_input_is_used():
    used = {name for step in ACTION["runs"]["steps"] for name in re.findall(r"inputs\.([\w-]+)", json.dumps(step))}
    assert used == set(ACTION["inputs"])


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_commands_of_workflows_exist(path):
    commands = re.findall(r"run: (?:sudo )?(\S+) (.+)", path.read_text("utf-8"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)
    for program, arguments in commands:
        assert (program == "make" and set(arguments.split()) <= targets) or (ROOT / arguments).is_file()


def options_of(command):
    """Return the options that the help of a command names."""
    call = [sys.executable, "-m", "whoknows", command, "--help"]
    told = subprocess.run(call, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "200"})
    return set(re.findall(r"--[\w-]+", told.stdout))


def test_the_hook_calls_a_command_that_exists():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, command = hook["entry"].split()
    assert program in PROJECT["scripts"]
    assert "--fail-under" in options_of(command)


def test_the_image_serves_with_options_and_extras_that_exist():
    image = (ROOT / "Dockerfile").read_text("utf-8")
    program, command, *arguments = json.loads(re.search(r"ENTRYPOINT (.+)", image)[1])
    assert program in PROJECT["scripts"]
    assert {each for each in arguments if each.startswith("--")} <= options_of(command)
    extras = re.search(r"/source\[([\w,]+)\]", image)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


def test_licences_of_all_dependencies_are_listed():
    listed = (ROOT / "docs" / "licences.md").read_text("utf-8")
    named = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}
    for extra, packages in PROJECT["optional-dependencies"].items():
        if extra not in ("dev", "bench", "peers", "docs"):
            named |= {re.match(r"[\w-]+", each)[0] for each in packages} - {"whoknows"}
    assert {name for name in named if f"| {name} |" not in listed} == set()
