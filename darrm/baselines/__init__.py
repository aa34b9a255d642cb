"""How others release: the mechanisms that an optimum is held against, each a file and an entry of the registry."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
