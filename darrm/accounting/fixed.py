"""The cost of labels of fixed voters, by the privacy of the voters and the randomness of the release together.

Fixed voters are trained with DP once, and then they answer. Let p be the delta of the t affected voters at a total
epsilon tau, and V_Q the exact composition of Q labels for non-private voters. Then all Q labels have

    delta(tau)  <=  p V_Q(1 + (e^tau - 1) / p),

which is at most p (by the voters alone) and at most V_Q(e^tau) (by the output noise alone). Proof: docs/theory.md,
Theorem 1.
"""

from __future__ import annotations

import math
from fractions import Fraction

from darrm.accounting import adaptive
from darrm.accounting.cover import cover, farthest
from darrm.accounting.fresh import (
    FAR,
    UNDERFLOW,
    Total,
    attained_sets,
    excess,
    grid_for,
    of_region,
    within,
)
from darrm.accounting.many_answers import upper_of_rows
from darrm.accounting.profile import Region
from darrm.accounting.releases import AnyRelease, one_label
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.theorems import Privacy, at_least_once
from darrm.accounting.voters import AffectedVoters, delta_of, epsilon_of, reached, sets_reached
from darrm.errors import InputError
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import counted
from darrm.problem.groups import ByGroups
from darrm.problem.limits import Problem

_U = 2.0**-53
_FINENESS = 24  # grid points to one standard deviation of the loss of a label
_ATTAINED = 24  # number of rows for the lower bound of one label
_SOME = 1000  # labels that are composed first: more of them cost no less
_CLOSE = 1e-6  # relative accuracy of the least epsilon


def fixed_voters(problem: ByGroups, delta: float) -> float:
    """The epsilon of all answers of fixed voters at a total ``delta``: the composition of the affected voters.

    It holds for any number of labels, with or without output noise. Infinite if an affected voter is non-private, or if
    ``delta`` is below 1 - (1 - Delta)^max_affected. It needs no separation and takes milliseconds for any K.
    """
    return max(epsilon_of(who.voters, delta) for who in sets_reached(problem))


def check_fresh(problem: ByGroups) -> None:
    """Refuse a known randomizer for fixed voters, whose answers repeat the same randomness."""
    if problem.known:
        raise InputError(
            "A known randomizer is for fresh voters, who draw every vote with new randomness. Got fixed voters. "
            "Leave the randomizer out: the privacy of fixed voters covers all their answers."
        )


def labels_allowance(problem: ByGroups, epsilon: float, delta: float) -> Privacy | None:
    """The budget of all labels, taken for non-private voters, that makes them (epsilon, delta)-DP for these voters.

        (ln(1 + (e^epsilon - 1) / p), delta / p),    p = delta of ``max_affected`` fixed voters at epsilon

    Parameters
    ----------
    problem : MajorityProblem, DecisionProblem or VoterModel
        Describes the voters; its guarantee is not used.
    epsilon, delta : float
        The total for everything that is released.

    Returns
    -------
    Privacy or None
        Rounded down. Labels that are together this private *even for non-private voters* are (epsilon, delta)-DP with
        these voters. None if the voters alone are (epsilon, delta)-DP, because then any labels are.

    Notes
    -----
    docs/theory.md, Theorem 1. epsilon = 2, max_affected = 1, a total of 1: the labels may cost 1.407.
    """
    return _allowance(reached(problem), epsilon, delta)


def _allowance(voters: AffectedVoters, epsilon: float, delta: float) -> Privacy | None:
    """`labels_allowance` for the affected voters."""
    p = delta_of(voters, epsilon)
    if p <= delta:
        return None
    if epsilon < 1:
        allowed = math.log1p(math.expm1(epsilon) / p) * (1 - 16 * _U)
    else:
        allowed = epsilon + math.log1p((p - 1) * math.exp(-epsilon)) - math.log(p)
        allowed -= 16 * _U * (epsilon + abs(math.log(p)) + 1)
    return Privacy(allowed, delta / p * (1 - 4 * _U))


def of_fixed(design: AnyRelease, queries: int, delta: float) -> Total:
    """`darrm.accounting.compose` for fixed voters."""
    labels = one_label(design)
    problem = labels.problem
    check_fresh(problem)
    bounds: dict[str, float] = {}
    voters = fixed_voters(problem, delta)
    if voters < math.inf:
        bounds["the voters themselves"] = voters
    together = unavoidable = 0.0
    for who in sets_reached(problem):
        counts = labels.gives_of_counts(who.numbers)
        certain = _certain(who.voters)
        unavoidable = max(unavoidable, certain * at_least_once(counts.delta_infinity, queries))
        price = epsilon_of(who.voters, delta)
        if price > together:
            least = _together(who.voters, counts, queries, delta, price)
            together = max(together, price if least is None else least)
    if together < voters:
        bounds["the voters and the coins of the labels"] = together
    try:
        label = labels.gives()
    except InputError:  # too many votes to list: the upper bounds hold, and there is no lower bound
        if not bounds:
            raise
        upper = min(bounds.values())
        return Total(0.0, upper, upper, delta, queries, "fixed", bounds, min(unavoidable, delta))
    attained = farthest(label, _ATTAINED) if isinstance(label, OutcomeRows) else label.inner
    lower = adaptive.most_epsilon(attained_sets(attained, 1, grid_for(label, 1, delta, _FINENESS)), delta)
    if queries == 1:
        guaranteed = labels.guarantee
        if delta >= label.delta_infinity or (guaranteed is not None and guaranteed[1] <= Fraction(delta)):
            bounds["one label"] = _one_label(label, problem, delta, guaranteed)
        unavoidable = min(unavoidable, label.delta_infinity)
    if not bounds:
        worst = reached(problem)
        if any(math.isinf(epsilon) for epsilon, _ in worst.kinds):
            why = (
                f"The output noise of {counted(queries, 'label')} alone can need a delta of {unavoidable:.6g} "
                "at any epsilon. Pass a larger delta, a design with more noise, or fewer labels."
                if unavoidable > delta
                else "Totals are computed up to some 690 nats, and none of those is certified. Pass a design "
                "with more noise, or fewer labels."
            )
            raise InputError(
                f"No total epsilon is certified at delta = {delta:g} for these voters. One record can affect "
                f"non-private ones. {why}"
            )
        raise InputError(
            f"No total epsilon is certified at delta = {delta:g}. The affected voters need a delta of 1 - (1 - "
            f"Delta)^max_affected = {worst.failure:.6g} at any epsilon, and the output noise of "
            f"{counted(queries, 'label')} does not hide it. Pass a delta above it."
        )
    upper = min(bounds.values())
    return Total(min(lower, upper), upper, upper, delta, queries, "fixed", bounds, min(unavoidable, delta))


def _certain(voters: AffectedVoters) -> float:
    """The probability of an infinite loss of some of these voters."""
    return 1.0 if any(math.isinf(epsilon) for epsilon, _ in voters.kinds) else voters.failure


def _one_label(
    label: Region | OutcomeRows, problem: Problem, delta: float, guaranteed: tuple[Fraction, Fraction] | None
) -> float:
    if isinstance(label, OutcomeRows):
        return upper_of_rows(label, 1, delta, guaranteed, problem.affected)
    return of_region(label, problem.affected, 1, delta, guaranteed=guaranteed).upper


def fixed_within(design: AnyRelease, epsilon: float, delta: float, most: int, fineness: int = _FINENESS) -> int:
    """The certified number of labels of fixed voters, up to ``most``, that are (epsilon, delta)-DP together.

    ``most`` if the voters alone are (epsilon, delta)-DP, because any number of labels is then.
    """
    label = one_label(design)
    check_fresh(label.problem)
    if labels_allowance(label.problem, epsilon, delta) is None:
        return most
    limited = []
    for who in sets_reached(label.problem):
        check_time()
        allowed = _allowance(who.voters, epsilon, delta)
        if allowed is not None:
            limited.append((allowed, label.gives_of_counts(who.numbers)))
    # First the set of voters with the largest loss of one label; other sets are tried up to the number that it allows.
    limited.sort(key=lambda each: adaptive.as_rows(each[1]).moments, reverse=True)
    labels = most
    for allowed, counts in limited:
        labels = within(counts, None, *allowed, labels, fineness) if labels else 0
    if labels:
        return labels
    try:  # one label is also one release of these voters
        return int(of_fixed(label, 1, delta).upper <= epsilon)
    except InputError:
        return 0


def _together(
    voters: AffectedVoters, counts: Region | OutcomeRows, queries: int, delta: float, most: float
) -> float | None:
    """The least total epsilon below ``most`` by Theorem 1, None if there is none."""
    if adaptive.is_silent(counts):
        return 0.0
    if at_least_once(counts.delta_infinity, queries) > 1 - 1e-9:
        return None  # the labels reveal the votes
    if queries > _SOME and _together(voters, counts, _SOME, delta, most) is None:
        return None  # more labels cost no less
    # At this epsilon no outcome of the labels has a larger loss.
    largest = math.inf if counts.delta_infinity else queries * counts.largest_loss * (1 + 4 * _U)
    grid = grid_for(counts, queries, delta, _FINENESS)
    by_grid = delta > UNDERFLOW and not (isinstance(counts, OutcomeRows) and counts.alike)
    if isinstance(counts, OutcomeRows) and by_grid:
        counts = cover(counts, queries, delta, grid).rows
    V = excess(counts, queries, grid, delta) if by_grid else None

    def holds(epsilon: float) -> bool:
        allowed = _allowance(voters, epsilon, delta)
        if allowed is None or allowed.epsilon >= largest:
            return True
        return V is not None and adaptive.least_epsilon(V, grid, allowed.delta) <= allowed.epsilon

    low, high = 0.0, min(most, largest * (1 + 64 * _U), FAR)
    if holds(low):
        return low
    if not holds(high):
        return None
    while high - low > _CLOSE * high:
        check_time()
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if high < most else None
