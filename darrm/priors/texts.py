"""Priors from texts, as on the command line, and from plain values, as in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from darrm._validation import shown
from darrm.errors import InputError
from darrm.priors.chances import common, fixed, independent, votes
from darrm.priors.prior import Prior
from darrm.priors.randomized import randomized_response
from darrm.priors.truths import confusion, of_chances

_KINDS: dict[str, Callable[..., Prior]] = {
    "independent": independent,
    "common": common,
    "votes": votes,
    "fixed": fixed,
    "confusion": of_chances,
    "randomized-response": lambda base, epsilon: randomized_response(from_dict(base), epsilon),
}


def from_dict(values: Mapping[str, Any]) -> Prior:
    """The prior that ``as_dict`` described.

    Examples
    --------
    >>> import darrm
    >>> prior = darrm.priors.common(2.0, 2.0)
    >>> darrm.priors.from_dict(prior.as_dict()) == prior
    True
    """
    arguments = dict(values) if isinstance(values, Mapping) else {}
    make = _KINDS.get(str(arguments.pop("kind", None)))
    try:
        if make is not None:
            return make(**arguments)
    except TypeError:
        pass
    raise InputError(f"prior must have a kind ({', '.join(_KINDS)}) and its parameters. Got {shown(values)}.")


FORMS = (
    "uniform, independent:LOW,HIGH, common:A,B, fixed:P1,...,PK, votes:C0,...,CK, confusion:P0,P1:C00,C01,C10,C11 or "
    "randomized-response:EPSILON:BASE"
)


def parse(text: str) -> Prior:
    """A prior from its text.

    ``uniform``, ``independent:0.6,0.9``, ``common:2,2``, ``fixed:p1,...,pK``, ``votes:c0,...,cK``;
    ``confusion:P0,P1:C00,C01,C10,C11``, the chances of the truth and one confusion matrix, or more behind further
    colons; ``randomized-response:EPSILON:BASE``, where BASE is an accuracy, one for each voter, or another text.

    Examples
    --------
    >>> import darrm
    >>> darrm.priors.parse("common:2,2") == darrm.priors.common(2, 2)
    True
    >>> darrm.priors.parse("fixed:0.9,0.8,0.6").ones(3).round(3).tolist()
    [0.008, 0.116, 0.444, 0.432]
    """
    kind, colon, rest = text.partition(":")
    if kind == "uniform" and not colon:
        return independent()
    if kind in ("independent", "common") and not colon:
        return _KINDS[kind]()
    if kind == "randomized-response" and colon:
        epsilon, _, base = rest.partition(":")
        numbers = _numbers(base)
        answers = parse(base) if numbers is None else numbers[0] if len(numbers) == 1 else numbers
        return randomized_response(answers, _one_number(epsilon, text))
    rows = [_numbers(part) for part in rest.split(":")]
    if None not in rows and kind == "confusion" and len(rows) > 1:
        return _of_rows([row for row in rows if row is not None], text)
    if kind in ("independent", "common") and rows[0] is not None and len(rows) == 1:
        if len(rows[0]) != 2:
            form = {"independent": "independent:LOW,HIGH", "common": "common:A,B"}[kind]
            raise InputError(f"A prior {kind} takes two numbers, {form}. Got {text!r}.")
        return _KINDS[kind](*rows[0])
    if kind in ("votes", "fixed") and rows[0] is not None and len(rows) == 1:
        return _KINDS[kind](rows[0])
    hint = " Read a file first: darrm.priors.votes(darrm.votes.read(FILE))." if kind == "votes" and rest else ""
    raise InputError(f"prior must be {FORMS}. Got {shown(text)}.{hint}")


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def _one_number(text: str, whole_text: str) -> float:
    numbers = _numbers(text)
    if numbers is None or len(numbers) != 1:
        raise InputError(f"A prior randomized-response:EPSILON:BASE needs one epsilon. Got {shown(whole_text)}.")
    return numbers[0]


def _of_rows(rows: list[list[float]], text: str) -> Prior:
    truth, *matrices = rows
    if len(truth) != 2 or any(len(matrix) != 4 for matrix in matrices):
        raise InputError(
            f"A prior confusion:P0,P1:C00,C01,C10,C11 needs two chances, then four for each matrix. Got {shown(text)}."
        )
    return confusion(np.array(matrices).reshape(-1, 2, 2), truth)
