"""The privacy of fixed voters together: the composition of the least private ones that one record can affect.

Voter i is (e_i, d_i)-DP. One record affects t of them, which may be any. The composition of t voters grows in each of
their epsilons and each of their deltas, so the t largest epsilons with the t largest deltas bound it for any t voters:

    delta  =  1 - (1 - d_(1)) ... (1 - d_(t)) (1 - V),    V of the losses of e_(1), ..., e_(t)

with V as in `darrm.accounting.voters`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from darrm._sklearn import FrozenEstimator
from darrm._validation import MAX_EPSILON, real
from darrm.accounting.theorems import Privacy, optimal
from darrm.accounting.voters import among, epsilon_of
from darrm.ensemble.releases import EnsemblePrivacy
from darrm.errors import InputError
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import exactly
from darrm.problem.limits import Affected

# By whether a model has epsilon_ and delta_.
_STATES = {(False, False): "neither epsilon_ nor delta_", (True, False): "no delta_", (False, True): "no epsilon_"}


def privacy_of(models: Sequence[Any], adjacency: str, epsilon: object, Delta: object) -> list[Privacy]:
    """The privacy of each fitted voter: as it states, else as declared.

    Parameters
    ----------
    models : sequence of fitted classifiers
        They state their privacy by ``epsilon_``, ``delta_`` and ``adjacency_``, each of them optional.
    adjacency : str
    epsilon, Delta : float or None
        The declared privacy: taken for voters that state none, and a limit for the others.

    Raises
    ------
    InputError
        If a voter has another adjacency, states an invalid value or one above the declared limit, or has no stated or
        declared privacy.
    """
    declared = (
        None if epsilon is None else real("epsilon", epsilon, 0, MAX_EPSILON, hint="Pass the value of one voter."),
        None if Delta is None else real("Delta", Delta, 0, 1, "[)", hint="Pass the value of one voter."),
    )
    costs = []
    for i, model in enumerate(models):
        said = getattr(model, "adjacency_", adjacency)
        if said != adjacency:
            raise InputError(f"Voter {i} must be private under adjacency {adjacency!r}. Got {said!r}.")
        own = _said(model, i, "epsilon_"), _said(model, i, "delta_")
        for name, cost, most in zip(("epsilon", "Delta"), own, declared, strict=True):
            if cost is not None and most is not None and not cost <= most:
                raise InputError(f"Voter {i} has {name} {cost:g}, above the declared {most:g}. Raise that.")
        e, d = (most if cost is None else cost for cost, most in zip(own, declared, strict=True))
        if e is None or d is None:
            missing = [name for name, cost in (("epsilon", e), ("Delta", d)) if cost is None]
            raise InputError(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. Fixed voters must be private "
                f"themselves, and {_kind(model)} has no epsilon_ and delta_ after fit to say how private. Declare "
                "epsilon and Delta (0.0 for pure DP) if you know them, use DPLogisticRegression, or use fresh voters."
            )
        costs.append(Privacy(e, d))
    return costs


def declared(models: Sequence[Any], epsilon: float | None, Delta: float | None) -> str:
    """The privacy of fixed voters that is taken from the caller, as a clause; "" if all of them state their own."""
    stated = [
        (getattr(model, "epsilon_", None) is not None, getattr(model, "delta_", None) is not None) for model in models
    ]
    said = []
    for knows in dict.fromkeys(stated):
        if all(knows):
            continue
        which = "" if len(set(stated)) == 1 else f" that states {_STATES[knows]}"
        e, d = "its epsilon_" if knows[0] else exactly(epsilon or 0), "its delta_" if knows[1] else exactly(Delta or 0)
        said.append(f"each model{which} is ({e}, {d})-DP, all its answers together, as declared")
    return "; ".join(said)


def fixed_privacy(
    voters: Sequence[Privacy], max_affected: int, adjacency: str, total_delta: float | None, assumption: str = ""
) -> EnsemblePrivacy:
    """The composition of the ``max_affected`` least private fixed voters, for any number of labels (Lemma 8).

    Without ``total_delta`` their epsilons and deltas are added up.
    """
    epsilons = sorted((voter.epsilon for voter in voters), reverse=True)[:max_affected]
    deltas = sorted((voter.delta for voter in voters), reverse=True)[:max_affected]
    if total_delta is None:
        delta = min(1.0, rounded_up(sum(map(Fraction, deltas), Fraction(0))))
        cost = Privacy(rounded_up(sum(map(Fraction, epsilons), Fraction(0))), delta)
    elif max_affected == 1 and total_delta == deltas[0]:
        cost = Privacy(epsilons[0], deltas[0])
    else:
        cost = _composed(epsilons, deltas, total_delta)
    return EnsemblePrivacy(cost.epsilon, cost.delta, adjacency, max_affected, "fixed", None, assumption=assumption)


def _composed(epsilons: Sequence[float], deltas: Sequence[float], total_delta: float) -> Privacy:
    kept = math.prod((1 - Fraction(delta) for delta in deltas), start=Fraction(1))
    failure = rounded_up(1 - kept)
    if total_delta < failure:
        raise InputError(
            f"total_delta = {total_delta:g} is below the unavoidable 1 - (1 - Delta_1) ... (1 - Delta_t) = "
            f"{failure:.6g} of the affected voters. Pass one above it."
        )
    if epsilons[0] == epsilons[-1] and deltas[0] == deltas[-1]:
        return optimal(epsilons[0], deltas[0], len(epsilons), total_delta)
    worst = among(tuple(Affected(epsilon, deltas[0], 1) for epsilon in epsilons))
    added = rounded_up(sum(map(Fraction, epsilons), Fraction(0)))
    return Privacy(min(added, epsilon_of(worst._replace(failure=failure), total_delta)), total_delta)


def _said(model: Any, voter: int, name: str) -> float | None:
    value = getattr(model, name, None)
    if value is None:
        return None
    largest, ends = (MAX_EPSILON, "[]") if name == "epsilon_" else (1, "[)")
    return real(f"{name} of voter {voter}", value, 0, largest, ends, hint="It says how private the voter is.")


def _kind(model: Any) -> str:
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return type(model).__name__
