"""Labels that come later join those that were there: `updated_with` and `only`."""

import numpy as np
import pytest

from whoknows.data import Annotations

OLD = Annotations.from_arrays(
    ["i", "i", "j", "k"], ["bob", "eve", "bob", "eve"], ["no", "yes", "yes", "no"], items=["i", "j", "k", "l"]
)


def more(item, annotator, label, items=("i", "j", "k", "l"), **besides):
    return Annotations.from_arrays(item, annotator, label, items=items, **besides)


def as_dict(Y):
    """(item, annotator) → label."""
    rows = zip(Y.items[Y.item], Y.annotators[Y.annotator], Y.labels[Y.label], strict=True)
    return {(str(i), str(a)): str(label) for i, a, label in rows}


def assert_well_formed(Y):
    """Sorted by item and annotator, each pair once, codes within their vocabularies."""
    pairs = list(zip(Y.item.tolist(), Y.annotator.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    for codes, ids in ((Y.item, Y.items), (Y.annotator, Y.annotators), (Y.label, Y.labels)):
        assert codes.dtype == np.int32
        assert ((codes >= 0) & (codes < len(ids))).all()
        assert len(ids) == len(set(ids.tolist()))


def test_labels_of_both_are_there():
    Y = OLD.updated_with(more(["l", "j"], ["bob", "eve"], ["yes", "no"]))
    assert_well_formed(Y)
    assert as_dict(Y) == as_dict(OLD) | {("l", "bob"): "yes", ("j", "eve"): "no"}


def test_of_two_labels_the_newer_holds():
    Y = OLD.updated_with(more(["i", "k"], ["bob", "bob"], ["yes", "yes"]))
    assert_well_formed(Y)
    assert as_dict(Y) == as_dict(OLD) | {("i", "bob"): "yes", ("k", "bob"): "yes"}
    assert Y.n_annotations == 5


def test_the_newest_of_three_holds():
    first, second = more(["i"], ["bob"], ["yes"]), more(["i"], ["bob"], ["no"])
    assert as_dict(OLD.updated_with(first).updated_with(second)) == as_dict(OLD)


def test_both_stay_as_they_were():
    new = more(["i"], ["anna"], ["maybe"])
    before = OLD.item.copy(), OLD.label.copy(), new.label.copy(), new.annotator.copy()
    OLD.updated_with(new)
    for was, now in zip(before, (OLD.item, OLD.label, new.label, new.annotator), strict=True):
        np.testing.assert_array_equal(was, now)


def test_new_annotators_and_labels_are_sorted_in():
    """«anna» and «maybe» come first: every old code moves, no old label does."""
    Y = OLD.updated_with(more(["l"], ["anna"], ["maybe"]))
    assert_well_formed(Y)
    assert Y.annotators.tolist() == ["anna", "bob", "eve"]
    assert Y.labels.tolist() == ["maybe", "no", "yes"]
    assert as_dict(Y) == as_dict(OLD) | {("l", "anna"): "maybe"}


def test_vocabularies_keep_the_order_they_were_given_in():
    old = more(["i"], ["bob"], ["bad"], labels=["bad", "so-so", "good"], annotators=["eve", "bob"])
    Y = old.updated_with(more(["j"], ["eve"], ["good"]))
    assert Y.labels.tolist() == ["bad", "so-so", "good"]
    assert Y.annotators.tolist() == ["eve", "bob"]


def test_names_without_a_label_are_kept():
    Y = OLD.updated_with(more(["i"], ["bob"], ["no"], annotators=["bob", "zoe"], labels=["no", "never"]))
    assert Y.annotators.tolist() == ["bob", "eve", "zoe"]
    assert Y.labels.tolist() == ["never", "no", "yes"]


def test_ids_that_cannot_be_sorted_follow():
    old = Annotations.from_arrays(["i", "j"], ["bob", 7], [0, 1], items=["i", "j"])
    Y = old.updated_with(Annotations.from_arrays(["i"], [(1, 2)], [1], items=["i", "j"]))
    assert Y.annotators.tolist() == ["bob", 7, (1, 2)]


def test_nothing_new_is_the_same():
    assert OLD.updated_with(more([], [], [])) == OLD


def test_after_nothing_come_the_new():
    new = more(["j"], ["bob"], ["yes"])
    assert as_dict(more([], [], []).updated_with(new)) == as_dict(new)


def test_items_may_follow():
    items = ["i", "j", "k", "l", "m", "n"]
    Y = OLD.updated_with(more(["m", "i"], ["bob", "bob"], ["yes", "yes"], items=items))
    assert_well_formed(Y)
    assert Y.items.tolist() == items
    assert as_dict(Y) == as_dict(OLD) | {("m", "bob"): "yes", ("i", "bob"): "yes"}
    assert Y.labels_per_item.tolist() == [2, 1, 1, 0, 1, 0]


def test_items_keep_the_names_they_had():
    """New labels as a bare matrix, whose rows have numbers for names."""
    new = Annotations.from_matrix([["no"], [None], [None], ["yes"]], annotators=["bob"])
    Y = OLD.updated_with(new)
    assert Y.items.tolist() == ["i", "j", "k", "l"]
    assert as_dict(Y) == as_dict(OLD) | {("l", "bob"): "yes"}


def test_items_that_follow_keep_their_kind():
    """A name stays a name and a number a number."""
    new = Annotations.from_matrix([["no"], [None], [None], ["yes"], ["yes"]], annotators=["bob"])
    assert OLD.updated_with(new).items.tolist() == ["i", "j", "k", "l", 4]


# --- confidence ------------------------------------------------------------------------------------


def confidence_of(Y):
    return dict(zip(as_dict(Y), Y.counts.tolist(), strict=True))


def test_confidence_goes_with_its_label():
    old = more(["i", "j"], ["bob", "eve"], ["no", "yes"], confidence=[0.2, 0.3])
    new = more(["i", "i"], ["bob", "anna"], ["yes", "no"], confidence=[0.7, 0.8])
    Y = old.updated_with(new)
    assert confidence_of(Y) == {("i", "anna"): 0.8, ("i", "bob"): 0.7, ("j", "eve"): 0.3}


@pytest.mark.parametrize("who", ["old", "new"])
def test_where_only_one_side_has_confidence_the_other_is_sure(who):
    sides = {"old": {}, "new": {}} | {who: {"confidence": [0.5]}}
    Y = more(["i"], ["bob"], ["no"], **sides["old"]).updated_with(more(["j"], ["bob"], ["yes"], **sides["new"]))
    expected = (0.5, 1.0) if who == "old" else (1.0, 0.5)
    assert confidence_of(Y) == dict(zip([("i", "bob"), ("j", "bob")], expected, strict=True))


def test_without_confidence_there_is_none():
    assert OLD.updated_with(more(["l"], ["bob"], ["yes"])).confidence is None


# --- only -------------------------------------------------------------------------------------------


def test_only_some_labels():
    Y = more(["i", "i", "j"], ["bob", "eve", "bob"], ["no", "yes", "yes"], confidence=[0.1, 0.2, 0.3])
    kept = Y.only(np.array([True, False, True]))
    assert_well_formed(kept)
    assert confidence_of(kept) == {("i", "bob"): 0.1, ("j", "bob"): 0.3}
    assert kept.items.tolist() == Y.items.tolist()
    assert kept.annotators.tolist() == ["bob", "eve"]
    assert kept.labels.tolist() == ["no", "yes"]


def test_a_split_puts_together_what_it_parted():
    rng = np.random.default_rng(0)
    y = np.where(rng.random((30, 4)) < 0.6, rng.integers(0, 3, (30, 4)), np.nan)
    Y = Annotations.from_matrix(y)
    first = rng.random(Y.n_annotations) < 0.5
    assert Y.only(first).updated_with(Y.only(~first)) == Y
    assert Y.only(~first).updated_with(Y.only(first)) == Y
