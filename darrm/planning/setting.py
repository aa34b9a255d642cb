"""The setting of a plan: the voters, their accuracy, and the neighbouring relation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial

from darrm import objectives
from darrm._validation import MAX_EPSILON
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.releases import OneLabel
from darrm.accounting.voters import among, epsilon_of
from darrm.certificate.certificate import Certificate
from darrm.design.costs import expected_cost
from darrm.design.rules import best_rule, cost_of, most_voted
from darrm.numerics.arrays import Array
from darrm.numerics.exact import rounded_up
from darrm.objectives import Objective, OfVoters, Paper
from darrm.priors.prior import OBJECTIVES, errors
from darrm.problem import encodings
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.decision import AnyProblem, DecisionProblem
from darrm.problem.groups import VoterGroup, with_epsilon, without_privacy
from darrm.problem.limits import losses
from darrm.problem.majority import MajorityProblem
from darrm.problem.model import VoterModel

_NOT_PRIVATE = 30.0  # nats
_LEAST_EPSILON = 1e-9  # of a label that does not depend on a group


@dataclass(frozen=True)
class Setting:
    """The voters of a plan and the objective of its labels.

    Attributes
    ----------
    groups : tuple of VoterGroup
    max_affected : int
    adjacency : str
    classes : int, or names
    objective : Objective
    base : tuple of float, or None
        The accuracy of a voter of each group before it randomizes its answer; None if votes are not randomized answers.
    shape : {"free", "ordered", "monotone"}
    shares : tuple of float
        Where each group has a budget of its own, the epsilon of a label for each kind of change, as a share of that of
        `problem`, at most 1; empty if all changes have one budget.
    none : bool
        Whether labels may be "none", the further answer.
    of_gamma : bool
        Whether the design is a noise function for the majority of one group; the objective is then one of the paper's.
    """

    groups: tuple[VoterGroup, ...]
    max_affected: int
    adjacency: str
    classes: int | tuple[str, ...]
    objective: Objective
    base: tuple[float, ...] | None = None
    shape: str = "free"
    of_gamma: bool = False
    shares: tuple[float, ...] = ()
    none: bool = False

    def problem(self, epsilon: float | Sequence[float] | None = None, delta: float | None = 0.0) -> AnyProblem:
        """The problem of one label; if epsilon is not given or delta is None, they are the cost of the votes.

        With `shares` the epsilon of each kind of change is its share of epsilon, or its own of a sequence.
        """
        if self.of_gamma:
            return self._majority_problem(math.inf if epsilon is None else epsilon, delta)  # type: ignore[arg-type]
        shares = self.shares or (1.0,)
        if isinstance(epsilon, float | int):
            epsilon = [epsilon * share for share in shares]
        if epsilon is None or delta is None:
            kinds = self._of([1.0] * len(shares), 0.5).kinds.values()
            if epsilon is None:
                epsilon = [min(rounded_up(losses(kind.affected)), MAX_EPSILON) for kind in kinds]
            delta = max(kind.least_delta for kind in kinds) if delta is None else delta
        return self._of(epsilon, delta)

    def _of(self, epsilons: Sequence[float], delta: float) -> DecisionProblem:
        return _decision(self.model, tuple(epsilons) if self.shares else epsilons[0], delta)

    def _majority_problem(self, epsilon: float, delta: float | None) -> MajorityProblem:
        [votes] = self.groups
        most = Fraction(votes.epsilon) * votes.count
        asked = (
            {"m": float(votes.count)} if Fraction(min(epsilon, MAX_EPSILON)) >= most else {"release_epsilon": epsilon}
        )
        return MajorityProblem(
            votes.count,
            epsilon=votes.epsilon,
            Delta=votes.delta,
            delta=delta,
            max_affected=self.max_affected,
            adjacency=self.adjacency,
            **asked,
        )

    @property
    def model(self) -> VoterModel:
        """The voters, without the guarantee of a label."""
        return _model(self.groups, self.classes, self.max_affected, self.adjacency, self.none)

    @property
    def private(self) -> bool:
        """Whether every voter that one record can affect is private by itself."""
        return all(math.isfinite(kind.epsilon) for kind in self.problem(1.0, 0.5).affected)

    @property
    def failing(self) -> bool:
        """Whether voters have a delta of their own."""
        return any(group.delta for group in self.groups)

    def silent(self) -> Setting:
        """The setting with the same voters, taken as non-private."""
        # A majority needs a finite epsilon of votes: at 30 nats a vote differs from a non-private one by e^-30.
        groups = tuple(
            VoterGroup(
                group.count,
                max(_NOT_PRIVATE, group.epsilon) if self.of_gamma else math.inf,
                0.0,
                group.max_affected,
                group.names,
            )
            for group in self.groups
        )
        return replace(self, groups=groups)

    def table(self, answers: Array) -> Array:
        """A table of the probabilities of answers, in the encoding of a design for these voters."""
        return encodings.of_answers(answers, self.problem(1.0, 0.5))

    def stored(self, table: Array) -> Array:
        """The table as a design of the objective holds it: a full one where the objective treats classes unlike."""
        problem = self.problem(1.0, 0.5)
        if problem.binary or not is_symmetric(table, problem) or self.objective.symmetric(problem):
            return table
        return class_probabilities(table, problem, all_votes(problem))

    def label(self, table: Array) -> OneLabel:
        """A label with the probabilities of a table, for the accountant."""
        return OneLabel(self.problem(1.0, 0.5), table, {}, certified=False)

    def best_rule(self) -> Array:
        """The table of the Bayes rule: the answer of least expected cost at all counts; ties at random."""
        return self.majority() if self.of_gamma else best_rule(self.problem(1.0, 0.5), self.objective)

    def majority(self) -> Array:
        """The table of the class with most votes, without noise; ties at random."""
        return self.table(most_voted(self.problem(1.0, 0.5)))

    def wrong(self, table: Array) -> float:
        """The label error rate, where "none" is no truth; NaN if the accuracy of the voters is not known."""
        return self._cost(table, "truth")

    def disagreement(self, table: Array) -> float:
        """The disagreement rate: the probability that a label is not a class with most votes."""
        if isinstance(self.objective, Paper) and self.of_gamma:
            return errors(self.objective.prior, table)[1]
        return self._cost(table, "plurality")

    def cost(self, table: Array) -> float:
        """The expected cost under the objective."""
        if isinstance(self.objective, Paper) and self.of_gamma:
            return errors(self.objective.prior, table)[OBJECTIVES.index(self.objective.name)]
        if self._costs is not None:
            return expected_cost(self._costs, table)
        return cost_of(table, self.problem(1.0, 0.5), self.objective)

    @cached_property
    def _costs(self) -> Array | None:
        """The cost of both answers at all counts, kept for searches; None for more answers."""
        problem = self.problem(1.0, 0.5)
        return self.objective.costs(problem) if problem.binary else None

    def most_cost(self) -> float:
        """The largest expected cost of a constant answer."""
        if self.of_gamma:
            return 1.0
        problem = self.problem(1.0, 0.5)
        return float(self.objective.of(problem).costs_without_votes(problem).max())

    def _cost(self, table: Array, of: str) -> float:
        if not isinstance(self.objective, OfVoters):
            return math.nan
        problem = self.problem(1.0, 0.5)
        own = self.objective.of(problem)
        goal = objectives.truth if of == "truth" else partial(objectives.rule, "plurality")
        return cost_of(table, problem, goal(own.confusion, own.prior, none=1.0 if self.none else None))

    def votes_totals(self, queries: int, delta: float, voters: str) -> dict[str, float]:
        """The least epsilon of all votes together at ``delta``, rounded up, by kind of change; may be infinite."""
        return {
            name: epsilon_of(among(kind.affected, queries), delta) if voters == "fresh" else fixed_voters(kind, delta)
            for name, kind in self.problem(1.0, 0.5).kinds.items()
        }

    def votes_total(self, queries: int, delta: float, voters: str) -> float:
        """The largest of `votes_totals`."""
        return max(self.votes_totals(queries, delta, voters).values())

    def certified(self, certificate: Certificate, delta: float, more: float) -> AnyProblem:
        """The problem with the tight epsilon of a certificate for each kind of change, ``more`` times as large."""
        kinds = certificate.kinds.values() or [certificate]
        each = [kind.tight_epsilon * more for kind in kinds]
        if not self.shares:
            return self.problem(each[0], delta)
        each = [max(epsilon, _LEAST_EPSILON) for epsilon in each]
        if len(each) > len(self.groups):  # a change in several groups may be one in any of them
            each[-1] = max(each)
        return self.problem(tuple(each), delta)

    def with_epsilon(self, epsilon: float, of: tuple[int, ...]) -> Setting:
        """The setting with votes of another epsilon in some groups, randomized from the same base answers."""
        groups = tuple(with_epsilon(group, epsilon) if g in of else group for g, group in enumerate(self.groups))
        if self.base is None or not isinstance(self.objective, OfVoters):
            return replace(self, groups=groups)
        return replace(self, groups=groups, objective=self._seen_through(tuple(group.epsilon for group in groups)))

    def _seen_through(self, epsilons: tuple[float, ...]) -> Objective:
        classes = self.problem(1.0, 0.5).n_classes
        tables = [
            [[a if vote == true else (1 - a) / (classes - 1) for vote in range(classes)] for true in range(classes)]
            for a in randomized(self.base or (), epsilons, classes)
        ]
        return replace(self.objective, confusion=tuple(tuple(map(tuple, table)) for table in tables))  # type: ignore[type-var]  # a dataclass, as all of voters are

    def without_privacy(self) -> float:
        """The error rate of the majority of the base answers, without any noise. NaN if votes are not randomized."""
        if self.base is None or without_privacy(self.groups):
            return math.nan
        plain = replace(self, objective=self._seen_through((math.inf,) * len(self.groups)))
        return plain.wrong(self.majority())


_model = lru_cache(maxsize=64)(VoterModel)  # a search asks for the same one, and its problem, thousands of times


@lru_cache(maxsize=64)
def _decision(model: VoterModel, epsilon: float | tuple[float, ...], delta: float) -> DecisionProblem:
    """The problem of one label."""
    return DecisionProblem(model.groups, epsilon, delta, model.classes, model.max_affected, model.adjacency, model.none)


def randomized(base: tuple[float, ...], epsilons: tuple[float, ...], classes: int) -> Iterator[float]:
    """The accuracy of votes after randomized response, by the accuracy of the base answers of each group."""
    for b, epsilon in zip(base, epsilons, strict=True):
        yield objectives.randomized_response_accuracy(b, epsilon, classes)
