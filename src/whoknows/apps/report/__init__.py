"""The report: a Summary as one HTML file that opens anywhere and asks nothing of the network."""

from whoknows.apps.report.page import page, write

__all__ = ["page", "write"]
