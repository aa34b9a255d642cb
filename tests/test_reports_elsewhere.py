"""Public bug reports of neighbouring projects, tried on darrm: each test is named after what was reported.

docs/trust.md lists them with what came of them.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import finite_pairs, noisy_max
from oracles.exact import exponential

import darrm
from darrm.accounting import Ledger, compose
from darrm.ensemble import PrivateMajorityClassifier
from darrm.mechanisms import (
    DaRRM,
    ExponentialMechanism,
    GaussianNoisyMax,
    LabelKey,
    LaplaceNoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
)


def ledger(name: str = "ledger.db", **settings: Any) -> Ledger:
    usual = {"total_epsilon": 1.0, "total_delta": 0.0, "voters": "fresh", "rule": "basic", "adjacency": "replace-one"}
    return Ledger.create(name, **usual | settings)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.thorough
def test_permute_and_flip_is_composed_as_if_its_range_were_bounded() -> None:
    """opendp/opendp#2911: it was charged by the bounded range of the exponential mechanism."""
    # Two classes of chances 1 / 2 each, and one that is two votes ahead: permute-and-flip of epsilon 2.
    flipped = Fraction(exponential(Decimal(-2))) / 2
    pair = ((1 - flipped, Fraction(1, 2)), (flipped, Fraction(1, 2)))
    for queries in (1, 5, 20):
        composed = finite_pairs.composed([(pair, queries)])
        attained = max(
            finite_pairs.epsilon(side, Fraction(1, 10**6)) for side in (composed, finite_pairs.exchanged(composed))
        )
        assert compose(PermuteAndFlip(2.0), queries, delta=1e-6).upper >= attained
    many = [compose(mechanism(2.0), 20, delta=1e-6).upper for mechanism in (PermuteAndFlip, ExponentialMechanism)]
    assert many[0] > 1.2 * many[1]


@pytest.mark.parametrize(
    "mechanism", [GaussianNoisyMax(0.5), LaplaceNoisyMax(20), PermuteAndFlip(20), ExponentialMechanism(20)]
)
def test_noisy_max_returns_the_least(mechanism: Any) -> None:
    """opendp/opendp#2912."""
    assert set(mechanism.release([[0, 1, 2, 100]] * 50).tolist()) == {3}


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_lie_of_randomized_response_may_be_the_truth(classes: int) -> None:
    """opendp/opendp#480: the truth was then more likely than epsilon says."""
    kernel = RandomizedResponse(1.0, classes).label_kernel()
    assert np.allclose(np.diag(kernel), math.e / (math.e + classes - 1), rtol=1e-12)
    assert np.allclose(kernel[0, 1:], 1 / (math.e + classes - 1), rtol=1e-12)
    voters = darrm.VoterGroup(1, 1.0, randomizer="randomized response", colluders=0)
    problem = darrm.DecisionProblem([voters], epsilon=1.0, classes=classes)
    vote = [0.0, 1.0] if classes == 2 else np.eye(classes)  # which the release repeats
    assert darrm.verify(vote, problem).tight_epsilon == pytest.approx(1.0, rel=1e-9)


def test_reading_an_accountant_changes_it() -> None:
    """meta-pytorch/opacus#535: what epsilon is spent was asked once, and forgotten after."""
    book = ledger()
    book.charge((0.25, 0.0), 2, adjacency="replace-one")
    told = [(book.spent(), book.status(), book.history()) for _ in range(3)]
    book.check((0.25, 0.0), adjacency="replace-one")
    assert told[0] == told[1] == told[2] == (book.spent(), book.status(), book.history())
    assert book.spent()[0] == 0.5


def test_halves_of_a_budget_exceed_it_and_tenths_do_not_say_why() -> None:
    """opendp/dpcreator#547: sums of float64 exceeded the total, and 1e-15 was then subtracted."""
    book = ledger()
    for _ in range(2):
        book.charge((0.5, 0.0), adjacency="replace-one")
    assert book.spent() == (1.0, 0.0)
    tenths = ledger("tenths.db")
    tenths.charge((0.1, 0.0), 9, adjacency="replace-one")
    with pytest.raises(darrm.BudgetError, match=r"together \(1.0000000000000002, 0\) by basic .*, of \(1, 0\)"):
        tenths.charge((0.1, 0.0), adjacency="replace-one")  # ten times the float64 0.1 is above 1


def test_a_tiny_charge_is_lost_when_the_budget_is_spent() -> None:
    """maziyarpanahi/openmed pull request 2457: a subnormal epsilon was free."""
    book = ledger()
    book.charge((1.0, 0.0), adjacency="replace-one")
    for epsilon in (5e-324, 1e-300, 1e-17):
        with pytest.raises(darrm.BudgetError):
            book.charge((epsilon, 0.0), adjacency="replace-one")


@pytest.mark.parametrize("total", [None, math.inf, math.nan, -1.0])
def test_no_budget_is_any_budget(total: Any) -> None:
    """NVIDIA-NeMo/Safe-Synthesizer#367: an epsilon of 0 or None was infinite."""
    with pytest.raises(darrm.InputError, match="total_epsilon must be"):
        ledger(total_epsilon=total)
    with pytest.raises(darrm.BudgetError):
        ledger(total_epsilon=0.0).charge((1e-9, 0.0), adjacency="replace-one")


@pytest.mark.parametrize("rate", [0.05, 1.0, 3.0])
def test_the_scale_of_laplace_noise_is_its_inverse(rate: float) -> None:
    """vanderschaarlab/mlforhealthlabpub#36: noise of scale lambda where it must be 1 / lambda."""
    counts = [5, 3, 2]
    exact = [float(p) for p in noisy_max.laplace(counts, Fraction(rate))]
    assert LaplaceNoisyMax(rate).chances([counts])[0].tolist() == pytest.approx(exact, rel=1e-9)


def test_every_teacher_gets_the_first_shard() -> None:
    """vanderschaarlab/mlforhealthlabpub#29: an index that did not move."""
    from sklearn.dummy import DummyClassifier

    class Remembers(DummyClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            self.saw_ = X[:, 0].astype(int).tolist()
            return super().fit(X, y)

    X, y = np.arange(30.0).reshape(-1, 1), np.arange(30) % 2
    ensemble = PrivateMajorityClassifier(
        Remembers(), teachers="non-private", sigma=4.0, total_epsilon=5.0, total_delta=1e-5, K=5
    ).fit(X, y)
    seen = [record for model in ensemble.estimators_ for record in model.saw_]
    assert sorted(seen) == list(range(30))


def test_totals_jump_at_tiny_deltas() -> None:
    """microsoft/prv_accountant#17: epsilon rose from .06 to 3.8 between the deltas 1.1e-18 and 1.13e-18."""
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    deltas = [1e-12, 1e-17, 1.13e-18, 1.1e-18, 1e-18, 1e-30, 1e-100, 1e-300]
    totals = [compose(design, 1000, delta=delta, voters="fresh") for delta in deltas]
    assert all(total.upper - total.lower <= 1e-8 * total.upper for total in totals)
    assert [total.upper for total in totals] == sorted(total.upper for total in totals)
    assert totals[3].upper - totals[2].upper < 0.02


def test_two_mechanisms_of_one_seed_draw_alike() -> None:
    """IBM/differential-privacy-library#31: noise of one seed is correlated; here, of one key."""
    key = LabelKey.create("labels.key")
    votes, ids = np.tile([1, 1, 0, 0, 1], (4000, 1)), list(map(str, range(4000)))
    first, second = (
        DaRRM(darrm.solve(K=5, m=1, epsilon=epsilon)).release(votes, key=key, ids=ids) for epsilon in (0.1, 0.1000001)
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(4000)
