"""The source stays small enough for one person to hold in mind."""

from statistics import median, quantiles

import pytest

from tests.repo.size import (
    SOURCE,
    calls_of_whoknows_fit,
    code_lines,
    fits_of_both_classifiers,
    function_lengths,
    is_about_a_piece,
    lines_of_path,
    modules,
    questions,
)

LINES, MODULES = 21_650, 210
WEB_LINES, WEB_MODULES = 5_800, 88  # a program beside the library
LINES_PER_FILE = 450
CLASSES_IN_A_FIT = 31
LINES_OF_THE_PATH = 6_300
QUESTIONS_ABOUT_PIECES = 12


@pytest.fixture(scope="module")
def fits():
    return fits_of_both_classifiers()


def test_lines_and_modules():
    web = [path for path in modules() if path.is_relative_to(SOURCE / "apps" / "web")]
    library = [path for path in modules() if path not in web]
    for paths, lines, number in ((library, LINES, MODULES), (web, WEB_LINES, WEB_MODULES)):
        assert sum(len(code_lines(path)) for path in paths) <= lines
        assert len(paths) <= number


def test_no_file_is_long():
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name: length for name, length in lengths.items() if length > LINES_PER_FILE} == {}


def test_functions_are_short():
    lengths = [length for path in modules() for length in function_lengths(path)]
    assert median(lengths) <= 6
    assert quantiles(lengths, n=10)[-1] <= 16


@pytest.mark.parametrize("rooms", [("model", "fit"), ("estimators",)])
def test_pieces_are_called_without_asking_what_they_are(rooms):
    files = [path for room in rooms for path in (SOURCE / room).rglob("*.py")]
    assert sum(is_about_a_piece(call) for path in files for call in questions(path)) <= QUESTIONS_ABOUT_PIECES


def test_a_fit_runs_few_classes_and_checks_features_once(fits):
    assert len(fits["CrowdClassifier"].classes) <= CLASSES_IN_A_FIT, sorted(fits["CrowdClassifier"].classes)
    assert {name: calls.counts["check_features"] for name, calls in fits.items()} == dict.fromkeys(fits, 1)


def test_the_command_line_checks_features_at_most_three_times(tmp_path):
    assert 1 <= calls_of_whoknows_fit(tmp_path).counts["check_features"] <= 3


def test_the_path_of_a_fit_is_short(fits):
    assert lines_of_path(fits) <= LINES_OF_THE_PATH
