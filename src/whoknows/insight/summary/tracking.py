"""A summary in the active run of MLflow: metrics to compare fits by, and the whole summary as a file."""

from __future__ import annotations

import re

from whoknows.insight.summary.summary import Summary
from whoknows.insight.summary.text import Facts

COUNTS = ("n_items", "n_labelled", "n_annotators", "n_labels")
NOT_IN_A_NAME = re.compile(r"[^\w\-. /]")  # of a metric


def log_to_mlflow(summary: Summary) -> None:
    """Log a summary to the active run of MLflow, or to a new one.

    Metrics are the counts of the data, the share of certain items, Krippendorff's alpha, and the skill of each
    annotator: ``expertise/ann``, or ``typical_error/ann`` for numbers. The artifact ``whoknows/summary.json`` holds
    the rest; `Summary.from_json` reads it.

    Parameters
    ----------
    summary : Summary
        From `summarize`.
    """
    try:
        import mlflow
    except ImportError:
        raise ImportError("log_to_mlflow needs mlflow. Run: pip install mlflow-skinny") from None
    mlflow.log_metrics(metrics(summary))
    mlflow.log_text(summary.to_json(), "whoknows/summary.json")


def metrics(summary: Summary) -> dict[str, float]:
    """Return the metrics of a summary by name; characters that MLflow refuses are replaced by "_"."""
    given: Facts = summary.given
    found = {name: float(given[name]) for name in COUNTS}
    if "n_sure" in summary.answer:
        found["share_certain"] = summary.answer["n_sure"] / given["n_items"]
    if summary.agreement.get("alpha") is not None:
        found["alpha"] = summary.agreement["alpha"]
    skill = "typical_error" if given["kind"] == "numbers" else "expertise"
    for annotator, value in zip(summary.annotators["annotator"], summary.annotators[skill], strict=True):
        if value is not None:
            found[f"{skill}/{NOT_IN_A_NAME.sub('_', str(annotator))}"] = float(value)
    return found
