"""The independent verifier: checks designs from the definitions, without code of the solver or certificate."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
