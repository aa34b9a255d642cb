"""The problem that darrm solves: the assumptions on the voters and the guarantee for their majority."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
