"""Poisson-binomial probabilities beside those of SciPy."""

import numpy as np
import pytest
import scipy.stats

from darrm.numerics.poisson_binomial import pmf

U = 2.0**-53


@pytest.mark.parametrize("K", [1, 2, 11, 50, 101, 200])
@pytest.mark.parametrize("kind", ["any", "near 0", "near 1/2", "sure"])
def test_probabilities_are_those_of_scipy(K: int, kind: str) -> None:
    """To the relative error of both, 3 K u each, wherever entries are above 1e-290."""
    random = np.random.default_rng(K)
    p = {
        "any": random.random(K),
        "near 0": 1e-3 * random.random(K),
        "near 1/2": 0.5 + 0.01 * random.standard_normal(K).clip(-3, 3),
        "sure": random.integers(0, 2, K).astype(np.float64),
    }[kind]
    ours, theirs = pmf(p), scipy.stats.poisson_binom(p).pmf(np.arange(K + 1))
    seen = (ours > 1e-290) | (theirs > 1e-290)
    assert seen.any()
    assert np.all(np.abs(ours[seen] - theirs[seen]) <= 6 * K * U * theirs[seen])
