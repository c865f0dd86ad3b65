"""The classes a model file may hold, what of their objects is kept, and how these are made again.

Nothing else is ever made from a file. Files name a class as it is named here: after a change of its name, the
old one stays.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from whoknows.data.annotations import Annotations
from whoknows.estimators import regressor
from whoknows.estimators.auto.ensemble import AutoCrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.selection import Selection
from whoknows.estimators.auto.stacking import HeldOutScores
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.estimators.inputs.preprocessing import Preprocessing, Scale
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.prepared_model import PreparedModel
from whoknows.estimators.regressor import CrowdRegressor
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances
from whoknows.fit.objective import Model
from whoknows.fit.solve import Solution
from whoknows.model import graph, maps
from whoknows.model.annotators import (
    BernoulliAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.annotators.gaussian import BiasedAnnotators
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
_LEARNT = (
    *(
        Annotations,
        TrainingData,
        Items,
        Scale,
        Preprocessing,
        PreparedModel,
        Model,
        Member,
        Solution,
        Covariances,
        HeldOutScores,
        Selection,
    ),
    *(Belief, CrowdBelief, CrossFitBelief, LinearBelief, GraphBelief, GaussianPosterior, QuadraticEvidence),
    *(maps.LinearFeatures, maps.RbfFeatures, maps.SpectralFeatures, maps.ClusterFeatures),
    *(graph.AnchoredGraph, graph.AnchoredItems, graph.AnchorSums, graph.ann.Lists),
    *(AnchoredPosterior, AnchorField, ItemField),
)
_FOREIGN = (sp.csr_array, sp.csr_matrix)
CLASSES: dict[str, type] = {
    **{
        cls.__name__: cls
        for cls in (*ESTIMATORS, *_TRUTH, *_ANNOTATORS, *_MAPS, *_GRAPHS, *_LEARNT, *_FOREIGN)
    },
    "GaussianWeights": graph.weighted._GaussianWeights,
    "KnnWeights": graph.weighted._KnnWeights,
    "GivenWeights": graph.weighted._GivenWeights,
    "RegressorLearnt": regressor._Learnt,
    "RegressorFitted": regressor._Fitted,
}
_NAMES = {cls: name for name, cls in CLASSES.items()}
_OLD_NAMES = {  # of classes and of their fields, in files of version 0.1
    "CrossFitted": "CrossFitBelief",
    "Fitted": "Solution",
    "Foretold": "HeldOutScores",
    "Given": "TrainingData",
    "Learnt": "PreparedModel",
    "Seen": "Preprocessing",
    "Smoothed": "GraphBelief",
    "Spread": "Covariances",
}
_OLD_FIELDS = {
    "Items": {"Phi": "X_truth", "Psi": "X_annotators"},
    **{cls.__name__: {"chosen": "description"} for cls in _TRUTH},
}
_OF_HERE = ("engine", "device")  # where a fit was made is no part of what it learnt
_SPARSE = ("data", "indices", "indptr", "shape")


def take_apart(thing: Any) -> tuple[str, dict[str, Any]] | None:
    """Name of a thing's class, and what is kept of it by name; None if no file may hold it.

    Of a dataclass its fields, without what it has computed from them; of an estimator all it knows; sparse
    matrices of every kind row by row.
    """
    if sp.issparse(thing):
        thing = sp.csr_array(thing) if isinstance(thing, sp.sparray) else sp.csr_matrix(thing)
    cls = type(thing)
    if cls not in _NAMES:
        return None
    if cls in ESTIMATORS:
        return _NAMES[cls], {name: value for name, value in vars(thing).items() if name not in _OF_HERE}
    return _NAMES[cls], {name: getattr(thing, name) for name in _kept(cls)}


def put_together(name: str, kept: dict[str, Any]) -> Any:
    """Make the thing again; whatever does not fit its class is a ValueError."""
    name = _OLD_NAMES.get(name, name)
    kept = {_OLD_FIELDS.get(name, {}).get(key, key): value for key, value in kept.items()}
    if name not in CLASSES:
        raise ValueError(f"{name!r} is no class of a model")
    cls = CLASSES[name]
    strange = [key for key in kept if (hasattr(cls, key) if cls in ESTIMATORS else key not in _kept(cls))]
    if strange:
        raise ValueError(f"{name} has no place for {strange[0]!r}")
    if cls in (sp.csr_array, sp.csr_matrix):
        return _sparse(cls, **kept)
    if cls is Solution:
        kept = kept | {"truth": _with_outputs(kept.get("truth"))}
    made = _with_defaults(cls, kept) if is_dataclass(cls) else cls()
    vars(made).update(kept)
    return made


def _with_outputs(truth: Any) -> Any:
    """Return q(ξ) with ξ as (n_features, n_outputs); older files have (n_features,) for one output."""
    if type(truth) in (Belief, CrossFitBelief) and np.ndim(truth.mean) == 1:
        return replace(truth, mean=truth.mean[:, None])
    return truth


def _kept(cls: type) -> tuple[str, ...]:
    """Names of what is kept of the objects of a class; estimators are free to add some."""
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
    """Make a sparse matrix none of whose indices leads outside of it."""
    made = cls((data, indices, indptr), shape=shape)
    made.check_format(full_check=True)
    return made
