"""Summary: the numbers and sentences of a fit, for JSON; all that apps may show."""

from whoknows.insight.summary.builder import consensus_table, summarize
from whoknows.insight.summary.summary import Summary
from whoknows.insight.summary.tracking import log_to_mlflow

__all__ = ["Summary", "consensus_table", "log_to_mlflow", "summarize"]
