from darrm.independent.judging import Cost as Cost
from darrm.independent.judging import Findings as Findings
from darrm.independent.judging import check as check
from darrm.independent.judging import cost as cost
from darrm.independent.judging import needed_delta as needed_delta
