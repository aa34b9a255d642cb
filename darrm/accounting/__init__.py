"""Accounting for many releases: composition, privacy profiles, planning within a budget, and a ledger.

The cost of several labels depends on whether voters are fresh or fixed (docs/theory.md, "Many releases").
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
