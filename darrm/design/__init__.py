"""From a problem to a certified noise function: corners, constraints, linear program, certificate."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
