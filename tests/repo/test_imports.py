"""Rooms only look down, and heavy libraries load only when asked for."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A doorman refuses the heavy libraries and prints who of ours asked. (Merely asking what is loaded
# afterwards would not do: scikit-learn itself loads pandas where it is installed.)
TOUCH_EVERY_PUBLIC_NAME = """
import sys

HEAVY = {"altair", "dask", "distributed", "faiss", "fastapi", "matplotlib", "pandas"}
HEAVY |= {"polars", "pyarrow", "torch"}

class Doorman:
    def find_spec(self, name, path=None, target=None):
        if name in HEAVY:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            asker = frame.f_globals["__name__"]
            if asker.startswith("whoknows"):
                print(f"{asker} imports {name}")
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Doorman())
import whoknows
for name in whoknows.__all__:
    getattr(whoknows, name)
"""


def run(*command):
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_import_contracts_are_kept():
    result = run(Path(sys.executable).with_name("lint-imports"), "--no-cache")
    assert result.returncode == 0, result.stdout + result.stderr


def test_import_contracts_have_no_exceptions():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert [c["name"] for c in tools["importlinter"]["contracts"] if "ignore_imports" in c] == []


def test_public_names_load_nothing_heavy():
    result = run("-c", TOUCH_EVERY_PUBLIC_NAME)
    assert (result.stdout, result.returncode) == ("", 0), result.stdout + result.stderr
