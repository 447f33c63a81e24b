"""A report of a fitted model: one self-contained HTML page."""

from lordclust.report.build import write_report
from lordclust.report.inline import Report

__all__ = ["Report", "write_report"]
