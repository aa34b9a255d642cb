"""Files that are written atomically, and their locks."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
