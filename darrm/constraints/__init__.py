"""The paper's full list of constraints: corners, multisets, rows. Reference and oracle; the proof never imports it."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
