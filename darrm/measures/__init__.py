"""Measures of mechanisms: error, leakage, and empirical lower bounds on epsilon."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
