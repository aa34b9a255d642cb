"""Errors by simulation agree with the closed form."""

import numpy as np
import pytest

import darrm
from darrm import baselines, priors
from darrm.measures import sampled_error


@pytest.mark.parametrize("prior", ["uniform", "common", "common:2,3", "independent:0.6,0.9"])
def test_intervals_hold_the_exact_error(prior: str) -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1)
    design = darrm.solve(problem, prior=prior)
    gammas = {"gamma_opt": design.gamma, "subsampling": baselines.subsampling(11, 3)}
    found = sampled_error(gammas, prior, draws=40_000, confidence=0.9999, rng=np.random.default_rng(1))
    assert found["gamma_opt"].low <= design.error <= found["gamma_opt"].high
    assert found["subsampling"].mean > found["gamma_opt"].mean
    assert found["gamma_opt"].high - found["gamma_opt"].low < 0.1 * found["gamma_opt"].mean


def test_given_probabilities_have_no_spread() -> None:
    p = [0.2, 0.7, 0.9]
    gamma = np.array([0.5, 0.25, 0.25, 0.5])
    found = sampled_error({"g": gamma}, priors.fixed(p), draws=10)["g"]
    assert found.mean == pytest.approx(darrm.expected_error(gamma, p))
    assert found.high - found.low < 1e-8


def test_the_same_draws_serve_all() -> None:
    gamma = baselines.subsampling(7, 3)
    found = sampled_error({"a": gamma, "b": gamma}, draws=100)
    assert found["a"] == found["b"]


@pytest.mark.parametrize(
    ("gammas", "options"),
    [
        ({}, {}),
        ({"a": np.ones(4), "b": np.ones(6)}, {}),
        ({"a": np.ones(4)}, {"draws": 1}),
        ({"a": np.ones(4)}, {"draws": 2.5}),
        ({"a": np.ones(4)}, {"confidence": 1.0}),
        ({"a": np.ones(4)}, {"prior": priors.votes([1, 2, 3, 4])}),
        ({"a": np.full(4, np.nan)}, {}),
    ],
)
def test_simulations_that_are_none(gammas: dict[str, np.ndarray], options: dict[str, object]) -> None:
    with pytest.raises(darrm.InputError):
        sampled_error(gammas, **options)  # type: ignore[arg-type]
