"""Numbers that put mechanisms on one scale."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
