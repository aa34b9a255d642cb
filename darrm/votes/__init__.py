"""Votes as arrays and files: CSV or Parquet, one row a query, one column a voter."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
