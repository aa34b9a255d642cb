"""Designs: from a problem to a certified release, by constraints, a linear program and a certificate."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
