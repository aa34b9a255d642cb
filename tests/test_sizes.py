"""What would take minutes or gigabytes is refused at once, with what would fit."""

import math
import time

import numpy as np
import pytest

import darrm
from darrm.baselines.noise_functions import _subsampling_seconds
from darrm.numerics.poisson_binomial import MAX_STEPS

MILLION = 10**6
ONE_OF_A_MILLION = darrm.MajorityProblem(K=MILLION, m=1, epsilon=0.1)
SMALL = darrm.MajorityProblem(K=3, m=1, epsilon=0.5)


def groups(n: int, count: int = 1) -> darrm.DecisionProblem:
    return darrm.DecisionProblem([darrm.VoterGroup(count, epsilon=1.0)] * n, epsilon=1.0, max_affected=1)


TOO_LARGE = {
    "an error": (lambda: darrm.expected_error(np.ones(MILLION + 1), np.full(MILLION, 0.6)), "At most 316,227 votes"),
    "errors": (
        lambda: darrm.expected_error(np.ones(10**5 + 1), np.full((11, 10**5), 0.6)),
        "for 11 data sets. At most 95,346 votes",
    ),
    "a bound": (lambda: darrm.measures.least_error(ONE_OF_A_MILLION, 0.3), "At most 316,227 votes"),
    "a prior": (lambda: darrm.priors.independent().ones(MILLION), "At most 316,227 votes"),
    "a profile": (
        lambda: darrm.privacy_profile(np.zeros(4), SMALL, np.zeros(MILLION)),
        r"at most 10,000.* Got 1,000,000\.",
    ),
    "points to hold": (lambda: darrm.solve(SMALL, profile=[(1.0, 0.1)] * 10_001), "at most 10,000 points"),
    "subsampling": (lambda: darrm.baselines.subsampling(10**7, 201), r"about 4 minutes .* m = 52 would fit"),
    "double subsampling": (lambda: darrm.baselines.double_subsampling(10**5, 50_001), "would fit"),
    "costs": (lambda: darrm.objectives.truth([0.7] * 30).costs(groups(30)), "2,147,483,648"),
    "a rule": (lambda: darrm.objectives.rule("majority", [0.7]).costs(groups(1, 10**7)), "at most 20,000,000 entries"),
    "a certificate": (lambda: darrm.verify([0.5], groups(1000)), r"1 voters and 994 more groups with max_affected = 1"),
    "an advantage": (
        lambda: darrm.labels.individual_advantage(
            darrm.labels.LaplaceLabelProportions(epsilon=1.0), np.full(10**4, 0.3)
        ),
        "Bags must have at most 7,000 labels",
    ),
    "a kernel": (
        lambda: darrm.labels.GeometricLabelProportions(epsilon=1.0).kernel(10**5),
        r"k must be an integer in \[1, 7000\]",
    ),
    "counts": (
        lambda: darrm.votes.counts(np.zeros((10**5, 3), dtype=np.uint8), MILLION),
        "at most 200 rows at once",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_is_too_large_is_refused_at_once(what: str) -> None:
    call, said = TOO_LARGE[what]
    start = time.process_time()
    with pytest.raises(darrm.InputError, match=said):
        call()
    assert time.process_time() - start < 2


def test_what_the_errors_say_fits_does_fit() -> None:
    assert math.isqrt(MAX_STEPS) == 316_227
    assert 11 * 95_346**2 <= MAX_STEPS < 11 * 95_347**2
    assert _subsampling_seconds(10**7, 52) <= 60 < _subsampling_seconds(10**7, 53)


@pytest.mark.slow
def test_as_many_counts_as_fit_are_made() -> None:
    """They take 1.6 GB."""
    assert darrm.votes.counts(np.zeros((200, 3), dtype=np.uint8), MILLION).shape == (200, MILLION)


@pytest.mark.parametrize("K", [*range(1, 12), 40, 41])
def test_subsampling_counts_each_draw(K: int) -> None:
    """Against the sum over how many of the drawn say 1, in exact integers."""
    for m in range(1, K + 1):
        for l, value in enumerate(darrm.baselines.subsampling(K, m).tolist()):
            ways = [math.comb(l, j) * math.comb(K - l, m - j) for j in range(m + 1)]
            ahead = sum(ways[j] * ((2 * j > m) - (2 * j < m)) for j in range(m + 1))
            assert value == abs(ahead) / math.comb(K, m)


@pytest.mark.thorough
def test_subsampling_many_votes_takes_seconds() -> None:
    start = time.process_time()
    gamma = darrm.baselines.subsampling(3001, 1501)
    assert gamma[0] == gamma[-1] == 1
    assert time.process_time() - start < 10
