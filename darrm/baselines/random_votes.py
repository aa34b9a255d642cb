"""Tuned subsampling: the class with most votes in a random sample of the votes, of one of two sizes."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from darrm.baselines import noise_functions
from darrm.baselines.baseline import Baseline, Family
from darrm.design.rules import of_all_votes, plurality
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import at_most
from darrm.objectives import Objective
from darrm.problem.counts import count_vectors, sorted_counts
from darrm.problem.groups import ByGroups

_MOST_SAMPLES = 200_000  # vectors of counts of a sample that are listed: 25 voters and six classes have 142,506


def _family(problem: ByGroups, objective: Objective) -> Family:
    K, C = problem.K, problem.n_classes

    def table(votes: float) -> Array:
        fewer, more = _beside(votes, K, C)
        share = (votes - fewer) / (more - fewer) if more > fewer else 0.0
        return of_all_votes((1 - share) * subsampled(K, C, fewer) + share * subsampled(K, C, more), problem)

    def said(votes: float) -> str:
        fewer, more = _beside(votes, K, C)
        if C == 2 and votes <= 1:
            return f"one vote with probability {at_most(votes, 4)}, else a coin flip"
        if votes in (fewer, more):
            return f"{votes:g} of {K} votes"
        return f"{fewer} or {more} of {K} votes, {at_most(votes, 4)} at the mean"

    def mixed(votes: float) -> Family:
        """The samples of one size, the next from ``votes`` on, mixed with random answers."""
        size = _beside(votes, K, C)[1]
        sample, other = subsampled(K, C, size), "a coin flip" if C == 2 else "a random class"
        return Family(
            lambda share: of_all_votes(share * sample + (1 - share) / C, problem),
            0.9,
            1.0,
            lambda share: f"{size} of {K} votes with probability {at_most(share, 4)}, else {other}",
        )

    return Family(table, 1.0, float(K), said, _steps(K) if len(problem.groups) > 1 else (), mixed)


def _steps(K: int) -> tuple[float, ...]:
    """Quarters of votes from 1 to K, or 60 numbers of votes.

    With unlike voters a larger sample can be more private: one vote of five is that of the least private voter in every
    fifth draw, and in two or three votes it decides alone less often.
    """
    return tuple(np.linspace(1.0, K, min(4 * (K - 1), 59) + 1).tolist())


def _beside(votes: float, K: int, classes: int) -> tuple[int, int]:
    """The numbers of votes that are mixed, ``votes`` at the mean.

    For two classes an even number is as good as one less (Lemma 3.1 of Jiang, Zhang, Joshi, TMLR 2024), so odd ones are
    mixed, and all votes of an even K at the end.
    """
    if classes > 2 or votes <= 1:
        fewer = min(math.floor(votes), K)
        return fewer, min(fewer + 1, K)
    fewer = min(2 * math.floor((votes - 1) / 2) + 1, K)
    return fewer, min(fewer + 2, K)


@lru_cache(maxsize=64)
def subsampled(K: int, classes: int, m: int) -> Array:
    """The probabilities of classes at sorted votes for ``m`` of K votes without replacement, shape (rows, classes).

    With no votes all classes are equally likely.
    """
    counts = sorted_counts(K, classes)
    if m == 0:
        return np.full((len(counts), classes), 1 / classes)
    if classes == 2:
        gamma = noise_functions.subsampling(K, m)[counts[:, 0]]
        return np.stack([(1 + gamma) / 2, (1 - gamma) / 2], axis=1)
    samples, total = count_vectors(m, classes), math.comb(K, m)
    winners = plurality(samples)
    choose = np.array([[math.comb(n, k) for k in range(m + 1)] for n in range(K + 1)], dtype=np.float64)
    rows = []
    for votes in counts:
        check_time()
        rows.append(np.prod(choose[votes[None, :], samples], axis=1) @ winners / total)
    return np.array(rows)


BASELINE = Baseline(
    "tuned subsampling",
    _family,
    "Jiang, Zhang, Joshi (TMLR 2024), Section 3",
    serves=lambda problem, objective: (
        problem.binary or math.comb(problem.K + problem.n_classes - 1, problem.K) <= _MOST_SAMPLES
    ),
)
