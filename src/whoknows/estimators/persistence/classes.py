"""The classes that a model file may hold, their fields, and how objects are assembled from them.

Nothing else is ever assembled from a file. Files of version 0.1 have other names of classes and fields, and
estimators without a fitted pair; `upgraded` translates them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import scipy.sparse as sp

from whoknows.data import annotations
from whoknows.estimators import boosted_trees, gold_classifier, prepared_model, reading
from whoknows.estimators.auto import members, selection
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs import any_classifier, encoding, preprocessing, training_data
from whoknows.estimators.persistence.checks import (
    ESTIMATOR_FIELDS,
    check_field,
    check_fitted_fields,
    check_object,
    field_types,
)
from whoknows.estimators.prepared_model import LabelUnits
from whoknows.fit import items, laplace, solve
from whoknows.fit.objective import Model
from whoknows.io.texts import TextFeatures
from whoknows.model import annotators, evidence, gaussian, gold, graph, maps, posterior, truth
from whoknows.model.annotators import population
from whoknows.model.settings import Settings
from whoknows.model.truth import linear, logistic

ESTIMATORS = tuple(ESTIMATOR_FIELDS)
_SPARSE = (sp.csr_array, sp.csr_matrix)
_DATA = (
    *(annotations.Annotations, training_data.TrainingData, items.Items, members.Member),
    *(preprocessing.Scale, preprocessing.Preprocessing, prepared_model.PreparedModel, LabelUnits),
    *(any_classifier.ClassifierPreprocessing, any_classifier.ClassifierFeatures, TextFeatures),
    *(boosted_trees.BoostedTrees, boosted_trees.Trees),
    *(encoding.TableEncoding, encoding.SparseEncoding, encoding.TextEncoding),
    *(Model, FittedPair, solve.Solution, laplace.Covariances, selection.HeldOutScores, selection.Selection),
    *(reading.Reading, reading.Source, gold.GoldCorrection, gold_classifier.GoldClassifier),
    *(gaussian.Belief, population.CrowdBelief, logistic.CrossFitBelief, linear.LinearBelief),
    *(posterior.GaussianPosterior, evidence.QuadraticEvidence, evidence.LabelsByAnnotator),
    *(truth.graph.AnchoredPosterior, truth.graph.GraphBelief, truth.graph.AnchorField, truth.graph.ItemField),
    *(maps.LinearFeatures, maps.RbfFeatures, maps.SpectralFeatures, maps.ClusterFeatures),
    *(graph.anchors.AnchoredGraph, graph.anchors.AnchorSums, graph.ann.Lists),
)


@dataclass(frozen=True)
class CheckpointStep:
    """The result of one step of a fit, as a checkpoint keeps it."""

    result: Any


_PIECES = {
    name: piece
    for module in (annotators, truth, graph, maps)
    for name, piece in vars(module).items()
    if isinstance(piece, type) and issubclass(piece, Settings) and is_dataclass(piece)
}
CLASSES: dict[str, type] = {
    **_PIECES,
    **{cls.__name__: cls for cls in (*ESTIMATORS, *_DATA, *_SPARSE, CheckpointStep)},
    "GaussianWeights": graph.weighted._GaussianWeights,
    "KnnWeights": graph.weighted._KnnWeights,
    "GivenWeights": graph.weighted._GivenWeights,
}
_NAMES = {cls: name for name, cls in CLASSES.items()}


def take_apart(thing: Any) -> tuple[str, dict[str, Any]] | None:
    """Name of an object's class, and its fields by name; None if no file may hold it."""
    if sp.issparse(thing):
        thing = sp.csr_array(thing) if isinstance(thing, sp.sparray) else sp.csr_matrix(thing)
    cls = type(thing)
    if cls not in _NAMES:
        return None
    return _NAMES[cls], {name: getattr(thing, name) for name in field_types(cls) if hasattr(thing, name)}


def put_together(name: str, content: dict[str, Any]) -> Any:
    """Assemble an object from the fields that `take_apart` returned; others raise ValueError or TypeError.

    Fields that a file of an older version does not have are set to their defaults.
    """
    name, content = upgraded(name, content)
    if name not in CLASSES:
        raise ValueError(f"{name!r} is no class of a model")
    cls = CLASSES[name]
    for key, value in content.items():
        check_field(cls, key, value)
    if cls in _SPARSE:
        return _sparse(cls, **content)
    made = cls(**{field.name: content[field.name] for field in fields(cls) if field.init and field.name in content})
    vars(made).update(content)
    if cls in ESTIMATORS:
        check_fitted_fields(made)
        made._set_attributes()
    check_object(made)
    return made


def _sparse(cls: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Make a sparse matrix whose indices lie within it, and which is no wider than it is long."""
    rows, columns = shape
    if columns > max(rows, len(data)):
        raise ValueError(f"a sparse matrix of {rows} × {columns} with {len(data)} numbers")
    made = cls((data, indices, indptr), shape=shape)
    made.check_format(full_check=True)
    return made


# --- files of version 0.1 ---------------------------------------------------------------------------

_OLD_CLASSES = {
    "CrossFitted": "CrossFitBelief",
    "Fitted": "Solution",
    "Foretold": "HeldOutScores",
    "Given": "TrainingData",
    "Learnt": "PreparedModel",
    "RegressorFitted": "Solution",
    "RegressorLearnt": "PreparedModel",
    "Seen": "Preprocessing",
    "Smoothed": "GraphBelief",
    "Spread": "Covariances",
}
_TRUTHS = ("GraphTruth", "LinearTruth", "LogisticTruth", "OrderedTruth")
_OLD_FIELDS = {
    **{truth: {"chosen": "description"} for truth in _TRUTHS},
    "Given": {"said": "annotations", "items": "fingerprint"},
    "Items": {"Phi": "X_truth", "Psi": "X_annotators"},
    "Learnt": {"seen": "preprocessing"},
    "RegressorLearnt": {"seen": "preprocessing"},
}
_DROPPED = {"GraphTruth": {"neighbors"}, "ItemField": {"near"}}  # used in a fit only


def upgraded(name: str, content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return class name and fields as files of today have them."""
    kept = ((key, value) for key, value in content.items() if key not in _DROPPED.get(name, ()))
    content = {_OLD_FIELDS.get(name, {}).get(key, key): value for key, value in kept}
    if name == "RegressorLearnt":
        content["model"] = Model(content.pop("annotators"), content.pop("truth"))
        content["units"] = LabelUnits(content.pop("mean"), content.pop("scale"))
    elif name == "CrossFitted":
        content["items"] = logistic.item_keys(content["items"])
    elif name == "RegressorFitted":
        content["solver"] = "em"
    elif "_learnt" in content or "members_" in content:
        content |= _of_pair(content) if "_learnt" in content else _of_members(content["members_"])
        # The other attributes follow from the pairs.
        content = {key: content[key] for key in field_types(CLASSES[name]) if key in content}
    return _OLD_CLASSES.get(name, name), content


def _of_members(members: list[Any]) -> dict[str, Any]:
    """Return what `AutoCrowdClassifier` holds today; it held estimators."""
    first = members[0]
    pairs = [member._pair for member in members]
    return {"pairs_": pairs, "_training_data": first._training_data, "_seed": first.random_state}


def _of_pair(content: dict[str, Any]) -> dict[str, Any]:
    """Return what `CrowdClassifier` and `CrowdRegressor` hold today; they held five attributes."""
    keys = ("_learnt", "_fitted", "_spread", "_typical", "bound_history_")
    prepared, solution, covariances, typical, history = (content.get(key) for key in keys)
    state = solution.truth
    if prepared.model.truth.init(1).ndim == 2 and state.mean.ndim == 1:  # ξ has a column per output
        solution = replace(solution, truth=replace(state, mean=state.mean[:, None]))
    pair = FittedPair(prepared, solution, covariances, typical, history)
    return {"_pair": pair, "_training_data": content.get("_given")}
