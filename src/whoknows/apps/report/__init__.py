"""The report: a Summary as one HTML file that needs no network."""

from whoknows.apps.report.page import page, report, save, write

__all__ = ["page", "report", "save", "write"]
