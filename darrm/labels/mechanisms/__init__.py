"""How labels are released in bags: proportions with noise, and weighted aggregates."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
