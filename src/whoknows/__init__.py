"""whoknows: the truth, a classifier and every annotator's expertise, from who said what."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations
    from whoknows.estimators.auto.ensemble import AutoCrowdClassifier
    from whoknows.estimators.classifier import CrowdClassifier
    from whoknows.estimators.persistence.model_file import load
    from whoknows.estimators.regressor import CrowdRegressor
    from whoknows.fit.monitor import DidNotConverge
    from whoknows.model.annotators import (
        BernoulliAnnotators,
        ConfusionAnnotators,
        GaussianAnnotators,
        Population,
    )
    from whoknows.model.graph import AnchorGraph, GaussianGraph, KnnGraph, PrecomputedGraph
    from whoknows.model.maps import LinearMap, RbfMap, SpectralMap
    from whoknows.model.settings import NotCompatible
    from whoknows.model.truth import GraphTruth, LogisticTruth

__version__ = "0.2.0.dev0"

# Name → where it lives. Imported on first use, so that the command line starts at once.
_HOMES = {
    "Annotations": "data.annotations",
    "AutoCrowdClassifier": "estimators.auto.ensemble",
    "CrowdClassifier": "estimators.classifier",
    "CrowdRegressor": "estimators.regressor",
    "LogisticTruth": "model.truth",
    "GraphTruth": "model.truth",
    "BernoulliAnnotators": "model.annotators",
    "ConfusionAnnotators": "model.annotators",
    "GaussianAnnotators": "model.annotators",
    "Population": "model.annotators",
    "LinearMap": "model.maps",
    "RbfMap": "model.maps",
    "SpectralMap": "model.maps",
    "GaussianGraph": "model.graph",
    "KnnGraph": "model.graph",
    "AnchorGraph": "model.graph",
    "PrecomputedGraph": "model.graph",
    "NotCompatible": "model.settings",
    "DidNotConverge": "fit.monitor",
    "load": "estimators.persistence.model_file",
}

__all__ = [
    "AnchorGraph",
    "Annotations",
    "AutoCrowdClassifier",
    "BernoulliAnnotators",
    "ConfusionAnnotators",
    "CrowdClassifier",
    "CrowdRegressor",
    "DidNotConverge",
    "GaussianAnnotators",
    "GaussianGraph",
    "GraphTruth",
    "KnnGraph",
    "LinearMap",
    "LogisticTruth",
    "NotCompatible",
    "Population",
    "PrecomputedGraph",
    "RbfMap",
    "SpectralMap",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whoknows' has no attribute {name!r}")
    return getattr(import_module(f"whoknows.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
