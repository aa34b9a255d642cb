"""`darrm.Design`: a certified table with its problem and objective."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from darrm._lazy import view
from darrm._validation import choice, real, refusal, shown, whole
from darrm.certificate.certificate import Certificate
from darrm.design.absent import attendances
from darrm.design.answers import Answers
from darrm.design.checks import of_a_decision, of_a_majority, proved
from darrm.design.columns import ForAnalysis, columns_of_counts, columns_of_gamma
from darrm.design.content import (
    check_ending,
    check_filed,
    headed,
    problem_in_file,
)
from darrm.design.costs import costs_in, expected_cost, reversals_of
from darrm.design.rounding import bits_of, rounded
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.printed import at_least, exactly
from darrm.objectives import Objective
from darrm.objectives.under_priors import Paper
from darrm.priors import Prior
from darrm.priors.prior import OBJECTIVES, errors
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import checked_present
from darrm.problem.limits import by_kind, epsilon_in_print, profile_points
from darrm.problem.noise_function import Given
from darrm.storage.sealed_json import finite, write

MOST_BITS = 50  # of a rounded table
SHAPES = ("free", "monotone")  # of a noise function


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Design(Answers, ForAnalysis):
    """A table that is certified to satisfy the guarantee of its problem; any other table is refused.

    The constructor computes the certificate from the table, whoever made it: `darrm.solve`, `darrm.load` or you.
    Designs are equal if all their arguments are: parameters, names, tables to the last bit, objective and gap.

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem
    table : array_like, float in [0, 1]; kept read-only
        For a majority: the noise function gamma, symmetric, shape (K + 1,), or a function of l: the probability of
        releasing the true majority when l votes are 1, else a fair coin flip is released. For two answers: X(n), the
        probability of answer 1 when n = (n_1, ..., n_G) voters of each group say 1; shape ``problem.table_shape``.
        More: X_o(n), the probabilities of all answers at the votes n of each group, in the order of
        `darrm.problem.counts.count_vectors`; shape ``(*problem.table_shape, n_answers)``. For one group and a decision
        that treats all classes alike: shape ``(rows, n_answers)``, a row for each of
        `darrm.problem.counts.sorted_counts`. Its first entry is for the class with most votes, the second for the next
        class.
    prior : Prior, str or Objective
        For a majority the distribution of the votes, "uniform" if not given; for a decision the objective to minimise,
        from `darrm.objectives`. The guarantee does not rest on it.
    shape : {"free", "ordered", "monotone"}
        "ordered", for a decision: the answer that the objective prefers at given counts is never less likely than
        another there. Every noise function is ordered, and has the shape "free" or "monotone". "monotone", for a
        majority: gamma(l) does not fall for l > K/2.
    objective : {"tv", "disagreement", "custom"}, optional
        The objective under the prior; "custom" if the user gave terms or constraints. "tv" if not given.
    gap : float, at least 0
        Bound on ``expected_cost`` minus the least expected cost of any table with this guarantee, profile and shape;
        certified if it comes from `darrm.solve`, infinite if nothing is known. Where voters with a delta are too many,
        only tables that Lemma D4 (docs/decisions.md) certifies are compared.
    profile : sequence of (epsilon, delta)
        Further limits that one release keeps, verified like the guarantee; see `darrm.solve`.
    fewer : mapping from tuple of int to Design
        For absent voters: the decision for every vector of present voters, one number for each group, except all and
        none. Empty if all voters must be present.
    planned_for : {"", "fresh", "fixed"}
        The voters of the plan that made it, for its file, totals and ledgers: it is composed for these voters only.

    Attributes
    ----------
    objective : Objective
    prior : Prior
        The prior of the objective, if the objective is one of the paper's.
    gamma : ndarray
        The table of a majority. Other designs have no ``gamma``, ``error`` and ``disagreement``.
    error : float
        Expected TV error, the mean total variation distance from the plain majority: 1/2 abs(sum over l > K/2 of
        E[alpha_l - alpha_(K-l)] (1 - gamma(l))). For fixed p this is Definition 2.4 of the paper, for a prior on p >=
        1/2 its mean. For a vote histogram it is that of the mean votes, where rows can cancel.
    disagreement : float
        Disagreement rate, 1/2 E[1 - gamma(L)] without ties: the probability that the released bit differs from the
        majority of the votes cast.
    expected_cost : float
        Expected cost under the objective, all voters present. For costs of 1 it is the label error rate; for a rule,
        the probability of an answer that differs from it. It relies on the accuracies of the objective; the guarantee
        does not, if they come from elsewhere than these votes or records. NaN for the objective "custom".
    certificate : Certificate
    encoding : Encoding
        The encoding of the table; see `darrm.problem.encodings`.
    absent : bool
        Whether voters may be absent.
    without_votes : float
        The probability of answer 1 if no voter is present, which costs no privacy.
    answers_without_votes : tuple of float
        The probabilities of all answers if no voter is present.

    Raises
    ------
    CertificateError
        If the table does not satisfy the guarantee.
    InputError
        If an argument is invalid.

    Examples
    --------
    A noise function of your own; the plain majority, without noise, is refused:

    >>> import darrm
    >>> problem, prior = darrm.MajorityProblem(K=5, m=2, epsilon=0.5), darrm.priors.independent()
    >>> design = darrm.Design(problem, [1.0, 0.5, 0.2, 0.2, 0.5, 1.0], prior)
    >>> design.certificate.holds, round(design.error, 4)
    (True, 0.1655)
    >>> try:
    ...     darrm.Design(problem, darrm.baselines.plain_majority(5), prior)
    ... except darrm.CertificateError as error:
    ...     print(str(error).split(":")[0])
    This gamma is not certified (1, 0)-DP

    Two voters of large epsilon decide if they agree; if they do not, the other three decide, with noise:

    >>> groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.2)
    >>> design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.55]))
    >>> design.probabilities([[2, 0], [1, 0], [1, 3]]).round(3).tolist()
    [[0.0, 1.0], [0.677, 0.323], [0.323, 0.677]]
    """

    problem: Any  # AnyProblem: shared code uses common members, and code for one kind its own
    table: Array
    objective: Objective
    shape: str
    gap: float
    profile: tuple[tuple[float, float], ...]
    fewer: Mapping[tuple[int, ...], Design]
    planned_for: str
    encoding: encodings.Encoding = field(init=False)
    certificate: Certificate = field(init=False)
    expected_cost: float = field(init=False)

    @usual_arithmetic
    def __init__(
        self,
        problem: AnyProblem,
        table: Given,
        prior: Prior | Objective | str | None = None,
        shape: str = "free",
        objective: str | Objective | None = None,
        gap: float = math.inf,
        profile: Sequence[tuple[float, float]] = (),
        fewer: Mapping[tuple[int, ...], Design] | None = None,
        *,
        ordered: bool = False,
        planned_for: str = "",
    ) -> None:
        choice("planned_for", planned_for, ("", "fresh", "fixed"))
        choice("shape", shape, (*SHAPES, "ordered"))
        encoding, values = encodings.of(problem, table), encodings.table(table, problem)
        values = np.frombuffer(values.tobytes()).reshape(values.shape)  # nothing can make it writeable again
        of_gamma, asked = encoding is encodings.GAMMA, "ordered" if ordered else shape
        goal, asked = (of_a_majority if of_gamma else of_a_decision)(values, problem, prior, objective, asked)
        if of_gamma and fewer:
            raise InputError("fewer is for a DecisionProblem: a noise function is defined for all voters only.")
        made = {
            "problem": problem,
            "table": values,
            "encoding": encoding,
            "objective": goal,
            "shape": asked,
            "certificate": proved(values, problem, encoding, profile),
            "gap": real("gap", gap, 0),
            "profile": profile_points(profile),
            "planned_for": planned_for,
        }
        self.__dict__.update(made)
        if of_gamma:
            cost = dict(zip(OBJECTIVES, self._errors, strict=True)).get(goal.name, math.nan)
        else:
            costs = costs_in(self.problem, goal, values)
            if self.ordered and reversals_of(costs, values):
                raise InputError(
                    "An ordered table must never prefer the answer that costs more. Got a table that does."
                )
            cost = expected_cost(costs, values)
        object.__setattr__(self, "expected_cost", cost)
        object.__setattr__(self, "fewer", MappingProxyType(self._of_fewer(fewer or {})))

    def _of_fewer(self, fewer: Mapping[tuple[int, ...], Design]) -> dict[tuple[int, ...], Design]:
        """The decisions for present voters, refused unless they cover all attendances with equal settings."""
        if not isinstance(fewer, Mapping):
            raise refusal("fewer", "a mapping from present voters to their designs", fewer)
        every = {checked_present(self.problem, present): design for present, design in dict(fewer).items()}
        if every and every.keys() != set(attendances(self.problem)):
            raise InputError("fewer must have a decision for every vector of present voters except all and none.")
        for present, design in every.items():
            if (
                not isinstance(design, Design)
                or design.problem != self.problem.with_present(present)
                or design.profile != self.profile
                or design.shape != self.shape
                or design.objective != self.objective.with_present(present)
                or design.fewer
            ):
                raise InputError(f"The decision for {present} present voters is for another problem.")
        return every

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Design) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """All arguments of a design, for comparison and hashing."""
        table, fewer = tuple(self.table.ravel().tolist()), tuple(sorted(self.fewer.items()))
        made = (self.problem, self.problem.voters, table, self.objective, self.shape, self.profile, self.gap)
        return *made, fewer

    def __reduce__(self) -> tuple[Callable[..., Design], tuple[object, ...]]:
        # Copies and pickles are constructed, and so verified, like any other design.
        goal: tuple[object, ...] = (self.objective, self.shape, None)
        if isinstance(self.objective, Paper) and self.encoding is encodings.GAMMA:
            goal = (self.objective.prior, self.shape, self.objective.name)
        make = partial(Design, planned_for=self.planned_for)
        return make, (self.problem, self.table, *goal, self.gap, self.profile, dict(self.fewer))

    def for_plan(self, voters: str) -> Design:
        """The same design, with the voters of the plan that made it; nothing that was verified depends on them."""
        made = object.__new__(Design)
        made.__dict__.update({**self.__dict__, "planned_for": voters})
        return made

    def __repr__(self) -> str:
        problem = self.problem
        groups = ", ".join(f"{group.count} of epsilon {exactly(group.epsilon)}" for group in problem.groups)
        said, of = f"expected cost {self.expected_cost:.6g}", str(self.objective)
        if self.encoding is encodings.GAMMA:
            errors_by_objective = {
                "tv": f"expected TV error {self.error:.6g}",
                "disagreement": f"disagreement rate {self.disagreement:.6g}",
            }
            said = errors_by_objective.get(of, ", ".join(errors_by_objective.values()))  # custom: neither alone
            own = ", terms of your own" * (of not in errors_by_objective)
            of = f"objective {of}{own}, {self.shape}, {self.prior}"
        limits = by_kind(
            problem, lambda kind: f"epsilon={at_least(epsilon_in_print(kind))} delta={at_least(kind.delta, 4)}"
        )
        limits += "," * ("for a change" in limits)
        gap = f", gap {self.gap:.1g}" if math.isfinite(self.gap) else ""
        return f"<Design {groups}; {limits} max_affected={problem.max_affected}: {said} ({of}){gap}>"

    def _of_gamma(self, name: str) -> None:
        if self.encoding is not encodings.GAMMA:
            raise AttributeError(
                f"{name} exists for noise functions only. A decision has table, probabilities and expected_cost."
            )

    @property
    def gamma(self) -> Array:
        self._of_gamma("gamma")
        return self.table

    @property
    def prior(self) -> Prior:
        if not isinstance(self.objective, Paper):
            raise AttributeError("prior exists for objectives of the paper only. This design has another objective.")
        return self.objective.prior

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """Expected TV error and disagreement of a noise function."""
        return errors(self.prior, self.table)

    @property
    def error(self) -> float:
        self._of_gamma("error")
        return self._errors[0]

    @property
    def disagreement(self) -> float:
        self._of_gamma("disagreement")
        return self._errors[1]

    @property
    def ordered(self) -> bool:
        """Whether the answer that the objective prefers at given counts is never less likely than another there."""
        return self.shape == "ordered"

    def columns(self) -> dict[str, list[Any]]:
        if self.encoding is encodings.GAMMA:
            return columns_of_gamma(self.table, self.release_probabilities)
        return columns_of_counts(self.problem, self._tables, absent=self.absent)

    @property
    def about(self) -> str:
        prior = f", prior {self.prior}" if self.encoding is encodings.GAMMA else ""
        return f"{self.problem!r}, objective {self.objective}{prior}"

    def _repr_html_(self) -> str:
        return str(view(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design file; the old file stays if that fails. `darrm.load` reads and verifies it.

        Raises
        ------
        InputError
            If the name ends in .csv, .parquet or .tex: a design file is JSON. If `darrm.load` does not read problems of
            this type. If the file would be too large to be read again, as from about half a million voters on.
        OutputError
            If the path cannot be written.
        """
        check_ending(path)
        check_filed(self.problem)
        write(path, headed(in_file(self)))

    def of_kind(self, kind: str) -> Design:
        """The same table for one kind of change, such as "group 1", where each group has a limit of its own.

        Its report and profile are those of changes of this kind alone. It is kept in no file.

        Raises
        ------
        InputError
            If the problem has no such kind.
        """
        kinds = self.problem.kinds
        if not isinstance(kind, str) or kind not in kinds:
            names = f"one of {', '.join(kinds)}" if len(kinds) > 1 else "left out: all changes have one limit"
            hint = f' Pass e.g. --kind "{next(iter(kinds))}".' if len(kinds) > 1 else ""
            raise InputError(f"kind must be {names}. Got {shown(kind)}.{hint}")
        if not kind:
            return self
        own = kinds[kind]
        fewer = {
            present: Design(own.with_present(present), other.table, other.objective, other.shape)
            for present, other in self.fewer.items()
        }
        return Design(own, self.table, self.objective, self.shape, fewer=fewer)

    @property
    def bits(self) -> int:
        """The least b for which all probabilities that are sampled are multiples of 2^-b; see `rounded`.

        The draw among classes of equal votes does not count, whose probability can be a third.
        """
        return max(bits_of(each.table, each.problem) for each in (self, *self.fewer.values()))

    def rounded(self, bits: int) -> Design:
        """The design with probabilities that are multiples of 2^-bits, rounded towards noise, certified as it is drawn.

        A label of such a table needs ``bits`` random bits and comparisons, which is what labels drawn over secret
        shares cost (`darrm.interop.shared`). For two answers every probability moves towards 1/2 by less than 2^-bits;
        for more, rows are rounded by largest remainders. If the certificate does not hold then, the table is mixed
        with a few more random answers before it is rounded, until it does. A symmetric table becomes a full one.

        Parameters
        ----------
        bits : int in [1, 50]

        Returns
        -------
        Design
            Its ``gap`` is the old one and what rounding added to the expected cost; ``bits`` is at most the given one.

        Raises
        ------
        InputError
            If ``bits`` is out of range, or an ordered table of several answers is no longer ordered.
        CertificateError
            If no share of the table could be certified.

        Notes
        -----
        The cost is that of some certificates of the table (docs/benchmarks.md).

        Examples
        --------
        >>> import darrm
        >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
        >>> short = design.rounded(16)
        >>> design.bits, short.bits, short.error - design.error < 1e-5
        (54, 16, True)
        """
        bits = whole("bits", bits, 1, MOST_BITS)
        table = rounded(self.table, self.problem, self.profile, bits)
        fewer = {present: other.rounded(bits) for present, other in self.fewer.items()}
        made = partial(Design, self.problem, table, self.objective, self.shape, None)
        first = made(math.inf, self.profile, fewer, planned_for=self.planned_for)
        gap = self.gap + max(0.0, first.expected_cost - self.expected_cost)
        if not gap < math.inf:
            return first
        return made(math.nextafter(gap, math.inf), self.profile, fewer, planned_for=self.planned_for)

    @property
    def reversals(self) -> int:
        """The number of count vectors at which the answer that the objective prefers is less likely than another."""
        if self.encoding is encodings.GAMMA:
            return 0
        return reversals_of(costs_in(self.problem, self.objective, self.table), self.table)


DecisionDesign = Design  # the former name of designs of decisions


def as_dict(design: Design) -> dict[str, object]:
    """The design as plain JSON values; an infinite number is None."""
    parts: dict[str, Any] = {
        "gap": design.gap,
        "certificate": design.certificate.as_dict(),
        "profile": [[finite(epsilon), delta] for epsilon, delta in design.profile],
    }
    first = {"problem": problem_in_file(design.problem), design.encoding.key: design.table.tolist()}
    if design.encoding is encodings.GAMMA:
        asked: dict[str, Any] = {
            "shape": design.shape,
            "objective": str(design.objective),
            "prior": design.prior.as_dict(),
        }
        values = {**first, **asked, "error": design.error, "disagreement": design.disagreement, **parts}
    else:
        asked = {"objective": design.objective.as_dict(), "ordered": design.ordered}
        values = {**first, **asked, "expected_cost": design.expected_cost, **parts, "absent": design.absent}
    return {key: finite(value) for key, value in values.items()}


def in_file(design: Design) -> dict[str, object]:
    """The content of a design file, as plain JSON values: `as_dict` and the exact numbers."""
    planned = {"planned_for": design.planned_for} if design.planned_for else {}
    return {**as_dict(design), **_tables(design), **planned}


def _tables(design: Design) -> dict[str, object]:
    """The exact numbers of a file: every table in hexadecimal, tables for fewer voters with gap and cost."""
    fewer = [
        {"present": list(present), "gap": finite(other.gap), "expected_cost": other.expected_cost, **_tables(other)}
        for present, other in design.fewer.items()
    ]
    return {
        f"{design.encoding.key}_hex": [value.hex() for value in design.table.ravel().tolist()],
        **({"fewer": fewer} if fewer else {}),
    }
