from darrm.baselines.entries import Comparison as Comparison
from darrm.baselines.entries import Entry as Entry
from darrm.planning.answers import Plan as Plan
from darrm.planning.answers import Step as Step
from darrm.planning.planner import plan as plan
