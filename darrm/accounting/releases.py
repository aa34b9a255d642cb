"""The release of one label of a design: one table, or one for every vector of present voters.

The present voters at a query may depend on the labels before it, and so may the table. The hockey-stick divergence of
all labels is then a maximum over the regions of all tables at every step, which is that over the hull of their union
("Absent voters" in docs/theory.md, "Exact composition").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_EPSILON, check_voters, not_a_design, shown
from darrm.accounting.hulls import counts_region, hull
from darrm.accounting.profile import Point, Region, privacy_profile, region, says_nothing
from darrm.accounting.rows import OutcomeRows
from darrm.certificate.certificate import verify
from darrm.certificate.classes import ClassSeparation
from darrm.certificate.truths import TruthSeparation
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.decision import AnyProblem, any_voters, decision_by
from darrm.problem.groups import but
from darrm.problem.limits import guarantee
from darrm.problem.model import VoterModel

_LEAST = 1e-12  # epsilon of a label that depends on no vote; that of a problem is above 0


@dataclass(frozen=True, eq=False)
class OneLabel:
    """The possible tables of one label.

    Attributes
    ----------
    problem : MajorityProblem or DecisionProblem
        The problem with all voters present.
    table : ndarray
        The noise function, or the table of a decision, for all voters.
    fewer : mapping from tuple of int to ndarray
        The tables for other present voters, if voters may be absent.
    certified : bool
        Whether one label is certified to satisfy the guarantee of the problem.
    tight_epsilon : float
        A certified epsilon of one label at the delta of the problem, for any present voters.
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
    def kinds(self) -> Mapping[str, OneLabel]:
        """The label for each kind of change that has a limit of its own, by name; itself, "", if all have one."""
        if len(self.problem.kinds) == 1:
            return {"": self}
        return {name: replace(self, problem=kind) for name, kind in self.problem.kinds.items()}

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilon of a voter of each group."""
        return tuple(group.epsilon for group in self.problem.groups)

    @property
    def tables(self) -> tuple[tuple[AnyProblem, Array], ...]:
        """All tables, each with the problem of its present voters."""
        fewer = ((self.problem.with_present(present), table) for present, table in self.fewer.items())
        return ((self.problem, self.table), *fewer)

    def of_any_voters(self) -> OneLabel:
        """The label of the same votes where no randomizer is known."""
        return OneLabel(any_voters(self.problem), self.table, self.fewer, certified=False)

    @property
    def can_reach_all_at_once(self) -> bool:
        """Whether all groups can have their largest numbers of affected voters at the same time."""
        groups = self.problem.groups
        return len(groups) < 2 or sum(group.max_affected for group in groups) <= self.problem.max_affected

    def gives(self) -> Region | OutcomeRows:
        """The distributions of one label on neighbouring data sets: the region for two answers, the rows for more."""
        if self.problem.binary:
            return self.region()
        return any_of(class_rows(table, problem.model) for problem, table in self.tables)

    def gives_of_counts(self, together: tuple[int, ...] | None = None) -> Region | OutcomeRows:
        """`gives` for non-private voters, with at most ``together`` affected voters of each group.

        Without ``together``: as many as the problem allows. See `darrm.accounting.hulls.counts_region`.
        """
        if self.problem.binary:
            return self.counts_region(together)
        return any_of(
            class_rows(table, without_privacy(problem.model), _of_present(together, who))
            for (problem, table), who in zip(self.tables, self._present, strict=True)
        )

    @property
    def _present(self) -> tuple[tuple[int, ...], ...]:
        """The present voters of each of `tables`."""
        return (tuple(group.count for group in self.problem.groups), *self.fewer)

    def region(self) -> Region:
        """The region of one label of two answers; see `darrm.accounting.profile.region`."""
        whole, *parts = [region(table, problem) for problem, table in self.tables]
        return hull([whole, *(_in_all_groups(part, who) for part, who in zip(parts, self.fewer, strict=True))])

    def counts_region(self, together: tuple[int, ...] | None = None) -> Region:
        """`gives_of_counts` for two answers."""
        return hull(
            [
                counts_region(table, problem, _of_present(together, who))
                for (problem, table), who in zip(self.tables, self._present, strict=True)
            ]
        )

    def profile(self, epsilons: ArrayLike) -> Array:
        """The largest of the tables' privacy profiles, point by point; see `darrm.accounting.privacy_profile`."""
        each = [privacy_profile(table, problem, epsilons) for problem, table in self.tables]
        return np.asarray(np.max(each, axis=0))


def _of_present(together: tuple[int, ...] | None, present: tuple[int, ...]) -> tuple[int, ...] | None:
    """The numbers of voters affected together, of each group with a voter present."""
    return together and tuple(min(n, most) for n, most in zip(present, together, strict=True) if n)


def any_of(releases: Iterable[OutcomeRows]) -> OutcomeRows:
    """The rows of a label that may come from any of several releases with the same answers."""
    each = list(releases)
    P, Q = (np.concatenate([getattr(rows, side) for rows in each]) for side in ("P", "Q"))
    return OutcomeRows(P, Q, max(rows.rho for rows in each))


def _in_all_groups(part: Region, present: tuple[int, ...]) -> Region:
    """The region of the table for these present voters, with empty groups counted among its affected voters."""

    def padded(point: Point) -> Point:
        left = iter(point.reached)
        return replace(point, reached=tuple(next(left) if count else 0 for count in present))

    return replace(part, inner=tuple(map(padded, part.inner)))


def class_rows(table: Array, model: VoterModel, together: tuple[int, ...] | None = None) -> OutcomeRows:
    """The rows of a label of several answers: every case of the certificate, up to a renaming of the classes.

    With ``together``: the cases with at most that many affected voters of each group.

    None if the label is independent of the votes. Rows whose two sides are equal in float64 are merged to one: they may
    differ within their relative error, and then all of them give the same bound.
    """
    decision = decision_by(model, 1.0, 0.5)  # the cases do not depend on the limit
    search = (TruthSeparation if model.known else ClassSeparation)(table, guarantee(decision))
    on, off = (np.concatenate(side) for side in zip(*search.rows(together), strict=True))
    apart = (on != off).any(axis=1)
    if says_nothing(table, decision):
        apart[:] = False
    else:
        apart[np.flatnonzero(~apart)[:1]] = True
    return OutcomeRows(on[apart], off[apart], search.relative_error)


def without_privacy(model: VoterModel) -> VoterModel:
    """The voters, taken as non-private."""
    groups = tuple(but(group, epsilon=math.inf, delta=0.0, randomizer=None, colluders=0) for group in model.groups)
    return replace(model, groups=groups)


AnyRelease: TypeAlias = Design | OneLabel


def for_each_kind(problem: AnyProblem, name: str, given: float | Sequence[float]) -> dict[str, float]:
    """A number of the user for each kind of change, from one for all or a list of one for each; not checked further.

    Raises
    ------
    InputError
        If a list has another length than there are kinds of change.
    """
    kinds = problem.kinds
    several = isinstance(given, list | tuple)
    if several and (len(kinds) == 1 or len(given) != len(kinds)):  # type: ignore[arg-type]
        many = f", or a list of {len(kinds)}: {', '.join(kinds)}" * (len(kinds) > 1)
        hint = " Pass one: several are for a design with a limit for each group." * name.endswith("epsilon")
        raise InputError(f"{name} must be a number{many}. Got {shown(given)}.{hint}")
    each: list[float] = list(given) if several else [given] * len(kinds)  # type: ignore[arg-type,list-item]
    return dict(zip(kinds, each, strict=True))


def certified_of_any_voters(problem: AnyProblem, table: Array) -> AnyProblem:
    """The problem where no randomizer is known, with what is certified of a table then.

    Raises
    ------
    InputError
        If nothing is, because delta would be 1, or because there are too many worst cases to search.
    """
    problem = any_voters(problem)
    certificate = verify(table, problem)
    epsilon, delta = max(certificate.tight_epsilon, _LEAST), problem.delta
    if epsilon > MAX_EPSILON:
        epsilon, delta = problem.release_epsilon, certificate.needed_delta
    return decision_by(problem.model, epsilon, delta)  # of a decision: no other has known randomizers


def one_label(design: AnyRelease) -> OneLabel:
    """The release of one label of a design; `InputError` for any other value."""
    if isinstance(design, OneLabel):
        return design
    if isinstance(design, Design):
        fewer = {present: other.table for present, other in design.fewer.items()}
        tight = max(part.certificate.tight_epsilon for part in (design, *design.fewer.values()))
        return OneLabel(design.problem, design.table, fewer, tight_epsilon=tight)
    raise not_a_design("design must be a Design", design)


def checked_voters(release: AnyRelease, voters: object) -> str:
    """The kind of voters of a release whose labels are composed.

    Raises
    ------
    InputError
        If ``voters`` is missing or unknown, or another kind than that for which the design was planned.
    """
    epsilons = one_label(release).epsilons
    kind = check_voters(voters, epsilons)
    planned_for = release.planned_for if isinstance(release, Design) else ""
    if planned_for in ("", kind) or all(map(math.isinf, epsilons)):
        return kind
    adds_up = {
        "fresh": "each of whose labels costs anew",
        "fixed": "whose labels together cost what the voters cost once",
    }
    raise InputError(
        f'This design was planned for {planned_for} voters, {adds_up[planned_for]}. Got voters="{kind}", '
        f'here or of the ledger, {adds_up[kind]}. Pass voters="{planned_for}" (--voters {planned_for}), take a ledger '
        f"that was made for them, or plan for {kind} voters if they are."
    )
