"""Mechanisms of one parameter, as tables of a decision; the larger the parameter, the less noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from darrm.design.rules import of_all_votes
from darrm.mechanisms import class_rivals
from darrm.mechanisms.baselines import subsampling
from darrm.numerics.arrays import Array
from darrm.numerics.binomials import binomials
from darrm.numerics.printed import at_least, at_most
from darrm.planning.setting import Setting
from darrm.problem.decision import DecisionProblem
from darrm.problem.noise_function import acceptance

_MOST_FLIPS = 20_000_000  # chances of flips that are listed: one group of 4471 votes
_SURE = 700.0  # nats: beyond, e^-epsilon is 0 in float64


class Family(NamedTuple):
    """A mechanism with a parameter.

    Attributes
    ----------
    name : str
    table : callable
        Its table, as of a `Design`, by the parameter > 0.
    guess, most : float
        Where to begin to look, and the largest parameter.
    said : callable
        The parameter in words.
    """

    name: str
    table: Callable[[float], Array]
    guess: float
    most: float
    said: Callable[[float], str]


def families(setting: Setting) -> list[Family]:
    """The mechanisms of the papers and of PATE, for the votes of a setting.

    * Best rule, constant noise: the answer that the objective prefers, mixed with a fair coin.
    * Subsampling: the majority of a random number of random votes; double subsampling is the same with as many votes.
    * Gaussian noisy max: the class whose count is largest after noise of sigma; X = Phi(lead / (sqrt(2) sigma)).
    * Permute-and-flip (McKenna, Sheldon, NeurIPS 2020): for two classes the one behind wins with e^(-rate lead) / 2.
    * For more than two classes: Laplace noisy max too.

    Examples
    --------
    >>> import darrm
    >>> from darrm.planning.rivals import families
    >>> from darrm.planning.setting import Setting
    >>> setting = Setting((darrm.VoterGroup(3, epsilon=0.5),), 1, "replace-one", 2, darrm.objectives.truth([0.7]))
    >>> [family.name for family in families(setting)]
    ['best rule, constant noise', 'subsampling', 'Gaussian noisy max', 'permute-and-flip']
    """
    problem = setting.problem(1.0, 0.5)
    K, ones = problem.K, np.indices(problem.table_shape).sum(axis=0)
    if problem.binary:
        table: Callable[[float], Array] = lambda votes: _subsampled(K, votes)[ones]  # noqa: E731
        said = partial(_votes, K)
    else:
        table, said = partial(_subsampled_of_several, problem), partial(_votes_of_several, K)
    subsampled = Family("subsampling", table, 1.0, float(K), said)
    return [constant_noise(setting), subsampled, *noisy_counts(setting)]


def noisy_counts(setting: Setting) -> list[Family]:
    """Of these the mechanisms that add noise to the counts."""
    problem = setting.problem(1.0, 0.5)
    if not problem.binary:
        return [
            Family(family.name, family.table, family.least * 100, family.most, family.said)
            for family in class_rivals.noisy_counts(problem)
        ]
    lead = np.asarray(2.0 * np.indices(problem.table_shape).sum(axis=0) - problem.K, dtype=np.float64)
    return [
        Family("Gaussian noisy max", partial(_gaussian, lead), 0.1, 1e3, _sigma),
        Family("permute-and-flip", partial(_flipped, lead), 0.1, 1e3, _rate),
    ]


def constant_noise(setting: Setting) -> Family:
    """The best rule, mixed with an answer at random."""
    answers = setting.problem(1.0, 0.5).n_answers
    return Family(
        "best rule, constant noise", partial(_mixed, setting.best_rule(), answers), 0.2, 1.0, partial(_chance, answers)
    )


def flipped_votes(setting: Setting) -> list[Family]:
    """The majority after flips that make every vote private: all the noise in the votes, or what is left of it.

    For two answers; none where a group is so large that its flips are not listed. The parameter is the epsilon of a
    vote after the flips: X(n) is how often the majority is 1 if n votes were.
    """
    if max((group.count + 1) ** 2 for group in setting.groups) > _MOST_FLIPS:
        return []
    most = max(min(group.epsilon, _SURE) for group in setting.groups)
    return [Family("majority of flipped votes", partial(_flipped_votes, setting), 0.1, most, _each)]


def _flipped_votes(setting: Setting, epsilon: float) -> Array:
    table = setting.majority()
    for axis, group in enumerate(setting.groups):
        has, gets = expit(group.epsilon), expit(min(epsilon, group.epsilon))
        flip = (has - gets) / (2 * has - 1) if has > gets else 0.0
        ones = np.arange(group.count + 1)
        stay, turn = (binomials(group.count, p, 0.0)[0] for p in (1 - flip, flip))
        chances = np.array([np.convolve(stay[n], turn[group.count - n])[: group.count + 1] for n in ones])
        table = np.moveaxis(np.tensordot(chances, table, axes=(1, axis)), 0, axis)
    return np.asarray(np.clip(table, 0.0, 1.0))


def _each(epsilon: float) -> str:
    return f"epsilon {at_most(epsilon, 4)} a vote"


def _mixed(rule: Array, answers: int, share: float) -> Array:
    return np.asarray(1 / answers + share * (rule - 1 / answers))


def _chance(answers: int, share: float) -> str:
    return f"the rule's answer with probability {at_most(share + (1 - share) / answers, 4)}"


def _gaussian(lead: Array, inverse: float) -> Array:
    return np.asarray(ndtr(lead * inverse / math.sqrt(2)))


def _sigma(inverse: float) -> str:
    return f"sigma {at_least(1 / inverse, 4)} at each count"


def _flipped(lead: Array, rate: float) -> Array:
    behind = np.exp(-rate * np.abs(lead)) / 2
    return np.asarray(np.where(lead > 0, 1 - behind, behind))


def _rate(rate: float) -> str:
    return f"epsilon {at_most(2 * rate, 4)} for one changed vote"


def _subsampled(K: int, votes: float) -> Array:
    """The majority of a random number of random votes, ``votes`` at the mean; of less than one: a vote or a coin.

    An even number of votes is as good as one less (Lemma 3.1 of Jiang, Zhang, Joshi, TMLR 2024), so odd ones are mixed,
    and the plain majority of an even K at the end.
    """
    if votes <= 1:
        return np.asarray(0.5 + votes * (acceptance(subsampling(K, 1)) - 0.5))
    fewer = min(2 * math.floor((votes - 1) / 2) + 1, K)
    more = min(fewer + 2, K)
    share = (votes - fewer) / (more - fewer) if more > fewer else 0.0
    return np.asarray((1 - share) * acceptance(subsampling(K, fewer)) + share * acceptance(subsampling(K, more)))


def _subsampled_of_several(problem: DecisionProblem, votes: float) -> Array:
    """The plurality of a random number of random votes, ``votes`` at the mean; of no vote any class."""
    K, C = problem.K, problem.n_classes
    fewer, more = (_subsample(K, C, min(math.floor(votes) + i, K)) for i in (0, 1))
    share = votes - math.floor(votes)
    return of_all_votes((1 - share) * fewer + share * more, problem)


@lru_cache(maxsize=64)
def _subsample(K: int, classes: int, m: int) -> Array:
    return class_rivals.subsampled_plurality(K, classes, m)


def _votes_of_several(K: int, votes: float) -> str:
    fewer = math.floor(votes)
    return _one_or_other(fewer, fewer + 1, K, votes)


def _votes(K: int, votes: float) -> str:
    if votes <= 1:
        return f"one vote with probability {at_most(votes, 4)}, else a coin"
    fewer = min(2 * math.floor((votes - 1) / 2) + 1, K)
    return _one_or_other(fewer, fewer + 2, K, votes)


def _one_or_other(fewer: int, more: int, K: int, votes: float) -> str:
    more = min(more, K)
    if votes in (fewer, more):
        return f"{votes:g} of {K} votes"
    return f"{fewer} or {more} of {K} votes, {at_most(votes, 4)} at the mean"
