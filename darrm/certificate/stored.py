"""Tables of several answers as they are stored, full or symmetric: what is refused, and how far from what is drawn.

`darrm.mechanisms.class_tables` says what is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.counts import n_sorted_counts, sorted_counts
from darrm.problem.decision import DecisionProblem

_U = 2.0**-53
_GIVEN = 1e-9


def is_symmetric(table: Array, problem: DecisionProblem) -> bool:
    """Whether a table has a row for sorted votes only, and so treats all classes alike."""
    return len(problem.groups) == 1 and table.shape != (*problem.shape, problem.n_answers)


def class_table(release: ArrayLike, problem: DecisionProblem) -> Array:
    """``release`` as float64, refused if it is no table of probabilities of all answers, full or symmetric.

    A row that sums to 1 within rounding stays as it is; one that does within 1e-9 is divided by its sum. What is drawn
    from it sums to 1 exactly and differs from it in its largest entry alone, relatively by `drawn` at most.
    """
    if hasattr(release, "problem"):
        raise InputError("release must be an array. Got a design: pass design.table, design.problem.")
    table = array("release", release, None, 0, 1, "[]", hint="Pass the probabilities of all answers.") + 0.0
    forms: list[tuple[int, ...]] = [(*problem.shape, problem.n_answers)]
    if len(problem.groups) == 1:
        forms.append((n_sorted_counts(problem.K, problem.n_classes), problem.n_answers))
    if table.shape not in forms:
        allowed = " or ".join(map(str, forms))
        raise InputError(f"release must be an array of shape {allowed}. Got shape {table.shape}.")
    sums = table.sum(axis=-1, keepdims=True)
    if np.abs(sums - 1).max() > _GIVEN:
        worst = float(sums.flat[int(np.abs(sums - 1).argmax())])
        raise InputError(f"The probabilities of all answers must sum to 1 at all votes. Got a sum of {worst!r}.")
    if is_symmetric(table, problem):
        votes = sorted_counts(problem.K, problem.n_classes)
        equal = votes[:, 1:] == votes[:, :-1]
        for j in range(1, problem.n_classes):  # a class takes the probability of the one before with as many votes
            tied = equal[:, j - 1]
            if np.abs(table[tied, j] - table[tied, j - 1]).max(initial=0.0) > _GIVEN:
                raise InputError("Classes with as many votes must have the same probability in a symmetric table.")
            table[tied, j] = table[tied, j - 1]
        sums = table.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(sums - 1) <= (2 * problem.n_answers + 2) * _U, table, table / sums))


def drawn(answers: int) -> float:
    """Of a stored entry, how far what is drawn may be from it, relatively.

    With O answers the computed sum of a row is within (2 O + 2) u of 1, and that of exact numbers within (3 O + 2) u;
    the largest entry, or mass of classes with as many votes, takes that difference, and is at least 1 / O.
    """
    return answers * (3 * answers + 2) * _U


def mixed(table: Array, share: float) -> Array:
    """``share`` of a release and 1 - ``share`` of an answer at random, all as likely."""
    even = np.asarray(share * table + (1 - share) / table.shape[-1])
    return np.asarray(even / even.sum(axis=-1, keepdims=True))
