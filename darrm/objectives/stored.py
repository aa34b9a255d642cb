"""Objectives from what files say of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from darrm.errors import InputError
from darrm.objectives.against import dissent
from darrm.objectives.cost_tables import costs
from darrm.objectives.nested import tuples
from darrm.objectives.objective import Objective
from darrm.objectives.rules import Rule
from darrm.objectives.truths import truth
from darrm.objectives.under_priors import paper
from darrm.objectives.voters import checked_accuracy, checked_none, checked_prior
from darrm.priors.texts import from_dict as prior_from_dict

_RULES = ("majority", "plurality", "at least", "weights", "a function of the counts")


def _truth(confusion: Any, prior: Any, cost: Any, **others: Any) -> Objective:
    made = truth(confusion, prior, cost)
    # A file has numbers for what a caller may leave out, so the same values must come back.
    if made.as_dict() != {"kind": "truth", "confusion": confusion, "prior": prior, "cost": cost, **others}:
        raise TypeError("not as it was written")
    return made


def _rule(confusion: Any, prior: Any, name: Any, right: Any = None, numbers: Any = (), none: Any = None) -> Objective:
    given = checked_accuracy(confusion), checked_prior(prior)
    made = Rule(*given, name=name, right=right, numbers=numbers, none=checked_none(none)).agreeing()
    if made.name not in _RULES:
        raise TypeError("not a rule of darrm")
    return made


# By the "kind" in a file: what makes the objective of the other values there, or raises TypeError.
OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "truth": _truth,
    "rule": _rule,
    "dissent": lambda confusion, prior, none=None: dissent(confusion, prior, none=none),
    "costs": lambda table: costs(np.array(table, dtype=np.float64)),
    "paper": lambda prior, name: paper(prior_from_dict(prior), name),
}


def from_dict(values: Mapping[str, object]) -> Objective:
    """The objective that ``as_dict`` described.

    Examples
    --------
    >>> import darrm
    >>> goal = darrm.objectives.truth([0.8], prior=[0.9, 0.1])
    >>> darrm.objectives.from_dict(goal.as_dict()) == goal
    True
    """
    given = {name: tuples(value) for name, value in values.items()}
    make = OBJECTIVES.get(str(given.pop("kind", None)))
    try:
        if make is not None:
            return make(**given)
    except (TypeError, KeyError):
        pass
    raise InputError(f"objective must have a kind ({', '.join(OBJECTIVES)}) and its parameters. Got {dict(values)!r}.")
