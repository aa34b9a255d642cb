"""Encodings of the release probabilities: valid arrays, the exact probabilities sampled, and mixing with noise.

    gamma      of a majority: gamma(l), the probability of releasing the true majority at l ones, else a fair coin flip
    binary     of a decision between two answers: Pr[answer 1] at each vector of the numbers of ones in the groups
    full       of several answers: the probabilities of all answers at each vector of votes
    symmetric  of several answers, for one group and classes treated alike: the probabilities at sorted votes

A majority has the encoding gamma alone: 1/2 + gamma/2 is not exact in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, shown
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem import class_tables
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import ByGroups, check_problem
from darrm.problem.noise_function import Given, acceptance, noise_function

_HALF = Fraction(1, 2)
_LEAST = 2.0**-30  # of a probability that 2^-53 hardly changes
_NEAR = 2.0**-51  # above the rounding of a sum of two probabilities


class Encoding(NamedTuple):
    """One encoding of release probabilities as an array.

    Attributes
    ----------
    name : str
    key : str
        The key of the array in design files; its exact numbers have that key followed by ``_hex``.
    checked : callable
        Takes an array and a problem; returns the array as float64. Raises `InputError` if it does not encode a release
        of that problem.
    mixed : callable
        Takes a table and a share s; returns the table of "this release with probability s, else a uniformly random
        answer".
    probabilities : callable
        Takes a table; returns the probabilities of all answers, as float64, with a last axis for them.
    exact : callable
        Takes a table and a problem; returns the exact sampled probability of every answer, for each row.
    rounded : callable
        Takes a table and a number b; returns a table whose sampled probabilities are multiples of 2^-b, each less than
        2^-b from the given one (for several answers that plus rounding of float64).
    """

    name: str
    key: str
    checked: Callable[[Any, Any], Array]
    mixed: Callable[[Array, float], Array]
    probabilities: Callable[[Array], Array]
    exact: Callable[[Array, ByGroups], list[list[Fraction]]]
    rounded: Callable[[Array, int], Array]


def _gamma(release: Given, problem: Any) -> Array:
    check_problem(problem)
    return noise_function(release, problem.K)


def binary_table(release: ArrayLike, problem: ByGroups) -> Array:
    """``release`` as a float64 array of the problem's shape, refused unless it holds probabilities of answer 1."""
    hint = "Pass Pr[answer 1] for every count of ones in each group."
    return array("release", release, problem.table_shape, 0, 1, "[]", hint=hint) + 0.0


def _with_coin(table: Array, share: float) -> Array:
    return np.asarray(np.clip(0.5 + (table - 0.5) * share, 0.0, 1.0))


def _two(ones: Array) -> Array:
    return np.stack([1 - ones, ones], axis=-1)


def _exact_gamma(gamma: Array, problem: ByGroups) -> list[list[Fraction]]:
    sides = (((2 * l > problem.K) - (2 * l < problem.K)) * Fraction(value) for l, value in enumerate(gamma.tolist()))
    return [[_HALF - _HALF * side, _HALF + _HALF * side] for side in sides]


def _exact_binary(table: Array, problem: ByGroups) -> list[list[Fraction]]:
    return [[1 - Fraction(value), Fraction(value)] for value in table.ravel().tolist()]


def _rounded_gamma(gamma: Array, bits: int) -> Array:
    # (1 + gamma) / 2 is a multiple of 2^-bits if gamma is one of 2^(1 - bits). Towards 0, that is towards the coin.
    return np.asarray(np.ldexp(np.floor(np.ldexp(gamma, bits - 1)), 1 - bits))


def _rounded_binary(table: Array, bits: int) -> Array:
    scaled = np.ldexp(table, bits)  # towards 1/2
    return np.asarray(np.ldexp(np.where(table < 0.5, np.ceil(scaled), np.floor(scaled)), -bits))


GAMMA = Encoding(
    "gamma", "gamma", _gamma, np.multiply, lambda gamma: _two(acceptance(gamma)), _exact_gamma, _rounded_gamma
)
BINARY = Encoding("binary", "table", binary_table, _with_coin, _two, _exact_binary, _rounded_binary)
FULL = Encoding(
    *("full", "table", class_tables.class_table, class_tables.mixed, np.array, class_tables.exact_rows),
    class_tables.rounded,
)
SYMMETRIC = FULL._replace(name="symmetric")
ENCODINGS = {encoding.name: encoding for encoding in (GAMMA, BINARY, FULL, SYMMETRIC)}


def of(problem: object, release: Given) -> Encoding:
    """The encoding that an array for a decision would have, valid or not; gamma for any other problem."""
    if not isinstance(problem, DecisionProblem):
        return GAMMA
    if problem.binary:
        return BINARY
    return SYMMETRIC if class_tables.is_symmetric(np.asarray(release), problem) else FULL


def table(release: Given, problem: object) -> Array:
    """``release`` as float64, as files hold it; `InputError` if it does not encode a release of the problem.

    A noise function may be a function of the number of ones.
    """
    if hasattr(release, "problem"):
        raise InputError("release must be an array. Got a design: pass design.table, design.problem.")
    return of(problem, release).checked(release, problem)


def of_answers(answers: Array, problem: ByGroups) -> Array:
    """The probabilities of answers in the problem's encoding; for a majority gamma = 2 Pr[the majority] - 1.

    For two answers ``answers`` holds the probabilities of answer 1; for a majority it must treat both answers alike.
    """
    encoding = of(problem, answers)
    if encoding is not GAMMA:
        return complementary(answers) if encoding is BINARY else answers
    gamma = np.clip(2 * np.maximum(answers, answers[::-1]) - 1, 0.0, 1.0)
    if problem.K % 2 == 0:
        gamma[problem.K // 2] = 0.0
    return np.asarray(gamma)


def complementary(table: Array) -> Array:
    """A table of two answers, in which answers that are treated alike but for rounding are treated so exactly.

    The smaller of two opposite probabilities becomes 1 minus the larger one, which is exact. Tables with a probability
    below 2^-30 stay as they are.
    """
    opposite = np.flip(table)
    if table.min() < _LEAST or np.abs(table + opposite - 1).max() > _NEAR:
        return table
    larger = np.maximum(np.maximum(table, opposite), 0.5)
    return np.where(table > opposite, larger, np.where(table < opposite, 1 - larger, 0.5))


def treats_alike(table: Array, problem: DecisionProblem) -> bool:
    """Whether renaming the classes of all votes and of the answer leaves a table as it is, to the last bit."""
    if not problem.binary:
        return class_tables.is_symmetric(table, problem)
    # Of two probabilities that sum to 1, 1 minus the larger one is exact.
    return bool(np.array_equal(1 - table, np.flip(table)) and np.array_equal(1 - np.flip(table), table))


def stored(texts: list[str], problem: ByGroups) -> Array:
    """The table of a file from its exact entries in order, hexadecimal texts; their number decides its form.

    `InputError` if `table` would make others of them: what is verified must be what other readers of the file take.
    """
    given = _in_form(np.array([float.fromhex(text) for text in texts]), problem)
    values = table(given, problem)
    if not np.array_equal(values, given):
        rows = given.reshape(-1, given.shape[-1])
        row = int((values != given).reshape(rows.shape).any(axis=1).argmax())
        entries = rows[row].tolist()
        raise InputError(
            f"row {row + 1} of the table must sum to 1 within the rounding of float64, with equal probabilities for "
            f"classes of as many votes. Got {shown(entries)}, of sum {math.fsum(entries)!r}"
        )
    return values


def _in_form(values: Array, problem: ByGroups) -> Array:
    if isinstance(problem, DecisionProblem):
        if problem.binary:
            return values.reshape(problem.table_shape)
        full = values.size == int(np.prod(problem.table_shape)) * problem.n_answers
        return values.reshape(*(problem.table_shape if full else (-1,)), problem.n_answers)
    return values
