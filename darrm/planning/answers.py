"""What a plan answers: the design, what all labels guarantee, how often one is wrong, how private all votes are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from darrm._lazy import view
from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.numerics.printed import at_least, exactly
from darrm.planning.dependence import Dependence


@dataclass(frozen=True)
class Step:
    """A point of the curve over the epsilon of the votes: both budgets, and what they buy.

    Attributes
    ----------
    epsilon : float
        Of one vote in the groups whose epsilon was "auto".
    wrong : float
        The probability that a label is not the truth.
    public : float
        What all labels cost together: they are (public, total_delta)-DP, proved.
    aggregator : float
        Epsilon of all votes together, for whoever sees them, at ``total_delta``.
    """

    epsilon: float
    wrong: float
    public: float
    aggregator: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What one budget buys; made by `darrm.plan`.

    Attributes
    ----------
    design : Design
        To be saved, released from and charged to a ledger.
    queries : int
    total_epsilon, total_delta : float
        The budget.
    voters : {"fresh", "fixed"}
    spent : float
        All labels together are (spent, total_delta)-DP: proved, at most ``total_epsilon``.
    wrong : float
        The probability that a label is not the truth. NaN if it is not known how often voters are right.
    disagreement : float
        The probability that a label is not the majority of the votes it was made of; a tie agrees with both.
    wrong_without_noise : float
        The same as ``wrong`` for the plain majority of the same votes.
    wrong_without_privacy : float
        And for the majority of the answers before they were randomized; NaN if they are not known.
    aggregator : float
        Epsilon of all votes together, for whoever sees them, at ``total_delta``; infinite if votes are not private.
    vote_epsilon : float
        The largest epsilon of a vote; the last step of the curve has the epsilon that was found for "auto".
    curve : tuple of Step
        For epsilon "auto": wrong labels and both totals, by the epsilon of the votes. The last one is the plan's.
    comparison : Comparison or None
        What else the same budget buys.
    assumptions : tuple of str
        What the figures rest on, in words.
    complete : bool
        False if it was stopped, by time or by the user: then another design may be better, or parts of comparison and
        curve are missing. The guarantee is proved all the same.
    on_votes : Dependence or None
        How much labels depend on the votes, and how often one answer to everything is wrong. None if it is not known
        how votes fall.
    """

    design: Design
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

    def __repr__(self) -> str:
        spent, delta = at_least(self.spent), exactly(self.total_delta)
        wrong = "" if math.isnan(self.wrong) else f"{self.wrong:.4f} wrong, "
        hardly = "hardly depend on the votes, " if self.on_votes is not None and self.on_votes.hardly else ""
        return (
            f"<Plan ({spent}, {delta}) for {self.queries} labels of {self.voters} voters: {hardly}{wrong}"
            f"{self.disagreement:.4f} not the majority of the votes, {self.design!r}>"
        )

    def _repr_html_(self) -> str:
        return str(view(self))
