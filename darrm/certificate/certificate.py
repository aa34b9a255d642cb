"""Certificates: `verify` recomputes the guarantee of a release from its table, whoever made it.

`darrm.certificate` lists the modules that this relies on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from darrm.certificate.engines import engine, search, worst_cases
from darrm.certificate.protocol import Separation, WorstCase, largest
from darrm.certificate.tight_epsilon import tight_epsilon
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.problem import encodings
from darrm.problem.limits import Limit, Problem, guarantees, point_text, profile_limits
from darrm.problem.noise_function import Given


@dataclass(frozen=True)
class Certificate:
    """The certified privacy of one release under the assumptions of one problem.

    Attributes
    ----------
    holds : bool
        Whether the release is certified (m epsilon, delta)-DP, with all rounding counted: needed_delta <= delta.
    needed_delta : float
        Upper bound on the least delta with which the release is (m epsilon, delta)-DP, which is its hockey-stick
        divergence at m epsilon over all neighbouring data sets.
    tight_epsilon : float
        Upper bound on the least epsilon with which the release is (epsilon, delta)-DP at the problem's
        delta, in nats; infinite if there is none.
    worst_case : dict of str to int
        The multiset of corner points that achieves ``needed_delta``, up to rounding. If the release needs no delta at
        the epsilon of its limit, this may be one without an affected voter; then ``tight_epsilon`` is that of another
        one. Where the voters of a decision
        have a delta and are too many for an exact search, ``needed_delta`` may be more than any multiset achieves
        (docs/decisions.md, Lemma D4). Corners (p, p') are written with hi, lo and D = Delta. Another multiset may need
        more delta by rounding alone, some 1e-14 at K = 11; for m eps above 709, the end of float64, by any amount if no
        multiset needs a delta.
    probabilities : tuple of two floats
        Pr[release 1 | D] and Pr[release 1 | D'] at the worst case; for a decision those of the answer that
        ``worst_case`` names.
    rounding : float
        The part of ``needed_delta`` that covers rounding errors of the worst case. ``needed_delta`` may exceed the
        achieved delta by more, up to the accuracy of the bounds on all other cases: 1e-13 of e^(m eps) - 1 + 2 delta,
        or 3e-15 K of it if that is larger.
    kinds : mapping from str to Certificate
        Where each group has a limit of its own, the certificate of each kind of change; empty if all changes have one
        limit. ``holds`` is then whether all hold, ``needed_delta`` and ``tight_epsilon`` are the largest, each at its
        own limit, and the others are those of the kind that is nearest to its delta, or furthest above it. A change
        that affects voters of several groups is certified only if it has a limit, as "several groups".

    Examples
    --------
    The majority of three voters, where a change in group 1 may cost less than one in group 2:

    >>> import darrm
    >>> groups = [darrm.VoterGroup(1, epsilon=0.5), darrm.VoterGroup(2, epsilon=0.8)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=[0.6, 0.7], max_affected=1)
    >>> found = darrm.verify([[0, 0, 1], [0, 1, 1]], problem)
    >>> {kind: (own.holds, round(own.tight_epsilon, 3)) for kind, own in found.kinds.items()}
    {'group 1': (True, 0.5), 'group 2': (False, 0.8)}
    """

    holds: bool
    needed_delta: float
    tight_epsilon: float
    worst_case: dict[str, int]
    probabilities: tuple[float, float]
    rounding: float
    kinds: Mapping[str, Certificate] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The certificate as plain values; that of several kinds of change is the certificate of each."""
        if self.kinds:
            return {"kinds": {name: kind.as_dict() for name, kind in self.kinds.items()}}
        values = asdict(self)
        del values["kinds"]
        return values


@usual_arithmetic
def verify(release: Given, problem: Problem) -> Certificate:
    """Verify from the table alone that a release satisfies the guarantee of the problem.

        holds  <=>  max over allowed (p, p') of  X(p) - e^(m eps) X(p')  <=  delta,    X(p) = Pr[release 1 | p]

    (output 0 is the mirror image; for more answers X is the probability of any set of answers). Every rounding error is
    counted against the guarantee. The guarantee holds if the voters are as the problem states: independent given the
    data, each as private as its group, and no more of them affected between neighbouring data sets than
    ``max_affected``.

    Parameters
    ----------
    release : array_like, float in [0, 1]
        For a `MajorityProblem` the noise function gamma, shape (K + 1,), gamma[l] == gamma[K - l], or a function of l.
        For even K the entry at the tie K/2 has no effect: a tie releases a fair coin flip. For a `DecisionProblem` the
        table of a `darrm.Design`: the probabilities X of answer 1, shape ``problem.table_shape``, or of all answers if
        there are more than two.
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
    Lemmas 3.4 and 5.1 of Jiang, Zhang, Joshi (TMLR 2024); separation and rounding bound in docs/theory.md. O(K^3) if
    Delta = 0. For Delta > 0 that, times the number of voters whose delta events have a probability above rounding, and
    O(K^2) more for each entry that no bound decides. The tight epsilon takes about twice as long.

    Examples
    --------
    The majority of three random votes is as private as two votes, not as one:

    >>> import darrm
    >>> gamma = darrm.baselines.subsampling(5, 3)
    >>> found = darrm.verify(gamma, darrm.MajorityProblem(K=5, m=1, epsilon=0.5))
    >>> found.holds, round(found.tight_epsilon, 4), round(found.needed_delta, 4)
    (False, 1.0, 0.1525)
    """
    engine(problem)  # refuses what is no problem
    each, table = {}, None
    for (name, kind), limit in zip(problem.kinds.items(), guarantees(problem), strict=True):
        engine(kind).check_size(kind)
        table = encodings.table(release, kind) if table is None else table
        each[name] = proved(search(table, limit), limit, largest(worst_cases(table, limit)))
    if len(each) == 1:
        return each[""]
    nearest = max(each, key=lambda name: each[name].needed_delta - problem.kinds[name].delta)
    return replace(
        each[nearest],
        holds=all(kind.holds for kind in each.values()),
        needed_delta=max(kind.needed_delta for kind in each.values()),
        tight_epsilon=max(kind.tight_epsilon for kind in each.values()),
        kinds=each,
    )


def proved(cases: Separation, limit: Limit[Problem], worst: WorstCase) -> Certificate:
    """The certificate that a search yields, given its worst case at the epsilon of the limit."""
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
    """The first point of a profile that a release is not certified for, in words that follow "is"; "" if none."""
    if not profile:
        return ""
    table = encodings.table(release, problem)
    for (epsilon, _), limit in zip(profile, profile_limits(problem, profile), strict=True):
        bound = largest(worst_cases(table, limit)).bound
        if not bound <= limit.delta:
            point = point_text(epsilon, limit)
            return f"not certified {point}, a point of its profile: delta is up to {bound:.17g} there"
    return ""
