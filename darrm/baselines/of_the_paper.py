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


def _subsampled(problem: Any, objective: Objective, time_limit: float) -> Found:
    """Subsampling of ``floor(m)`` votes, and double subsampling of ``2 floor(m) - 1``."""
    K, m = problem.K, math.floor(allowance(problem))
    if not m:
        return {}
    return {
        f"double subsampling of {_votes(min(2 * m - 1, K))}": ("", noise_functions.double_subsampling(K, m)),
        f"subsampling of {_votes(m)}": ("", noise_functions.subsampling(K, m)),
    }


def _votes(count: int) -> str:
    return counted(count, "vote")


def _constant(problem: Any, objective: Objective, time_limit: float) -> Found:
    """The largest constant that verifies, and that of Lemma A.1."""
    largest, lemma = noise_functions.largest_constant(problem), noise_functions.constant(problem)
    return {"randomized response (largest)": ("", largest), "randomized response (A.1)": ("", lemma)}


SUBSAMPLED = SolvedBaseline(
    "subsampling and double subsampling",
    _subsampled,
    "Jiang, Zhang, Joshi (TMLR 2024), Section 4",
    serves=of_a_noise_function,
)
CONSTANT = SolvedBaseline(
    "randomized response", _constant, "Jiang, Zhang, Joshi (TMLR 2024), Lemma A.1", serves=of_a_noise_function
)
