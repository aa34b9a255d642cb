"""The problem that darrm solves: what is assumed of the voters and what is guaranteed for their majority."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
