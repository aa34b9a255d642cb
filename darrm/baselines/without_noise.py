"""Baselines without noise: a constant answer, and rules that are only as private as the votes."""

from __future__ import annotations

import math

import numpy as np

from darrm.baselines.baseline import SolvedBaseline, not_of_a_noise_function, of_a_noise_function
from darrm.design.rules import best_rule, most_voted
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem

Found = dict[str, tuple[str, Array]]


def _one_answer(problem: AnyProblem, objective: Objective, time_limit: float) -> Found:
    """The constant answer of least cost, unless another has the same cost."""
    costs = objective.costs(problem).reshape(-1, problem.n_answers).sum(axis=0)
    answer, *next_best = np.argsort(costs, kind="stable").tolist()
    if math.isclose(costs[answer], costs[next_best[0]], rel_tol=1e-12):
        return {}
    table = np.zeros((*problem.table_shape, problem.n_answers))
    table[..., answer] = 1.0
    return {f"always {problem.answers[answer]}, no votes": ("", table[..., 1] if problem.binary else table)}


def _most_voted(problem: AnyProblem, objective: Objective, time_limit: float) -> Found:
    of_the_paper = of_a_noise_function(problem, objective)
    name = "plain majority" if of_the_paper else f"plain {'majority' if problem.binary else 'plurality'}, no noise"
    return {name: ("", encodings.of_answers(most_voted(problem), problem))}


def _best_rule(problem: AnyProblem, objective: Objective, time_limit: float) -> Found:
    return {"Bayes rule, no noise": ("", best_rule(problem, objective))}


ONE_ANSWER = SolvedBaseline("one answer, no votes", _one_answer, "a guess")
MOST_VOTED = SolvedBaseline("plain majority or plurality", _most_voted, "no noise", private=False)
BEST_RULE = SolvedBaseline(
    "Bayes rule, no noise",
    _best_rule,
    "no noise",
    serves=not_of_a_noise_function,  # there it is the majority
    private=False,
)
