"""Arrays as nested tuples, which compare and hash."""

from __future__ import annotations

from darrm.numerics.arrays import Array


def nested(values: Array) -> tuple[object, ...]:
    """The numbers of an array as nested tuples."""
    return tuples(values.tolist())  # type: ignore[return-value]


def tuples(value: object) -> object:
    """Lists within lists as tuples, and everything else as it is."""
    return tuple(map(tuples, value)) if isinstance(value, list | tuple) else value
