"""Files that are written whole or not at all, and the locks beside them."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
