"""A summary says what the model says, in numbers JSON can hold."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.insight.summary_worlds import FEATURES, KINDS, NAMES, fitted, split_crowd, summary_of
from whoknows import CrowdClassifier
from whoknows.insight import cohen_kappa, copying_suspects, expected_pairs, krippendorff_alpha, percent_agreement
from whoknows.insight.summary import Summary, summarize
from whoknows.insight.summary.text import amounts, json_ids

CLASSES = tuple(kind for kind in KINDS if kind != "numbers")


def refuse(constant):
    raise AssertionError(f"{constant} in JSON")


# --- any kind of fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_json_and_back(kind):
    summary = summary_of(kind)
    text = summary.to_json()
    json.loads(text, parse_constant=refuse)
    assert Summary.from_json(text) == summary


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_lines_in_words(kind):
    lines = summary_of(kind).lines()
    assert 5 <= len(lines) <= 15
    assert all(line.endswith(".") for line in lines)
    assert f"{fitted(kind)[2].n_annotations} labels" in lines[0]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_one_row_each(kind):
    _, X, said = fitted(kind)
    summary = summary_of(kind)
    assert {len(column) for column in summary.consensus.values()} == {len(X)}
    assert {len(column) for column in summary.annotators.values()} == {said.n_annotators}
    assert list(summary.consensus)[:6] == ["item", "consensus", "confidence", "n_labels", "vote", "overruled"]
    first = ["annotator", "n_labels", "expertise", "low", "high"]
    assert list(summary.annotators)[:5] == first
    assert "agreement_with_consensus" in summary.annotators
    assert summary.consensus["item"] == said.items.tolist()
    assert summary.consensus["n_labels"] == said.labels_per_item.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_counted(kind):
    _, X, said = fitted(kind)
    given = summary_of(kind).given
    assert (given["n_items"], given["n_labels"]) == (len(X), said.n_annotations)
    assert given["n_labelled"] == int(said.labelled.sum())
    assert sum(given["coverage"]["items"]) == len(X)
    assert sum(i * n for i, n in enumerate(given["coverage"]["items"])) == said.n_annotations


# --- the answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES)
def test_consensus_is_the_posterior(kind):
    model, _, _ = fitted(kind)
    table, q = summary_of(kind).consensus, model.posterior_
    assert table["consensus"] == model.classes_[q.argmax(axis=1)].tolist()
    np.testing.assert_allclose(table["confidence"], q.max(axis=1), atol=1e-6)
    for k, label in enumerate(model.classes_.tolist()):
        np.testing.assert_allclose(table[f"p_{label}"], q[:, k], atol=1e-6)


@pytest.mark.parametrize("kind", CLASSES)
def test_vote_is_the_label_given_most_often(kind):
    _, _, said = fitted(kind)
    table = summary_of(kind).consensus
    for i, vote in enumerate(table["vote"]):
        labels = said.labels[said.label[said.item == i]].tolist()
        often = sorted({labels.count(label) for label in labels}, reverse=True)
        top = [label for label in dict.fromkeys(labels) if labels.count(label) == often[0]]
        assert vote == (top[0] if len(top) == 1 else None)
        assert table["overruled"][i] == (vote is not None and vote != table["consensus"][i])
    assert summary_of(kind).answer["n_overruled"] == sum(table["overruled"])


def test_consensus_of_numbers_is_mean_and_deviation():
    model, _, said = fitted("numbers")
    table = summary_of("numbers").consensus
    np.testing.assert_allclose(table["consensus"], model.posterior_mean_, rtol=1e-5)
    np.testing.assert_allclose(table["std"], model.posterior_std_, atol=1e-6)
    item = int(np.flatnonzero(said.labels_per_item == 2)[0])
    mean = said.labels[said.label[said.item == item]].mean()
    assert table["vote"][item] == pytest.approx(mean, rel=1e-5)
    assert table["vote"][int(np.flatnonzero(~said.labelled)[0])] is None
    assert table["overruled"][item] == bool(abs(mean - model.posterior_mean_[item]) > 2 * model.posterior_std_[item])


def test_cases_say_who_is_trusted_and_what_the_features_say():
    model, X, said = fitted("classes")
    summary = summary_of("classes")
    cases = summary.answer["overruled"]
    assert cases
    for case in cases:
        row = case["item"]
        assert case["consensus"] != case["vote"]
        given = {
            a: said.labels[y]
            for a, y in zip(said.annotator[said.item == row], said.label[said.item == row], strict=True)
        }
        assert {voice["annotator"]: voice["label"] for voice in case["voices"]} == {
            NAMES[a]: label for a, label in given.items()
        }
        for voice in case["voices"]:
            right = model.expertise(X[[row]], annotators=[voice["annotator"]])[0, 0]
            assert voice["trust"] == pytest.approx(right, abs=1e-5)
        assert case["p_from_features"] == pytest.approx(model.predict_proba(X[[row]]).max(), abs=1e-5)
        assert f"said “{case['vote']}”" in case["why"]


def test_classes_are_balanced_as_the_consensus_is():
    model, X, said = fitted("classes")
    balance = summary_of("classes").answer["balance"]
    assert balance["class"] == ["no", "yes"]
    assert balance["items"] == [int((model.posterior_.argmax(axis=1) == k).sum()) for k in (0, 1)]
    assert sum(balance["share_of_labels"]) == pytest.approx(1)
    histogram = summary_of("classes").answer["histogram"]
    assert sum(histogram["labelled"]) == said.labelled.sum()
    assert sum(histogram["labelled"]) + sum(histogram["unlabelled"]) == len(X)


# --- annotators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES)
def test_annotators_are_ranked(kind):
    model, _, said = fitted(kind)
    table = summary_of(kind).annotators
    ranking = model.ranking()
    assert table["annotator"] == ranking.annotator.tolist()
    for name in ("expertise", "low", "high"):
        np.testing.assert_allclose(table[name], getattr(ranking, name), atol=1e-5)
    consensus = model.posterior_.argmax(axis=1)
    for t, share in zip(table["annotator"], table["agreement_with_consensus"], strict=True):
        mine = said.annotator == said.annotators.tolist().index(t)
        assert share == pytest.approx((said.label[mine] == consensus[said.item[mine]]).mean(), abs=1e-5)


def test_annotators_of_numbers_have_error_and_bias():
    model, X, said = fitted("numbers")
    table = summary_of("numbers").annotators
    error = np.sqrt((model.annotator_scale(X) ** 2).mean(axis=0))
    np.testing.assert_allclose(table["typical_error"], np.sort(error), rtol=1e-5)
    order = np.argsort(error)
    np.testing.assert_allclose(table["bias"], model.annotator_bias_[order], rtol=1e-5)
    for t, value in zip(order, table["agreement_with_consensus"], strict=True):
        mine = said.annotator == t
        pair = said.labels[said.label[mine]], model.posterior_mean_[said.item[mine]]
        assert value == pytest.approx(np.corrcoef(*pair)[0, 1], abs=1e-5)
    assert table["expertise"] == sorted(table["expertise"], reverse=True)


def test_severity_is_told_of_levels():
    model, _, said = fitted("levels")
    table = summary_of("levels").annotators
    place = [said.annotators.tolist().index(name) for name in table["annotator"]]
    np.testing.assert_allclose(table["severity"], model.annotator_severity_[place], rtol=1e-5)


def test_confusion_is_whole_if_it_can_be_read():
    model, _, _ = fitted("classes")
    for profile in summary_of("classes").profiles:
        np.testing.assert_allclose(profile["confusion"], model.confusion(profile["annotator"]), atol=1e-5)
    model, _, _ = fitted("many classes")
    profile = summary_of("many classes").profiles[0]
    assert profile["confusion"] is None
    matrix, worst = model.confusion(profile["annotator"]), profile["mistakes"][0]
    place = [model.classes_.tolist().index(worst[side]) for side in ("truth", "says")]
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    assert worst["share"] == pytest.approx(off.max(), abs=1e-5) == pytest.approx(matrix[tuple(place)], abs=1e-5)


def test_gold_measures_annotators():
    model, X, said = fitted("classes")
    gold = {item: "yes" for item in np.flatnonzero(said.labelled)[:30].tolist()}
    summary = summarize(model, X, said, gold=gold)
    assert summary.given["n_gold"] == 30
    table = summary.annotators
    for i, name in enumerate(table["annotator"]):
        mine = (said.annotator == NAMES.index(name)) & np.isin(said.item, list(gold))
        assert table["n_gold"][i] == mine.sum()
        assert table["right_on_gold"][i] == pytest.approx((said.label[mine] == 1).mean(), abs=1e-5)


def test_gold_is_marked_and_never_open():
    _, X, said = fitted("classes")
    plain = summary_of("classes")
    asked = [question["item"] for question in plain.ask["questions"]]
    disputed = [case["item"] for case in plain.adjudicate["disputed"] + plain.adjudicate["least_sure"]]
    gold = {item: "yes" for item in [*asked[:3], *disputed[:3], *disputed[-3:]]}
    summary = summarize(CrowdClassifier().fit(X, said, gold=gold), X, said, gold=gold)
    assert {item for item, known in enumerate(summary.consensus["gold"]) if known} == set(gold)
    listed = [*summary.ask["questions"], *summary.adjudicate["disputed"], *summary.adjudicate["least_sure"]]
    assert listed
    assert not {case["item"] for case in listed} & set(gold)
    for case in summary.answer["overruled"]:
        known = case["item"] in gold
        assert case.get("gold", False) == known
        assert (case["why"] == "The truth of this item is known (gold).") == known
    assert "gold" not in plain.consensus


def test_if_every_truth_is_known_nobody_is_asked():
    model, X, said = fitted("classes")
    summary = summarize(model, X, said, gold={item: "yes" for item in range(len(X))})
    assert summary.ask["questions"] == []
    assert summary.ask["why_no_more"] == "the truth of every item is known"
    assert not summary.answer["calibration"]["possible"]
    assert Summary.from_json(summary.to_json()) == summary


def test_gold_of_a_class_nobody_knows_is_refused():
    model, X, said = fitted("classes")
    with pytest.raises(ValueError, match="gold has labels that the model does not know: 'perhaps'"):
        summarize(model, X, said, gold={0: "perhaps"})


# --- agreement, what to do next --------------------------------------------------------------------


def test_agreement_is_that_of_insight():
    model, X, said = fitted("classes")
    found = summary_of("classes").agreement
    assert found["alpha"] == pytest.approx(krippendorff_alpha(said), abs=1e-5)
    assert found["percent"] == pytest.approx(percent_agreement(said), abs=1e-5)
    pairs = found["pairs"]
    for i, one in enumerate(pairs["annotators"]):
        for j, other in enumerate(pairs["annotators"]):
            expected = None if i == j else pytest.approx(cohen_kappa(said, one, other), abs=1e-5)
            assert pairs["value"][i][j] == expected
    several = said.labels_per_item > 1
    expected = expected_pairs(model, X[several], said[several])
    suspects = copying_suspects(said[several], model.posterior_[several], expected=expected)
    assert found["copying"]["n_suspects"] == len(suspects)


@pytest.mark.parametrize(("kind", "level"), [("levels", "ordinal"), ("numbers", "interval")])
def test_alpha_heeds_the_scale(kind, level):
    found = summary_of(kind).agreement
    assert found["alpha"] == pytest.approx(krippendorff_alpha(fitted(kind)[2], level), abs=1e-5)


def test_pairs_of_numbers_are_correlated():
    _, _, said = fitted("numbers")
    pairs, y = summary_of("numbers").agreement["pairs"], said.to_matrix()
    both = np.isfinite(y[:, 0]) & np.isfinite(y[:, 2])
    assert pairs["value"][0][2] == pytest.approx(np.corrcoef(y[both, 0], y[both, 2])[0, 1], abs=1e-5)
    assert pairs["n_items"][0][2] == both.sum()


def test_one_annotator_has_nobody_to_agree_with():
    summary = summary_of("alone")
    assert not summary.agreement["possible"]
    assert "only one annotator" in summary.given["warnings"][0]


def test_least_sure_items_come_first():
    model, _, said = fitted("classes")
    found = summary_of("classes").adjudicate
    labelled = np.flatnonzero(said.labelled)
    expected = labelled[np.argsort(model.posterior_.max(axis=1)[labelled], kind="stable")]
    listed = [case["item"] for case in found["least_sure"]]
    assert listed == expected[: len(listed)].tolist()
    assert len(listed) >= 3
    for case in found["disputed"]:
        assert len({voice["label"] for voice in case["voices"]}) > 1


def test_questions_are_those_of_suggest():
    model, X, said = fitted("classes")
    costs = {"anna": 1.0, "bruno": 2.0, "chloe": 4.0}
    asked = model.suggest(X, said, 20, costs=costs)
    questions = summarize(model, X, said, costs=costs).ask["questions"]
    assert [(q["item"], q["annotator"], q["cost"]) for q in questions] == list(
        zip(asked.item.tolist(), asked.annotator.tolist(), asked.cost.tolist(), strict=True)
    )
    np.testing.assert_allclose([q["information"] for q in questions], asked.information, atol=1e-5)


def test_questions_about_numbers_are_worth_their_bits():
    model, X, said = fitted("numbers")
    first = summary_of("numbers").ask["questions"][0]
    bits = 0.5 * np.log2(1 + (model.posterior_std_[:, None] / model.annotator_scale(X)) ** 2)
    bits[said.item, said.annotator] = 0
    assert first["information"] == pytest.approx(bits.max(), abs=1e-5)
    assert (first["item"], first["annotator"]) == tuple(np.unravel_index(bits.argmax(), bits.shape))


# --- what the user gives ---------------------------------------------------------------------------


def test_ids_features_and_progress():
    model, X, said = fitted("classes")
    steps = []
    ids = [f"slide {i}" for i in range(len(X))]
    summary = summarize(model, X, said, ids=ids, notes=["read as CSV"], progress=lambda *step: steps.append(step))
    assert summary.consensus["item"] == ids
    assert summary.given["notes"] == ["read as CSV"]
    assert [done for done, _ in steps] == list(range(1, steps[-1][1] + 1))
    assert summary.map["axes"][0]["features"][0].startswith("feature ")


def test_dataframes_name_their_features():
    X, said = split_crowd(80)
    frame = pd.DataFrame(X, columns=FEATURES)
    summary = summarize(CrowdClassifier().fit(frame, said), frame, said)
    assert summary.map["axes"][0]["features"] == ["depth", "width"] or summary.map["axes"][0]["features"] == [
        "width",
        "depth",
    ]


def test_matrices_will_do():
    X, said = split_crowd(60)
    y = (said.to_matrix() == "yes").astype(float)
    y[said.to_matrix() == None] = np.nan  # noqa: E711
    summary = summarize(CrowdClassifier().fit(X, y), X, y)
    assert summary.given["n_labels"] == said.n_annotations


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((3, 2))}, "it had 240 items, X has 3 rows"),
        ({"ids": ["a"]}, "one entry for each of the 240 items; got 1"),
        ({"features": ["depth"]}, "each of the 2 columns of X; got 1"),
        ({"text": ["a", "b"]}, "text= must have one entry for each of the 240 items"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    model, X, said = fitted("classes")
    with pytest.raises(ValueError, match=message):
        summarize(model, **({"X": X, "y": said} | change))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[1]", "something else"),
        ('{"whoknows_summary": 99}', "format 99; this version of whoknows reads format 1"),
        ('{"whoknows_summary": 1, "given": {}}', "incomplete: answer, consensus"),
    ],
)
def test_other_json_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Summary.from_json(text)


def test_ids_that_are_large_numbers_stay_apart():
    ids = [10000001.0, 10000002.0, 0.1 + 0.2]
    assert json_ids(np.array(ids)) == ids
    assert json_ids([float("nan"), (1, 2)]) == [None, "(1, 2)"]


def test_amounts_keep_their_digits_whatever_their_size():
    values = np.array([13345786.333333333, 1.7e9 + 1, 2.5e-9, np.nan])
    assert amounts(values) == [13345786.3333, 1700000001.0, 2.5e-9, None]
