"""Checks of what a model file holds: a model is assembled only from values that `save` could have written.

Every field of every class has a type: that of the dataclass, or that in `ESTIMATOR_FIELDS`. An assembled
model is then checked as a whole: its parts agree in shape, and it predicts finite numbers.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral, Real
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids
from whoknows.estimators.auto.ensemble import AutoCrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.regressor import CrowdRegressor
from whoknows.model.annotators.population import Population
from whoknows.model.settings import NotCompatible, Settings

SAME_HASH = 100  # ids that may share one: Python ints of a kind do on purpose only, and look-ups take forever

_DATA = (str, Real, NoneType, list, tuple, np.ndarray)
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("truth", "annotators", "map"), str | Settings),
    "annotator_map": str | Settings | None,
    "solver": str,
    "max_iter": int,
    "tol": float,
    "standardize": bool | str,
    "random_state": int | None,
}
# What a file holds of a fit: all other attributes of an estimator follow from it.
FITTED_FIELDS: dict[type, dict[str, Any]] = {
    CrowdClassifier: {"_pair": FittedPair, "_training_data": TrainingData, "posterior_": Array},
    CrowdRegressor: {
        **{"_pair": FittedPair, "annotators_": Ids, "posterior_mean_": Array, "posterior_std_": Array}
    },
    AutoCrowdClassifier: {
        **{"pairs_": list[FittedPair], "selection_": Selection, "_seed": int},
        **{"_training_data": TrainingData, "posterior_": Array},
    },
}
ESTIMATOR_FIELDS: dict[type, dict[str, Any]] = {
    CrowdClassifier: {
        **_SETTINGS,
        **{"stop": str, "levels": str | list[Any] | tuple[Any, ...] | Ids | None, "warm_start": bool},
    },
    CrowdRegressor: _SETTINGS,
    AutoCrowdClassifier: {
        **{name: _SETTINGS[name] for name in ("max_iter", "tol", "random_state")},
        **{"selection": bool, "folds": int, "members": list[Member] | None},
    },
}
for _cls, _fields in FITTED_FIELDS.items():
    ESTIMATOR_FIELDS[_cls] = ESTIMATOR_FIELDS[_cls] | _fields | {"feature_names_in_": Ids}
_MAY_BE_NAN = {
    *("gold", "varying", "parts", "graph", "recall", "history"),  # unknown, or not computed
    *("on_truth", "on_labelled", "log_lik", "counts", "log_truth", "log_labels", "log_given"),
}
# Shapes of the arrays of a class: fields of one object have the same length where they have the same letter.
_SHAPES = {
    "Annotations": "item n, annotator n, label n, confidence n, items i, annotators a, labels c",
    "TrainingData": "gold n, weight n",
    "Items": "X_truth nf, X_annotators np, gold n, weight n",
    "Scale": "roots d, mean d, width d",
    "LinearFeatures": "matrix df",
    "RbfFeatures": "nodes nd, root nf, centre f",
    "SpectralFeatures": "basis nf, eigenvalues f, centre f",
    "ClusterFeatures": "centres fd, centre f",
    "LogisticTruth": "_precision ff",
    "OrderedTruth": "_precision ff",
    "LinearTruth": "_precision ff",
    "CrowdBelief": "mean ap, covariance app, crowd_mean p, crowd_variance p, shape g, rate g, active a",
    "Covariances": "truth cff, annotators app",
    "CrossFitBelief": "items nf, held_out nc, says nc",
    "LinearBelief": "mean f, covariance ff, items nf, evidence.precision n",
    "GaussianPosterior": "mean n, variance n, weight n",
    "AnchoredPosterior": "mean n, variance n, weight n, items nd",
    "QuadraticEvidence": "precision n, pull n, constant n, weight n",
    "Selection": "weights m, on_truth m, on_labelled m, log_lik nm, counts n",
    "HeldOutScores": "log_truth nmc, log_labels nmc, log_given lm, weight n, label_weight l",
    "AnchoredGraph": "anchors kd, sums.by_anchor kd",
    "AnchorSums": "total d, gram dd, by_anchor kd, mass k, joint kk",
    "AnchorField": "precision kk, graph.anchors kd",
    "ItemField": "covariance nn, near nk, graph.nodes nd",
    "_GaussianWeights": "Phi nn, nodes nd, root dd",
    "_KnnWeights": "Phi nn, nodes nd, scale n",
    "_GivenWeights": "Phi nn, nodes nd",
    "GaussianGraph": "metric dd",
}
_KINDS = {np.float64: "biuf", np.bool_: "b", np.int32: "i", np.int64: "i"}  # other arrays hold ids


# --- one field --------------------------------------------------------------------------------------


def fields_of(cls: type) -> dict[str, Any]:
    """Type of each field that a file may hold of a class of models, by name."""
    return ESTIMATOR_FIELDS[cls] if cls in ESTIMATOR_FIELDS else get_type_hints(cls)


def check_field(cls: type, name: str, value: Any) -> None:
    """Refuse a value that is not of the type of its field, or not finite."""
    if not _fits(value, fields_of(cls)[name]):
        raise ValueError(f"{cls.__name__} has no place for {_words(value)} as {name!r}")
    if name not in _MAY_BE_NAN and not _is_finite(value):
        raise ValueError(f"{name!r} of {cls.__name__} holds a number that is missing or infinite")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; protocols and ``Any`` admit whatever models are made of."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _kinds(parts[1])
    if origin is list or (origin is tuple and Ellipsis in parts):
        return type(value) is origin and all(_fits(each, parts[0]) for each in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(parts) and all(map(_fits, value, parts))
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint is Any:
        return True
    if getattr(hint, "_is_protocol", False):
        return not isinstance(value, (*_DATA, sp.sparray, sp.spmatrix))
    return isinstance(value, hint)


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


def check_ids(values: list[Any]) -> None:
    """Refuse ids that were made to share a hash: look-ups would compare each with all others."""
    (_, most), *_ = Counter(map(hash, values)).most_common(1) or [(0, 0)]
    if most > SAME_HASH:
        raise ValueError(f"{most} ids share one hash")


# --- one object -------------------------------------------------------------------------------------


def check_object(made: Any) -> None:
    """Refuse settings out of range, arrays of wrong shapes, and labels that refer to nothing."""
    _check_shapes(made)
    if isinstance(made, Settings) and not isinstance(made, Population):
        made.check()
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    if isinstance(made, Annotations):
        _check_annotations(made)


def _check_shapes(made: Any) -> None:
    lengths: dict[str, int] = {}
    for name, letters in map(str.split, filter(None, _SHAPES.get(type(made).__name__, "").split(","))):
        shape = getattr(attrgetter(name)(made), "shape", None)  # None and plain numbers have none
        if shape is not None:
            agree = len(shape) == len(letters) and all(
                lengths.setdefault(letter, n) == n for letter, n in zip(letters, shape, strict=True)
            )
            _expect(agree, f"{name!r} of {type(made).__name__} is of shape {shape}")


def _check_annotations(said: Annotations) -> None:
    codes = [(said.item, said.items, 0), (said.annotator, said.annotators, -1), (said.label, said.labels, 0)]
    for code, ids, least in codes:
        within = not code.size or (code.min() >= least and code.max() < len(ids))
        _expect(within, "a label of an item, annotator or class that is not there")
        _expect(len(set(ids.tolist())) == len(ids), "an item, annotator or class that is there twice")
    _expect(said.confidence is None or bool((said.confidence >= 0).all()), "confidences below 0")


# --- the whole model --------------------------------------------------------------------------------


def check_model(model: Any) -> None:
    """Refuse a model whose parts do not agree with each other, or that predicts no finite numbers."""
    if type(model) not in FITTED_FIELDS:
        raise ValueError(f"the last object is {type(model).__name__}, no model")
    _expect(model.n_features_in_ >= 1 and len(model.annotators_) >= 1, "no features or annotators")
    names = getattr(model, "feature_names_in_", None)
    _expect(names is None or names.shape == (model.n_features_in_,), "wrong number of feature names")
    for pair in _pairs(model):
        _check_pair(pair, model)
    if isinstance(model, CrowdRegressor):
        mean, std = model.posterior_mean_, model.posterior_std_
        _expect(mean.ndim == 1 and mean.shape == std.shape and (std >= 0).all(), "a wrong posterior")
    else:
        _check_classifier(model)
    if isinstance(model, AutoCrowdClassifier):
        weights, n_members = model.weights_, len(model.pairs_)
        _expect(n_members == len(model.selection_.members) >= 1, "as many members as were selected")
        _expect(weights.shape == (n_members,) and _are_probabilities(weights), "wrong weights of members")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _check_predictions(model)


def _pairs(model: Any) -> list[FittedPair]:
    return model.pairs_ if isinstance(model, AutoCrowdClassifier) else [model._pair]


def _check_pair(pair: FittedPair, model: Any) -> None:
    """Check that the parts of a pair agree with each other, and with the estimator that holds it."""
    scale, n_annotators = pair.prepared.preprocessing.scale, len(model.annotators_)
    _expect(scale.mean.shape == (model.n_features_in_,), "preprocessing of other features")
    _expect(bool((scale.width > 0).all()), "a scale that is not above 0")
    mean, covariance = pair.solution.annotators.mean, pair.solution.annotators.covariance
    _expect(mean.ndim == 2 and len(mean) == n_annotators + 1, "parameters of another number of annotators")
    shape = (*mean.shape, mean.shape[1])
    _expect(covariance is None or covariance.shape == shape, f"a covariance that is not of shape {shape}")
    crowd, spread = pair.solution.crowd, pair.covariances
    _expect(crowd is None or crowd.mean.shape == (n_annotators, mean.shape[1]), "a crowd of other annotators")
    _expect(spread is None or len(spread.annotators) == n_annotators + 1, "covariances of other annotators")
    _expect((pair.prepared.units is not None) == isinstance(model, CrowdRegressor), "labels of another kind")
    precision, typical = getattr(pair.prepared.model.truth, "_precision", None), pair.typical
    if typical is not None:
        _expect(len(typical.X_truth) == len(typical.Y.items), "typical items of unequal number")
        n_features = typical.X_truth.shape[1]
        _expect(precision is None or len(precision) == n_features, "a prior of another number of features")
    elif precision is not None:
        _expect(len(precision) == len(pair.solution.truth.mean), "a prior of another number of features")
    for piece in (pair.prepared.model.truth, pair.prepared.model.annotators):
        K = getattr(piece, "_n_classes", None)
        _expect(K is None or len(model.classes_) == K, "a model of another number of classes")


def _check_classifier(model: Any) -> None:
    data, n_classes = model._training_data, len(model.classes_)
    n_items = len(data.annotations.items)
    posterior = getattr(model, "posterior_", None)  # members of an ensemble have none
    right = posterior is None or (posterior.shape == (n_items, n_classes) and _are_probabilities(posterior))
    _expect(right, f"a posterior that is not of {n_items} items and {n_classes} classes")
    for values in (data.gold, data.weight):
        _expect(values is None or values.shape == (n_items,), "gold or weights of other items")
    known = np.empty(0) if data.gold is None else data.gold[~np.isnan(data.gold)]
    _expect(bool(np.isin(known, range(n_classes)).all()), "gold of a class that is not there")
    _expect(data.weight is None or bool((data.weight >= 0).all()), "weights below 0")


def _check_predictions(model: Any) -> None:
    """Ask for everything that a model predicts, of one item: arrays that do not fit show here."""
    X = _pairs(model)[0].prepared.preprocessing.scale.mean[None]
    if isinstance(model, CrowdRegressor):
        for answer in (*model.predict(X, return_std=True), model.annotator_scale(X)):
            _expect(len(answer) == 1 and _is_finite(np.asarray(answer)), "predictions that are not finite")
        return
    answers: list[tuple[Callable[[], Any], tuple[int, ...]]] = [
        (lambda: model.predict_proba(X), (1, len(model.classes_))),
        (lambda: model.expertise(X), (1, len(model.annotators_))),
        (lambda: model.predict_proba(X, return_interval=True)[1], (1, len(model.classes_))),
        (lambda: model.expertise(X, return_interval=True)[1], (1, len(model.annotators_))),
        (lambda: model.ranking().expertise, (len(model.annotators_),)),
    ]
    for ask, shape in answers:
        with suppress(NotCompatible):  # a model of this kind has no such answer
            answer = np.asarray(ask())
            _expect(answer.shape[: len(shape)] == shape and _is_finite(answer), "wrong predictions")


def _are_probabilities(values: NDArray[Any]) -> bool:
    """Whether numbers are 0 or more and sum to 1 over the last axis."""
    return bool((values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-3))


def _expect(holds: Any, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"its parts do not agree: {otherwise}")
