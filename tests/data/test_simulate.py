"""Simulated annotators: each kind does what its name says, with any classes, and one seed gives one crowd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from whoknows import Annotations, CrowdClassifier, CrowdRegressor
from whoknows.data.simulate import (
    adversaries,
    class_experts,
    cluster_experts,
    constant_accuracies,
    copycats,
    hide,
    ordered_scores,
    real_values,
    spammers,
)

N = 4000
WORDS = np.array(["cat", "dog", "zebra"])
animals = WORDS[np.random.default_rng(0).choice(3, N, p=[0.5, 0.3, 0.2])]
NOISE = 4 * np.sqrt(0.25 / N)  # four standard errors of a share of N

# Every kind of annotator who names a class, as a function of the truth and a seed alone.
KINDS = {
    "constant": lambda z, seed: constant_accuracies(z, [0.9, 0.4], seed),
    "by class": lambda z, seed: class_experts(z, [z[0], [z[0], z[1]]], random_state=seed),
    "adversaries": lambda z, seed: adversaries(z, 2, random_state=seed),
    "uniform": lambda z, seed: spammers(z, 2, "uniform", seed),
    "prior": lambda z, seed: spammers(z, 2, "prior", seed),
    "one class": lambda z, seed: spammers(z, 2, "constant", seed),
    "clusters": lambda z, seed: cluster_experts(np.arange(len(z))[:, None], z, 2, random_state=seed),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def right(labels, truth=animals):
    return (labels == truth[:, None]).mean(axis=0)


# --- what all kinds share -------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1], [False, True], [-1, 0, 7], list("abcde")], ids=str)
def test_labels_are_classes_of_the_truth_in_its_own_type(kind, classes):
    z = np.array(classes)[np.arange(60) % len(classes)]
    labels = kind(z, 0)
    assert labels.shape == (60, 2)
    assert labels.dtype == z.dtype
    assert set(labels.ravel().tolist()) <= set(classes)


@every_kind
def test_one_seed_is_one_crowd_and_another_seed_another(kind):
    z = animals[:300]
    assert np.array_equal(kind(z, 7), kind(z, 7))
    assert any(not np.array_equal(kind(z, 7), kind(z, seed)) for seed in (8, 9, 10, 11))


@every_kind
def test_a_generator_goes_on_from_call_to_call(kind):
    rng = np.random.default_rng(0)
    crowds = [kind(animals[:300], rng) for _ in range(5)]
    assert any(not np.array_equal(crowds[0], other) for other in crowds[1:])
    assert np.array_equal(crowds[0], kind(animals[:300], np.random.default_rng(0)))


def test_kinds_with_one_seed_do_not_err_on_the_same_items():
    z = animals == "cat"
    first, second = constant_accuracies(z, [0.7], 0), adversaries(z, 1, 0.3, 0)
    both_wrong = np.mean((first != z[:, None]) & (second != z[:, None]))
    assert abs(both_wrong - 0.09) < 0.02


@every_kind
def test_a_truth_with_gaps_or_one_class_is_refused(kind):
    with pytest.raises(ValueError, match=r"true label of every item in z, got none in row 1 \(counting from 0; 2 in"):
        kind(["a", None, "b", np.nan], 0)
    with pytest.raises(ValueError, match="Expected two classes or more in z, got 'a'"):
        kind(["a", "a"], 0)


# --- the paper's labelers -------------------------------------------------------------------------------


def test_cluster_experts_are_right_on_their_cluster_and_err_elsewhere_as_often_as_said():
    X, _ = make_blobs(3000, centers=5, cluster_std=0.3, random_state=0)
    z = np.random.default_rng(1).integers(2, size=3000)
    wrong = cluster_experts(X, z, random_state=3) != z[:, None]
    seed = int(np.random.default_rng(3).integers(2**31 - 1))
    cluster = KMeans(5, n_init=10, random_state=seed).fit_predict(StandardScaler().fit_transform(X))
    for annotator in range(5):
        assert not wrong[cluster == annotator, annotator].any()
        assert abs(wrong[cluster != annotator, annotator].mean() - 0.35) < 0.04


def test_cluster_experts_of_two_classes_flip_by_the_numbers_they_always_did():
    rng = np.random.default_rng(5)
    X, z = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    rng = np.random.default_rng(11)
    kmeans = KMeans(4, n_init=10, random_state=int(rng.integers(2**31 - 1)))
    cluster = kmeans.fit_predict(StandardScaler().fit_transform(X))
    wrong = (cluster[:, None] != np.arange(4)) & (rng.random((200, 4)) < 0.2)
    expected = np.where(wrong, 1 - z[:, None], z[:, None])
    assert np.array_equal(cluster_experts(X, z, 4, 0.2, random_state=11), expected)


def test_cluster_experts_of_many_classes_name_any_other_class():
    X, z = np.arange(N)[:, None], np.arange(N) % 4
    off = (cluster_experts(X, z, 2, error=1.0) - z[:, None]) % 4
    shares = [np.mean(off[off > 0] == step) for step in (1, 2, 3)]
    assert np.abs(np.array(shares) - 1 / 3).max() < 0.03


# --- others that name a class ---------------------------------------------------------------------------


def test_constant_accuracies_are_reached():
    labels = constant_accuracies(animals, [1.0, 0.8, 0.5, 0.0])
    assert np.abs(right(labels) - [1.0, 0.8, 0.5, 0.0]).max() < NOISE
    mistakes = labels[animals == "cat", 3]
    assert abs(np.mean(mistakes == "dog") - 0.5) < 0.05


def test_class_experts_are_good_at_what_they_know():
    labels = class_experts(animals, ["cat", ("dog", "zebra"), []], right=0.9, elsewhere=0.4)
    expected = {"cat": [0.9, 0.4, 0.4], "dog": [0.4, 0.9, 0.4], "zebra": [0.4, 0.9, 0.4]}
    for word, share in expected.items():
        assert np.abs(right(labels[animals == word], animals[animals == word]) - share).max() < 0.06


def test_adversaries_are_wrong_in_one_way():
    labels = adversaries(animals, 20, error=0.9)
    assert np.abs(right(labels) - 0.1).max() < NOISE
    for column in labels.T:
        for word in WORDS:
            said = set(column[animals == word]) - {word}
            assert len(said) == 1
    assert len({tuple(column) for column in adversaries(animals, 20, error=1.0).T}) == 2  # of three classes


def test_spammers_do_not_look():
    by_kind = {kind: spammers(animals, 2, kind) for kind in ("uniform", "prior", "constant")}
    prior = [np.mean(animals == word) for word in WORDS]
    for kind, shares in (("uniform", [1 / 3] * 3), ("prior", prior)):
        for word in WORDS:
            given_truth = [(by_kind[kind][animals == word] == said).mean() for said in WORDS]
            assert np.abs(np.array(given_truth) - shares).max() < 0.05
    assert [len(set(column)) for column in by_kind["constant"].T] == [1, 1]
    assert len(set(spammers(animals, 50, "constant")[0])) == 3


def test_copycats_copy_as_often_as_said_and_else_say_their_own():
    labels = constant_accuracies(animals, [0.6, 0.9])
    own = spammers(animals, 2)
    said = copycats(own, labels, share=0.8)
    assert ((said == labels) | (said == own)).all()
    assert np.abs((said == labels).mean(axis=0) - (0.8 + 0.2 * (own == labels).mean(axis=0))).max() < NOISE
    assert np.array_equal(copycats(own, labels, share=0.0), own)
    assert np.array_equal(copycats(own, labels[:, [0]], share=1.0), labels[:, [0, 0]])
    grades = real_values(np.arange(50.0), [0, 1], [1, 1])
    assert np.array_equal(copycats(grades, grades[:, [0]], share=1.0), grades[:, [0, 0]])


# --- numbers --------------------------------------------------------------------------------------------


def test_ordered_scores_are_off_by_severity_and_spread_within_the_levels():
    z = np.random.default_rng(0).integers(3, 8, size=N)
    scores = ordered_scores(z, [0, 1, -2, 0], [0, 0, 0, 0.5], n_levels=9)
    assert scores.dtype.kind == "i"
    assert (scores[:, :3] - z[:, None] == [0, 1, -2]).all()
    off = scores[:, 3] - z
    assert abs(off.mean()) < 0.05
    assert abs(np.mean(off == 0) - 0.6827) < NOISE  # half a level is one σ
    ends = ordered_scores([1, 5], [-4, 4], [2.0, 2.0])
    assert ((ends >= 1) & (ends <= 5)).all()
    assert ends[0, 0] == 1
    assert ends[1, 1] == 5


def test_real_values_have_bias_and_spread():
    z = np.linspace(-3, 3, N)
    error = real_values(z, [2.0, -1.0], [0.5, 3.0]) - z[:, None]
    assert np.abs(error.mean(axis=0) - [2, -1]).max() < 0.2
    assert np.abs(error.std(axis=0) / [0.5, 3.0] - 1).max() < 0.05
    by_item = np.where(z[:, None] < 0, 0.0, [[1.0, 2.0]])
    error = real_values(z, [0, 5], by_item) - z[:, None] - [0, 5]
    assert np.abs(error[z < 0]).max() < 1e-12
    assert np.abs(error[z >= 0].std(axis=0) / [1, 2] - 1).max() < 0.07


# --- hiding ---------------------------------------------------------------------------------------------


def test_nothing_hidden_is_everything():
    labels = constant_accuracies(animals[:100], [0.9, 0.6])
    assert hide(labels) == Annotations.from_matrix(labels)


def test_labels_that_stay_keep_their_confidence():
    sure = np.linspace(0.1, 1, 400).reshape(100, 4)
    whole = Annotations.from_matrix(constant_accuracies([0, 1] * 50, [0.9] * 4), confidence=sure)
    part = hide(whole, items=0.5, per_item=2)
    np.testing.assert_array_equal(part.confidence, sure[part.item, part.annotator])


def test_the_truth_may_be_of_any_kind():
    for z in ([1, "a"] * 5, [("a", 1), ("b", 2)] * 5):
        labels = constant_accuracies(z, [1.0, 0.0])
        assert labels.shape == (10, 2)
        assert labels[:, 0].tolist() == z
        assert labels[:, 1].tolist() == z[1:] + z[:1]


def test_a_share_of_items_stays_labelled_by_all():
    said = hide(constant_accuracies(animals, [0.9] * 4), items=0.25)
    assert set(said.labels_per_item.tolist()) == {0, 4}
    assert said.labelled.sum() == N // 4
    assert said.labelled[: N // 2].sum() < N // 4  # drawn, not the first ones


def test_each_annotator_keeps_its_share():
    labels = constant_accuracies(animals, [0.9] * 3)
    assert hide(labels, seen=0.3).labels_per_annotator.tolist() == [1200] * 3
    said = hide(labels, items=0.5, seen=[1, 0.5, 0])
    assert said.labels_per_annotator.tolist() == [2000, 1000, 0]
    assert said.n_annotators == 3


def test_each_item_keeps_so_many_labels_of_annotators_drawn_alike():
    said = hide(constant_accuracies(animals, [0.9] * 4), per_item=2)
    assert set(said.labels_per_item.tolist()) == {2}
    assert np.abs(said.labels_per_annotator - N / 2).max() < 4 * np.sqrt(N / 4)
    both = hide(constant_accuracies(animals, [0.9] * 4), seen=0.5, per_item=2)
    assert both.labels_per_item.max() == 2


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from(["ids", "plain"]))
def test_hidden_is_a_part_of_what_was_said_with_every_vocabulary_kept(items, seen, per_item, seed, ids):
    labels = constant_accuracies(animals[:40], [0.9, 0.5, 0.2], seed)
    names = {"items": [f"i{n}" for n in range(40)], "annotators": ["zoe", "anna", "bob"]} if ids == "ids" else {}
    whole = Annotations.from_matrix(labels, **names)
    part = hide(whole, items=items, seen=seen, per_item=per_item, random_state=seed)
    for name in ("items", "annotators", "labels"):
        assert np.array_equal(getattr(part, name), getattr(whole, name))
    kept = part.to_matrix()
    there = kept != None  # noqa: E711
    assert np.array_equal(kept[there], whole.to_matrix()[there])
    assert part.labels_per_item.max(initial=0) <= per_item
    assert Annotations.from_matrix(kept, labels=whole.labels, **names) == part


def test_a_real_crowd_is_thinned_by_its_own_labels():
    sparse = hide(constant_accuracies(animals, [0.9] * 3), items=0.5)
    thin = hide(sparse, items=0.5, random_state=1)
    assert thin.labelled.sum() == N // 4
    assert (sparse.labelled | ~thin.labelled).all()
    gaps = np.array([[0, np.nan], [1, 1], [np.nan, np.nan], [0, 1]])
    assert hide(gaps, seen=[1, 0.5]).labels_per_annotator.tolist() == [3, 1]


def test_what_is_left_goes_into_fit():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=200)
    X = z[:, None] + 0.3 * rng.normal(size=(200, 2))
    crowd = [constant_accuracies(z, [0.9, 0.8, 0.7], rng), adversaries(z, 1, random_state=rng)]
    said = hide(np.column_stack(crowd), items=0.5, per_item=3, random_state=rng)
    model = CrowdClassifier(map="linear").fit(X, said)
    assert model.score(X, z) > 0.9
    assert model.expertise(X).mean(axis=0).argmin() == 3
    truth = 10 * X[:, 0]
    grades = hide(real_values(truth, [5, -5, 0], [1, 1, 1], rng), seen=0.6, random_state=rng)
    bias = CrowdRegressor(map="linear").fit(X, grades).annotator_bias_
    assert np.abs(bias - [5, -5, 0]).max() < 1


def test_a_random_state_of_scikit_learn_is_a_seed_too():
    first, again, other = (spammers([0, 1] * 50, random_state=np.random.RandomState(n)) for n in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# --- bad arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "message"), [
    (lambda: constant_accuracies([0, 1], [0.5, 1.2]), r"accuracies= must be between 0 and 1; got 1\.2"),
    (lambda: constant_accuracies([0, 1], []), "accuracies= must hold a number for each annotator, got none"),
    (lambda: constant_accuracies([0, 1], 0.9), r"must be a list of finite numbers, got an array of shape"),
    (lambda: constant_accuracies([0, 1], [np.nan]), "accuracies= must be a list of finite numbers, got NaN"),
    (lambda: constant_accuracies(np.eye(2), [0.5]), r"one dimension for z, got an array of shape \(2, 2\)"),
    (lambda: cluster_experts([[0], [1]], [0, 1], 0), "n_annotators= must be an integer of at least 1"),
    (lambda: cluster_experts([[0], [1], [2]], [0, 1], 2), "row of X for each item of z, got 3 rows and 2"),
    (lambda: cluster_experts([[0], [1]], [0, 1], 2, random_state=-1), "random_state must be .*; got -1"),
    (lambda: spammers([0, 1], random_state="lucky"), "random_state must be .*; got 'lucky'"),
    (lambda: cluster_experts([[0], [1]], [0, 1], 2, error=-1), "error= must be between 0 and 1; got -1"),
    (lambda: class_experts([0, 1], [0, 5]), "knows= must hold classes of z, 0, 1; got 5"),
    (lambda: class_experts([0, 1], []), "knows= must hold the classes of each annotator, got none"),
    (lambda: class_experts([0, 1], [0], right=2), "right= must be between 0 and 1; got 2"),
    (lambda: class_experts([0, 1], [0], elsewhere=2), "elsewhere= must be between 0 and 1; got 2"),
    (lambda: adversaries([0, 1], 1.5), r"n_annotators= must be an integer of at least 1; got 1\.5"),
    (lambda: adversaries([0, 1], error=np.nan), "error= must be between 0 and 1; got nan"),
    (lambda: adversaries([0, 1], error="x"), "error= must be between 0 and 1; got 'x'"),
    (lambda: cluster_experts([[0], [1]], [0, 1], 3), "per annotator, got 2 items and 3 annotators"),
    (lambda: spammers([0, 1], kind="loud"), "kind= must be 'uniform', 'prior' or 'constant'; got 'loud'"),
    (lambda: spammers([0, 1], 0), "n_annotators= must be"),
    (lambda: copycats([[0]], [[1]], share=3), "share= must be between 0 and 1; got 3"),
    (lambda: copycats([[0]], [0]), r"own and copied of one shape .* got \(1, 1\) and \(1,\)"),
    (lambda: copycats([[0, 1]], [[0, 1, 1]]), r"got \(1, 2\) and \(1, 3\)"),
    (lambda: ordered_scores([0, 5], [0], [1]), "scores between 1 and n_levels=5, got values from 0 to 5"),
    (lambda: ordered_scores([1, 2], [0], [1], 0), "n_levels= must be an integer"),
    (lambda: ordered_scores([1, np.nan], [0], [1]), "z must be a list of finite numbers, got NaN or inf"),
    (lambda: real_values([1.0], [0], [-1]), r"spread= must hold one number of at .* and -1 as the smallest"),
    (lambda: real_values([1.0], [0, 1], [1, 1, 1]), r"shape \(2,\), or for each item .* got shape \(3,\)"),
    (lambda: real_values([1.0], [], []), "bias= must hold a number for each annotator, got none"),
    (lambda: hide([[0, 1]], items=1.5), r"items= must be between 0 and 1; got 1\.5"),
    (lambda: hide([[0, 1]], seen=[0.5, -1]), "seen= must be between 0 and 1; got -1"),
    (lambda: hide([[0, 1]], seen=[1, 1, 1]), "one share, or one for each of 2 annotators; got 3"),
    (lambda: hide([[0, 1]], per_item=0), "per_item= must be an integer of at least 1; got 0"),
])  # fmt: skip
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
