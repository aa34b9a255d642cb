"""What many labels of noisy max or permute-and-flip cost together, for voters that are not private themselves."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from darrm.accounting.rows import OutcomeRows
from darrm.errors import InputError
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.permute_and_flip import PermuteAndFlip
from darrm.problem.counts import n_sorted_counts, sorted_counts

CountMechanism: TypeAlias = GaussianNoisyMax | LaplaceNoisyMax | PermuteAndFlip
_MOST_ROWS = 200_000


def rows_of(mechanism: CountMechanism, K: int, classes: int) -> OutcomeRows:
    """The chances of all labels for all neighbouring votes of K voters, up to names of classes.

    Known are K - 1 votes z, sorted; the last one is for class c on D and for class d on D'. Classes of as many known
    votes are alike, so one of each kind is enough, or two of them.
    """
    many = n_sorted_counts(K - 1, classes)
    if many * classes * (classes - 1) // 2 > _MOST_ROWS:
        raise InputError(
            f"{K} voters and {classes} classes have more than {_MOST_ROWS} pairs of neighbouring votes. Take fewer."
        )
    known = np.array(sorted_counts(K - 1, classes))
    found = [mechanism._chances(known + np.eye(classes, dtype=np.int64)[c]) for c in range(classes)]
    P, Q = [], []
    for c in range(classes):
        for d in range(c + 1, classes):
            # Of classes with equal counts the first, and for d the one after c.
            first_c = np.ones(len(known), dtype=np.bool_) if c == 0 else known[:, c] < known[:, c - 1]
            first_d = (known[:, d] < known[:, d - 1]) | (d == c + 1)
            here = first_c & first_d
            P.append(found[c].values[here])
            Q.append(found[d].values[here])
    rho, cut = max(one.rho for one in found), max(one.cut for one in found)
    return OutcomeRows(np.concatenate(P), np.concatenate(Q), rho, cut)
