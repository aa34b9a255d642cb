"""A check of designs and tables from the definitions; it shares no code with what makes or verifies them."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
