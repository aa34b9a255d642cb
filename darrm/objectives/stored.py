"""Objectives from what files say of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from darrm.errors import InputError
from darrm.objectives.cost_tables import costs
from darrm.objectives.nested import tuples
from darrm.objectives.objective import Objective
from darrm.objectives.rules import Rule
from darrm.objectives.truths import truth
from darrm.objectives.under_priors import paper
from darrm.objectives.voters import checked_accuracy, checked_none, checked_prior
from darrm.priors.texts import from_dict as prior_from_dict

_NAMES = ("majority", "plurality", "at least", "weights", "a function of the counts")


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
    kind = given.pop("kind", None)
    try:
        if kind == "truth":
            made = truth(given["confusion"], given["prior"], given["cost"])  # type: ignore[arg-type]
            if made.as_dict() == {"kind": kind, **given}:
                return made
        if kind == "costs" and set(given) == {"table"}:
            return costs(np.array(given["table"], dtype=np.float64))
        if kind == "paper" and set(given) == {"prior", "name"}:
            return paper(prior_from_dict(values["prior"]), given["name"])  # type: ignore[arg-type]  # it refuses others
        if kind == "rule":
            confusion, prior = checked_accuracy(given.pop("confusion")), checked_prior(given.pop("prior"))  # type: ignore[arg-type]
            again = Rule(confusion, prior, none=checked_none(given.pop("none", None)), **given).agreeing()  # type: ignore[arg-type]
            if again.name in _NAMES:
                return again
    except (TypeError, KeyError):
        pass
    raise InputError(
        f"objective must have a kind (truth, rule, costs, paper) and its parameters. Got {dict(values)!r}."
    )
