"""Checks of what a model file holds: a model is assembled only from values that `save` could have written.

Every field of every class has a type: that of the dataclass, or that in `ESTIMATOR_FIELDS`. An assembled
model is then checked: its parts agree in shape, and its predictions are finite.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids
from whoknows.estimators.auto.ensemble import AutoCrowdClassifier
from whoknows.estimators.auto.reading import most_telling
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.boosted_trees import N_BITS, Trees
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.reading import Reading
from whoknows.estimators.regressor import CrowdRegressor
from whoknows.fit.solve import SOLVERS
from whoknows.model.annotators.population import Population
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.protocols import ItemEffectAnnotators, supports
from whoknows.model.settings import NotCompatible, Settings

_DATA = (str, Real, NoneType, list, tuple, np.ndarray, sp.sparray, sp.spmatrix)
_SCALARS: dict[Any, Any] = {int: Integral, float: Real, bool: (bool, np.bool_)}
# Types of settings in a file, where the estimators accept more.
_SETTINGS: dict[str, Any] = {
    "truth": str | Settings | BaseEstimator,
    **dict.fromkeys(("annotators", "map"), str | Settings),
    "annotator_map": str | Settings | None,
    "random_state": int | None,
    "groups": dict | None,
    "levels": str | list[Any] | tuple[Any, ...] | Ids | None,
}
_NOT_SAVED = {"engine", "device"}  # where a model was fitted
_NOT_IN_ALL = {"posterior_", "_reading", "worse_than_chance_"}  # members and older files have none
# What a file holds of a fit: all other attributes of an estimator follow from it.
FITTED_FIELDS: dict[type, dict[str, Any]] = {
    CrowdClassifier: {
        **{"_pair": FittedPair, "_training_data": TrainingData, "posterior_": Array},
        "worse_than_chance_": dict,
    },
    CrowdRegressor: {**{"_pair": FittedPair, "annotators_": Ids, "posterior_mean_": Array, "posterior_std_": Array}},
    AutoCrowdClassifier: {
        **{"pairs_": list[FittedPair], "selection_": Selection, "_seed": int},
        **{"_training_data": TrainingData, "posterior_": Array, "_reading": Reading, "worse_than_chance_": dict},
    },
}
ESTIMATOR_FIELDS = {
    cls: {
        field.name: _SETTINGS.get(field.name, get_type_hints(cls)[field.name])
        for field in fields(cls)
        if field.name not in _NOT_SAVED
    }
    | {"feature_names_in_": Ids, **fitted}
    for cls, fitted in FITTED_FIELDS.items()
}
_MAY_BE_NAN = {
    *("gold", "varying", "parts", "graph", "recall", "history"),  # unknown, or not computed
    *("on_truth", "on_labelled", "log_lik", "counts", "log_truth", "log_labels", "log_given"),
}
_ABOVE_ZERO = {"variance", "crowd_variance", "rate", "width", "noise"}
_LARGEST_VARIANCE = 1e12  # of a truth in units of 1
_LARGEST_EFFECT = 100.0  # on log-odds, that labels of an item share
_LARGEST_LABEL = 1e100  # in units in which labels have variance 1
# Shapes of the arrays of a class and of its parts: axes with the same letter have the same length.
_CLASSIFIER = "classes_ c, posterior_ nc, _training_data.annotations.items n"
_SHAPES = {
    "CrowdClassifier": _CLASSIFIER,
    "AutoCrowdClassifier": _CLASSIFIER,
    "CrowdRegressor": "posterior_mean_ n, posterior_std_ n",
    "FittedPair": "solution.annotators.mean ap, solution.annotators.covariance app, solution.crowd.mean tp, "
    "covariances.annotators aqq, typical.X_truth nf, typical.Y.items n, prepared.model.truth._precision ff",
    "Annotations": "item n, annotator n, label n, confidence n, items i, annotators a, labels c",
    "TrainingData": "annotations.items n, gold n, weight n",
    "Items": "X_truth nf, X_annotators np, gold n, weight n",
    "Scale": "roots d, mean d, width d",
    "LinearFeatures": "matrix df",
    "RbfFeatures": "nodes nd, root nf, centre f",
    "SpectralFeatures": "basis nf, eigenvalues f, centre f",
    "ClusterFeatures": "centres fd, centre f",
    "ClassifierFeatures": "keys n, held_out no",
    "Trees": "tree n, feature n, threshold n, first n, last n, values tl, start o",
    "TableEncoding": "medians d, is_number d",
    "SparseEncoding": "components fd",
    "TextFeatures": "idf t, components ft",
    "CrowdBelief": "mean ap, covariance app, crowd_mean p, crowd_variance p, shape g, rate g, active a",
    "GoldCorrection": "weight m, of_model m, of_classifier m, of_votes mt, bias mk, single m",
    "Covariances": "truth cff, annotators aqq",
    "CrossFitBelief": "items nf, held_out nc, says nc",
    "LinearBelief": "mean f, covariance ff, items nf, evidence.precision n, joint jj",
    "LabelsByAnnotator": "precision na, pull na",
    "GaussianPosterior": "mean n, variance n, weight n",
    "AnchoredPosterior": "mean n, variance n, weight n, items nd",
    "QuadraticEvidence": "precision n, pull n, constant n, weight n, by_annotator.precision na",
    "Selection": "weights m, on_truth m, on_labelled m, log_lik nm, counts n, of_gold gc",
    "HeldOutScores": "log_truth nmc, log_labels nmc, log_given lm, weight n, label_weight l, gold n",
    "AnchoredGraph": "anchors kd, sums.by_anchor kd",
    "AnchorSums": "total d, gram dd, by_anchor kd, mass k, joint kk",
    "AnchorField": "precision kk, graph.anchors kd",
    "ItemField": "covariance nn, graph.nodes nd",
    "_GaussianWeights": "Phi nn, nodes nd, root dd",
    "_KnnWeights": "Phi nn, nodes nd, scale n",
    "_GivenWeights": "Phi nn, nodes nd",
    "GaussianGraph": "metric dd",
}
_KINDS = {np.float64: "biuf", np.bool_: "b", np.int32: "i", np.int64: "i"}  # other arrays hold ids


# --- one field --------------------------------------------------------------------------------------


@cache
def field_types(cls: type) -> dict[str, Any]:
    """Type of each field that a file holds of a class, by name; of a sparse matrix it is checked later."""
    if cls in ESTIMATOR_FIELDS:
        return ESTIMATOR_FIELDS[cls]
    if not is_dataclass(cls):
        return dict.fromkeys(("data", "indices", "indptr", "shape"), Any)
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def check_field(cls: type, name: str, value: Any) -> None:
    """Refuse a field that a class does not have, or a value not of its type, or not finite."""
    types = field_types(cls)
    if name not in types:
        raise ValueError(f"{cls.__name__} has no place for {name!r}")
    if not _fits(value, types[name]):
        raise ValueError(f"{cls.__name__} has no place for {_words(value)} as {name!r}")
    if name not in _MAY_BE_NAN and not _is_finite(value):
        raise ValueError(f"{name!r} of {cls.__name__} holds a number that is missing or infinite")
    if name in _ABOVE_ZERO and value is not None and not (np.asarray(value) > 0).all():
        raise ValueError(f"{name!r} of {cls.__name__} holds a number that is not above 0")
    if name == "variance" and np.ndim(value) > 0 and (value > _LARGEST_VARIANCE).any():  # of items, no setting
        raise ValueError(f"{name!r} of {cls.__name__} holds a variance that is too large")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; protocols and ``Any`` admit all objects that models have."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _kinds(parts[1])
    if origin is list or (origin is tuple and Ellipsis in parts):
        return type(value) is origin and all(_fits(each, parts[0]) for each in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(parts) and all(map(_fits, value, parts))
    if hint in _SCALARS:
        return isinstance(value, _SCALARS[hint]) and (hint is bool or not isinstance(value, bool))
    if getattr(hint, "_is_protocol", False):
        return not isinstance(value, _DATA)
    return hint is Any or isinstance(value, hint)


def _kinds(dtype: Any) -> str:
    scalar = (*get_args(dtype), Any)[0]
    return _KINDS.get(scalar, "biufUO")


def _is_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    numbers = value.data if sp.issparse(value) else value
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind != "f":
        return True
    return not isinstance(numbers, (float, np.floating, np.ndarray)) or bool(np.isfinite(numbers).all())


def _words(value: Any) -> str:
    array = isinstance(value, np.ndarray)
    return f"an array of {value.dtype}" if array else f"{type(value).__name__} {str(value)[:40]!r}"


# --- one object -------------------------------------------------------------------------------------


def check_fitted_fields(model: Any) -> None:
    """Refuse an estimator without what it learned."""
    required = FITTED_FIELDS[type(model)].keys() - _NOT_IN_ALL
    missing = sorted(required - vars(model).keys())
    if missing:
        raise ValueError(f"{type(model).__name__} lacks {missing[0]!r}")


def check_object(made: Any) -> None:
    """Refuse settings out of range, arrays of wrong shapes, and labels that refer to nothing."""
    _check_shapes(made)
    if isinstance(made, Settings) and not isinstance(made, Population):  # it may be a fitted one
        made.check()
    if isinstance(made, Belief):
        _check_belief(made)
    if isinstance(made, Annotations):
        _check_annotations(made)
    if isinstance(made, Trees):
        _check_trees(made)


def _check_belief(belief: Belief) -> None:
    """Refuse a covariance of other coefficients: of annotators, one each; of the truth, one for all."""
    shape = None if belief.covariance is None else belief.covariance.shape
    n_rows, n_columns = len(belief.mean), belief.mean.shape[-1]
    _expect(shape in (None, (n_rows, n_columns, n_columns), (n_rows, n_rows)), "a covariance of other coefficients")


def _check_trees(trees: Trees) -> None:
    """Refuse nodes of no tree, and leaves that a tree cannot have."""
    n_trees, n_bits = trees.values.shape
    _expect(n_bits == N_BITS and len(trees.start), "trees with another number of leaves")
    within = (trees.tree >= 0) & (trees.tree < n_trees) & (trees.feature >= 0)
    ordered = (trees.first >= 0) & (trees.first < trees.last) & (trees.last < n_bits)
    _expect((within & ordered).all(), "nodes of no tree")


def _check_shapes(made: Any) -> None:
    lengths: dict[str, int] = {}
    for path, letters in map(str.split, filter(None, _SHAPES.get(type(made).__name__, "").split(","))):
        part = reduce(lambda part, name: getattr(part, name, None), path.split("."), made)
        shape = getattr(part, "shape", None)  # None and plain numbers have none
        if shape is not None:
            agree = len(shape) == len(letters) and all(
                lengths.setdefault(letter, n) == n for letter, n in zip(letters, shape, strict=True)
            )
            _expect(agree, f"{path!r} of {type(made).__name__} is of shape {shape}")


def _check_annotations(Y: Annotations) -> None:
    for code, ids, least in ((Y.item, Y.items, 0), (Y.annotator, Y.annotators, -1), (Y.label, Y.labels, 0)):
        within = not code.size or (code.min() >= least and code.max() < len(ids))
        _expect(within, "a label of an item, annotator or class that is not there")
        _expect(len(set(ids.tolist())) == len(ids), "an item, annotator or class that is there twice")
    _expect(Y.confidence is None or (Y.confidence >= 0).all(), "confidences below 0")


# --- the model --------------------------------------------------------------------------------------


def check_model(model: Any) -> Any:
    """Return the model; refuse one whose parts do not agree, or whose predictions are not finite."""
    if type(model) not in FITTED_FIELDS:
        raise ValueError(f"the last object is {type(model).__name__}, no model")
    _expect(model.n_features_in_ >= 1 and len(model.annotators_) >= 1, "no features or annotators")
    names = getattr(model, "feature_names_in_", None)
    _expect(names is None or names.shape == (model.n_features_in_,), "wrong number of feature names")
    pairs = model.pairs_ if type(model) is AutoCrowdClassifier else [model._pair]
    for pair in pairs:
        _check_pair(pair, model)
    if type(model) is not CrowdRegressor:
        _check_classifier(model)
    if type(model) is AutoCrowdClassifier:
        _expect(len(pairs) == len(model.selection_.members) == len(model.weights_), "a wrong number of members")
        _expect(_are_probabilities(model.weights_), "wrong weights of members")
        _check_reading(vars(model).get("_reading"), model, pairs[most_telling(model.selection_)])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if type(model) is CrowdRegressor:
            _check_regressor(model)
        _check_predictions(model, pairs[0])
    return model


def _check_pair(pair: FittedPair, model: Any) -> None:
    """Check that the parts of a pair agree with each other, and with the estimator that holds it."""
    _check_shapes(pair)
    preprocessing, n_annotators = pair.prepared.preprocessing, len(model.annotators_)
    _expect(preprocessing.n_features == model.n_features_in_, "preprocessing of other features")
    _expect(pair.solution.solver in SOLVERS, "a solver that is not known")
    crowd, belief = pair.solution.crowd, pair.solution.annotators
    _expect(len(belief.mean) == n_annotators + 1, "parameters of another number of annotators")
    _expect(crowd is None or len(crowd.mean) == n_annotators, "a crowd of other annotators")
    _check_reading(pair.reading, model, pair)
    _check_effects(pair.prepared.model.annotators, n_annotators)
    is_regressor = type(model) is CrowdRegressor
    _expect((pair.prepared.units is not None) == is_regressor, "labels of another kind")
    for piece in () if is_regressor else (pair.prepared.model.truth, pair.prepared.model.annotators):
        K = getattr(piece, "_n_classes", len(model.classes_))  # pieces of a fixed number have none
        _expect(len(model.classes_) == K, "a model of another number of classes")


def _check_reading(reading: Reading | None, model: Any, pair: FittedPair) -> None:
    """Check that labels are read by a model of these annotators and classes, and corrected by weighed candidates.

    ``pair`` has the features of a classifier that gold taught.
    """
    if reading is None:
        return
    n_annotators, correction, classifier = len(model.annotators_), reading.correction, reading.classifier
    _expect(0 <= reading.doubt <= 1 and 0 <= reading.share <= 1, "a probability that is none")
    for source in filter(None, (reading.source, reading.rest)):
        _expect(len(source.solution.annotators.mean) == n_annotators + 1, "labels read by other annotators")
        _expect(source.solution.solver in SOLVERS, "a solver that is not known")
        _check_effects(source.model.annotators, n_annotators)
    if correction is not None:
        same = correction.of_votes.shape[1] == n_annotators
        _expect(same and correction.single.max() < n_annotators, "a correction of other annotators")
        _expect(correction.bias.shape[1] == len(model.classes_), "a correction of other classes")
        _expect(_are_probabilities(correction.weight), "wrong weights of corrections")
    if classifier is not None:
        same = pair.typical.X_truth.shape[1] == len(classifier.weights)
        _expect(correction is not None and same, "a classifier of other features")
        _expect(classifier.weights.shape[1] == len(model.classes_), "a classifier of other classes")


def _check_effects(annotators: Any, n_annotators: int) -> None:
    """Check what annotators who err together share: groups, and sizes of effects."""
    if not supports(annotators, ItemEffectAnnotators):
        return
    group, n_rows = annotators.group, n_annotators + 1
    _expect(group is None or (len(group) == n_rows and min(group) >= 0 and max(group) < n_rows), "groups of others")
    for size in (annotators._item_effect, annotators._group_effect):
        same = np.ndim(size) == 0 or np.shape(size) == (n_rows,)
        _expect(same and np.max(np.abs(size)) <= _LARGEST_EFFECT, "effects of other annotators, or too large")


def _check_classifier(model: Any) -> None:
    data, n_classes = model._training_data, len(model.classes_)
    posterior = getattr(model, "posterior_", None)  # members of an ensemble have none
    _expect(posterior is None or _are_probabilities(posterior), "a posterior of no probabilities")
    known = np.empty(0) if data.gold is None else data.gold[~np.isnan(data.gold)]
    _expect(np.isin(known, range(n_classes)).all(), "gold of a class that is not there")
    _expect(data.weight is None or (data.weight >= 0).all(), "weights below 0")


def _check_regressor(model: CrowdRegressor) -> None:
    """Check that weights and covariances are those that the training items and their evidence lead to."""
    _expect((model.posterior_std_ >= 0).all(), "a negative standard deviation")
    truth, state = model._pair.prepared.model.truth, model._pair.solution.truth
    _check_evidence(state.evidence)
    xi, X = truth.parameters(state), state.items
    again = truth.state(xi, truth.posterior(xi, X, state.evidence), state.evidence, X)
    np.linalg.cholesky(truth.precision)
    _expect((state.joint is None) == (again.joint is None), "biases of other annotators")
    mean, width = again.mean, np.sqrt(np.diag(again.of_all))
    _expect(np.allclose(state.mean, mean, rtol=1e-3, atol=1e-3 * np.abs(mean).max()), "weights of other items")
    for kept, due in ((state.covariance, again.covariance), (state.of_all, again.of_all)):
        scale = np.outer(width, width)[: len(due), : len(due)]
        _expect((np.abs(kept - due) <= 1e-3 * scale).all(), "a covariance of other items")


def _check_evidence(evidence: QuadraticEvidence) -> None:
    """Check that labels have positive weights, and that what annotators said adds up to the evidence."""
    labels, counts = evidence.by_annotator, evidence.weight
    _expect((evidence.precision >= 0).all() and (counts is None or (counts >= 0).all()), "labels of negative weight")
    if labels is None:
        return
    each, pull = labels.precision, labels.pull
    _expect((each.data >= 0).all() and labels.bias_precision > 0, "labels of negative weight")
    _expect((np.abs(pull.data) <= _LARGEST_LABEL * each.data).all(), "labels that are too large")
    same_places = np.array_equal(each.indices, pull.indices) and np.array_equal(each.indptr, pull.indptr)
    rest, pull_of_rest = evidence.precision - each.sum(axis=1), evidence.pull - pull.sum(axis=1)  # of gold
    tolerance = 1e-6 * (1 + abs(pull).sum(axis=1) + evidence.precision)
    adds_up = (rest >= -tolerance).all() and (
        np.abs(pull_of_rest[rest <= tolerance]) <= tolerance[rest <= tolerance]
    ).all()
    _expect(same_places and adds_up, "labels that are not those of the annotators")


def _check_predictions(model: Any, pair: FittedPair) -> None:
    """Predict everything for one item: arrays that do not fit together fail here."""
    T, preprocessing = len(model.annotators_), pair.prepared.preprocessing
    X = preprocessing.scale.mean[None]
    if type(model) is CrowdRegressor:
        _check_answer((2, 1), lambda: model.predict(X, return_std=True))
        _check_answer((1, T), lambda: model.annotator_scale(X))
        return
    K, one = len(model.classes_), pair.typical[:1]
    if getattr(preprocessing, "encoding", None) is not None:  # X may be a table or a text
        _check_answer((1, K), lambda: pair.prob(one))
        _check_answer((1, T), lambda: pair.expertise(one, np.arange(T)))
        return
    _check_answer((1, K), lambda: model.predict_proba(X))
    _check_answer((1, T), lambda: model.expertise(X))
    _check_answer((3, 1, K), lambda: model.predict_proba(X, return_interval=True))
    _check_answer((3, 1, T), lambda: model.expertise(X, return_interval=True))
    _check_answer((T,), lambda: model.ranking().expertise)


def _check_answer(shape: tuple[int, ...], ask: Callable[[], Any]) -> None:
    with suppress(NotCompatible):  # a model of this kind has no such answer
        answer = np.asarray(ask())
        _expect(answer.shape == shape and np.isfinite(answer).all(), "wrong predictions")


def _are_probabilities(values: NDArray[Any]) -> bool:
    """Whether numbers are 0 or more and sum to 1 over the last axis."""
    return bool((values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-3))


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"its parts do not agree: {otherwise}")
