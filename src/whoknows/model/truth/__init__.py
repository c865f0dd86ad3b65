"""Truth models: p(z | x; ξ)."""

from whoknows.model.truth.graph import GraphTruth
from whoknows.model.truth.linear import LinearTruth
from whoknows.model.truth.logistic import LogisticTruth
from whoknows.model.truth.ordered import OrderedTruth
from whoknows.model.truth.tempered import TemperedTruth

__all__ = ["GraphTruth", "LinearTruth", "LogisticTruth", "OrderedTruth", "TemperedTruth"]
