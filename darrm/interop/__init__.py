"""Interfaces to other libraries of differential privacy. Each needs an extra, and loads when it is first used."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
