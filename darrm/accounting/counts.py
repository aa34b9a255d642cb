"""The total of the counts of votes by a known randomizer, against somebody who sees every count but no vote."""

from __future__ import annotations

import math

import numpy as np

from darrm.accounting.many_answers import envelope, upper_of_rows
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.voters import among, epsilon_of
from darrm.numerics.arrays import Array
from darrm.problem.counts import count_vectors
from darrm.problem.decision import decision_by
from darrm.problem.model import VoterModel
from darrm.problem.truths import truths_of

_MOST = 2_000_000  # numbers in all pairs of true answers, and probabilities of all rows
_ROUNDING = 2.0**-50
_WORK = 300_000  # queries times probabilities of all rows above which their own profile is composed, in less time


def counts_total(model: VoterModel, queries: int, delta: float) -> float:
    """Upper bound on the epsilon of the counts of all queries together at ``delta``, at most that of the votes.

    The counts of the voters that do not collude have the distribution B[h] for true answers h, the rows of the kernel
    of `darrm.problem.truths`, and one record changes at most ``max_affected`` of the truths. Queries may be adaptive.
    If several groups vote, the counts of each are seen, and those of the groups without the affected voter have the
    same distribution with and without the record. The affected voter may be in another group at each query. The bound
    is that of the votes themselves where several voters are affected in several groups, and where the rows are too many
    to list.

    Examples
    --------
    A hundred counts of 25 voters of randomized response, one of whom a record affects:

    >>> import darrm
    >>> from darrm.accounting.counts import counts_total
    >>> group = darrm.VoterGroup(25, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=0)
    >>> round(counts_total(darrm.DecisionProblem([group], epsilon=1.0).model, 100, 1e-6), 2)
    12.3
    """
    votes = epsilon_of(among(model.affected, queries), delta)
    several = len(model.groups) > 1
    if not model.known or (several and model.max_affected > 1):
        return votes
    alone = [VoterModel([group], model.classes, 1, model.adjacency) for group in model.groups if group.max_affected]
    found = [_rows_of(own) for own in (alone if several else [model])]
    made = [rows for rows in found if rows is not None]
    if len(made) < len(found):
        return votes
    width = max(P.shape[1] for P, _ in made)
    P, Q = (np.concatenate([_padded(pair[side], width) for pair in made]) for side in (0, 1))
    quick = queries * P.size > _WORK
    return min(votes, (envelope if quick else upper_of_rows)(OutcomeRows(P, Q, _ROUNDING), queries, delta))


def _rows_of(model: VoterModel) -> tuple[Array, Array] | None:
    """What one query can reveal of a record in this one group: pairs of distributions of its counts, or None.

    Of voters without a known randomizer it is the vote, and the worst pair for an epsilon is randomized response.
    """
    (group,) = model.groups
    if not model.known:
        if group.delta or not math.isfinite(group.epsilon):
            return None
        pair = np.array([[1.0, math.exp(-group.epsilon)]]) / (1 + math.exp(-group.epsilon))
        return pair, pair[:, ::-1]
    truths = truths_of(decision_by(model, 1.0, 0.5))
    [kernel] = truths.kernels
    if kernel is None:
        return None
    vectors = count_vectors(truths.problem.K, truths.problem.n_classes)
    if vectors.size * len(vectors) > _MOST:
        return None
    moved = np.abs(vectors[:, None] - vectors[None]).sum(axis=2) // 2
    on, off = np.nonzero((moved > 0) & (moved <= model.max_affected))
    once = on < off  # a row stands for both directions
    if once.sum() * kernel.rounded.shape[1] > _MOST:
        return None
    return kernel.rounded[on[once]], kernel.rounded[off[once]]


def _padded(rows: Array, width: int) -> Array:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
