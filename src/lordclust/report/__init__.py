"""A fitted model as one page to look at: a file that opens without a network."""

from lordclust.report.build import write_report

__all__ = ["write_report"]
