"""The Bayes rule, mixed with an answer at random: classical randomized response on the answer."""

from __future__ import annotations

import numpy as np

from darrm.baselines.baseline import Baseline, Family, not_of_a_noise_function
from darrm.certificate.scaling import repair
from darrm.design.rules import best_rule
from darrm.numerics.arrays import Array
from darrm.numerics.printed import at_most
from darrm.objectives import Objective
from darrm.problem.groups import ByGroups


def _family(problem: ByGroups, objective: Objective) -> Family:
    rule, answers = best_rule(problem, objective), problem.n_answers

    def table(share: float) -> Array:
        return np.asarray(1 / answers + share * (rule - 1 / answers))

    def said(share: float) -> str:
        return f"the rule's answer with probability {at_most(share + (1 - share) / answers, 4)}"

    return Family(table, 0.2, 1.0, said)


BASELINE = Baseline(
    "Bayes rule with constant gamma",
    _family,
    "Jiang, Zhang, Joshi (TMLR 2024), Appendix A",
    serves=not_of_a_noise_function,  # there it is `largest_constant`
    exact=lambda problem, objective: repair(best_rule(problem, objective), problem),
)
