"""A report of a fitted model: one self-contained HTML file."""

from lordclust.report.build import write_report

__all__ = ["write_report"]
