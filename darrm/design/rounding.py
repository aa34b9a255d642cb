"""Tables of few bits: how many the draw of a label needs, and a table rounded to as many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from darrm.certificate.scaling import rounded_all
from darrm.numerics.arrays import Array
from darrm.problem import encodings
from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.decision import AnyProblem
from darrm.problem.limits import guarantees, profile_limits


def bits_of(table: Array, problem: AnyProblem) -> int:
    """`Design.bits` of one table."""
    encoding = encodings.of(problem, table)
    if problem.binary:
        of_gamma = encoding is encodings.GAMMA
        mantissa, exponent = np.frexp(table[table > 0])
        whole_numbers = np.ldexp(mantissa, 53).astype(np.int64)
        zeros = np.log2(whole_numbers & -whole_numbers).astype(np.int64)
        # Of gamma the probabilities are (1 + gamma) / 2.
        return int(max(of_gamma, (53 - exponent - zeros + of_gamma).max(initial=0)))
    exact = encoding.exact(table, problem)
    denominators = {value.denominator for row in exact for value in row}
    return max(d.bit_length() - 1 for d in denominators if not d & (d - 1))


def rounded(table: Array, problem: AnyProblem, profile: Sequence[tuple[float, float]], bits: int) -> Array:
    """The table of `Design.rounded`, which all limits of the problem and of the profile hold for."""
    if encodings.of(problem, table) is encodings.SYMMETRIC:
        table = class_probabilities(table, problem, all_votes(problem))
        table = table.reshape(*problem.table_shape, problem.n_answers)
    return rounded_all(table, (*guarantees(problem), *profile_limits(problem, profile)), bits)
