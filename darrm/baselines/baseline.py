"""What a baseline says of itself: noise of one parameter, which is looked for, or tables that need the guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from darrm.accounting.search import spend
from darrm.certificate.certificate import verify
from darrm.certificate.scaling import repair
from darrm.design.rules import of_all_votes
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, Paper
from darrm.problem import encodings
from darrm.problem.counts import Counts, sorted_counts
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import ByGroups

_TRIES = 60
_CLOSE = 1e-9  # relative: how near two parameters are tried where the epsilon jumps
_ENOUGH = (1 - 1e-7, 1 - 4e-8)  # of the guarantee's epsilon: where a search ends, and where it aims
_LEAST = 1e-9  # chance of one of two answers
_ROUNDING = 1e-9  # what meets a guarantee exactly in theory misses it by rounding; no more is repaired


class Family(NamedTuple):
    """Tables of one parameter; the larger it is, the less noise.

    Attributes
    ----------
    table : callable
        The probabilities of answers by the parameter > 0: of two answers those of answer 1, else as of a `Design`.
    guess, most : float
        Where to begin to look, and the largest parameter.
    said : callable
        The parameter in words.
    """

    table: Callable[[float], Array]
    guess: float
    most: float
    said: Callable[[float], str]


def always(problem: ByGroups, objective: Objective) -> bool:
    return True


def of_a_noise_function(problem: ByGroups, objective: Objective) -> bool:
    """Whether the paper's noise functions are compared: its majority, under a prior."""
    return isinstance(objective, Paper) and encodings.of(problem, ()) is encodings.GAMMA


def not_of_a_noise_function(problem: ByGroups, objective: Objective) -> bool:
    return not of_a_noise_function(problem, objective)


@dataclass(frozen=True)
class Baseline:
    """A mechanism with as little noise as a guarantee, or a total, allows.

    Examples
    --------
    The largest that a guarantee allows of permute-and-flip, in words:

    >>> import darrm
    >>> from darrm.baselines.permute_and_flip import BASELINE
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3)
    >>> BASELINE.tables(problem, darrm.objectives.truth([0.6]), 60.0)["permute-and-flip"][0]
    'epsilon 1.073 for one changed vote'

    Attributes
    ----------
    name : str
    family : callable
        Takes a problem or a `VoterModel`, and an objective.
    source : str
    serves : callable
        Whether it is one for such voters and such an objective.
    exact : callable, optional
        Its table with the least noise of one release, where it need not be looked for.
    """

    name: str
    family: Callable[[ByGroups, Objective], Family]
    source: str
    serves: Callable[[ByGroups, Objective], bool] = always
    exact: Callable[[AnyProblem, Objective], Array] | None = None

    def tables(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Mapping[str, tuple[str, Array]]:
        """The table of least noise that is certified, in the problem's encoding; none if no noise is enough."""
        if self.exact is not None:
            return {self.name: ("", self.exact(problem, objective))}
        found = least_noise(self.family(problem, objective), problem)
        return {} if found is None else {self.name: found}


@dataclass(frozen=True)
class SolvedBaseline:
    """Tables that are made for a guarantee, or without any.

    Examples
    --------
    >>> import darrm
    >>> from darrm.baselines.restricted import ONE_GROUP_ALONE
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.4)
    >>> ONE_GROUP_ALONE.tables(problem, darrm.objectives.truth([0.685, 0.54]), 60.0)["group 1 alone"][0]
    '4 of epsilon 1'

    Attributes
    ----------
    name : str
    solved : callable
        Takes a problem, an objective and the seconds that each solve may take. Returns tables by name, in the problem's
        encoding, each with its setting in words.
    source : str
    serves : callable
        As of a `Baseline`.
    private : bool
        Whether they keep the guarantee; without noise they are there for scale.
    """

    name: str
    solved: Callable[[AnyProblem, Objective, float], Mapping[str, tuple[str, Array]]] = field(repr=False)
    source: str
    serves: Callable[[ByGroups, Objective], bool] = always
    private: bool = True

    def tables(self, problem: AnyProblem, objective: Objective, time_limit: float) -> Mapping[str, tuple[str, Array]]:
        """Those of `solved`."""
        return self.solved(problem, objective, time_limit)


def by_counts(problem: ByGroups, chances: Callable[[Counts, float], Array]) -> Callable[[float], Array]:
    """Tables that look at the counts of all groups together, from the chances of classes at sorted counts.

    ``chances`` takes counts, the most first, shape (rows, classes), and the parameter. Of two answers none is less
    likely than 1e-9. A table holds the chance of one of them, and so near to 1 float64 would have steps of a factor 2
    in the chance of the other. To raise both of two chances to that brings them no further apart.
    """
    counts = sorted_counts(problem.K, problem.n_classes)
    least = _LEAST if problem.binary else 0.0
    return lambda parameter: of_all_votes(np.maximum(chances(counts, parameter), least), problem)


class _OneRelease:
    """One release as a budget: what a table costs is its tight epsilon."""

    def __init__(self, problem: AnyProblem) -> None:
        self.problem, self.epsilon = problem, problem.release_epsilon

    def cost(self, table: Array) -> float:
        certificate = verify(table, self.problem)
        if certificate.holds:
            return min(certificate.tight_epsilon, self.epsilon)
        return max(certificate.tight_epsilon, math.nextafter(self.epsilon, math.inf))


def least_noise(family: Family, problem: AnyProblem) -> tuple[str, Array] | None:
    """The largest parameter that is certified, in words, and its table; None if none is.

    The search ends within a relative 1e-7 of the guarantee's epsilon.

    Examples
    --------
    >>> import darrm
    >>> from darrm.baselines import gaussian
    >>> from darrm.baselines.baseline import least_noise
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3)
    >>> said, table = least_noise(gaussian.BASELINE.family(problem, darrm.objectives.truth([0.6])), problem)
    >>> said
    'sigma 1.878 at each count'
    """
    tried: list[tuple[float, Array]] = []

    def table(parameter: float) -> Array:
        tried.append((parameter, encodings.of_answers(family.table(parameter), problem)))
        return tried[-1][1]

    spent = spend(
        table, _OneRelease(problem), family.guess, most=family.most, tries=_TRIES, close=_CLOSE, enough=_ENOUGH
    )
    if spent is None:
        return None
    parameter, found = next((x, made) for x, made in tried if made is spent.release)
    whole = float(math.ceil(parameter))
    if parameter < whole <= family.most:  # so many votes can be exactly at the limit, but for rounding
        above = encodings.of_answers(family.table(whole), problem)
        if verify(above, problem).tight_epsilon <= problem.release_epsilon * (1 + _ROUNDING):
            at_limit = repaired(above, problem)
            if verify(at_limit, problem).holds:
                return family.said(whole), at_limit
    return family.said(parameter), found


def repaired(table: Array, problem: AnyProblem) -> Array:
    """The table, repaired if only rounding puts it over the guarantee; else as it is."""
    scaled = repair(table, problem)
    return scaled if np.allclose(scaled, table, rtol=0, atol=_ROUNDING) else table
