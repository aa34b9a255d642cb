"""From a question to a design: one total budget, many labels, these voters. What do I get, and what else is there?"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.planning.answers import Plan as Plan
    from darrm.planning.answers import Step as Step
    from darrm.planning.at_one_total import Comparison as Comparison
    from darrm.planning.at_one_total import Mechanism as Mechanism
    from darrm.planning.planner import plan as plan

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.planning.at_one_total": "Comparison Mechanism",
        "darrm.planning.answers": "Plan Step",
        "darrm.planning.planner": "plan",
    },
)
