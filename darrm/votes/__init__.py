"""Votes as arrays and files: CSV or Parquet, one row a query, one column a voter."""

from darrm.votes.files import LabelsFile, VotesTable, blocks, example, examples, read, write_labels, writing_labels
from darrm.votes.rows import VotesBlock

__all__ = ["LabelsFile", "VotesBlock", "VotesTable", "blocks", "example", "examples", "read", "write_labels"]
__all__ += ["writing_labels"]
