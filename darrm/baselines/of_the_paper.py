"""The noise functions that the DaRRM paper compares with, for one group under a prior."""

from __future__ import annotations

import math
from typing import Any

from darrm.baselines import noise_functions
from darrm.baselines.baseline import SolvedBaseline, of_a_noise_function
from darrm.numerics.arrays import Array
from darrm.numerics.printed import counted
from darrm.objectives import Objective
from darrm.problem.decision import allowance

Found = dict[str, tuple[str, Array]]
_CONSTANTS = ("randomized response (largest)", "randomized response (A.1)")


def _subsampled(problem: Any, objective: Objective, time_limit: float) -> Found:
    """Subsampling of ``floor(m)`` votes, and double subsampling of ``2 floor(m) - 1``."""
    K, m = problem.K, math.floor(allowance(problem))
    made = (noise_functions.double_subsampling, noise_functions.subsampling)
    return {name: ("", gamma(K, m)) for name, gamma in zip(_subsamples(problem, objective), made, strict=False)}


def _subsamples(problem: Any, objective: Objective) -> list[str]:
    """Their names, or none."""
    m = math.floor(allowance(problem))
    sizes = {"double subsampling": min(2 * m - 1, problem.K), "subsampling": m}
    return [f"{name} of {counted(size, 'vote')}" for name, size in sizes.items() if m]


def _constant(problem: Any, objective: Objective, time_limit: float) -> Found:
    """The largest constant that verifies, and that of Lemma A.1."""
    largest, lemma = noise_functions.largest_constant(problem), noise_functions.constant(problem)
    return dict(zip(_CONSTANTS, (("", largest), ("", lemma)), strict=True))


SUBSAMPLED = SolvedBaseline(
    "subsampling and double subsampling",
    _subsampled,
    "Jiang, Zhang, Joshi (TMLR 2024), Section 4",
    serves=of_a_noise_function,
    called=_subsamples,
)
CONSTANT = SolvedBaseline(
    "randomized response",
    _constant,
    "Jiang, Zhang, Joshi (TMLR 2024), Lemma A.1",
    serves=of_a_noise_function,
    called=lambda problem, objective: _CONSTANTS,
)
