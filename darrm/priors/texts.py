"""Priors from texts, as on the command line, and from plain values, as in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from darrm._validation import refusal, shown
from darrm.errors import InputError
from darrm.priors.alike import correlated
from darrm.priors.chances import common, fixed, independent, votes
from darrm.priors.prior import Prior
from darrm.priors.randomized import randomized_response
from darrm.priors.truths import confusion, of_chances

_OWN = (
    "For the probabilities of 0, 1, ..., K ones pass darrm.priors.votes(them); for terms of your own, custom of "
    "darrm.solve."
)


class Kind(NamedTuple):
    """How texts and files name one kind of prior."""

    form: str  # as a text has it
    allowed: str  # what stands in place of its capitals
    example: str
    made: Callable[..., Prior]  # of the values in a file
    read: Callable[[str, str], Prior | None]  # of what follows the colon, and the whole text; None: of another form
    alone: bool = False  # whether a text may be the kind alone, whose values are then those of `made`
    hint: str = ""  # what to do about a text that cannot be read


def _of_two(rest: str, text: str) -> Prior | None:
    numbers = _numbers(rest)
    return None if numbers is None or len(numbers) != 2 else PRIORS[text.partition(":")[0]].made(*numbers)


def _of_many(rest: str, text: str) -> Prior | None:
    numbers = _numbers(rest)
    return None if numbers is None else PRIORS[text.partition(":")[0]].made(numbers)


def _confusion(rest: str, text: str) -> Prior | None:
    rows = [_numbers(part) for part in rest.split(":")]
    return None if len(rows) == 1 or None in rows else _of_rows([row for row in rows if row is not None])


def _randomized(rest: str, text: str) -> Prior | None:
    if text.count("randomized-response:") > _MOST_NESTED:
        raise InputError(
            f"A prior has at most {_MOST_NESTED} randomized-response: one behind the other. Leave some out."
        )
    epsilon, _, base = rest.partition(":")
    one, numbers = _numbers(epsilon), _numbers(base)
    if one is None or len(one) != 1 or not base:
        return None
    answers = parse(base) if numbers is None else numbers[0] if len(numbers) == 1 else numbers
    return randomized_response(answers, one[0])


_MOST_NESTED = 20
_READ_FIRST = "Read a file first: darrm.priors.votes(darrm.votes.read(FILE))."
PRIORS = {
    "independent": Kind(
        "independent:LOW,HIGH", "LOW <= HIGH, both in [1/2, 1]", "independent:0.6,0.9", independent, _of_two, alone=True
    ),
    "common": Kind("common:A,B", "A and B above 0", "common:2,2", common, _of_two, alone=True),
    "correlated": Kind(
        "correlated:P,RHO", "P in [1/2, 1] and RHO in [0, 1]", "correlated:0.7,0.2", correlated, _of_two
    ),
    "fixed": Kind("fixed:P1,...,PK", "a probability for each voter", "fixed:0.9,0.8,0.6", fixed, _of_many),
    "votes": Kind(
        "votes:C0,...,CK",
        "how many rows have 0, 1, ..., K ones",
        "votes:1,2,4,8 for three voters",
        *(votes, _of_many),
        hint=_READ_FIRST,
    ),
    "confusion": Kind(
        "confusion:P0,P1:C00,C01,C10,C11",
        "the probabilities of the truth, and those of a vote if the truth is 0, then if it is 1",
        "confusion:0.5,0.5:0.9,0.1,0.2,0.8",
        *(of_chances, _confusion),
    ),
    "randomized-response": Kind(
        "randomized-response:EPSILON:BASE",
        "EPSILON above 0, and BASE an accuracy in [1/2, 1], one for each voter, or another prior",
        "randomized-response:1:0.9",
        lambda base, epsilon: randomized_response(from_dict(base), epsilon),
        _randomized,
    ),
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
    kind = PRIORS.get(str(arguments.pop("kind", None)))
    try:
        if kind is not None:
            return kind.made(**arguments)
    except TypeError:
        pass
    raise InputError(f"prior must have a kind ({', '.join(PRIORS)}) and its parameters. Got {shown(values)}.")


def parse(text: str | Prior) -> Prior:
    """A prior from its text; a prior stays as it is.

    ``uniform``, ``independent:0.6,0.9``, ``common:2,2``, ``fixed:p1,...,pK``, ``votes:c0,...,cK``;
    ``confusion:P0,P1:C00,C01,C10,C11``, the probabilities of the truth and one confusion matrix, or more behind further
    colons; ``randomized-response:EPSILON:BASE``, where BASE is an accuracy, one for each voter, or another text.

    Examples
    --------
    >>> import darrm
    >>> darrm.priors.parse("common:2,2") == darrm.priors.common(2, 2)
    True
    >>> darrm.priors.parse("fixed:0.9,0.8,0.6").ones(3).round(3).tolist()
    [0.008, 0.116, 0.444, 0.432]
    """
    if isinstance(text, Prior):
        return text
    if not isinstance(text, str):
        raise refusal("prior", "a prior of darrm.priors, or a text such as independent:0.5,1", text, _OWN)
    if text == "uniform":
        return independent()
    name, colon, rest = text.partition(":")
    kind = PRIORS.get(name)
    if kind is not None and not colon and kind.alone:
        return kind.made()
    if kind is None or not colon:
        *forms, last = (each.form for each in PRIORS.values())
        raise InputError(
            f"prior must be uniform, {', '.join(forms)} or {last}. Got {shown(text)}. Pass e.g. common:2,2."
        )
    said = f"A prior {name} must be {kind.form} ({kind.allowed})"
    try:
        prior = kind.read(rest, text)
    except InputError as error:
        if "prior " in str(error):  # that behind this one
            raise
        why, _, got = str(error).partition(" Got ")
        hint = got.partition(". ")[2] or f"Pass e.g. {kind.example}."
        raise InputError(f"{said}. Got {shown(text)}: {why} {hint}") from None
    if prior is not None:
        return prior
    hint = f" {kind.hint}" if kind.hint and rest else ""
    raise InputError(f"{said}. Got {shown(text)}. Pass e.g. {kind.example}.{hint}")


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def _of_rows(rows: list[list[float]]) -> Prior | None:
    truth, *matrices = rows
    if len(truth) != 2 or any(len(matrix) != 4 for matrix in matrices):
        return None
    return confusion(np.array(matrices).reshape(-1, 2, 2), truth)
