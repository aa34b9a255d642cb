"""All fixed voters there can be, at small sizes: the largest delta of Q labels by enumeration, from the definitions.

A fixed voter is a sheet of answers, one for each query that can be asked, drawn once. Queries may depend on labels: the
sheet has an answer for each node of the tree of labels so far (2^Q - 1 nodes), or, not adaptively, one for each of Q
queries. A pure epsilon-DP voter is a mixture of pairs "sheet a with hi, sheet b with lo, exchanged on the neighbouring
data", and delta is convex in each voter, so the worst voters are such pairs, and sure sheets for voters that do not
change. No code of darrm is used.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def labels_given_sheets(gamma: Floats, Q: int, adaptive: bool) -> Floats:
    """Pr[labels | sheets of K voters], shape (n, ..., n, 2^Q) for n sheets."""
    K = len(gamma) - 1
    X = np.array([(1 + np.sign(2 * l - K) * gamma[l]) / 2 for l in range(K + 1)])
    nodes = 2**Q - 1 if adaptive else Q
    sheets = np.array(list(product((0, 1), repeat=nodes)))
    found = np.ones((*[len(sheets)] * K, 2**Q))
    for o, labels in enumerate(product((0, 1), repeat=Q)):
        node = 0
        for q, label in enumerate(labels):
            answers = sheets[:, node if adaptive else q]
            ones = sum(np.ix_(*[answers] * K)) if K > 1 else answers
            found[..., o] *= X[ones] if label else 1 - X[ones]
            node = 2 * node + 1 + label
    return found


def worst_delta(
    gamma: Floats, Q: int, epsilon: float, max_affected: int, total: float, adaptive: bool = False
) -> float:
    """The largest delta at a total epsilon over all pure epsilon-DP fixed voters of which ``max_affected`` change."""
    return worst_deltas(gamma, Q, epsilon, max_affected, [total], adaptive)[0]


def worst_deltas(
    gamma: Floats, Q: int, epsilon: float, max_affected: int, totals: Sequence[float], adaptive: bool = False
) -> list[float]:
    """`worst_delta` at each of several totals."""
    K = len(gamma) - 1
    table = labels_given_sheets(gamma, Q, adaptive)
    n, hi = table.shape[0], 1 / (1 + np.exp(-epsilon))
    lo, best = 1 - hi, [0.0] * len(totals)
    pairs = list(combinations_with_replacement(range(n), 2))
    pairs += [(b, a) for a, b in pairs if a != b]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    for still in combinations_with_replacement(range(n), K - max_affected):
        some = table[(*still, ...)]  # over the sheets of the voters that change, and labels
        # Many voters: the pairs of the first one are taken one after the other, to spare memory.
        for here, there in pairs if max_affected > 2 else [(None, None)]:
            P = Q_ = some
            if here is not None:
                P, Q_ = hi * some[here] + lo * some[there], lo * some[here] + hi * some[there]
            for i in range(P.ndim - 1):
                # One voter after the other becomes an axis over pairs; the labels stay last.
                P, Q_ = np.moveaxis(P, i, 0), np.moveaxis(Q_, i, 0)
                P, Q_ = hi * P[first] + lo * P[second], lo * Q_[first] + hi * Q_[second]
                P, Q_ = np.moveaxis(P, 0, i), np.moveaxis(Q_, 0, i)
            for i, total in enumerate(totals):
                best[i] = max(best[i], float(np.maximum(0, P - np.exp(total) * Q_).sum(axis=-1).max()))
    return best
