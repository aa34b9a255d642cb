"""The result of a plan: the design, the guarantees of all labels and of all votes, and the label error rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from darrm._lazy import view
from darrm.baselines.entries import DRAWS, Comparison, OfKind
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.confident_noisy_max import Noisy
from darrm.numerics.printed import at_least, counted, exactly, rate
from darrm.planning.dependence import Dependence
from darrm.problem.groups import ByGroups, called

_MOSTLY = 0.9  # of labels that are "none"
_NEAR_CHANCE = 0.8  # of the error rate of fair coins, or of classes at random


@dataclass(frozen=True)
class Step:
    """A point of the curve over the epsilon of the votes: the label error rate and both guarantees.

    Attributes
    ----------
    epsilon : float
        Epsilon of one vote in the groups whose epsilon was "auto".
    wrong : float
        Label error rate: the probability that a label is not the truth.
    public : float
        Cumulative privacy loss of all labels: together they are certified to be (public, total_delta)-DP.
    aggregator : float
        The votes of all queries together, which the aggregator receives, are (aggregator, total_delta)-DP.
    """

    epsilon: float
    wrong: float
    public: float
    aggregator: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A release of many labels within one privacy budget, with its error rates; made by `darrm.plan`.

    Attributes
    ----------
    chosen : Design, GaussianNoisyMax or ConfidentNoisyMax
        What to save, to release labels by, and to charge to a ledger: a design, or noisy max where the voters are
        non-private and too many for a table, with or without a check before each label.
    design : Design
        ``chosen``, if it is a design; else an `InputError`.
    problem : MajorityProblem, DecisionProblem or VoterModel
        That of the design, or the voters of noisy max.
    queries : int
        Number of labels.
    total_epsilon, total_delta : float
        The privacy budget.
    voters : {"fresh", "fixed"}
    spent : float
        Cumulative privacy loss: all labels together are certified to be (spent, total_delta)-DP; at most
        ``total_epsilon``.
    wrong : float
        Label error rate: the probability that a label is not the truth. NaN if the accuracy of the voters is not known.
        Of noisy max it and the next two are means over 1,000 drawn vectors of votes.
    disagreement : float
        Disagreement rate: the probability that a label differs from the majority of its votes; a tie agrees with both.
    wrong_without_noise : float
        Label error rate of the plain majority of the same votes, without output noise.
    wrong_without_privacy : float
        Label error rate of the majority of the answers before they are randomized; NaN if they are not, or if their
        accuracy is not known.
    aggregator : float
        The votes of all queries together, which the aggregator receives, are (aggregator, total_delta)-DP; infinite for
        non-private votes.
    vote_epsilon : float
        The largest epsilon of a vote; the last step of the curve has the epsilon that was found for "auto".
    curve : tuple of Step
        For epsilon "auto": the label error rate and both guarantees for several epsilons of the votes. The last step is
        that of the plan.
    comparison : Comparison or None
        Other mechanisms within the same budget.
    assumptions : tuple of str
        The assumptions behind the guarantees and error rates, in words.
    complete : bool
        False if the search was stopped, by the time limit or by the user. Another design may then be better, or parts
        of comparison and curve are missing. The guarantee is certified in either case.
    on_votes : Dependence or None
        How much labels depend on the votes, and the error rate of a constant answer. None if the distribution of the
        votes is not known.
    fallback_epsilon, fallback : float
        With a known randomizer: the second budget, and the total epsilon of all labels, at ``total_delta``, if only the
        affected voters randomize as stated, the others may be any mechanism that learns no vote of others, and no vote
        is used twice or decides what to ask, draw again or release. Else NaN.
    of : mapping from str to OfKind
        Where each group has a budget of its own, ``total_epsilon``, ``spent`` and ``fallback`` of each kind of change,
        such as ``of["group 1"]``; those of the plan are then the largest. Empty if all changes have one budget.
    none, cost : float
        Where labels may be "none": the probability of it, and the expected cost of a label. Else NaN.
    counts : float
        With a known randomizer: the counts of the votes of all queries together are (counts, total_delta)-DP against
        somebody who sees them, but no vote. Else NaN.
    if_colluding : mapping from int to float
        With one group of a known randomizer: the total epsilon of all labels, at ``total_delta``, if so many voters
        collude: none, one, as many as stated, one more, and a quarter of them. Else, and without a comparison, empty.
    """

    chosen: Design | Noisy
    queries: int
    total_epsilon: float
    total_delta: float
    voters: str
    spent: float
    wrong: float
    disagreement: float
    wrong_without_noise: float
    wrong_without_privacy: float
    aggregator: float
    vote_epsilon: float
    curve: tuple[Step, ...]
    comparison: Comparison | None
    assumptions: tuple[str, ...]
    complete: bool
    on_votes: Dependence | None = None
    fallback_epsilon: float = math.nan
    fallback: float = math.nan
    counts: float = math.nan
    of: Mapping[str, OfKind] = field(default_factory=dict)
    if_colluding: Mapping[int, float] = field(default_factory=dict)
    none: float = math.nan
    cost: float = math.nan

    @property
    def design(self) -> Design:
        """The design; `InputError` if the plan is noisy max."""
        if isinstance(self.chosen, Design):
            return self.chosen
        raise InputError(
            f"This plan has no design, because no table for {self.problem.K} voters and {self.problem.n_classes} "
            f"classes fits{' or was found in time' * (not self.complete)}. It is {self.chosen!r}. Use plan.chosen "
            "(darrm plan)."
        )

    @property
    def problem(self) -> ByGroups:
        """The voters and classes; of a design with the guarantee of one label."""
        known: ByGroups | None = self.chosen.problem
        if known is None:
            raise InputError("A plan by noisy max needs the numbers of voters and classes. Make it with both.")
        return known

    @property
    def cost_at_least(self) -> float:
        """No table within the budget has a smaller expected cost; NaN without a comparison, or if that has no bound."""
        return math.nan if self.comparison is None else self.comparison.cost_at_least

    @property
    def draws(self) -> int:
        """Over how many drawn vectors of votes the error rates are means; 0 where they are those of a design."""
        return 0 if isinstance(self.chosen, Design) else DRAWS

    @property
    def called(self) -> str:
        """What the voters are called in print: "fresh", "fixed" or "non-private"."""
        return called(self.problem, self.voters)

    @property
    def mostly_none(self) -> bool:
        """Whether nine labels in ten or more are "none"."""
        return self.none >= _MOSTLY  # NaN where it is not known

    @property
    def wrong_if_given(self) -> float:
        """The label error rate of the labels that are not "none"; NaN if that is not known, or if all are."""
        wrong = self.disagreement if math.isnan(self.wrong) else self.wrong
        if not self.problem.none:
            return wrong
        return max(0.0, wrong - self.none) / (1 - self.none) if self.none < 1 else math.nan  # "none" counts as wrong

    @property
    def near_chance(self) -> str:
        """What labels that are not "none" are hardly better than: "coin flips" or "classes at random"; else ""."""
        classes = self.problem.n_classes
        if not self.wrong_if_given > _NEAR_CHANCE * (1 - 1 / classes):
            return ""
        return "coin flips" if classes == 2 else "classes at random"

    def __repr__(self) -> str:
        spent, delta = at_least(self.spent), exactly(self.total_delta)
        hardly = self.on_votes is not None and self.on_votes.hardly
        poor = f"hardly better than {self.near_chance}, " if self.near_chance else ""
        poor = "hardly depend on the votes, " if hardly else poor
        poor = 'nearly all "none", ' if self.mostly_none else poor
        known = {"label error rate": self.wrong, "disagreement rate": self.disagreement}
        rates = ", ".join(f"{name} {rate(share, self.draws)}" for name, share in known.items() if not math.isnan(share))
        return (
            f"<Plan ({spent}, {delta}) for {counted(self.queries, 'label')} of {self.called} voters: {poor}"
            f"{rates or 'error rates not known without the accuracy of the voters'}, {self.chosen!r}>"
        )

    def _repr_html_(self) -> str:
        return str(view(self))
