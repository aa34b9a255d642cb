"""Mechanisms of one parameter for votes of several classes, as tables; the larger the parameter, the less noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from darrm.design.rules import of_all_votes, plurality
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.permute_and_flip import PermuteAndFlip
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import at_least, at_most
from darrm.problem.counts import Counts, count_vectors, sorted_counts
from darrm.problem.decision import DecisionProblem


class _Mechanism(Protocol):
    def chances(self, counts: Counts) -> Array: ...


class ClassFamily(NamedTuple):
    """A mechanism with a parameter.

    Attributes
    ----------
    name : str
    table : callable
        Its table by the parameter > 0, full if there are several groups, else symmetric.
    least, most : float
        Ends of the parameter.
    said : callable
        The parameter in words.
    """

    name: str
    table: Callable[[float], Array]
    least: float
    most: float
    said: Callable[[float], str]


def noisy_counts(problem: DecisionProblem) -> list[ClassFamily]:
    """Noise at the votes for each class, all groups together: Gaussian and Laplace noisy max, and permute-and-flip."""

    def of(make: Callable[[float], _Mechanism], parameter: float) -> Array:
        chances = np.asarray(make(parameter).chances(sorted_counts(problem.K, problem.n_classes)))
        return of_all_votes(chances, problem)

    return [
        ClassFamily("Gaussian noisy max", partial(of, lambda x: GaussianNoisyMax(1 / x)), 1e-3, 20.0, _sigma),
        ClassFamily("Laplace noisy max", partial(of, LaplaceNoisyMax), 1e-3, 20.0, _scale),
        ClassFamily("permute-and-flip", partial(of, PermuteAndFlip), 1e-3, 40.0, _epsilon),
    ]


def _sigma(inverse: float) -> str:
    return f"sigma {at_least(1 / inverse, 4)} at each count"


def _scale(gamma: float) -> str:
    return f"noise of scale {at_least(1 / gamma, 4)} at each count"


def _epsilon(epsilon: float) -> str:
    return f"epsilon {at_most(epsilon, 4)} for one changed vote"


def subsampled_plurality(K: int, classes: int, m: int) -> Array:
    """The plurality of ``m`` of K votes, drawn without replacement, for sorted votes; shape (rows, classes).

    Of no votes every class is as likely.
    """
    if m == 0:
        return np.full((len(sorted_counts(K, classes)), classes), 1 / classes)
    samples, total = count_vectors(m, classes), math.comb(K, m)
    winners = plurality(samples)
    choose = np.array([[math.comb(n, k) for k in range(m + 1)] for n in range(K + 1)], dtype=np.float64)
    rows = []
    for votes in sorted_counts(K, classes):
        check_time()
        rows.append(np.prod(choose[votes[None, :], samples], axis=1) @ winners / total)
    return np.array(rows)
