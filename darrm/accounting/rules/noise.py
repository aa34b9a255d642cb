"""Rule "exact" for noisy max with Gaussian noise of one sigma or several, for any number of votes and classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from darrm.accounting.accounts import NoisyLabels
from darrm.accounting.gaussian import gdp_epsilon
from darrm.accounting.ladder import any_votes_profile
from darrm.accounting.ladder_filter import Noise, shares
from darrm.accounting.ledger_state import State
from darrm.accounting.noisy_max import queries_within, upper_of_any_votes
from darrm.accounting.rules.common import ABOVE, check_left, within_the_budget
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic


def check(state: State, account: NoisyLabels, n: int) -> None:
    """Raise unless ``n`` labels that were just counted are within the budget."""
    more = left(state, account)
    if more < -n:
        raise InputError(ABOVE)
    check_left(n, account.charged - n, account.charged + more)


def left(state: State, account: NoisyLabels) -> int:
    """The number of further labels of this noise alone; below 0 if the charges are above the budget."""
    if len(state.noisy) == 1:  # as in the file, if that is certified again
        noise = account.sigma, account.max_affected, account.sigma_check
        return _within(noise, state.total_epsilon, state.total_delta, state.limit(account)) - account.charged
    each = dict(zip(state.noisy, shares_of(state), strict=True))
    if math.inf in each.values():
        return -account.charged - 1
    unspent = 1 - sum(noisy.charged * Fraction(each[name]) for name, noisy in state.noisy.items())
    return math.floor(unspent / Fraction(each[account.name]))


@usual_arithmetic
def left_of_each(state: State) -> dict[str, int]:
    """The number of further labels of each noise, if only labels of that one follow."""
    return {noisy.short_name: max(0, left(state, noisy)) for noisy in state.noisy.values()}


def shares_of(state: State) -> tuple[float, ...]:
    """What a label of each noise takes of the budget; see `ladder_filter.shares`."""
    kinds = [Noise(one.sigma, one.sigma_check, one.max_affected) for one in state.noisy.values()]
    order = tuple(sorted(set(kinds), key=lambda kind: (kind.sigma, kind.sigma_check or 0.0)))  # computed once
    found = dict(zip(order, shares(order, state.total_epsilon, state.total_delta), strict=True))
    return tuple(found[kind] for kind in kinds)


def spent(state: State) -> float:
    """The total epsilon of the charged labels, whose numbers do not depend on what was released."""
    upper = _total([noisy for noisy in state.noisy.values() if noisy.charged], state.total_delta)
    first, *others = state.noisy.values()
    if not others:
        return within_the_budget(upper, state)
    # Of several noises the shares are a proof of their own, where ladders that each begin at 0 prove less.
    if left(state, first) < 0:
        raise InputError(ABOVE)
    return min(upper, state.total_epsilon)


def _total(noisy: Sequence[NoisyLabels], delta: float) -> float:
    if len(noisy) == 1:
        return upper_of_any_votes(noisy[0], noisy[0].charged, delta)
    level = padded = 0.0
    for one in noisy:
        mu, pad = any_votes_profile(one.sigma, one.charged, delta / len(noisy), one.max_affected, one.sigma_check)
        level, padded = (level + mu * mu) * (1 + 1e-15), padded + pad
    return gdp_epsilon(math.sqrt(level) * (1 + 1e-15), delta - padded * (1 + 1e-15))


@lru_cache(maxsize=64)
def _within(noise: tuple[float, int, float | None], epsilon: float, delta: float, most: int) -> int:
    """The number of labels, at most ``most``; one total tells where these are within the budget."""
    noisy = NoisyLabels.of(*noise)
    if upper_of_any_votes(noisy, most, delta) <= epsilon:
        return most
    return queries_within(noisy, epsilon, delta, most).queries
