"""Mechanisms that release something."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
