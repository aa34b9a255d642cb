"""A certified decision by groups of voters together with what it was made for."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from darrm._lazy import view
from darrm._validation import array, real
from darrm.certificate.certificate import Certificate, beyond_profile, verify
from darrm.certificate.engines import engine
from darrm.certificate.stored import is_symmetric
from darrm.design.absent import attendances
from darrm.design.columns import ForAnalysis, check_design_file, class_columns, decision_columns
from darrm.design.content import certificate_size, check_same, headed, in_form, problem_of, profile_of
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, from_dict, gains
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names, ways
from darrm.problem.counts import Counts
from darrm.problem.decision import DecisionProblem, checked_present
from darrm.problem.limits import profile_points
from darrm.storage.sealed_json import finite, write


@dataclass(frozen=True, eq=False, repr=False)
class DecisionDesign(ForAnalysis):
    """A decision that satisfies the guarantee of its problem; a table that does not is refused.

    The certificate is computed here, from the table, whoever made it: `darrm.solve`, `darrm.load` or you. Designs are
    equal if all that they are made from is: parameters, tables to the last bit, objective and gap.

    Parameters
    ----------
    problem : DecisionProblem
    table : array_like, float in [0, 1]; kept read-only
        Two answers: X(n), the probability of answer 1 when n = (n_1, ..., n_G) voters of each group say 1; shape
        ``problem.shape``. More: X_o(n), the probabilities of all answers at the votes n of each group, in the order of
        `darrm.problem.counts.count_vectors`; shape ``(*problem.shape, n_answers)``. For one group and a decision that
        treats all classes alike: a row for each of `darrm.problem.counts.sorted_counts`, its first entries for the
        class of most votes, the next, and so on; shape ``(rows, n_answers)``.
    objective : Objective
        What the decision should cost little of; see `darrm.objectives`.
    ordered : bool
        Whether the answer that the objective prefers at given counts is never less likely than the other there.
    profile : sequence of (epsilon, delta)
        Further limits that one decision keeps, verified like the guarantee.
    gap : float, at least 0
        Bound on ``expected_cost`` minus the least that any table of this guarantee, profile and order has; certified if
        it comes from `darrm.solve`, infinite if nothing is known. Where voters with a delta are too many, towards the
        tables that Lemma D4 (docs/decisions.md) proves.
    fewer : mapping from tuple of int to DecisionDesign
        For absent voters: the decision for every vector of present voters, one number for each group, but all and none.
        Empty if all voters must be present.

    Attributes
    ----------
    absent : bool
        Whether voters may be absent, of decisions with two answers.
    without_votes : float
        The probability of answer 1 if no voter is present: it costs no privacy.
    certificate : Certificate
    expected_cost : float
        The objective's, all voters present: the probability of a wrong answer if costs are 1; for a rule that of an
        answer that differs. It takes the objective's accuracies to be right; the guarantee does not.

    Raises
    ------
    CertificateError
        If the table does not satisfy the guarantee.
    InputError
        If an argument is not what it should be.

    Examples
    --------
    >>> import darrm
    >>> groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.2)
    >>> design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.55]))
    >>> design.certificate.holds, round(design.expected_cost, 4)
    (True, 0.2889)

    Two voters of much epsilon that agree are followed; where they do not, the other three are asked, with noise:

    >>> design.probabilities([[2, 0], [1, 0], [1, 3]]).round(3).tolist()
    [[0.0, 1.0], [0.677, 0.323], [0.323, 0.677]]
    """

    problem: DecisionProblem
    table: Array
    objective: Objective
    ordered: bool = False
    profile: tuple[tuple[float, float], ...] = ()
    gap: float = math.inf
    fewer: Mapping[tuple[int, ...], DecisionDesign] = field(default_factory=dict)
    certificate: Certificate = field(init=False)
    expected_cost: float = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        if not isinstance(problem, DecisionProblem):
            raise InputError(f"problem must be a darrm.DecisionProblem. Got {problem!r}.")
        if not isinstance(self.objective, Objective):
            raise InputError(f"objective must come from darrm.objectives. Got {self.objective!r}.")
        object.__setattr__(self, "objective", self.objective.of(problem))
        table = engine(problem).table(self.table, problem)
        table = np.frombuffer(table.tobytes()).reshape(table.shape)  # nothing can make it writeable again
        certificate = verify(table, problem)
        if not certificate.holds:
            raise CertificateError(
                f"This table is not proved ({problem.epsilon:.15g}, {problem.delta:.15g})-DP: it needs delta up to "
                f"{certificate.needed_delta:.17g}, at {certificate.worst_case}. Mix it with random answers by "
                "darrm.repair, or raise epsilon or delta."
            )
        if broken := beyond_profile(table, problem, self.profile):
            raise CertificateError(f"This table is {broken}. Mix it with random answers, or loosen the profile.")
        costs = costs_in(problem, self.objective, table)
        if self.ordered and _reversals(costs, table):
            raise InputError("An ordered table must never prefer the answer that costs more. Got a table that does.")
        fewer = {checked_present(problem, present): design for present, design in dict(self.fewer).items()}
        if fewer and fewer.keys() != set(attendances(problem)):
            raise InputError("fewer must have a decision for every vector of present voters but all and none.")
        for present, design in fewer.items():
            if (
                not isinstance(design, DecisionDesign)
                or design.problem != problem.with_present(present)
                or design.profile != profile_points(self.profile)
                or design.ordered != bool(self.ordered)
                or design.objective != self.objective.with_present(present)
                or design.fewer
            ):
                raise InputError(f"The decision for {present} present voters is not one for their problem.")
        values = {
            "table": table,
            "ordered": bool(self.ordered),
            "gap": real("gap", self.gap, 0),
            "profile": profile_points(self.profile),
            "certificate": certificate,
            "fewer": MappingProxyType(fewer),
            "expected_cost": expected_cost(costs, table),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, DecisionDesign) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """All that a design is made from."""
        table, fewer = tuple(self.table.ravel().tolist()), tuple(sorted(self.fewer.items()))
        return self.problem, table, self.objective, self.ordered, self.profile, self.gap, fewer

    def __reduce__(self) -> tuple[type[DecisionDesign], tuple[object, ...]]:
        # Copies and pickles are made, and so verified, like any other.
        values = (self.problem, self.table, self.objective, self.ordered, self.profile, self.gap, dict(self.fewer))
        return DecisionDesign, values

    def __repr__(self) -> str:
        problem = self.problem
        groups = ", ".join(f"{group.count} of epsilon {group.epsilon:g}" for group in problem.groups)
        return (
            f"<DecisionDesign {groups}; epsilon={problem.epsilon:g} delta={problem.delta:g} "
            f"max_affected={problem.max_affected}: expected cost {self.expected_cost:.6g} ({self.objective}), "
            f"gap {self.gap:.1g}>"
        )

    def probabilities(self, counts: ArrayLike) -> Array:
        """The probabilities of all answers for given votes.

        Parameters
        ----------
        counts : array_like of int
            Two classes: the numbers of ones in each group, shape (n, groups) or (groups,). More: the votes for each
            class in each group, shape (n, groups, classes) or (groups, classes); of one group (n, classes) or
            (classes,), or (n, 1, classes).

        Returns
        -------
        ndarray, shape (n, answers) or (answers,)
        """
        problem = self.problem
        sizes = np.array([group.count for group in problem.groups])
        votes = array("counts", counts, None, 0, ends="[)", wholes=True).astype(np.int64)
        if problem.n_classes > 2 or not problem.binary:
            return self._of_classes(votes, sizes)
        if votes.ndim not in (1, 2) or votes.shape[-1] != len(sizes):
            raise InputError(
                f"counts must have one column for each of the {len(sizes)} groups. Got shape {votes.shape}."
            )
        if np.any(votes > sizes):
            raise InputError(f"counts must be at most the group sizes {sizes.tolist()}. Got {votes.max(axis=0)}.")
        X = self.table[tuple(np.moveaxis(votes, -1, 0))]
        return np.stack([1 - X, X], axis=-1)

    def _of_classes(self, votes: Counts, sizes: Counts) -> Array:
        problem = self.problem
        whole = (len(sizes), problem.n_classes)
        if len(sizes) == 1 and votes.ndim in (1, 2):
            votes = votes[..., None, :]
        if votes.ndim not in (2, 3) or votes.shape[-2:] != whole:
            raise InputError(
                f"counts must be the votes for each of {whole[1]} classes in each of {whole[0]} groups, shape "
                f"(n, {whole[0]}, {whole[1]}). Got shape {np.shape(votes)}."
            )
        sums = votes.sum(axis=-1)
        if np.any(sums != sizes):
            worst = sums.reshape(-1, len(sizes))[np.any(sums != sizes, axis=-1).ravel()][0]
            raise InputError(f"counts must sum to the sizes of the groups, {sizes.tolist()}. Got {worst.tolist()}.")
        found = class_probabilities(self.table, problem, votes.reshape(-1, *whole))
        return found.reshape(*votes.shape[:-2], problem.n_answers)

    def columns(self) -> dict[str, list[Any]]:
        every = tuple(group.count for group in self.problem.groups)
        if not self.problem.binary:
            return class_columns(self.problem, self.table)
        tables: list[tuple[tuple[int, ...], Array]] = [(every, self.table)]
        if self.absent:
            present = [counts for counts in product(*(range(count + 1) for count in every)) if any(counts)]
            nobody = ((0,) * len(every), np.array(self.without_votes))
            tables = [nobody, *((counts, self.with_present(counts).table) for counts in present)]
        return decision_columns(self.problem, tables, absent=self.absent)

    def _repr_html_(self) -> str:
        return str(view(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design file; the old file stays if that fails. `darrm.load` reads and verifies it.

        Raises
        ------
        InputError
            If the name ends in .csv or .parquet: a design file is JSON.
        OutputError
            If the path cannot be written.
        """
        check_design_file(path)
        write(path, headed(in_file(self)))

    @property
    def absent(self) -> bool:
        """Whether voters may be absent."""
        return bool(self.fewer)

    @property
    def without_votes(self) -> float:
        """The probability of answer 1 if no voter is present: the answer that costs less then, or a fair coin."""
        cost = self.objective.costs_without_votes(self.problem)
        return 0.5 if math.isclose(cost[0], cost[1], rel_tol=1e-12) else float(cost[1] < cost[0])

    def with_present(self, present: Sequence[int]) -> DecisionDesign:
        """The decision for so many present voters of each group, at least one in all.

        Raises
        ------
        InputError
            If voters may not be absent, or there are not so many.
        """
        counts = checked_present(self.problem, present)
        if counts == tuple(group.count for group in self.problem.groups):
            return self
        if not self.absent:
            raise InputError(
                f"This decision needs all its {self.problem.K} voters. Got {list(counts)}. Solve it with absent=True."
            )
        if not any(counts):
            raise InputError("No voter is present: answer 1 with probability without_votes.")
        return self.fewer[counts]

    @property
    def reversals(self) -> int:
        """At how many count vectors the answer that the objective prefers is less likely than another."""
        return _reversals(costs_in(self.problem, self.objective, self.table), self.table)


def costs_in(problem: DecisionProblem, objective: Objective, table: Array) -> Array:
    """What each answer costs at each row of a table: `Objective.costs`, for a symmetric table of all renamings."""
    if problem.binary or not is_symmetric(table, problem):
        return objective.costs(problem)
    if not objective.symmetric(problem):
        raise InputError("A symmetric table needs an objective that treats all classes alike. Pass a full table.")
    return costs_at_rows(problem, objective, alike=True)


def costs_at_rows(problem: DecisionProblem, objective: Objective, *, alike: bool) -> Array:
    """What each answer costs at all votes, or at `votes_up_to_names` with their renamings; shape (rows, answers)."""
    votes = votes_up_to_names(problem) if alike else all_votes(problem)
    return np.asarray(objective.costs_at(problem, votes) * (ways(votes)[:, None] if alike else 1.0))


def _reversals(costs: Array, table: Array) -> int:
    if costs.ndim > table.ndim:
        return int(np.count_nonzero(np.sign(table - 0.5) * np.sign(gains(costs)) < 0))
    least = costs.min(axis=-1, keepdims=True)
    cheap = costs <= least + 1e-12 * np.abs(costs)
    of_cheap = np.where(cheap, table, 0.0).max(axis=-1)
    return int(np.count_nonzero(np.where(cheap, 0.0, table).max(axis=-1) > of_cheap * (1 + 1e-9)))


def expected_cost(costs: Array, table: Array) -> float:
    """What a table costs; ``costs`` as from `costs_in`."""
    if costs.ndim == table.ndim:
        return math.fsum((costs * table).ravel().tolist())
    return math.fsum((costs[..., 1] * table + costs[..., 0] * (1 - table)).ravel().tolist())


def as_dict(design: DecisionDesign) -> dict[str, object]:
    """The design as plain JSON values; an infinite number is None."""
    values = {
        "problem": asdict(design.problem),
        "table": design.table.tolist(),
        "objective": design.objective.as_dict(),
        "ordered": design.ordered,
        "expected_cost": design.expected_cost,
        "gap": design.gap,
        "certificate": asdict(design.certificate),
        "profile": [[finite(epsilon), delta] for epsilon, delta in design.profile],
        "absent": design.absent,
    }
    return {key: finite(value) for key, value in values.items()}


def in_file(design: DecisionDesign) -> dict[str, object]:
    """What a design file says of the decision: `as_dict` and the exact numbers."""
    return {**as_dict(design), **_tables(design)}


def _tables(design: DecisionDesign) -> dict[str, object]:
    """The exact numbers of a file: every table in hexadecimal, those of fewer voters with gap and cost."""
    fewer = [
        {"present": list(present), "gap": finite(other.gap), "expected_cost": other.expected_cost, **_tables(other)}
        for present, other in design.fewer.items()
    ]
    return {
        "table_hex": [value.hex() for value in design.table.ravel().tolist()],
        **({"fewer": fewer} if fewer else {}),
    }


def from_content(content: dict[str, Any]) -> DecisionDesign:
    """The design of a file's content, verified anew; `InputError` or KeyError if the content is not what it gives."""
    problem = problem_of(content["problem"])
    if not isinstance(problem, DecisionProblem):
        raise InputError("problem has no groups")
    objective, ordered, profile = from_dict(content["objective"]), content["ordered"], profile_of(content)
    if type(ordered) is not bool:
        raise InputError(f"ordered must be true or false. Got {ordered!r}")

    def made(part: dict[str, Any], present: tuple[int, ...] | None) -> DecisionDesign:
        own = problem if present is None else problem.with_present(present)
        table = np.array([float.fromhex(value) for value in part["table_hex"]])
        if part["gap"] is not None and type(part["gap"]) is not float:
            raise InputError(f"gap must be a number with a point, or null. Got {part['gap']!r}")
        parts = [] if present is not None else part.get("fewer", [])
        if any(other.keys() != {"present", "gap", "expected_cost", "table_hex"} for other in parts):
            raise InputError("a table for fewer voters must have present, gap, expected_cost and table_hex alone")
        fewer = {tuple(other["present"]): made(other, tuple(other["present"])) for other in parts}
        if len(fewer) != len(parts):
            raise InputError("fewer has two tables for the same present voters")
        design = DecisionDesign(
            own,
            in_form(table, own),
            objective if present is None else objective.with_present(present),
            ordered,
            profile,
            math.inf if part["gap"] is None else part["gap"],
            fewer,
        )
        check_same("expected_cost", design.expected_cost, part["expected_cost"])
        return design

    design = made(content, None)
    now = as_dict(design)
    for key in ("table", "absent", "certificate"):
        check_same(key, now[key], content[key], certificate_size(problem))
    return design
