"""Mechanisms: release of labels, decisions, bags and aggregates."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
