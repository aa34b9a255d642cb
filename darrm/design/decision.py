"""Compatibility with pickles of earlier versions, which name this function and pass its arguments in this order."""

from __future__ import annotations

from typing import Any

from darrm.design.design import Design


def DecisionDesign(
    problem: Any, table: Any, objective: Any, ordered: bool, profile: Any, gap: Any, fewer: Any
) -> Design:
    """The design of an old pickle, constructed and so verified like any other."""
    return Design(problem, table, objective, "ordered" if ordered else "free", None, gap, profile, fewer)
