"""Agreement: published examples first, then plain sums over all pairs, then worlds with a copycat."""

import re
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from whoknows.data import Annotations
from whoknows.insight import (
    agreement,
    cohen_kappa,
    copying_suspects,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_agreement,
    percent_agreement,
)

LEVELS = ("nominal", "ordinal", "interval")
WHOLE = (percent_agreement, fleiss_kappa, *(lambda said, u=u: krippendorff_alpha(said, u) for u in LEVELS))

# Fleiss' kappa, Wikipedia: 14 raters, 10 subjects, 5 categories; how many said what.
FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, C: four observers, twelve units.
KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""

# Krippendorff's alpha, Wikipedia: three coders, fifteen units.
KRIPPENDORFF_WIKIPEDIA = """
. . . . . 3 4 1 2 1 1 3 3 . 3
1 . 2 1 3 3 4 3 . . . . . . .
. . 2 1 3 4 4 . 2 1 1 3 3 . 4
"""


def by_coder(text):
    """Read a page's table: a line a coder, a column a unit."""
    rows = [[None if cell == "." else int(cell) for cell in line.split()] for line in text.split("\n") if line]
    return Annotations.from_matrix(np.array(rows, dtype=object).T)


def by_count(text):
    """Read a page's table: a line an item, a column a label, entries count."""
    counts = [[int(cell) for cell in line.split()] for line in text.split("\n") if line]
    return Annotations.from_matrix([np.repeat(np.arange(len(row)), row) for row in counts])


def two(first, second, **options):
    """Two columns of labels, of anna and bob."""
    return Annotations.from_matrix(np.column_stack([first, second]), annotators=["anna", "bob"], **options)


def random_crowd(seed, n_items=30, n_annotators=5, n_classes=4, missing=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=(n_items, 1))
    guess = rng.integers(n_classes, size=(n_items, n_annotators))
    labels = np.where(rng.random(guess.shape) < 0.5, truth, guess).astype(float)
    labels[rng.random(labels.shape) < missing] = np.nan
    return Annotations.from_matrix(labels, labels=range(n_classes))


@st.composite
def crowds(draw):
    """Small crowds with missing labels, in which some item has two and not all labels are the same."""
    width = draw(st.integers(2, 4))
    cell = st.sampled_from([None, 1, 2, 4, 7])
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=7))
    compared = [[x for x in row if x is not None] for row in rows]
    used = {x for row in compared if len(row) > 1 for x in row}
    assume(len(used) > 1)
    return Annotations.from_matrix(np.array(rows, dtype=object), labels=[1, 2, 4, 7])


def by_item(said):
    return [said.label[said.item == i].tolist() for i in range(said.n_items)]


# --- Published examples ----------------------------------------------------------------------------------


def test_cohen_kappa_of_the_wikipedia_grant_proposals_is_040():
    """Both yes 20, only A 5, only B 10, both no 15."""
    said = two([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    assert cohen_kappa(said, "anna", "bob") == pytest.approx(0.40)
    assert percent_agreement(said) == pytest.approx(0.70)


@pytest.mark.parametrize(("weights", "kappa"), [(None, 0.9315), ("linear", 0.9412), ("quadratic", 0.9541)])
def test_weighted_kappa_of_the_example_in_scikit_learns_tests(weights, kappa):
    said = two([0] * 46 + [1] * 44 + [2] * 10, [0] * 50 + [1] * 40 + [2] * 10)
    assert cohen_kappa(said, "anna", "bob", weights) == pytest.approx(kappa, abs=5e-5)


def test_fleiss_kappa_of_the_wikipedia_example_is_0210():
    assert fleiss_kappa(by_count(FLEISS)) == pytest.approx(0.210, abs=5e-4)
    assert percent_agreement(by_count(FLEISS)) == pytest.approx(0.378, abs=5e-4)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_alpha_of_his_own_example(level, alpha):
    assert krippendorff_alpha(by_coder(KRIPPENDORFF), level) == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.691), ("interval", 0.811)])
def test_krippendorff_alpha_of_the_wikipedia_example(level, alpha):
    assert krippendorff_alpha(by_coder(KRIPPENDORFF_WIKIPEDIA), level) == pytest.approx(alpha, abs=5e-4)


# --- Against sums over all pairs -------------------------------------------------------------------------


def alpha_from_coincidences(said, level):
    """As printed: o_ck, n_c, then 1 − (n − 1) Σ o δ² / Σ n n δ²."""
    K = said.n_classes
    o = np.zeros((K, K))
    for labels in by_item(said):
        for c, k in permutations(labels, 2):
            o[c, k] += 1 / (len(labels) - 1)
    n_c = o.sum(axis=1)
    delta = np.zeros((K, K))
    for c, k in permutations(range(K), 2):
        low, high = min(c, k), max(c, k)
        between = n_c[low : high + 1].sum() - (n_c[c] + n_c[k]) / 2
        interval = float(said.labels[c] - said.labels[k])
        delta[c, k] = {"nominal": 1, "ordinal": between**2, "interval": interval**2}[level]
    return 1 - (n_c.sum() - 1) * np.sum(o * delta) / np.sum(np.outer(n_c, n_c) * delta)


@given(crowds(), st.sampled_from(LEVELS))
def test_alpha_is_that_of_the_coincidence_matrix(said, level):
    assert krippendorff_alpha(said, level) == pytest.approx(alpha_from_coincidences(said, level), abs=1e-12)


@given(crowds())
def test_percent_agreement_counts_every_pair_of_labels_once(said):
    agree = [left == right for labels in by_item(said) for left, right in combinations(labels, 2)]
    assert percent_agreement(said) == pytest.approx(np.mean(agree))


@given(crowds())
def test_fleiss_kappa_is_gwets_where_numbers_of_labels_differ(said):
    labelled = [labels for labels in by_item(said) if labels]
    pairs = [[a == b for a, b in combinations(labels, 2)] for labels in labelled if len(labels) > 1]
    P = np.mean([np.mean(agree) for agree in pairs])
    p = np.mean([np.bincount(labels, minlength=4) / len(labels) for labels in labelled], axis=0)
    assert fleiss_kappa(said) == pytest.approx((P - sum(p**2)) / (1 - sum(p**2)))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_kappa_is_scikit_learns_on_common_items(weights):
    said = random_crowd(1)
    matrix = said.to_matrix()
    both = ~np.isnan(matrix[:, [0, 3]]).any(axis=1)
    expected = cohen_kappa_score(matrix[both, 0], matrix[both, 3], labels=range(4), weights=weights)
    assert cohen_kappa(said, 0, 3, weights) == pytest.approx(expected)
    assert cohen_kappa(said, 3, 0, weights) == pytest.approx(expected)


def check_pairs(said, pairs):
    """Compare every pair with what its two columns say; return which pairs share items."""
    matrix = said.to_matrix()
    expected = []
    for s, t in combinations(range(said.n_annotators), 2):
        both = ~np.isnan(matrix[:, s]) & ~np.isnan(matrix[:, t])
        if both.any():
            agreement = np.mean(matrix[both, s] == matrix[both, t])
            kappa = cohen_kappa(said, said.annotators[s], said.annotators[t])
            expected.append((s, t, both.sum(), agreement, kappa))
    got = np.column_stack([pairs.first, pairs.second, pairs.n_items, pairs.agreement, pairs.kappa])
    np.testing.assert_allclose(got, np.reshape(expected, (-1, 5)), atol=1e-12)


@given(crowds())
@settings(max_examples=50)
def test_pairwise_agreement_is_cohen_kappa_of_each_pair(said):
    check_pairs(said, pairwise_agreement(said))


def test_pairwise_agreement_of_many_annotators_with_few_common_items():
    said = random_crowd(2, n_annotators=30, missing=0.8)
    check_pairs(said, pairwise_agreement(said))


def test_pairs_below_the_minimum_are_left_out():
    said = random_crowd(3, n_annotators=12, missing=0.8)
    every, some = pairwise_agreement(said), pairwise_agreement(said, minimum=3)
    assert 0 < len(some) < len(every)
    assert np.array_equal(some.kappa, every.kappa[every.n_items >= 3], equal_nan=True)


# --- What must not matter --------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", WHOLE)
def test_order_of_items_and_annotators_does_not_matter(measure):
    said = random_crowd(4)
    rng = np.random.default_rng(0)
    shuffled = said[rng.permutation(said.n_items)].recode(rng.permutation(said.annotators), said.labels)
    assert measure(shuffled) == pytest.approx(measure(said))


@pytest.mark.parametrize("measure", WHOLE)
def test_items_without_labels_do_not_matter(measure):
    said = random_crowd(5)
    more = Annotations(said.item, said.annotator, said.label, np.arange(99), said.annotators, said.labels)
    assert measure(more) == pytest.approx(measure(said))


@pytest.mark.parametrize("level", LEVELS)
def test_items_with_one_label_do_not_change_alpha(level):
    said = random_crowd(6)
    assert krippendorff_alpha(said[said.labels_per_item > 1], level) == krippendorff_alpha(said, level)


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_items_again_change_alpha_only_by_its_correction_for_few_labels(level):
    """1 − α gains a factor (2n − 1) / (2n − 2)."""
    said = random_crowd(7)
    n = said[said.labels_per_item > 1].n_annotations
    once, twice = (krippendorff_alpha(x, level) for x in (said, said[np.tile(np.arange(30), 2)]))
    assert 1 - twice == pytest.approx((1 - once) * (2 * n - 1) / (2 * n - 2))


@pytest.mark.parametrize("shift", [0, 1e6])
def test_interval_alpha_does_not_depend_on_unit_or_origin(shift):
    said = random_crowd(8)
    moved = Annotations(said.item, said.annotator, said.label, said.items, said.annotators, said.labels * 0.25 + shift)
    assert krippendorff_alpha(moved, "interval") == pytest.approx(krippendorff_alpha(said, "interval"))


def test_ordinal_alpha_depends_on_the_order_of_labels_but_not_on_their_names():
    grades = [["low", "mid"], ["mid", "mid"], ["high", "high"], ["low", "low"], ["high", "mid"]]
    in_order = Annotations.from_matrix(grades, labels=["low", "mid", "high"])
    as_numbers = Annotations.from_matrix([[["low", "mid", "high"].index(g) for g in row] for row in grades])
    alphabetical = Annotations.from_matrix(grades)
    assert krippendorff_alpha(in_order, "ordinal") == krippendorff_alpha(as_numbers, "ordinal")
    assert krippendorff_alpha(in_order, "ordinal") > krippendorff_alpha(alphabetical, "ordinal")


@pytest.mark.parametrize("measure", WHOLE)
def test_full_agreement_is_one(measure):
    assert measure(Annotations.from_matrix([[1, 1, 1], [2, 2, None], [3, 3, 3]])) == pytest.approx(1)


@pytest.mark.parametrize("measure", WHOLE[1:])
def test_labels_drawn_blindly_agree_by_chance(measure):
    labels = np.random.default_rng(0).choice(3, p=[0.6, 0.3, 0.1], size=(4000, 4))
    assert measure(Annotations.from_matrix(labels)) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("measure", WHOLE)
def test_overall_agreement_includes_annotators_nobody_knows(measure):
    said = random_crowd(9)
    assert measure(said.recode([0], said.labels, unknown="population")) == pytest.approx(measure(said))


# --- What cannot be answered -----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [*WHOLE, agreement])
@pytest.mark.parametrize("labels", [[[0, None], [None, 1]], [[None, None]]])
def test_without_two_labels_on_an_item_there_is_no_agreement(measure, labels):
    with pytest.raises(ValueError, match="needs an item with two labels"):
        measure(Annotations.from_matrix(labels, labels=[0, 1]))


def test_with_one_label_throughout_kappa_and_alpha_are_nan():
    said = Annotations.from_matrix([[1, 1], [1, 1], [1, None]], labels=[0, 1])
    assert percent_agreement(said) == 1
    assert np.isnan([measure(said) for measure in WHOLE[1:]]).all()
    assert np.isnan([cohen_kappa(said, 0, 1, weights) for weights in (None, "linear", "quadratic")]).all()
    assert np.isnan(pairwise_agreement(said).kappa).all()
    assert "not defined: only one label was used" in str(agreement(said))


def test_annotators_without_common_items_have_no_kappa():
    said = Annotations.from_matrix([[0, None], [None, 1]], annotators=["anna", "bob"])
    with pytest.raises(ValueError, match="both 'anna' and 'bob' labelled; there are none"):
        cohen_kappa(said, "anna", "bob")
    assert len(pairwise_agreement(said)) == 0


@pytest.mark.parametrize(("name", "hint"), [("ana", "The closest are 'anna'."), ("zoe", "There are 'anna', 'bob'.")])
def test_an_unknown_annotator_is_told_the_nearest_names(name, hint):
    with pytest.raises(ValueError, match=re.escape(f"one of the 2 annotators, got {name!r}. {hint}")):
        cohen_kappa(two([0, 1], [0, 0]), name, "bob")


def test_one_annotator_twice_is_no_pair():
    with pytest.raises(ValueError, match="two different annotators, got 'anna' twice"):
        cohen_kappa(two([0, 1], [0, 0]), "anna", "anna")


@pytest.mark.parametrize("labels", [[1, 3, 2], [1, "low", 3]])
def test_labels_without_order_are_refused_where_order_matters(labels):
    said = two(np.array(labels, dtype=object), np.array(labels, dtype=object), labels=labels)
    assert cohen_kappa(said, "anna", "bob") == 1
    with pytest.raises(ValueError, match="weights='linear' expected labels in their order, got 1, "):
        cohen_kappa(said, "anna", "bob", "linear")
    with pytest.raises(ValueError, match="level='ordinal' expected labels in their order"):
        krippendorff_alpha(said, "ordinal")


def test_descending_numbers_are_an_order_too():
    labels = [1, 2, 3, 1, 2], [1, 3, 3, 2, 2]
    up, down = two(*labels), two(*labels, labels=[3, 2, 1])
    assert cohen_kappa(up, "anna", "bob", "quadratic") == cohen_kappa(down, "anna", "bob", "quadratic")


@pytest.mark.parametrize("labels", [["bad", "good"], [False, True]])
def test_interval_alpha_needs_numbers(labels):
    with pytest.raises(ValueError, match=r"interval' expected labels that are numbers.*level='ordinal'"):
        krippendorff_alpha(two(labels, labels), "interval")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda said: krippendorff_alpha(said, "ratio"), "level= must be 'nominal', 'ordinal' or 'interval'"),
        (lambda said: cohen_kappa(said, "anna", "bob", "cubic"), "weights= must be None, 'linear'"),
        (lambda said: pairwise_agreement(said, 0), "minimum= must be at least 1"),
        (lambda said: copying_suspects(said, np.eye(2), [0.5, 0.5], 0), "level= must lie between 0 and 1"),
        (lambda said: copying_suspects(said, np.eye(3), [0.5, 0.5]), "posterior of shape (2, 2)"),
        (lambda said: copying_suspects(said, np.eye(2), np.ones(3)), "expertise of shape (2, 2)"),
        (lambda said: copying_suspects(said, np.eye(2), [0.5, 1.5]), "between 0 and 1; got 1.5"),
        (lambda said: copying_suspects(said, np.eye(2), [0.5, np.nan]), "between 0 and 1; got nan"),
    ],
)
def test_wrong_settings_are_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(two([0, 1], [0, 0]))


def test_pairs_of_annotators_nobody_knows_cannot_be_named():
    said = random_crowd(10)
    with pytest.raises(ValueError, match="outside the vocabulary, so pairs cannot be named"):
        pairwise_agreement(said.recode([0], said.labels, unknown="population"))


# --- Copying ---------------------------------------------------------------------------------------------


def world_with(copied, n_classes=3, seed=0, n_items=300):
    """Eight annotators, a third of the labels missing; the last takes this share from the first."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    right = rng.uniform(0.5, 0.95, size=(n_items, 8))
    wrong = (truth[:, None] + rng.integers(1, n_classes, size=right.shape)) % n_classes
    labels = np.where(rng.random(right.shape) < right, truth[:, None], wrong).astype(float)
    labels[:, 7] = np.where(rng.random(n_items) < copied, labels[:, 0], labels[:, 7])
    labels[rng.random(labels.shape) < 1 / 3] = np.nan
    said = Annotations.from_matrix(labels, annotators=list("abcdefgh"), labels=range(n_classes))
    return said, np.eye(n_classes)[truth], right


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_copying_pair_is_found_and_nobody_else(n_classes, seed):
    suspects = copying_suspects(*world_with(0.8, n_classes, seed))
    assert (suspects.first.tolist(), suspects.second.tolist()) == (["a"], ["h"])
    assert suspects.observed[0] > suspects.expected[0]
    assert suspects.mistakes[0] > 1.5 * suspects.mistakes_expected[0]
    assert suspects.n_tested == 28
    assert "1 of 28 pairs agree more than the model expects:\n  'a', 'h': " in str(suspects)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_independent_annotators_are_not_suspected(n_classes, seed):
    suspects = copying_suspects(*world_with(0.0, n_classes, seed))
    assert len(suspects) == 0
    assert str(suspects) == "None of 28 pairs agrees more than the model expects."


def test_suspects_come_with_a_caveat():
    one_pair = copying_suspects(*world_with(0.8))
    assert "look at their common mistakes before you accuse anyone" in one_pair.caveat
    assert str(one_pair).endswith(one_pair.caveat)
    said, posterior, right = world_with(0.0)
    misled = said.to_matrix()
    misled[:100] = np.where(np.isnan(misled[:100]), np.nan, 0)  # a third of the items have one answer for all
    everybody = copying_suspects(
        Annotations.from_matrix(misled, annotators=list("abcdefgh"), labels=range(3)), posterior, right
    )
    assert 2 * len(everybody) > everybody.n_tested
    assert "make mistakes independently, and this does not hold here" in everybody.caveat
    assert "accuse" not in everybody.caveat
    assert copying_suspects(*world_with(0.0)).caveat == ""


def test_p_values_of_independent_annotators_are_never_too_small():
    p = [copying_suspects(*world_with(0.0, seed=s, n_items=40), level=1 - 1e-9) for s in range(30)]
    small = np.concatenate([suspects.p for suspects in p])
    for threshold in (0.1, 0.01):
        assert np.sum(small < threshold) < 1.3 * threshold * 30 * 28


def test_expected_agreements_are_sums_over_common_items():
    said, posterior, right = world_with(1.0)
    suspects = copying_suspects(said, posterior, right)
    matrix = said.to_matrix()
    both = ~np.isnan(matrix[:, 0]) & ~np.isnan(matrix[:, 7])
    a, h = right[both, 0], right[both, 7]
    e = a * h + (1 - a) * (1 - h) / 2
    alike = both & (matrix[:, 0] == matrix[:, 7])
    assert suspects.n_items == both.sum()
    assert suspects.observed == alike.sum()
    assert suspects.expected == pytest.approx(e.sum())
    assert suspects.mistakes == pytest.approx(np.sum(alike & (matrix[:, 0] != posterior.argmax(axis=1))))
    assert suspects.mistakes_expected == pytest.approx(np.sum((1 - a) * (1 - h) / 2))


def test_the_p_value_bounds_the_exact_tail():
    """Four items: add up the probabilities of all sixteen outcomes."""
    said = two([0, 1, 0, 1], [0, 1, 0, 1])
    right = np.array([[0.6, 0.5], [0.9, 0.7], [0.5, 0.5], [0.3, 0.8]])
    exact = np.prod(right.prod(axis=1) + (1 - right).prod(axis=1))
    p = copying_suspects(said, np.eye(2)[[0, 1, 0, 1]], right, level=0.999).p
    assert exact <= p[0] <= 1.5 * exact


def test_one_accuracy_an_annotator_is_the_same_on_all_items():
    said, posterior, _ = world_with(0.8)
    accuracy = np.linspace(0.6, 0.8, 8)
    short, full = (copying_suspects(said, posterior, x) for x in (accuracy, np.tile(accuracy, (300, 1))))
    assert np.array_equal(short.p, full.p)


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg():
    """p times the number of pairs over the rank, made monotone from the largest down."""
    said, posterior, _ = world_with(0.3, n_items=40)
    suspects = copying_suspects(said, posterior, np.full(8, 0.5), level=1 - 1e-9)  # all agree more than that
    n, rank = suspects.n_tested, np.arange(1, len(suspects) + 1)
    assert len(suspects) > 5
    ratio = np.append(suspects.p * n / rank, 1.0)  # the pairs that are left out have p = 1
    expected = np.minimum.accumulate(ratio[::-1])[::-1][:-1]
    np.testing.assert_allclose(suspects.p_adjusted, expected)


# --- At a glance -----------------------------------------------------------------------------------------


def test_the_table_bundles_the_single_numbers():
    said = random_crowd(11)
    table = agreement(said)
    assert (table.percent, table.fleiss, table.alpha) == tuple(measure(said) for measure in WHOLE[:3])
    assert table.label_shares.sum() == pytest.approx(1)
    pairs = table.pairwise
    mine = (pairs.first == 2) | (pairs.second == 2)
    assert table.with_others[2] == pytest.approx(np.average(pairs.agreement[mine], weights=pairs.n_items[mine]))


def test_the_printed_table_names_who_stands_out():
    labels = np.random.default_rng(0).integers(2, size=(60, 1)) * np.ones((1, 8))
    labels[::2, 5] = 1 - labels[::2, 5]
    names = ["anna", "bob", "cleo", "dan", "eve", "liar", "gus", "hal"]
    text = str(agreement(Annotations.from_matrix(labels, annotators=names)))
    assert "480 labels by 8 annotators on 60 items, 60 of them with at least two labels" in text
    assert re.search(r"Agreement with the other annotators, lowest 5 of 8:\n  'liar'\s+0\.50", text)
    assert "  'anna', 'liar'  kappa" in text
    assert "  …" in text


def test_an_annotator_without_common_items_is_not_listed():
    said = Annotations.from_matrix([[0, 0, None], [1, 1, None], [None, None, 1]], annotators=["anna", "bob", "cleo"])
    table = agreement(said)
    assert np.isnan(table.with_others[2])
    assert "cleo" not in str(table)


def test_a_large_crowd_needs_no_table_of_items_by_annotators():
    """200 000 labels of 2 000 annotators; a table of items by annotators would have 80 million cells."""
    rng = np.random.default_rng(0)
    item, annotator = np.divmod(np.unique(rng.integers(40_000 * 2_000, size=200_000)), 2_000)
    label = rng.integers(3, size=len(item))
    said = Annotations(
        *(codes.astype(np.int32) for codes in (item, annotator, label)), *(np.arange(n) for n in (40_000, 2_000, 3))
    )
    assert len(agreement(said).pairwise) > 100_000
