"""The majority problem: the assumption on the voters and the guarantee for their majority."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

from darrm._validation import MAX_EPSILON, check_one_epsilon, real, refusal, shown, whole
from darrm.errors import InputError
from darrm.problem.groups import ByGroups, VoterGroup, checked_present
from darrm.problem.limits import Affected, adjacency_text
from darrm.problem.model import VoterModel

_ONE_VOTER = (
    "Pass the epsilon of one voter, e.g. 0.1; non-private voters are a group: --group 25:inf, VoterGroup(25, math.inf)."
)

_ALLOWANCES = ("release_epsilon", "total_epsilon")  # in place of m; the second is the former name of the first


@dataclass(frozen=True, init=False)
class MajorityProblem(ByGroups):
    """Release the majority of K private votes with (m epsilon, delta)-differential privacy.

    Voters M_1, ..., M_K look at one data set D and vote 0 or 1, independently given the data.
    For neighbouring D and D' write p_i = Pr[M_i(D) = 1] and p'_i = Pr[M_i(D') = 1]. Each voter is
    (epsilon, Delta)-DP, so every pair (p_i, p'_i) obeys, in both directions,

        p  <= e^epsilon p' + Delta,      1 - p' <= e^epsilon (1 - p) + Delta,

    and p_i = p'_i for all but at most ``max_affected`` of them, the affected voters. Let L ~ PoissonBinomial(p) be the
    number of ones. DaRRM with noise function gamma releases the true majority with probability gamma(L) and a fair coin
    flip otherwise; with F(l) = sign(l - K/2) gamma(l),

        Pr[release 1 | L = l] = (1 + F(l)) / 2.

    A tie (K even, l = K/2) releases a fair coin flip for every gamma(K/2). The release is (m epsilon, delta)-DP if
    and only if, for all allowed (p, p') and A(p) = E[F(L)],

        A(p) - e^(m epsilon) A(p') <= e^(m epsilon) - 1 + 2 delta.

    Parameters
    ----------
    K : int, at least 1
        Number of voters; odd or even.
    m : float in (0, K]
        Privacy allowance of the release, in multiples of epsilon; it need not be an integer. Below 1 the release is
        more private than a vote.
    epsilon : float in (0, 1e6]
        Epsilon of one voter, in nats.
    Delta : float in [0, 1)
        Delta of one voter: each is (epsilon, Delta)-DP.
    delta : float in [0, 1), optional
        Delta of the release; 1 - (1 - Delta)^max(m, 1) if not given. It may be below Delta.
    max_affected : int in [1, K], optional
        The largest number of affected voters: those whose vote distribution may differ between neighbouring data sets.
        1: disjoint shards, if no other record changes its shard, such as a new record in the old record's place.
        2: a record is replaced, and its shard depends on its own content, and on no other record.
        K (the default, and the setting of the paper): every voter may see every record, or a removed record moves the
        others. Each affected
        voter must be (epsilon, Delta)-DP for the change of its own data. Where the content decides the shard, one shard
        loses a record and another gains a record, or one shard has a record replaced.
    adjacency : str, default "replace-one"
        The neighbouring relation, the same for the voters' epsilon, for ``max_affected`` and for the release.
        Free text in one line; "replace-one" and "add-remove" are the usual ones.
    release_epsilon : float in (0, K epsilon]
        The epsilon of the release, in nats; pass it by name in place of m. Then m is the largest float64 whose exact
        product with epsilon is at most ``release_epsilon``. So the guarantee is never weaker than asked for, and
        stronger by a relative 2^-52 at most. Files hold m.

    Attributes
    ----------
    release_epsilon : float
        m epsilon, to float64.
    exact_epsilon : Fraction
        m epsilon, exactly: the certified number.

    Raises
    ------
    InputError
        If a value is outside its range, not finite, or of the wrong kind, or if not exactly one of m and
        ``release_epsilon`` is given.

    Notes
    -----
    Problem 1.1 and Lemma 3.4 of Jiang, Zhang, Joshi, "Optimized Tradeoffs for Private Prediction with Majority
    Ensembling", TMLR 2024. ``max_affected`` and even K go beyond the paper. The guarantee is for one release. The cost
    of many releases depends on the voters: fresh (each answer is private by its own randomness) or fixed (trained with
    DP once). See docs/fresh_or_fixed.md.

    Examples
    --------
    >>> import darrm
    >>> darrm.MajorityProblem(11, m=3, epsilon=0.1).release_epsilon
    0.30000000000000004
    >>> darrm.MajorityProblem(11, epsilon=0.5, release_epsilon=0.2).m
    0.4
    """

    K: int
    m: float
    epsilon: float
    Delta: float
    delta: float
    max_affected: int
    adjacency: str

    @overload
    def __init__(
        self,
        K: int,
        m: float,
        epsilon: float,
        Delta: float = 0.0,
        delta: float | None = None,
        max_affected: int | None = None,
        adjacency: str = "replace-one",
    ) -> None: ...

    @overload
    def __init__(
        self,
        K: int,
        *,
        epsilon: float,
        release_epsilon: float,
        Delta: float = 0.0,
        delta: float | None = None,
        max_affected: int | None = None,
        adjacency: str = "replace-one",
    ) -> None: ...

    def __init__(
        self,
        K: int,
        m: float | None = None,
        epsilon: float | None = None,
        Delta: float = 0.0,
        delta: float | None = None,
        max_affected: int | None = None,
        adjacency: str = "replace-one",
        *,
        release_epsilon: float | None = None,
        total_epsilon: float | None = None,
    ) -> None:
        if release_epsilon is None:
            release_epsilon = total_epsilon  # the name as the caller passed it
        K = whole("K", K, high=math.inf, hint="Pass the number of voters, e.g. 11.")
        in_K = f"in [1, K] = [1, {shown(K)}]"
        check_one_epsilon("epsilon", epsilon)
        epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", hint=_ONE_VOTER)
        m = _allowance(K, m, epsilon, release_epsilon)
        hint = "Pass the delta of one voter, e.g. 1e-5."
        Delta = real("Delta", Delta, 0, 1, "[)", hint=hint)
        if delta is None:
            # Rounding must not put the default below Delta.
            delta = max(Delta, -math.expm1(max(m, 1.0) * math.log1p(-Delta)))
            if delta == 1:
                raise InputError(
                    f"Delta = {Delta!r} and m = {m!r} give delta = 1 - (1 - Delta)^m = 1, which guarantees nothing. "
                    "Pass a delta below 1, or a smaller Delta or m."
                )
        hint = "Leave it out for 1 - (1 - Delta)^max(m, 1), or pass one in that range."
        delta = real("delta", delta, 0, 1, "[)", hint=hint)
        hint = "Pass the number of voters one record can affect, or leave it out for all K."
        max_affected = K if max_affected is None else whole("max_affected", max_affected, 1, K, allowed=in_K, hint=hint)
        # -0.0 is in range but would print, and be stored, as another number than 0.
        values = (K, m, epsilon, Delta + 0.0, delta + 0.0, max_affected, adjacency_text(adjacency))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def release_epsilon(self) -> float:
        """m epsilon, the epsilon guaranteed for one release (nats), to float64; certificates use the exact product."""
        return self.m * self.epsilon

    @property
    def exact_epsilon(self) -> Fraction:
        """m epsilon, exactly."""
        return Fraction(self.m) * Fraction(self.epsilon)

    @property
    def groups(self) -> tuple[VoterGroup]:
        """All voters, as one group."""
        return (VoterGroup(self.K, self.epsilon, self.Delta, self.max_affected),)

    @property
    def classes(self) -> int:
        """Number of classes, which is two: 0 and 1."""
        return 2

    @property
    def none(self) -> bool:
        """Whether there is a further answer; a majority has none."""
        return False

    @property
    def affected(self) -> tuple[Affected, ...]:
        """The affected voters: ``max_affected`` of them, each (epsilon, Delta)-DP."""
        return (Affected(self.epsilon, self.Delta, self.max_affected),)

    @property
    def model(self) -> VoterModel:
        """The voters and their adjacency, without the guarantee of the release."""
        return VoterModel(self.groups, self.classes, self.max_affected, self.adjacency)

    def with_present(self, present: Sequence[int]) -> MajorityProblem:
        """The problem itself; a noise function is defined for all K voters only."""
        if checked_present(self, present) != (self.K,):
            raise refusal("present", f"({self.K},): the noise function of a majority is for all voters", present)
        return self


def _allowance(K: int, m: float | None, epsilon: float, release_epsilon: float | None) -> float:
    """m, from m or from the epsilon of the release."""
    if (m is None) == (release_epsilon is None):
        given = "neither" if m is None else f"m = {shown(m)} and release_epsilon = {shown(release_epsilon)}"
        raise InputError(
            f"A problem takes either m or release_epsilon. Got {given}. Pass one of the two (--m, --release-epsilon)."
        )
    if release_epsilon is None:
        in_K = f"in (0, K] = (0, {shown(K)}]"
        m = real("m", m, 0, K, "(]", allowed=in_K, hint="Pass the allowance in multiples of epsilon, e.g. 1.")
    else:
        hint = "Pass the epsilon of one release in nats; more than all votes together cost is never needed."
        most = f"in (0, K epsilon] = (0, {shown(K * epsilon)}]"
        total = Fraction(real("release_epsilon", release_epsilon, 0, ends="()", allowed=most, hint=hint))
        m = _largest_factor(total, Fraction(epsilon))
        if m > K:
            raise refusal("release_epsilon", most, release_epsilon, hint)
    return m


def _largest_factor(total: Fraction, epsilon: Fraction) -> float:
    """The largest float64 whose product with ``epsilon`` is at most ``total``; infinity beyond the range of float64."""
    try:
        m = float(total / epsilon)
    except OverflowError:
        return math.inf
    return m if Fraction(m) * epsilon <= total else math.nextafter(m, 0.0)


def given_problem(name: str, problem: Any, parameters: dict[str, Any]) -> Any:
    """The problem that the function of this name got, or the majority problem of the parameters."""
    if not parameters and hasattr(type(problem), "exact_epsilon"):
        return problem
    names = (*MajorityProblem.__dataclass_fields__, "release_epsilon")
    unknown = sorted(set(parameters) - {*names, *_ALLOWANCES})
    if unknown:
        allowed = ", ".join(names)
        raise InputError(
            f"{name} has no parameter {unknown[0]!r}. A problem takes {allowed}; help(darrm.{name}) has the others."
        )
    if problem is not None:
        raise InputError(
            "A problem must be one MajorityProblem or DecisionProblem, or the parameters of the first by name, not "
            f"both. Got {problem!r} and {parameters}."
        )
    allowance = next((name for name in _ALLOWANCES if name in parameters), "m")
    missing = [name for name in ("K", allowance, "epsilon") if name not in parameters]
    if missing:
        raise InputError(
            f"{name} needs a problem, or K, m (or release_epsilon) and epsilon. Missing: {', '.join(missing)}."
        )
    return MajorityProblem(**parameters)
