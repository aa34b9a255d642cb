"""Cases of parametrized tests that `make test` leaves to `make thorough`."""

from typing import Any

import pytest


def thorough(*cases: Any) -> list[Any]:
    """More cases of a kind that is there already, longer or larger. A case of several values is a tuple."""
    several = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*values, marks=pytest.mark.thorough) for values in several]
