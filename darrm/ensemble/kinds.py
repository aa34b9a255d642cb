"""The three kinds of ensembles, and the parameters of each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._sklearn import two_classes
from darrm._validation import MAX_SIZE, VOTERS, check_one_epsilon, check_voters, choice, truth, whole
from darrm.errors import InputError
from darrm.numerics.printed import counted
from darrm.problem.decision import allowance
from darrm.problem.majority import MajorityProblem

# The parameters that only some kinds of voters take.
_SPECIAL = ("epsilon", "Delta", "m", "queries", "ledger", "colluders", "gamma", "sigma")
_ALLOWED = {
    "fixed": ("epsilon", "Delta"),
    "fresh": ("epsilon", "m", "queries", "ledger", "colluders"),
    "non-private": ("gamma", "sigma", "queries", "ledger"),
}


def check_kind(model: Any) -> str:
    """The kind of the voters of an ensemble; `InputError` unless it has the parameters of its kind, and no others."""
    choice("teachers", model.teachers, ("private", "non-private"))
    if model.teachers == "non-private":
        if model.voters is not None or model.overlap != 1:
            raise InputError("Noisy max over non-private teachers takes disjoint shards (overlap=1) and no voters.")
        kind = "non-private"
    elif model.voters in ("fixed", "fresh"):
        kind = str(model.voters)
    else:
        if isinstance(model.voters, str) and model.voters.strip().lower() in VOTERS:
            check_voters(model.voters)
        raise InputError(
            'voters must be "fixed" (classifiers trained once with differential privacy) or "fresh" (each '
            f"answer passes through randomized response). Got {model.voters!r}. There is no default: the cost of "
            'labels depends on it. For non-private classifiers leave voters out and pass teachers="non-private".'
        )
    for name in ("epsilon", "Delta"):
        check_one_epsilon(name, getattr(model, name))
    if model.colluders is not None and kind != "fresh":
        why = "are trained once, so no vote has new randomness" if kind == "fixed" else "do not randomize their votes"
        raise InputError(f"colluders must not be given for {kind} voters: they {why}. Leave it out.")
    extra = [name for name in _SPECIAL if getattr(model, name) is not None and name not in _ALLOWED[kind]]
    if extra:
        raise InputError(
            f"{', '.join(extra)} must not be given for {kind} voters. Of {', '.join(_SPECIAL)} they take "
            f"{', '.join(_ALLOWED[kind])}."
        )
    if model.adjacency != "replace-one":
        raise InputError(
            f'adjacency must be "replace-one". Got {model.adjacency!r}. Shards go by position, so removing a record '
            "would move those after it to other shards."
        )
    if kind != "fixed" and (model.total_epsilon is None or model.total_delta is None):
        raise InputError(f"{kind} voters need total_epsilon and total_delta: the budget of all labels.")
    if kind == "non-private" and model.queries is not None and not (model.gamma is None and model.sigma is None):
        raise InputError("Noise is given by gamma or sigma, or planned for a number of queries. Pass one of the three.")
    if truth("keyed", model.keyed) and kind == "fixed":
        raise InputError(
            "keyed must not be given for fixed voters: their labels have no output noise, and any number of them costs "
            "the same. Leave it out."
        )
    if truth("ledger_create", model.ledger_create) and model.ledger is None:
        raise InputError("ledger_create is for a ledger. Pass its path as ledger, or leave ledger_create out.")
    if whole("copies", model.copies, 1, MAX_SIZE) > 1 and (kind == "fixed" or model.ledger is not None):
        raise InputError(
            "copies must not be given for fixed voters, whose labels cost nothing more, or with a ledger, which all "
            "copies share. Leave it out."
        )
    if kind == "fresh" and (model.epsilon is None or (model.m is not None and model.queries is not None)):
        raise InputError("Fresh voters need epsilon, that of one answer, and at most one of m and queries.")
    return kind


def warn_if_idle(problem: MajorityProblem) -> None:
    """Warn that m has no effect, if it is at least the number of affected voters."""
    reached, m = problem.max_affected, allowance(problem)
    if m > reached:
        warnings.warn(
            f"m = {m:g} has no effect: one record affects overlap = {counted(reached, 'voter')}, so "
            f"the plain majority of the answers is released for every m from {reached} on. Leave m out, or pass one "
            f"below {reached} for labels that are more private.",
            stacklevel=4,
        )


def check_classes(labels: NDArray[Any], two: bool) -> NDArray[Any]:
    """The classes of y in order: two, or more unless the voters take only ``two``."""
    if two:
        return two_classes(
            labels,
            "DPLogisticRegression, the default estimator of fixed voters, takes two classes. For more pass another "
            "private estimator, with its epsilon and Delta.",
        )[0]
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from None
    classes = np.unique(labels)
    if classes.size < 2:
        raise InputError(f"y must hold labels of two classes or more. Got one class, {classes[0]}.")
    return classes
