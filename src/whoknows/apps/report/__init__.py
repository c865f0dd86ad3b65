"""The report: a Summary as one HTML file that needs no network."""

from whoknows.apps.report.page import page, write

__all__ = ["page", "write"]
