"""Numbers that everything rests on: directed rounding, the Poisson-binomial distribution, one vote left out."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
