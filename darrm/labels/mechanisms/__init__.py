"""Mechanisms for labels in bags: label proportions with noise, and weighted aggregates."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
