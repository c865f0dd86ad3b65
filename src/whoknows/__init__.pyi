from .data.annotations import Annotations
from .estimators.auto.ensemble import AutoCrowdClassifier
from .estimators.classifier import CrowdClassifier
from .estimators.persistence.model_file import load
from .estimators.regressor import CrowdRegressor
from .fit.monitor import DidNotConverge
from .model.annotators import BernoulliAnnotators, ConfusionAnnotators, GaussianAnnotators, Population
from .model.graph import AnchorGraph, GaussianGraph, KnnGraph, PrecomputedGraph
from .model.maps import LinearMap, RbfMap, SpectralMap
from .model.settings import NotCompatible
from .model.truth import GraphTruth, LogisticTruth

__version__: str
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
