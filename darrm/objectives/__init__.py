"""What a decision is good for: the truth at a cost, or a rule of the votes. Every objective is a cost to be small.

    minimise  sum over n, o of  C(n, o) X_o(n)

over the numbers n of votes for each class in each group and the answers o; X_o(n) is the probability of answer o.
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.objectives.cost_tables import Costs as Costs
    from darrm.objectives.cost_tables import costs as costs
    from darrm.objectives.objective import Objective as Objective
    from darrm.objectives.preferences import gains as gains
    from darrm.objectives.randomized import randomized_response_accuracy as randomized_response_accuracy
    from darrm.objectives.rules import AtLeast as AtLeast
    from darrm.objectives.rules import Rule as Rule
    from darrm.objectives.rules import at_least as at_least
    from darrm.objectives.rules import rule as rule
    from darrm.objectives.stored import from_dict as from_dict
    from darrm.objectives.truths import Truth as Truth
    from darrm.objectives.truths import truth as truth
    from darrm.objectives.voters import OfVoters as OfVoters

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.objectives.cost_tables": "Costs costs",
        "darrm.objectives.objective": "Objective",
        "darrm.objectives.preferences": "gains",
        "darrm.objectives.randomized": "randomized_response_accuracy",
        "darrm.objectives.rules": "AtLeast Rule at_least rule",
        "darrm.objectives.stored": "from_dict",
        "darrm.objectives.truths": "Truth truth",
        "darrm.objectives.voters": "OfVoters",
    },
)
