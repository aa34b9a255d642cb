"""The proof that a noise function is private: the worst case over all neighbouring data sets, from the table alone."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
