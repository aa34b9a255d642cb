"""What one label of a design can be released by: one table, or one for every vector of present voters.

Who is present at a query may depend on the labels before it, and so may the table. The largest excess of all labels is
then a maximum over the regions of all tables at every step, which is that over the hull of their union ("Absent voters"
in docs/theory.md, "Exact composition").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import not_a_design
from darrm.accounting.hulls import counts_region, decision_counts_region, hull
from darrm.accounting.profile import Point, Region, privacy_profile, region, says_nothing
from darrm.accounting.rows import OutcomeRows
from darrm.certificate.classes import ClassSeparation
from darrm.design.decision import DecisionDesign
from darrm.design.design import AnyDesign, Design
from darrm.numerics.arrays import Array
from darrm.problem.decision import DecisionProblem, VoterGroup
from darrm.problem.limits import guarantee
from darrm.problem.majority import MajorityProblem

AnyProblem: TypeAlias = MajorityProblem | DecisionProblem


@dataclass(frozen=True, eq=False)
class OneLabel:
    """The tables that one label can come from.

    Attributes
    ----------
    problem : MajorityProblem or DecisionProblem
        With all voters present.
    table : ndarray
        Its noise function, or the table of a decision.
    fewer : mapping from tuple of int to ndarray
        The tables for other present voters, if voters may be absent.
    certified : bool
        Whether one label is known to satisfy the guarantee of the problem.
    tight_epsilon : float
        An epsilon that is proved for one label at the delta of the problem, whoever is present.
    """

    problem: AnyProblem
    table: Array
    fewer: Mapping[tuple[int, ...], Array]
    certified: bool = True
    tight_epsilon: float = math.inf

    @property
    def guarantee(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, delta) of one label, exactly, if it is certified."""
        if not self.certified:
            return None
        epsilon = self.problem.exact_epsilon
        if self.tight_epsilon < epsilon:
            epsilon = Fraction(self.tight_epsilon)
        return epsilon, Fraction(self.problem.delta)

    @property
    def tables(self) -> tuple[tuple[AnyProblem, Array], ...]:
        """All tables, each with the problem of its voters."""
        first: tuple[AnyProblem, Array] = (self.problem, self.table)
        if not isinstance(self.problem, DecisionProblem):
            return (first,)
        return (first, *((self.problem.with_present(present), table) for present, table in self.fewer.items()))

    @property
    def can_reach_all_at_once(self) -> bool:
        """Whether one change of the data can reach as many voters of every group as it can of each alone."""
        problem = self.problem
        groups = problem.groups if isinstance(problem, DecisionProblem) else ()
        return len(groups) < 2 or sum(group.max_affected for group in groups) <= problem.max_affected

    def gives(self) -> Region | OutcomeRows:
        """What one label can say on neighbouring data: the region of two answers, the rows of more."""
        problem = self.problem
        if isinstance(problem, DecisionProblem) and not problem.binary:
            return class_rows(self.table, problem)
        return self.region()

    def gives_of_counts(self, together: tuple[int, ...] | None = None) -> Region | OutcomeRows:
        """The same if the voters had no privacy, and one change reached at most so many of each group ``together``.

        Without ``together``: as many as the problem allows. See `darrm.accounting.hulls.decision_counts_region`.
        """
        problem = self.problem
        if isinstance(problem, DecisionProblem) and not problem.binary:
            return class_rows(self.table, without_privacy(problem), together)
        return self.counts_region(together)

    def region(self) -> Region:
        """The region of one label of two answers; see `darrm.accounting.profile.region`."""
        whole, *parts = [region(table, problem) for problem, table in self.tables]
        return hull([whole, *(_in_all_groups(part, who) for part, who in zip(parts, self.fewer, strict=True))])

    def counts_region(self, together: tuple[int, ...] | None = None) -> Region:
        """`gives_of_counts` for two answers."""
        if not isinstance(self.problem, DecisionProblem):
            return counts_region(self.table, sum(kind.voters for kind in self.problem.affected))
        present = (tuple(group.count for group in self.problem.groups), *self.fewer)
        parts = []
        for (problem, table), who in zip(self.tables, present, strict=True):
            theirs = None
            if together is not None:
                theirs = [min(n, most) for n, most in zip(who, together, strict=True) if n]
            parts.append(decision_counts_region(table, problem, theirs))  # type: ignore[arg-type]  # as its whole
        return hull(parts)

    def profile(self, epsilons: ArrayLike) -> Array:
        """The largest of the tables' privacy profiles, point by point; see `darrm.accounting.privacy_profile`."""
        each = [privacy_profile(table, problem, epsilons) for problem, table in self.tables]
        return np.asarray(np.max(each, axis=0))


def _in_all_groups(part: Region, present: tuple[int, ...]) -> Region:
    """The region of the table for these present voters, the groups without any counted among its reached voters."""

    def padded(point: Point) -> Point:
        left = iter(point.reached)
        return replace(point, reached=tuple(next(left) if count else 0 for count in present))

    return replace(part, inner=tuple(map(padded, part.inner)))


def class_rows(table: Array, problem: DecisionProblem, together: tuple[int, ...] | None = None) -> OutcomeRows:
    """The rows of a label of several answers: every case of the certificate, up to names of classes.

    With ``together``: the cases in which at most so many voters of each group are reached.

    None if the label says nothing of the votes. Of the rows whose two sides float64 cannot tell apart there is one:
    they may differ within their relative error, and then all of them give the same bound.
    """
    search = ClassSeparation(table, guarantee(problem))
    on, off = (np.concatenate(side) for side in zip(*search.rows(together), strict=True))
    apart = (on != off).any(axis=1)
    if says_nothing(search.facts(), table, problem):
        apart[:] = False
    else:
        apart[np.flatnonzero(~apart)[:1]] = True
    return OutcomeRows(on[apart], off[apart], search.relative_error)


def without_privacy(problem: DecisionProblem) -> DecisionProblem:
    """The problem if no voter was private by itself."""
    groups = [VoterGroup(group.count, math.inf, 0.0, group.max_affected) for group in problem.groups]
    return DecisionProblem(groups, 1.0, 0.5, problem.classes, problem.max_affected, problem.adjacency, problem.none)


AnyRelease: TypeAlias = AnyDesign | OneLabel


def one_label(design: AnyRelease) -> OneLabel:
    """What one label of a design comes from; `InputError` if it is no design."""
    if isinstance(design, OneLabel):
        return design
    if isinstance(design, DecisionDesign):
        fewer = {present: other.table for present, other in design.fewer.items()}
        tight = max(part.certificate.tight_epsilon for part in (design, *design.fewer.values()))
        return OneLabel(design.problem, design.table, fewer, tight_epsilon=tight)
    if isinstance(design, Design):
        return OneLabel(design.problem, design.table, {}, tight_epsilon=design.certificate.tight_epsilon)
    raise not_a_design("design must be a Design or DecisionDesign", design)
