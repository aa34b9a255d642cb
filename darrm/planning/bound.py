"""How far a plan is from the best: a cost that no table within the budget of many labels falls below."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

from darrm.accounting.gaussian import gdp_mu
from darrm.accounting.search import Budget
from darrm.certificate.engines import engine
from darrm.design.program import most_gain, variables
from darrm.errors import InputError, SolverError
from darrm.numerics.arrays import Array
from darrm.planning.setting import Setting
from darrm.problem.groups import without_privacy
from darrm.problem.limits import Limit, profile_limits

_LOGITS = np.concatenate([np.linspace(-40, -8, 300), np.linspace(-8, 8, 3200), np.linspace(8, 30, 200)])  # of y
_STEPS, _CLOSE, _POINTS = 60, 1e-6, 24
_ROUNDING = 1 + 1e-9  # of binomial tails; a larger delta makes the bound smaller, as it must be
_RESOLUTION = 2.0**-52  # above the rounding of 1 - x, which is more than that of x where x is small
_TINY = 1e-290  # smaller binomial tails may have underflowed, and e^epsilon makes them large
_MOST_EPSILON = 600.0  # e^epsilon overflows soon above
_NOTHING = 1e-12  # a delta that cuts off no table


def least_cost(setting: Setting, budget: Budget) -> float:
    """A lower bound on the expected cost of a label, if one table keeps all labels within the budget.

    Whatever a label is asked about, every label may see the worst votes of one label again. Let an answer, or a set of
    answers, have probability x on a data set and y on its neighbour. The number of labels in it, of Q, is then
    Binomial(Q, x) or Binomial(Q, y), and these two must be within (epsilon, delta). So each label is
    (a, delta(a))-DP for every a, where

        delta(a) = max {x - e^a y : Binomial(Q, x) and Binomial(Q, y) are (epsilon, delta)-indistinguishable},

    and no table within the budget costs less than the optimum under that profile. Every part of the budget has a
    profile of its own, for its own worst votes: the budget of each kind of change, and a second one for the case that
    the assumption on known randomizers fails. One program holds the table to all of them.

    Parameters
    ----------
    setting : Setting
    budget : Budget

    Returns
    -------
    float
        NaN where voters are fixed and private, because a vote then depends on earlier ones; where no epsilon is at most
        600; and where the program fails.

    Notes
    -----
    The binomial tails and the optimum are float64 numbers: the bound is a figure about accuracy, and no guarantee rests
    on it. Cost: one solve under a profile of 24 points for each part of the budget. Source: docs/theory.md, "How far a
    plan is from the best".

    Examples
    --------
    Ten labels of five voters:

    >>> import darrm
    >>> from darrm.accounting.search import Budget
    >>> from darrm.planning.bound import least_cost
    >>> from darrm.planning.setting import Setting
    >>> setting = Setting((darrm.VoterGroup(5, epsilon=1.0),), 1, "replace-one", 2, darrm.objectives.truth([0.7]))
    >>> round(least_cost(setting, Budget(10, 2.0, 1e-5, "fresh")), 3)
    0.329
    """
    if budget.voters == "fixed" and not without_privacy(setting.groups):
        return math.nan
    limits: list[Limit[Any]] = []
    try:
        for label, epsilon in budget.held(setting.label(setting.majority())):
            if epsilon <= _MOST_EPSILON:
                engine(label.problem).check_size(label.problem)
                points = profile_of_each(budget.queries, epsilon, budget.delta)
                limits += profile_limits(label.problem, [(a, allowed) for a, allowed in points if allowed < 1])
        if not limits:
            return math.nan
        looked_for = variables(setting.problem(1.0, 0.5), setting.objective, setting.shape, budget.until)
        most = most_gain(looked_for, limits, budget.until)
    except (InputError, SolverError):
        return math.nan
    noise = looked_for.columns.table(np.zeros(looked_for.columns.n))
    return max(0.0, setting.cost(noise) - looked_for.gap(noise, most))


def profile_of_each(queries: int, epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Points (a, delta(a)) of `least_cost`, rising in a; without a delta each label has an equal share of epsilon."""
    if delta == 0:
        return [(epsilon / queries, 0.0)]
    y, x = _outer(queries, epsilon, delta)
    typical = gdp_mu(epsilon, delta) / math.sqrt(queries)  # of the losses of one label
    end = min(20 * typical, _MOST_EPSILON)
    points = [0.0, *sorted([epsilon / queries, *np.geomspace(end / 400, end, _POINTS - 1)])]
    found = [(float(a), float((x - math.exp(a) * y).max()) * _ROUNDING) for a in points]
    kept = [found[0]]
    for a, allowed in found[1:]:
        if _NOTHING < allowed < kept[-1][1]:
            kept.append((a, allowed))
    return kept


def _outer(queries: int, epsilon: float, delta: float) -> tuple[Array, Array]:
    """Corners (y, x) of a polygon around all pairs x >= y that Q draws do not tell apart.

    If (x, y) is such a pair, so is what any randomized map of the answers makes of it. So x / y falls in y, and
    (1 - x) / (1 - y) does not rise: between two points of the boundary it lies below the line through the left one and
    (0, 0), and below the line through the right one and (1, 1).
    """
    y = 1 / (1 + np.exp(-_LOGITS))
    x = _largest(y, queries, epsilon, delta)
    up, down = x[:-1] / y[:-1], (1 - x[1:]) / (1 - y[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.clip((1 - down) / (up - down), y[:-1], y[1:])
    between = np.where(np.isfinite(between), between, y[1:])
    above = np.minimum(up * between, 1 - down * (1 - between))
    return np.concatenate([[0.0], y, between, y[-1:]]), np.concatenate([x[:1], x, above, [1.0]])


def _largest(y: Array, queries: int, epsilon: float, delta: float) -> Array:
    """An upper bound on the largest x for each y, and nearly that.

    The divergence of Binomial(Q, x) from Binomial(Q, y) is the largest over k of
    Pr[Binomial(Q, x) > k] - e^epsilon Pr[Binomial(Q, y) > k]. So each k bounds x, and the k that is largest at that
    bound is tried next. Counts of the other answer bound it likewise. The first k are those of Gaussian noise.
    """
    mu, mean, spread = gdp_mu(epsilon, delta), queries * y, np.sqrt(queries * y * (1 - y))
    above, other = mean + spread * (epsilon / mu + mu / 2), queries - mean + spread * (epsilon / mu - mu / 2)
    x, rest, grow, allowed = np.ones_like(y), np.zeros_like(y), math.exp(epsilon), delta * _ROUNDING  # rest <= 1 - x
    at = np.arange(y.size)  # of points whose bounds still move
    for _ in range(_STEPS):
        k, here, before = _count(above, queries), y[at], (x[at], rest[at])
        most = np.minimum(allowed + grow * np.maximum(betainc(k + 1, queries - k, here), _TINY), 1.0)
        up = np.fmin(before[0], betaincinv(k + 1, queries - k, most) * _ROUNDING)  # NaN, if below float64, is no bound
        k = _count(other, queries)
        least = np.maximum(betainc(k + 1, queries - k, 1 - here) - allowed, 0.0) / grow
        down = np.fmax(before[1], betaincinv(k + 1, queries - k, least) / _ROUNDING)
        x[at], rest[at] = np.minimum(up, 1 - down + _RESOLUTION), np.maximum(down, 1 - up - _RESOLUTION)
        at = at[(before[0] - x[at] > _CLOSE * x[at]) | (rest[at] - before[1] > _CLOSE * rest[at])]
        if not at.size:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = np.log(x[at]) - np.log(y[at]), np.log(rest[at]) - np.log1p(-y[at])
            above, other = (epsilon - queries * down) / (up - down), (epsilon + queries * up) / (up - down)
    return np.maximum(x, y)


def _count(above: Array, queries: int) -> Array:
    """The count k, from 0 to Q - 1, nearest to a likelihood ratio of e^epsilon."""
    return np.asarray(np.clip(np.floor(np.where(np.isfinite(above), above, queries)), 0, queries - 1))
