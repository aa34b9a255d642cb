"""Linear programs for darrm: the statement, the solution, and one module for each engine. Knows no privacy."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
