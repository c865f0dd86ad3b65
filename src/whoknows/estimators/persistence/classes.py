"""The classes a model file may hold, the fields that are kept of them, and how they are assembled again.

Nothing else is ever assembled from a file. `version1` translates the names of earlier files.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

import scipy.sparse as sp

from whoknows.data.annotations import Annotations
from whoknows.estimators.auto.ensemble import AutoCrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.selection import HeldOutScores, Selection
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.preprocessing import Preprocessing, Scale
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.persistence.checks import ESTIMATOR_FIELDS, FITTED_FIELDS, check_field, check_object
from whoknows.estimators.persistence.version1 import upgraded
from whoknows.estimators.prepared_model import LabelUnits, PreparedModel
from whoknows.estimators.regressor import CrowdRegressor
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution
from whoknows.model import graph, maps
from whoknows.model.annotators import (
    BernoulliAnnotators,
    BiasedAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.truth import GraphTruth, LogisticTruth, OrderedTruth
from whoknows.model.truth.graph import AnchoredPosterior, AnchorField, GraphBelief, ItemField
from whoknows.model.truth.linear import LinearBelief, LinearTruth
from whoknows.model.truth.logistic import CrossFitBelief

ESTIMATORS = (CrowdClassifier, CrowdRegressor, AutoCrowdClassifier)
_TRUTH = (LogisticTruth, OrderedTruth, LinearTruth, GraphTruth)
_ANNOTATORS = (
    *(BernoulliAnnotators, ConfusionAnnotators, GaussianAnnotators, OrderedAnnotators, BiasedAnnotators),
    Population,
)
_MAPS = (maps.LinearMap, maps.NoMap, maps.RbfMap, maps.SpectralMap, maps.ClusterMap)
_GRAPHS = (graph.AutoGraph, graph.GaussianGraph, graph.KnnGraph, graph.AnchorGraph, graph.PrecomputedGraph)
_FITTED = (
    *(Annotations, TrainingData, Items, Scale, Preprocessing, LabelUnits, PreparedModel, Model, FittedPair),
    *(Member, Solution, Covariances, HeldOutScores, Selection),
    *(Belief, CrowdBelief, CrossFitBelief, LinearBelief, GraphBelief, GaussianPosterior, QuadraticEvidence),
    *(maps.LinearFeatures, maps.RbfFeatures, maps.SpectralFeatures, maps.ClusterFeatures),
    *(graph.AnchoredGraph, graph.AnchoredItems, graph.AnchorSums, graph.ann.Lists),
    *(AnchoredPosterior, AnchorField, ItemField),
)


@dataclass(frozen=True)
class CheckpointStep:
    """The result of one step of a fit, as a checkpoint keeps it."""

    result: Any


_FOREIGN = (sp.csr_array, sp.csr_matrix)
CLASSES: dict[str, type] = {
    **{
        cls.__name__: cls
        for cls in (*ESTIMATORS, *_TRUTH, *_ANNOTATORS, *_MAPS, *_GRAPHS, *_FITTED, *_FOREIGN)
    },
    "GaussianWeights": graph.weighted._GaussianWeights,
    "KnnWeights": graph.weighted._KnnWeights,
    "GivenWeights": graph.weighted._GivenWeights,
    "CheckpointStep": CheckpointStep,
}
_NAMES = {cls: name for name, cls in CLASSES.items()}
_SPARSE = ("data", "indices", "indptr", "shape")


def take_apart(thing: Any) -> tuple[str, dict[str, Any]] | None:
    """Name of a thing's class, and what is kept of it by name; None if no file may hold it.

    Of a dataclass its fields, without what it has computed from them; of an estimator the fields that
    `ESTIMATOR_FIELDS` lists, which leaves out where it was fitted (engine, device) and attributes that a user
    added; sparse matrices of every kind row by row.
    """
    if sp.issparse(thing):
        thing = sp.csr_array(thing) if isinstance(thing, sp.sparray) else sp.csr_matrix(thing)
    cls = type(thing)
    if cls not in _NAMES:
        return None
    if cls in ESTIMATORS:
        known = ESTIMATOR_FIELDS[cls]
        return _NAMES[cls], {name: value for name, value in vars(thing).items() if name in known}
    return _NAMES[cls], {name: getattr(thing, name) for name in _kept(cls)}


def put_together(name: str, kept: dict[str, Any]) -> Any:
    """Assemble an object from exactly what `take_apart` keeps; whatever does not fit is a ValueError."""
    name, kept = upgraded(name, kept)
    if name not in CLASSES:
        raise ValueError(f"{name!r} is no class of a model")
    cls = CLASSES[name]
    unknown = [key for key in kept if key not in _kept(cls)]
    if unknown:
        raise ValueError(f"{name} has no place for {unknown[0]!r}")
    if cls in _FOREIGN:
        return _sparse(cls, **kept)
    made = _with_defaults(cls, kept) if is_dataclass(cls) else cls()
    for key, value in kept.items():
        check_field(cls, key, value)
        vars(made)[key] = value
    if cls in ESTIMATORS:
        _restore(made)
    check_object(made)
    return made


def _restore(model: Any) -> None:
    """Set the attributes of an estimator that follow from its fitted pairs."""
    required = FITTED_FIELDS[type(model)].keys() - {"posterior_"}  # members of an ensemble have none
    missing = sorted(required - vars(model).keys())
    if missing:
        raise ValueError(f"{type(model).__name__} lacks {missing[0]!r}")
    if isinstance(model, AutoCrowdClassifier):
        model._set_fit(model.selection_, model.pairs_, model._training_data)
    elif isinstance(model, CrowdRegressor):
        model._set_fit(model._pair, model.annotators_)
    else:
        model._set_fit(model._pair, model._training_data)


def _kept(cls: type) -> tuple[str, ...]:
    """Names of what is kept of the objects of a class."""
    if cls in ESTIMATORS:
        return tuple(ESTIMATOR_FIELDS[cls])
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else _SPARSE


def _with_defaults(cls: type, kept: dict[str, Any]) -> Any:
    """Make an object without filling it; what a file of an older whoknows does not have is the default."""
    made: Any = object.__new__(cls)
    for field in fields(cls):
        if field.name in kept:
            continue
        if field.default is not MISSING:
            vars(made)[field.name] = field.default
        elif field.default_factory is not MISSING:
            vars(made)[field.name] = field.default_factory()
        else:
            raise ValueError(f"{cls.__name__} lacks {field.name!r}")
    return made


def _sparse(cls: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Make a sparse matrix whose indices lie within it, and which is no wider than it is long."""
    rows, columns = shape
    if columns > max(rows, len(data)):
        raise ValueError(f"a sparse matrix of {rows} × {columns} with {len(data)} numbers")
    made = cls((data, indices, indptr), shape=shape)
    made.check_format(full_check=True)
    return made
