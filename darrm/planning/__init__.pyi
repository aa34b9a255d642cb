from darrm.planning.answers import Plan as Plan
from darrm.planning.answers import Step as Step
from darrm.planning.at_one_total import Comparison as Comparison
from darrm.planning.at_one_total import Mechanism as Mechanism
from darrm.planning.planner import plan as plan
