"""The worst multiset of a certificate, worked out so that a reader can follow it with a calculator."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from darrm.design.design import Design
from darrm.numerics.exact import decimals
from darrm.problem.limits import guarantee
from darrm.problem.majority import MajorityProblem

_ZERO, _ONE = Decimal(0), Decimal(1)


@dataclass(frozen=True)
class Vote:
    """A vote's probabilities of 1 and of 0 on one of two neighbouring data sets."""

    one: Decimal
    zero: Decimal


@dataclass(frozen=True)
class WorstMultiset:
    """X(p) - e^(m eps) X(p') at the multiset that a certificate names, to 60 digits.

    Attributes
    ----------
    corners : tuple of (str, int, Vote, Vote)
        Name, number of votes there, and the vote's probabilities on D and on D'.
    p_side, q_side : tuple of Decimal, length K + 1
        Pr[L = l | D] and Pr[L = l | D'], L the number of votes for 1.
    release : tuple of Decimal, length K + 1
        Pr[release 1 | L = l] = (1 + sign(l - K/2) gamma(l)) / 2.
    probabilities : tuple of two Decimal
        X(p) = Pr[release 1 | D] and X(p') = Pr[release 1 | D'].
    factor : Decimal
        e^(m eps).
    excess : Decimal
        X(p) - e^(m eps) X(p').
    """

    corners: tuple[tuple[str, int, Vote, Vote], ...]
    p_side: tuple[Decimal, ...]
    q_side: tuple[Decimal, ...]
    release: tuple[Decimal, ...]
    probabilities: tuple[Decimal, Decimal]
    factor: Decimal
    excess: Decimal


def work_out(design: Design) -> WorstMultiset:
    """The excess at the worst multiset of the certificate of ``design``, from the definition.

    Nothing here is shared with the certificate but the names of the corners: one vote is added after the other, in
    decimal arithmetic without underflow. O(K^2), some seconds at K = 3001.
    """
    problem, K = design.problem, design.problem.K
    total = guarantee(problem).epsilon
    with decimals(total):
        votes = _votes(problem)
        corners = tuple((name, n, *votes[name]) for name, n in design.certificate.worst_case.items())
        p_side = _ones([(vote, count) for _, count, vote, _ in corners])
        q_side = _ones([(vote, count) for _, count, _, vote in corners])
        release = tuple((1 + ((2 * l > K) - (2 * l < K)) * Decimal(g)) / 2 for l, g in enumerate(design.gamma.tolist()))
        x, y = (sum((a * b for a, b in zip(pmf, release, strict=True)), _ZERO) for pmf in (p_side, q_side))
        factor = total.exp()
        return WorstMultiset(corners, p_side, q_side, release, (x, y), factor, x - factor * y)


def _votes(problem: MajorityProblem) -> dict[str, tuple[Vote, Vote]]:
    """(p, p') of the corners of Lemma 5.1, each with 1 - p of its own: it keeps its digits where p is nearly 1."""
    D, grow = Decimal(problem.Delta), Decimal(problem.epsilon).exp()
    hi, lo = (grow + D) / (grow + 1), (1 - D) / (grow + 1)
    never, ever = Vote(_ZERO, _ONE), Vote(_ONE, _ZERO)
    high, low, rare, usual = Vote(hi, lo), Vote(lo, hi), Vote(D, 1 - D), Vote(1 - D, D)
    return {
        "(0,0)": (never, never),
        "(1,1)": (ever, ever),
        "(hi,lo)": (high, low),
        "(lo,hi)": (low, high),
        "(D,0)": (rare, never),
        "(0,D)": (never, rare),
        "(1-D,1)": (usual, ever),
        "(1,1-D)": (ever, usual),
    }


def _ones(votes: list[tuple[Vote, int]]) -> tuple[Decimal, ...]:
    """Distribution of the number of ones among independent votes."""
    pmf = [_ONE]
    for vote, count in votes:
        for _ in range(count):
            stay, rise = [*pmf, _ZERO], [_ZERO, *pmf]
            if vote.one and vote.zero:
                pmf = [vote.zero * a + vote.one * b for a, b in zip(stay, rise, strict=True)]
            else:
                pmf = rise if vote.one else stay
    return tuple(pmf)
