"""Tables on pages of the docs are what their CSV files give."""

import pandas as pd
import pytest

from benchmarks import doc_summary, doc_tables


def test_every_table_has_a_file_whose_rows_carry_a_commit():
    for name in doc_tables.TABLES:
        assert pd.read_csv(doc_tables.file_of(name), dtype=str)["commit"].notna().all()


def test_a_changed_digit_is_written_again():
    whole = (doc_tables.DOCS / "uncertainty.md").read_text("utf-8")
    before, comment, table = whole.partition(doc_tables.start_of("intervals_of_real_values"))
    changed = before + comment + table.replace(" .93", " .83", 1)
    assert changed != whole
    assert doc_tables.with_tables("uncertainty.md", changed) == whole


def test_a_page_without_the_comments_is_refused():
    with pytest.raises(ValueError, match=r"scale\.md has no line <!-- Table gpu: from benchmarks/results/engines\.csv"):
        doc_tables.with_tables("scale.md", "# Many items\n")


def test_means_of_worlds_are_shown_in_the_order_of_the_rows():
    rows = pd.DataFrame({"n": [3, 3, 1], "held": [0.8, 0.9, 1.0], "new": [0.5, 0.6, float("nan")]})
    shown = doc_summary.by_mean({"labels": "n"}, {"held": ("held", 2), "new": ("new", 1)})(rows)
    assert shown.reset_index().to_numpy().tolist() == [["3", ".85", ".6"], ["1", "1.00", ""]]


def test_points_lost_to_an_empty_class_have_a_standard_error():
    rows = pd.DataFrame({"new_two": [0.9, 0.8], "new_three": [0.88, 0.8], "new_bernoulli": [0.9, 0.8]})
    rows = rows.assign(consensus_two=0.95, consensus_three=0.94, consensus_bernoulli=0.95)
    shown = doc_summary.of_empty_class(rows)
    assert shown["new items, points"].tolist() == ["", "-1.0 ± 1.0", "+0.0 ± 0.0"]
    assert shown["accuracy of the consensus"].tolist() == [".950", ".940", ".950"]


def test_the_better_settings_are_counted():
    rows = pd.DataFrame({"question": "ring", "items": 40, "n_labels": [110, 113], "by_item": [True, True]})
    shown = doc_summary.of_choice(rows.assign(given_others=[True, False], by_label=False))
    assert shown.reset_index().to_numpy().tolist() == [["ring, 40 items", 112, 2, 1, 0]]
