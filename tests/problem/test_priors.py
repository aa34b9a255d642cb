"""Priors in closed form against integration and sampling; errors of a noise function."""

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import darrm
from darrm import priors
from darrm.numerics.poisson_binomial import pmf


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.7, 1.0), (0.6, 0.6)])
@pytest.mark.parametrize("K", [1, 4, 11])
def test_independent_by_sampling(K: int, low: float, high: float) -> None:
    n = 40_000
    drawn = pmf(np.random.default_rng(K).uniform(low, high, (n, K)))
    error = drawn.std(axis=0) / np.sqrt(n)
    # Six standard errors in each of at most 12 entries: a false alarm once in 10^7 runs.
    assert np.all(np.abs(drawn.mean(axis=0) - priors.independent(low, high).ones(K)) <= 6 * error + 1e-12)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("K", [1, 4, 11])
def test_common_by_integration(K: int, a: float, b: float) -> None:
    got = priors.common(a, b).ones(K)
    for l in range(K + 1):

        def alpha(q: float, l: int = l) -> float:
            p = max(q, 1 - q)
            return float(scipy.stats.binom.pmf(l, K, p) * scipy.stats.beta.pdf(q, a, b))

        value = sum(scipy.integrate.quad(alpha, *ends, epsabs=1e-12)[0] for ends in ((0, 0.5), (0.5, 1)))
        assert got[l] == pytest.approx(value, abs=1e-8)


def test_common_is_well_scaled_for_many_votes() -> None:
    mean = priors.common().ones(1001)
    assert mean.sum() == pytest.approx(1, abs=1e-9)
    assert priors.weights(priors.common(), 1001, "tv").min() > 1e-6 / 1001


def test_histogram_and_fixed() -> None:
    assert priors.votes([1, 0, 3, 4]).ones(3).tolist() == [0.125, 0, 0.375, 0.5]
    assert priors.fixed([0.9, 0.2, 0.4]).ones(3).tolist() == pmf([0.9, 0.2, 0.4]).tolist()
    assert priors.votes([1e308, 1e308]).ones(1).tolist() == [0.5, 0.5]
    for prior in (priors.votes([1, 0, 3, 4]), priors.fixed([0.9, 0.2, 0.4])):
        assert darrm.solve(K=3, m=2, epsilon=0.1, prior=prior).objective == "disagreement"
        with pytest.raises(darrm.InputError, match="cancel"):
            darrm.solve(K=3, m=2, epsilon=0.1, prior=prior, objective="tv")
        with pytest.raises(darrm.InputError):
            prior.ones(5)


def test_weights_of_both_objectives() -> None:
    mean = priors.independent().ones(4)
    assert priors.weights(priors.independent(), 4, "tv") == pytest.approx([mean[3] - mean[1], mean[4] - mean[0]])
    assert priors.weights(priors.common(), 4, "disagreement") == pytest.approx(
        [priors.common().ones(4)[[1, 3]].sum(), priors.common().ones(4)[[0, 4]].sum()]
    )
    with pytest.raises(darrm.InputError, match="0 under"):
        priors.weights(priors.independent(0.5, 0.5), 5, "tv")


@pytest.mark.parametrize("text", ["independent:0.5,1", "common:2,3", "fixed:0.5,0.25", "votes:1,2,3"])
def test_text_and_dict_round_trip(text: str) -> None:
    prior = priors.parse(text)
    assert str(prior) == text
    assert priors.from_dict(prior.as_dict()) == prior


@pytest.mark.parametrize(
    "text",
    ["", "unknown", "common:0,1", "common:1,2,3", "fixed", "fixed:2", "votes:-1,2", "votes:0,0", "independent:0.2"],
)
def test_bad_priors(text: str) -> None:
    with pytest.raises(darrm.InputError):
        priors.parse(text)


@pytest.mark.parametrize("K", [4, 5])
def test_errors_of_a_design_are_what_they_say(K: int) -> None:
    """Both errors by summing over all votes: |TV| for one p, and the chance that the label is not the majority."""
    p = np.linspace(0.55, 0.95, K)
    design = darrm.solve(K=K, m=1.5, epsilon=0.4, prior=priors.fixed(p))
    alpha, l = pmf(p), np.arange(K + 1)
    one = np.where(2 * l > K, (1 + design.gamma) / 2, np.where(2 * l < K, (1 - design.gamma) / 2, 0.5))
    majority = np.where(2 * l > K, 1.0, np.where(2 * l < K, 0.0, 0.5))
    assert darrm.expected_error(design.gamma, p) == pytest.approx(abs(alpha @ (one - majority)), abs=1e-15)
    assert design.error == pytest.approx(darrm.expected_error(design.gamma, p), abs=1e-15)
    wrong = np.where(2 * l > K, 1 - one, np.where(2 * l < K, one, 0.0))
    assert design.disagreement == pytest.approx(alpha @ wrong, abs=1e-15)


def test_design_error_is_the_mean_of_expected_error() -> None:
    design = darrm.solve(K=7, m=2, epsilon=0.3)
    p = np.random.default_rng(1).uniform(0.5, 1, (20_000, 7))
    errors = np.asarray(darrm.expected_error(design.gamma, p))
    assert abs(errors.mean() - design.error) <= 6 * errors.std() / np.sqrt(len(errors))
