"""Shares of classes, corrected for the errors of annotators."""

from whoknows.insight.rates.corrected import rate, rate_of
from whoknows.insight.rates.table import Difference, Rates

__all__ = ["Difference", "Rates", "rate", "rate_of"]
