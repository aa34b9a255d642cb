"""Measures of label privacy: advantage, utility, attacks, and bounds on all of them."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
