"""From one release to many: composition, profiles, planning a budget, a ledger.

Everything that speaks of several labels asks whether voters are fresh or fixed (docs/theory.md, "Many releases").
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
