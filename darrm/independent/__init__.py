"""A check of designs and tables from the definitions; it shares no code with what makes or verifies them."""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.independent.judging import Cost as Cost
    from darrm.independent.judging import Findings as Findings
    from darrm.independent.judging import check as check
    from darrm.independent.judging import cost as cost
    from darrm.independent.judging import needed_delta as needed_delta

__getattr__, __dir__, __all__ = face(__name__, {"darrm.independent.judging": "Cost Findings check cost needed_delta"})
