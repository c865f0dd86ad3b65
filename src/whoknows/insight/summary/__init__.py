"""Summary: the plain numbers and words of a fit, JSON-able; all that apps may show."""

from whoknows.insight.summary.make import summarize
from whoknows.insight.summary.record import Summary

__all__ = ["Summary", "summarize"]
