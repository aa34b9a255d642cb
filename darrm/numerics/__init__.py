"""Numerical foundations: directed rounding, the Poisson-binomial distribution, and leave-one-out distributions."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
