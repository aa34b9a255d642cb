"""The total of the counts of votes by a known randomizer, against somebody who sees every count but no vote."""

from __future__ import annotations

import numpy as np

from darrm.accounting.many_answers import envelope, upper_of_rows
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.voters import among, epsilon_of
from darrm.problem.counts import count_vectors
from darrm.problem.decision import decision_by
from darrm.problem.model import VoterModel
from darrm.problem.truths import truths_of

_MOST = 2_000_000  # numbers in all pairs of true answers, and probabilities of all rows
_ROUNDING = 2.0**-52
_WORK = 300_000  # queries times probabilities of all rows above which their own profile is composed, in less time


def counts_total(model: VoterModel, queries: int, delta: float) -> float:
    """Upper bound on the epsilon of the counts of all queries together at ``delta``, at most that of the votes.

    The counts of the voters that do not collude have the distribution B[h] for true answers h, the rows of the kernel
    of `darrm.problem.truths`, and one record changes at most ``max_affected`` of the truths. Queries may be adaptive.
    If several groups vote, the counts of each are seen. An affected voter is the same at every query, and the counts of
    the groups that it is not in have the same distribution with and without the record, so that the largest total of
    one group holds. The bound is that of the votes themselves where several affected voters may be in several groups,
    where the rows are too many to list, and for a group without a known randomizer.

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
    if len(model.groups) > 1 and model.max_affected == 1:
        alone = (VoterModel([group], model.classes, 1, model.adjacency) for group in model.groups if group.max_affected)
        return min(votes, max(counts_total(own, queries, delta) for own in alone))
    if len(model.groups) > 1 or not model.known:
        return votes
    truths = truths_of(decision_by(model, 1.0, 0.5))
    [kernel] = truths.kernels
    if kernel is None:
        return votes
    vectors = count_vectors(truths.problem.K, truths.problem.n_classes)
    if vectors.size * len(vectors) > _MOST:
        return votes
    moved = np.abs(vectors[:, None] - vectors[None]).sum(axis=2) // 2
    on, off = np.nonzero((moved > 0) & (moved <= model.max_affected))
    once = on < off  # a row stands for both directions
    if once.sum() * kernel.rounded.shape[1] > _MOST:
        return votes
    rows = OutcomeRows(kernel.rounded[on[once]], kernel.rounded[off[once]], _ROUNDING)
    quick = queries * rows.P.size > _WORK
    return min(votes, (envelope if quick else upper_of_rows)(rows, queries, delta))
