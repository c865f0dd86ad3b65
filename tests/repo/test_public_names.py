"""The public face: few names, each importable, each in docs/api.md."""

import inspect
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import whoknows
from whoknows import AutoCrowdClassifier, CrowdClassifier, CrowdRegressor

ROOT = Path(__file__).parents[2]


def test_public_names_are_few():
    assert len(whoknows.__all__) <= 20


def test_public_names_can_be_imported():
    assert [name for name in whoknows.__all__ if not hasattr(whoknows, name)] == []


def test_public_names_are_documented():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert [name for name in whoknows.__all__ if not re.search(rf"(`|whoknows\.){name}\b", page)] == []


def test_public_objects_explain_themselves():
    objects = {name: getattr(whoknows, name) for name in whoknows.__all__}
    assert [name for name, thing in objects.items() if callable(thing) and not thing.__doc__] == []


UNTYPED = {
    "to_frame": "the table is of whichever library the user has",
    "rate": "Rates are of insight, which estimators must not import",
    "report": "options are those of whoknows.apps.report.report",
    "get_params": "scikit-learn's",
    "set_params": "scikit-learn's",
}


def own_methods(cls):
    """Public methods of an estimator that are written here."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and inspect.unwrap(method).__module__.startswith("whoknows"):
            yield name, inspect.unwrap(method)


@pytest.mark.parametrize("cls", [CrowdClassifier, CrowdRegressor, AutoCrowdClassifier])
def test_methods_and_settings_of_estimators_have_types(cls):
    """Only the values in a mapping may be anything, such as ids; decorators keep the types of methods."""
    said = {name: method.__annotations__ for name, method in own_methods(cls) if name not in UNTYPED}
    said["settings"] = {field.name: field.type for field in fields(cls)}
    hidden = {"model": "of suggest, which is a method here"}
    open_ended = [
        f"{name}({part}: {hint})"
        for name, hints in said.items()
        for part, hint in hints.items()
        if re.search(r"(^|[|(\s])Any\b", hint) and part not in hidden
    ]
    assert open_ended == []
    assert all("return" in hints for name, hints in said.items() if name != "settings")


@pytest.mark.parametrize("package", ["whoknows", "whoknows.io", "whoknows.insight"])
def test_no_module_has_the_name_of_what_it_offers(package):
    """Importing the module would replace the function of the same name in the package."""
    found = import_module(package)
    modules = {path.stem for path in Path(found.__file__).parent.iterdir()}
    assert modules & set(found.__all__) == set()
