"""What people look at: figures, plots, words, the report page, the explorer."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
