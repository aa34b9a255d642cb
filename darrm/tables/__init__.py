"""Tables of many designs: solve a grid of problems, keep it in a file, look designs up, and verify a table."""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
