"""Planning: the design for many labels of given voters within one privacy budget, and its comparison with baselines."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
