"""The baselines, in the order in which comparisons show them. CONTRIBUTING.md lists what a new one needs."""

from __future__ import annotations

from darrm.baselines import (
    confident,
    constant_noise,
    exponential,
    flipped_votes,
    gaussian,
    laplace,
    of_the_paper,
    one_against_the_rest,
    permute_and_flip,
    random_votes,
    restricted,
    without_noise,
)
from darrm.baselines.baseline import Baseline, SolvedBaseline
from darrm.objectives import Objective
from darrm.problem.groups import ByGroups

BASELINES: tuple[Baseline | SolvedBaseline, ...] = (
    of_the_paper.SUBSAMPLED,
    of_the_paper.CONSTANT,
    restricted.ALL_AS_THE_LEAST_PRIVATE,
    restricted.ONE_GROUP_ALONE,
    restricted.FOR_MOST_VOTES,
    constant_noise.BASELINE,
    random_votes.BASELINE,
    gaussian.BASELINE,
    confident.BASELINE,
    laplace.BASELINE,
    permute_and_flip.BASELINE,
    exponential.BASELINE,
    one_against_the_rest.BASELINE,
    without_noise.ONE_ANSWER,
    without_noise.MOST_VOTED,
    without_noise.BEST_RULE,
)

_OF_ONE_PARAMETER = tuple(baseline for baseline in BASELINES if isinstance(baseline, Baseline))
# In the order in which a plan tries them: first noisy max, which is near the optimum.
PLANNED = (
    *(one for one in _OF_ONE_PARAMETER if one not in (constant_noise.BASELINE, random_votes.BASELINE)),
    constant_noise.BASELINE,
    flipped_votes.BASELINE,
    random_votes.BASELINE,
)


def tried(problem: ByGroups, objective: Objective) -> list[Baseline]:
    """The baselines of `PLANNED` that a plan tries for these voters and this objective.

    Tuned subsampling wins for two answers where voters are private and few of them are affected. Of more answers its
    tables are slow to compute, and it never does.
    """
    left = () if problem.binary else (random_votes.BASELINE,)
    return [one for one in PLANNED if one not in left and one.serves(problem, objective)]


def raised(problem: ByGroups, objective: Objective) -> list[Baseline]:
    """The baselines with one parameter that apply to these voters and this objective."""
    return [baseline for baseline in _OF_ONE_PARAMETER if baseline.serves(problem, objective)]
