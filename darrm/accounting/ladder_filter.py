"""A privacy filter for labels of Gaussian noisy max of several sigmas, for any number of votes and classes.

Every label takes a share of the budget, by its sigma, and labels end when the shares are spent. The sigma of the next
label may depend on all labels before. docs/composition.md, "Several sigmas, fully adaptive", has the proof. In
short: if labels of kind i need the increments c_i(s) at level s of the ladder, which fall in s, let

    Psi(s) = integral of  min_i w_i / c_i(max(0, x - c_i(0)))  over x from 0 to s.

A label of kind i raises Psi by at most w_i, so labels with weights of at most Psi(S) together are below G_S.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from darrm.accounting.gaussian import gdp_epsilon, gdp_mu
from darrm.accounting.ladder import FIRST, PADS, climb, climbs

_ROOT = math.sqrt(2)
_UP = 1 + 1e-11  # more than the rounding of all sums here
_MOST = 10**7  # labels of one kind


class Noise(NamedTuple):
    """One kind of labels: noise at the counts, at a check before if there is one, and votes that a record changes."""

    sigma: float
    sigma_check: float | None = None
    affected: int = 1


class _Stairs(NamedTuple):
    """Increments ``c``, which fall, and pads ``e`` of one label from the levels ``starts`` on, the first at 0."""

    starts: tuple[float, ...]
    c: tuple[float, ...]
    e: tuple[float, ...]

    def at(self, level: float) -> int:
        """The place of a level."""
        return max(0, bisect_right(self.starts, level) - 1)

    def most_pad(self, low: float, high: float) -> float:
        """The largest e / c between two levels."""
        first, last = self.at(low), self.at(high)
        return max(self.e[k] / self.c[k] for k in range(first, last + 1))


@lru_cache(maxsize=64)
def shares(kinds: tuple[Noise, ...], epsilon: float, delta: float) -> tuple[float, ...]:
    """What one label of each kind takes of the budget, rounded up; infinite where it does not fit.

    All labels whose shares sum to at most 1 are (epsilon, delta)-DP together, whatever their order and kinds, and
    however these depend on earlier labels.

    Parameters
    ----------
    kinds : tuple of Noise
        Fixed before the first label.
    epsilon : float > 0, nats
    delta : float in (0, 1)

    Examples
    --------
    Twice the noise takes about a quarter of the budget; a thousand labels of the first fit alone:

    >>> from darrm.accounting.ladder_filter import Noise, shares
    >>> few, many = shares((Noise(40.0), Noise(80.0)), 4.0, 1e-5)
    >>> few < 0.001, round(few / many, 1)
    (True, 4.0)
    """
    far = gdp_mu(epsilon, delta) ** 2
    stairs = [_stairs(kind, far, delta) for kind in kinds]
    pads = _pads(stairs, far)
    if pads >= delta:
        return (math.inf,) * len(kinds)
    level = gdp_mu(epsilon, delta - pads) ** 2
    for less in (1e-12, 1e-9, 1e-6):
        if gdp_epsilon(math.sqrt(level) * (1 + 1e-15), delta - pads) <= epsilon:
            break
        level *= 1 - less
    else:
        return (math.inf,) * len(kinds)
    weights = [each.c[each.at(level)] for each in stairs]
    whole = _psi(stairs, weights, level)
    return tuple(weight / whole * _UP if whole else math.inf for weight in weights)


def _stairs(kind: Noise, far: float, delta: float) -> _Stairs:
    """The ladder of one kind up to the level ``far``; a check and its label are a step of both."""
    wide = kind.sigma / kind.affected * (1 - 1e-15)
    parts = [_rungs(1 / wide, far, delta, False, kind.affected)]
    if kind.sigma_check is not None:
        narrow = _ROOT * kind.sigma_check / kind.affected * (1 - 2e-15)
        parts.append(_rungs(1 / narrow, far, delta, True, 1))
    starts = sorted({start for part in parts for start in part.starts})
    places = [[part.at(start) for part in parts] for start in starts]
    c = [sum(part.c[k] for part, k in zip(parts, at, strict=True)) * _UP for at in places]
    e = [sum(part.e[k] for part, k in zip(parts, at, strict=True)) * _UP for at in places]
    return _Stairs(tuple(starts), tuple(c), tuple(e))


def _rungs(shift: float, far: float, delta: float, two: bool, affected: int) -> _Stairs:
    """The steps of `climb`, which hold from the level on at which they were made; those of the counts without."""
    counts = 2 * shift * shift * _UP
    n = min(_MOST, FIRST + math.ceil(far / (0.6 * counts)))  # so many that the last steps are beyond ``far``
    if not climbs(1 / shift, n, delta / 2):
        return _Stairs((0.0,), (counts,), (0.0,))
    starts, c, e = zip(*climb(shift, n, delta * PADS / 2, two, affected).steps, strict=True)
    return _Stairs(starts, tuple(step * _UP for step in c), tuple(pad * _UP for pad in e))


def _breaks(stairs: list[_Stairs], level: float) -> list[float]:
    """Between two of these `_psi` and `_pads` look at the ends only."""
    ends = {0.0, level}
    for each in stairs:
        ends |= {end for start in each.starts for end in (start, start + each.c[0]) if end < level}
    return sorted(ends)


def _psi(stairs: list[_Stairs], weights: list[float], level: float) -> float:
    """Psi of the level, rounded down.

    The potential itself is cautious: it is shifted by c_i(0), and takes the least increment of all kinds at each level,
    because the order of labels is not known. Other weights move the loss from one kind to another. To allow what any
    one of several weights allows is not proved: leaves of one adaptive tree would rest on different potentials.
    """
    breaks, total = _breaks(stairs, level), 0.0
    for low, high in pairwise(breaks):
        slopes = (w / each.c[each.at(max(0.0, low - each.c[0]))] for w, each in zip(weights, stairs, strict=True))
        total += (high - low) * min(slopes)
    return total / _UP


def _pads(stairs: list[_Stairs], level: float) -> float:
    """The largest sum of pads of labels whose levels end at ``level``, by an integral like Psi."""
    breaks, total = _breaks(stairs, level), 0.0
    for low, high in pairwise(breaks):
        total += (high - low) * max(each.most_pad(max(0.0, low - each.c[0]), high) for each in stairs)
    return total * _UP
