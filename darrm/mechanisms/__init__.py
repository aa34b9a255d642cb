"""Mechanisms that release something."""

from darrm.mechanisms.majority import DaRRM

__all__ = ["DaRRM"]
