"""Known randomizers: the mechanisms by which voters draw votes from their true answers, as exact tables."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Decimal
from functools import lru_cache
from typing import TypeAlias

from darrm._validation import MAX_CLASSES, real, refusal
from darrm.errors import InputError
from darrm.numerics.exact import decimals, rounded_up

RESPONSE = "randomized response"
Table: TypeAlias = tuple[tuple[float, ...], ...]
_LAST = Decimal("1e-50")  # probabilities of randomized response are rounded to this place


def checked_randomizer(randomizer: object, epsilon: float, delta: float) -> str | Table:
    """A known randomizer, refused unless it is at least as private as ``epsilon``."""
    if delta:
        raise InputError(
            f"A known randomizer is for voters of delta 0. Got delta = {delta!r}. Pass the epsilon of the randomizer "
            "alone, without that of a model behind it, and no delta."
        )
    if math.isinf(epsilon):  # elsewhere that says that no randomness of a vote protects anything
        raise InputError(
            "A known randomizer must have a finite epsilon. Got inf. Leave the randomizer out, or let every vote be "
            "possible for all true answers."
        )
    if isinstance(randomizer, str):
        if randomizer != RESPONSE:
            raise refusal("randomizer", f"{RESPONSE!r}, or a table Pr[vote | truth]", randomizer)
        return RESPONSE
    table = _table(randomizer)
    least = _epsilon_of(table)
    if least > epsilon:
        raise InputError(
            f"epsilon must be that of the randomizer at least, {least!r}. Got {epsilon!r}. Pass that or more."
        )
    return table


def _table(randomizer: object) -> Table:
    hint = "Pass e.g. [[0.9, 0.1], [0.1, 0.9]]: a row for each true answer, a column for each vote."
    try:
        rows: list[tuple[object, ...]] = [tuple(row) for row in randomizer]  # type: ignore[attr-defined]
    except TypeError:
        raise refusal("randomizer", f"{RESPONSE!r}, or a table Pr[vote | truth]", randomizer, hint) from None
    if not 2 <= len(rows) <= MAX_CLASSES or len(rows[0]) < 2 or len({len(row) for row in rows}) > 1:
        raise refusal("randomizer", f"a table of 2 to {MAX_CLASSES} rows of one length", randomizer, hint)
    table = tuple(tuple(real("A probability of randomizer", value, 0, 1) for value in row) for row in rows)
    for row in table:
        if abs(math.fsum(row) - 1) > 1e-9:
            raise InputError(f"Every row of randomizer must sum to 1. Got a sum of {math.fsum(row)!r}. {hint}")
    return table


def treats_alike(randomizer: str | Table | None) -> bool:
    """Whether renaming the classes of the votes leaves the set of a randomizer's rows as it is.

    True answers may be any, so the guarantee of a release is then the same under every name of the classes.
    """
    if randomizer is None or isinstance(randomizer, str):
        return True
    rows = set(randomizer)
    # An exchange of the first two and a turn of all make every renaming.
    return {(row[1], row[0], *row[2:]) for row in rows} == rows == {(*row[1:], row[0]) for row in rows}


def _epsilon_of(table: Table) -> float:
    """The least epsilon of a vote drawn by the table, rounded up; infinite if there is none."""
    exact, largest = _normalised(table), Decimal(0)
    with decimals(Decimal(1)):
        for column in zip(*exact, strict=True):
            if not any(column):
                continue
            if not all(column):
                return math.inf
            largest = max(largest, (max(column) / min(column)).ln())
        return rounded_up(largest * (1 + Decimal("1e-55")))


def _normalised(table: Table) -> tuple[tuple[Decimal, ...], ...]:
    with decimals(Decimal(1)):
        sums = [sum(map(Decimal, row)) for row in table]
        return tuple(tuple(Decimal(p) / total for p in row) for row, total in zip(table, sums, strict=True))


@lru_cache(maxsize=64)
def exact_table(randomizer: str | Table, epsilon: float, classes: int) -> tuple[tuple[Decimal, ...], ...]:
    """Pr[vote | truth] of a known randomizer, to 50 digits.

    For randomized response the probability of every other class is rounded down. That table is as private as the next
    larger epsilon: votes of the true epsilon are votes by this table from randomized truths, so that whatever is proved
    for this table, with any truths, holds for them.
    """
    if not isinstance(randomizer, str):
        return _normalised(randomizer)
    with decimals(Decimal(epsilon)):
        s = (-Decimal(epsilon)).exp()
        other = (s / (1 + (classes - 1) * s)).quantize(_LAST, ROUND_DOWN)
        keep = 1 - (classes - 1) * other
    return tuple(tuple(keep if vote == true else other for vote in range(classes)) for true in range(classes))
