"""Baselines: published mechanisms to compare an optimum with, each a module and an entry of the registry."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
