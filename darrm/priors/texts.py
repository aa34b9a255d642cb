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


class Kind(NamedTuple):
    """How texts and files name one kind of prior."""

    form: str  # as a text has it
    made: Callable[..., Prior]  # of the values in a file
    read: Callable[[str, str], Prior | None]  # of what follows the colon, and the whole text; None: of another form
    alone: bool = False  # whether a text may be the kind alone, whose values are then those of `made`
    hint: str = ""  # what to do about a text that cannot be read


def _of_two(rest: str, text: str) -> Prior | None:
    name, numbers = text.partition(":")[0], _numbers(rest)
    if numbers is not None and len(numbers) != 2:
        raise InputError(f"A prior {name} takes two numbers, {PRIORS[name].form}. Got {text!r}.")
    return None if numbers is None else PRIORS[name].made(*numbers)


def _of_many(rest: str, text: str) -> Prior | None:
    numbers = _numbers(rest)
    return None if numbers is None else PRIORS[text.partition(":")[0]].made(numbers)


def _confusion(rest: str, text: str) -> Prior | None:
    rows = [_numbers(part) for part in rest.split(":")]
    return None if len(rows) == 1 or None in rows else _of_rows([row for row in rows if row is not None], text)


def _randomized(rest: str, text: str) -> Prior:
    if text.count("randomized-response:") > _MOST_NESTED:
        raise InputError(
            f"A prior has at most {_MOST_NESTED} randomized-response: one behind the other. Leave some out."
        )
    epsilon, _, base = rest.partition(":")
    numbers = _numbers(base)
    answers = parse(base) if numbers is None else numbers[0] if len(numbers) == 1 else numbers
    return randomized_response(answers, _one_number(epsilon, text))


_MOST_NESTED = 20
_READ_FIRST = "Read a file first: darrm.priors.votes(darrm.votes.read(FILE))."
PRIORS = {
    "independent": Kind("independent:LOW,HIGH", independent, _of_two, alone=True),
    "common": Kind("common:A,B", common, _of_two, alone=True),
    "correlated": Kind("correlated:P,RHO", correlated, _of_two),
    "fixed": Kind("fixed:P1,...,PK", fixed, _of_many),
    "votes": Kind("votes:C0,...,CK", votes, _of_many, hint=_READ_FIRST),
    "confusion": Kind("confusion:P0,P1:C00,C01,C10,C11", of_chances, _confusion),
    "randomized-response": Kind(
        "randomized-response:EPSILON:BASE",
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


def parse(text: str) -> Prior:
    """A prior from its text.

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
    if not isinstance(text, str):
        raise refusal("prior", "a text such as independent:0.5,1", text)
    if text == "uniform":
        return independent()
    name, colon, rest = text.partition(":")
    kind = PRIORS.get(name)
    if kind is not None and not colon and kind.alone:
        return kind.made()
    prior = kind.read(rest, text) if kind is not None and colon else None
    if prior is not None:
        return prior
    *forms, last = (each.form for each in PRIORS.values())
    hint = f" {kind.hint}" if kind is not None and kind.hint and rest else ""
    raise InputError(f"prior must be uniform, {', '.join(forms)} or {last}. Got {shown(text)}.{hint}")


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
            "A prior confusion:P0,P1:C00,C01,C10,C11 needs two probabilities, then four for each matrix. Got "
            f"{shown(text)}."
        )
    return confusion(np.array(matrices).reshape(-1, 2, 2), truth)
