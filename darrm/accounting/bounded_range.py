"""Mechanisms of bounded range, such as the exponential mechanism: rows that stand for all of them."""

from __future__ import annotations

import numpy as np

from darrm.accounting.rows import OutcomeRows

MOST = 2000  # queries of which the rows are composed; for more the Renyi bound is within some 5 percent of them
_CELLS = 2**15  # over queries
_FEWEST, _LARGEST = 16, 256
_FARTHEST = 300.0  # nats


def rows_of_range(epsilon: float, queries: int) -> OutcomeRows | None:
    """Pairs of two answers that are worse than any whose losses have a range of epsilon; or None.

    That interval holds 0, so it is [t - epsilon, t] for a t in [0, epsilon]. If t is in a cell [s, u], losses lie in
    [-a, b], a = epsilon - s and b = u. Two answers of just these losses,

        P = ((e^a - 1) e^b, e^b - 1) / (e^(a + b) - 1),   Q = (e^a - 1, (e^b - 1) e^a) / (e^(a + b) - 1),

    then have the largest excess, whatever follows (docs/composition.md, "Labels of bounded range").

    Parameters
    ----------
    epsilon : float > 0, nats
    queries : int
        For many queries there are fewer rows, because time is limited. None for more than 2,000.

    Examples
    --------
    >>> from darrm.accounting.bounded_range import rows_of_range
    >>> len(rows_of_range(0.1, 100))
    256
    """
    if queries > MOST or epsilon > _FARTHEST or epsilon < 1e-9:
        return None
    n = min(max(_CELLS // queries, _FEWEST), _LARGEST)
    ends = epsilon * np.arange(n + 1) / n * (1 + 1e-14)  # each a little wider than rounding makes it
    a, b = ends[:0:-1] * (1 + 1e-14), ends[1:]
    all_, above, below = np.expm1(a + b), np.expm1(a), np.expm1(b)
    P = np.stack([above * np.exp(b), below], axis=1) / all_[:, None]
    Q = np.stack([above, below * np.exp(a)], axis=1) / all_[:, None]
    return OutcomeRows(P, Q, 1e-12)
