"""Cases of parametrized tests that `make test` leaves to `make thorough` or `make slow`."""

from collections.abc import Iterator
from typing import Any

import pytest


def thorough(*cases: Any, mark: Any = pytest.mark.thorough) -> list[Any]:
    """More cases of a kind that is there already, longer or larger. A case of several values is a tuple."""
    several = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*values, marks=mark) for values in several]


def slow(*cases: Any) -> list[Any]:
    """More cases, of some ten seconds and more each, for `make slow`."""
    return thorough(*cases, mark=pytest.mark.slow)


def axes(item: pytest.Item) -> Iterator[tuple[int, ...]]:
    """For each `parametrize` of a test, which of its values this case has: by identity, the same for every case."""
    given = getattr(item, "callspec").params  # noqa: B009 - of functions only
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        yield tuple(id(given[name.strip()]) for name in (names.split(",") if isinstance(names, str) else names))


def beyond_each_value(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of a test with several `parametrize`, the cases that are left when each value of each is there once."""
    values = [list(axes(case)) for case in cases]
    missing = [set(axis) for axis in zip(*values, strict=True)]
    left = list(zip(cases, values, strict=True))
    for all_new in (True, False):  # first the cases that bring something new wherever something is missing
        for case, value in list(left):
            new = [one in axis for one, axis in zip(value, missing, strict=True)]
            if any(new) and (not all_new or all(is_new or not axis for is_new, axis in zip(new, missing, strict=True))):
                left.remove((case, value))
                for one, axis in zip(value, missing, strict=True):
                    axis.discard(one)
    return (case for case, _ in left)
