"""Certificates: is a noise function as private as guaranteed, whoever made it?

What it rests on, file by file: `darrm.certificate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from darrm.certificate.engines import engine, search, worst_cases
from darrm.certificate.protocol import Separation, WorstCase, largest
from darrm.certificate.tight_epsilon import tight_epsilon
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.problem import encodings
from darrm.problem.limits import Limit, Problem, guarantee, point_text, profile_limits


@dataclass(frozen=True)
class Certificate:
    """What was proved about one noise function and one problem.

    Attributes
    ----------
    holds : bool
        True if the release is (m epsilon, delta)-DP, proved with all rounding counted: needed_delta <= delta.
    needed_delta : float
        Upper bound on the least delta with which the release is (m epsilon, delta)-DP.
    tight_epsilon : float
        Upper bound on the least epsilon with which the release is (epsilon, delta)-DP at the problem's
        delta, in nats; infinite if there is none.
    worst_case : dict of str to int
        The multiset of corners that achieves ``needed_delta``, which may be above what any achieves where voters of a
        decision fail and are too many (docs/decisions.md, Lemma D4). Corners (p, p') are in hi, lo and D = Delta.
        Others may need more delta by rounding alone, some 1e-14 at K = 11; for m eps above 709, where float64 ends, by
        any amount if none needs any.
    probabilities : tuple of two floats
        Pr[release 1 | D] and Pr[release 1 | D'] at the worst case; for a decision those of the answer that
        ``worst_case`` names.
    rounding : float
        What ``needed_delta`` includes for rounding errors of the worst case. It may exceed what that achieves by more,
        up to where bounds settle all other cases: 1e-13 of e^(m eps) - 1 + 2 delta, or 3e-15 K of it if that is larger.
    """

    holds: bool
    needed_delta: float
    tight_epsilon: float
    worst_case: dict[str, int]
    probabilities: tuple[float, float]
    rounding: float


@usual_arithmetic
def verify(release: ArrayLike, problem: Problem) -> Certificate:
    """Recompute from the table alone whether it satisfies the guarantee of the problem.

        holds  <=>  max over allowed (p, p') of  X(p) - e^(m eps) X(p')  <=  delta,    X(p) = Pr[release 1 | p]

    (output 0 is the mirror image; of more answers X is that of any set). Every rounding error is counted against the
    guarantee. It holds if the voters are as the problem states: independent given the data, and each as private as its
    group. One change of the data must not reach more of them than stated.

    Parameters
    ----------
    release : array_like, float in [0, 1]
        For a `MajorityProblem` the noise function gamma, shape (K + 1,), gamma[l] == gamma[K - l]. For even K the entry
        at the tie K/2 has no effect: a tie is a fair coin. For a `DecisionProblem` the table of a
        `darrm.Design`: the probabilities X of answer 1, shape ``problem.table_shape``, or for more answers of
        all.
    problem : MajorityProblem or DecisionProblem

    Returns
    -------
    Certificate

    Raises
    ------
    InputError
        If gamma is not a noise function for this K, or K is above 3001.

    Notes
    -----
    Lemmas 3.4 and 5.1 of Jiang, Zhang, Joshi (TMLR 2024); separation and rounding bound in docs/theory.md.
    O(K^3) if Delta = 0. For Delta > 0 the same times the number of voters that may move with a probability that
    matters, and O(K^2) more for each entry that no bound settles. Twice that, or a little more, for the tight epsilon.

    Examples
    --------
    The majority of three random votes is as private as two votes, not as one:

    >>> import darrm
    >>> gamma = darrm.baselines.subsampling(5, 3)
    >>> found = darrm.verify(gamma, darrm.MajorityProblem(K=5, m=1, epsilon=0.5))
    >>> found.holds, round(found.tight_epsilon, 4), round(found.needed_delta, 4)
    (False, 1.0, 0.1525)
    """
    engine(problem).check_size(problem)
    limit = guarantee(problem)
    table = encodings.table(release, problem)
    return proved(search(table, limit), limit, largest(worst_cases(table, limit)))


def proved(cases: Separation, limit: Limit[Problem], worst: WorstCase) -> Certificate:
    """What a search proves, given its worst case at the epsilon of the limit."""
    holds = worst.bound <= limit.delta
    return Certificate(
        holds,
        needed_delta=max(0.0, worst.bound),
        tight_epsilon=tight_epsilon(cases, limit, holds=holds),
        worst_case=worst.case.named() if worst.case else {},
        probabilities=(worst.p_side, worst.q_side),
        rounding=worst.rounding,
    )


def beyond_profile(release: ArrayLike, problem: Problem, profile: Sequence[tuple[float, float]]) -> str:
    """The first point of a profile that a release is not proved to keep, in words that follow "is"; "" if none."""
    table = encodings.table(release, problem)
    for (epsilon, _), limit in zip(profile, profile_limits(problem, profile), strict=True):
        bound = largest(worst_cases(table, limit)).bound
        if not bound <= limit.delta:
            return f"not proved {point_text(epsilon, limit)}, a point of its profile: delta is up to {bound:.17g} there"
    return ""
