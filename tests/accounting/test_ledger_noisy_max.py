"""Labels of Gaussian noisy max in a ledger, by each rule, and an attack on the filter that they are charged to."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import ledgers
import numpy as np
import pytest
from cases import slow, thorough
from scipy.stats import norm

import darrm
from darrm.accounting import Ledger, compose, filters, max_queries
from darrm.accounting.ladder import any_votes_epsilon, any_votes_profile
from darrm.accounting.ladder_filter import Noise, shares
from darrm.accounting.mixed import noisy_curve
from darrm.accounting.rules import noise as noise_rule
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax, LaplaceNoisyMax

BUDGET: dict[str, Any] = {"total_epsilon": 4.0, "total_delta": 1e-5}
NOISY = GaussianNoisyMax(3.5, K=250, classes=10)  # five labels are (4, 1e-5)-DP by their noisy counts


def forged(path: Path, name: str, **changed: object) -> None:
    """The file with other entries of the account of noisy max, sealed again."""
    content = ledgers.content(path)
    [account] = content["noisy"].values()
    account.update(changed)
    shutil.copy(path, path.with_name(name))
    ledgers.forge(path.with_name(name), content)


@pytest.mark.thorough
def test_one_noise_is_charged_up_to_its_total(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.json", NOISY, **BUDGET)
    most = max_queries(GaussianNoisyMax(3.5), 4.0, 1e-5)
    assert ledger.remaining(NOISY) == most == 5
    assert ledger.status()["voters"] == "fresh"
    ledger.charge(NOISY, 3, note="Monday", ids=["a", "b", "c"])
    ledger.charge(GaussianNoisyMax(3.5), 1)  # the total is for any votes, so the same noise has one account
    assert ledger.spent() == (compose(GaussianNoisyMax(3.5), 4, delta=1e-5).upper, 1e-5)
    with pytest.raises(darrm.InputError, match="One id was charged before: 'b'"):
        ledger.charge(NOISY, 1, ids=["b"])
    with pytest.raises(darrm.BudgetError, match="4 of 5 are released"):
        ledger.charge(NOISY, 2)
    with pytest.raises(darrm.InputError, match="is for another design, or more noise"):
        ledger.charge(GaussianNoisyMax(3.4))
    assert ledger.remaining(GaussianNoisyMax(3.6)) == 1  # charged as a label of the ledger's noise
    with ledger.releasing(NOISY, 1, tmp_path / "labels.csv") as file:
        file.write(b"id,label\n1,3\n")
    again = Ledger(tmp_path / "ledger.json")
    assert (again.released(NOISY), again.remaining(NOISY), again.status()["released"]) == (5, 0, 5)
    assert "changes one vote of noisy max at most" in again.status()["condition"]
    assert (tmp_path / "labels.csv").read_text() == "id,label\n1,3\n"
    with pytest.raises(darrm.BudgetError, match="does not cover one label"):
        Ledger.create(tmp_path / "other.json", GaussianNoisyMax(1.0), **BUDGET)


def test_a_file_that_allows_too_much_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Ledger.create(path, NOISY, **BUDGET).charge(NOISY, 5)
    forged(path, "more.json", allowed=6)
    with pytest.raises(darrm.BudgetError, match="5 of 5 are released"):
        Ledger(tmp_path / "more.json").charge(NOISY, 1)
    forged(path, "smaller.json", sigma_hex=(3.0).hex())
    forged(path, "none.json", sigma_hex="-inf")
    forged(path, "unknown.json", sigma=3.0)
    for name in ("smaller", "none", "unknown"):
        with pytest.raises(darrm.InputError, match="is not a complete ledger"):
            Ledger(tmp_path / f"{name}.json")


@pytest.mark.thorough
def test_labels_share_a_budget_that_is_fixed_in_advance(tmp_path: Path) -> None:
    """The product of Gaussian profiles is the profile of the sum of squares."""
    ledger = Ledger.create(tmp_path / "ledger.json", rule="in-advance", voters="fresh", **BUDGET)
    ledger.charge(GaussianNoisyMax(8.0), 4)
    ledger.charge(NOISY, 2)
    together = darrm.accounting.gaussian.gdp_epsilon(math.sqrt(8 / 64 + 4 / 3.5**2), 1e-5)
    assert together < ledger.spent()[0] < 1.01 * together
    assert ledger.remaining(NOISY) == 2  # 4 / 32 and 4 labels of 2 / 3.5^2 are within the 5 alone, and 5 are not
    with pytest.raises(darrm.BudgetError, match="3 more labels would overspend"):
        ledger.charge(NOISY, 3)
    ledger.charge((0.1, 0.0), adjacency="replace-one")
    assert together < ledger.spent()[0] < 1.05 * together + 0.1
    design = darrm.solve(K=3, m=1, epsilon=0.05)
    ledger.charge(design, 2)
    assert [charge["n"] for charge in ledger.status()["charges"]] == [4, 2, 1, 2]
    assert len(ledger.rests_on()) == 1
    with pytest.raises(darrm.InputError, match="The ledger is for replace-one neighbours"):
        ledger.charge(NOISY, adjacency="add-remove")


def test_noise_that_depends_on_labels_goes_to_the_filter(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.json", rule="renyi-filter", voters="fresh", **BUDGET)
    order = ledgers.content(tmp_path / "ledger.json")["order"]
    allowed = filters.filter_at(order, 1e-6, 4.0, 1e-5).divergence
    most = int(allowed / (order / 10.0**2))
    assert ledger.remaining(GaussianNoisyMax(10.0)) == most
    ledger.charge(GaussianNoisyMax(10.0), most - 4)
    left = allowed - (most - 4) * order / 10.0**2
    assert ledger.remaining(NOISY) == int(left / (order / 3.5**2))
    with pytest.raises(darrm.BudgetError, match="Renyi divergence"):
        ledger.charge(GaussianNoisyMax(10.0), 5)
    ledger.charge(GaussianNoisyMax(10.0), 4)
    assert 3.9 < ledger.spent()[0] <= 4


@pytest.mark.thorough
def test_what_a_ledger_does_not_take(tmp_path: Path) -> None:
    basic = Ledger.create(tmp_path / "basic.json", rule="basic-filter", voters="fresh", **BUDGET)
    for do in (basic.charge, basic.remaining):
        with pytest.raises(darrm.InputError, match='Rule "basic-filter" adds up guarantees'):
            do(NOISY)
    with pytest.raises(darrm.InputError, match=r"Got LaplaceNoisyMax. .* charge \(epsilon, 0\) for each label"):
        basic.charge(LaplaceNoisyMax(0.5))
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    of_a_design = Ledger.create(tmp_path / "of_a_design.json", design, voters="fresh", **BUDGET)
    with pytest.raises(darrm.InputError, match="is for another design"):
        of_a_design.charge(NOISY)
    assert of_a_design.counts(NOISY) == (0, 0)
    voters = darrm.VoterGroup(5, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=1)
    known = darrm.solve(darrm.DecisionProblem([voters], epsilon=0.5), objective=darrm.objectives.truth([0.7]))
    for first, second in ((known, NOISY), (NOISY, known)):
        ledger = Ledger.create(tmp_path / f"{type(first).__name__}.json", rule="renyi-filter", voters="fresh", **BUDGET)
        ledger.charge(first)
        with pytest.raises(darrm.InputError, match="takes no labels of noisy max"):
            ledger.charge(second)


@pytest.mark.thorough
def test_noisy_max_beside_the_voters_that_are_charged_once(tmp_path: Path) -> None:
    """A ledger for fixed voters by the rule exact, and by the rule in-advance where they answer any number of times."""
    ledger = Ledger.create(tmp_path / "exact.json", NOISY, voters="fixed", **BUDGET)
    assert ledger.remaining(NOISY) == 5
    ledger = Ledger.create(tmp_path / "composed.json", voters="fixed", rule="in-advance", **BUDGET)
    ledger.charge(GaussianNoisyMax(20.0), 3)
    alone = ledger.spent()[0]
    assert alone == pytest.approx(compose(GaussianNoisyMax(20.0), 3, delta=1e-5).upper, rel=1e-3)
    design = darrm.solve(K=3, m=1, epsilon=0.1, max_affected=1)
    ledger.charge(design, 1000)
    assert alone < ledger.spent()[0] < alone + 0.101


def rows(sigma: float, K: int, classes: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Probabilities of all labels for some votes and for their neighbours, in both orders."""
    rng = np.random.default_rng(7)
    noisy, found = GaussianNoisyMax(sigma), []
    for _ in range(n):
        votes = rng.multinomial(K, rng.dirichlet(np.ones(classes)))
        moved = votes.copy()
        a, b = rng.permutation(classes)[:2]
        if votes[a]:
            moved[[a, b]] += [-1, 1]
            P, Q = noisy.chances([votes, moved])
            found += [(P, Q), (Q, P)]
    return found


@pytest.mark.thorough
def test_no_label_has_a_larger_divergence_than_it_is_charged() -> None:
    for sigma, K, classes in ((0.8, 2, 2), (2.0, 5, 3), (2.0, 30, 6)):
        for order in (1.1, 3.0, 8.0):
            charged = filters.of_noisy_max(sigma, order).divergence
            divergences = [
                math.log(np.sum(P**order * Q ** (1 - order))) / (order - 1) for P, Q in rows(sigma, K, classes, 30)
            ]
            assert max(divergences) <= charged
            assert max(divergences) > 0.3 * charged or order > 1.1


def test_no_change_of_several_votes_has_a_larger_divergence_than_it_is_charged() -> None:
    order, K, t = 3.0, 6, 2
    votes = np.array([[K - i - j, i, j] for i in range(K + 1) for j in range(K + 1 - i)])
    P = GaussianNoisyMax(2.0).chances(votes)
    pairs = [(i, j) for i in range(len(votes)) for j in range(len(votes)) if abs(votes[i] - votes[j]).sum() <= 2 * t]
    divergences = [math.log(np.sum(P[i] ** order * P[j] ** (1 - order))) / (order - 1) for i, j in pairs]
    assert filters.of_noisy_max(2.0, order).divergence < max(divergences)
    assert max(divergences) <= filters.of_noisy_max(2.0, order, t).divergence


@pytest.mark.parametrize("rule", ["renyi-filter", *thorough("exact"), *slow("in-advance")])
def test_noise_where_one_record_changes_several_votes(tmp_path: Path, rule: str) -> None:
    """By the counts and the filter labels cost as much as those of one vote with less noise in proportion."""
    two, path = GaussianNoisyMax(7.0, max_affected=2), tmp_path / "ledger.db"
    ledger = Ledger.create(path, two if rule == "exact" else None, rule=rule, voters="fresh", **BUDGET)
    left = ledger.remaining(two)
    assert left is not None
    if rule == "exact":
        assert left == max_queries(two, 4.0, 1e-5) < max_queries(GaussianNoisyMax(7.0), 4.0, 1e-5)
    else:
        one = Ledger.create(tmp_path / "one.db", rule=rule, voters="fresh", **BUDGET)
        assert left == one.remaining(GaussianNoisyMax(3.5))
    ledger.charge(two, left)
    assert (Ledger(path).released(two), Ledger(path).remaining(two)) == (left, 0)
    assert compose(two, left, delta=1e-5).upper * (1 - 1e-6) <= ledger.spent()[0] <= 4
    assert ledger.status()["affected_votes"] == 2
    assert "changes 2 votes of noisy max at most, or adds or takes away as many" in ledger.status()["condition"]
    assert ledger.status()["charges"][0]["what"].endswith("sigma 7, max_affected 2")
    with pytest.raises(darrm.InputError, match=r"max_affected = 2. Got 1|or more noise"):
        ledger.charge(GaussianNoisyMax(7.0))
    forged(path, "fewer.db", max_affected=1)
    with pytest.raises(darrm.InputError, match="does not match its name"):
        Ledger(tmp_path / "fewer.db")


def test_no_label_exceeds_its_curve() -> None:
    for sigma, K, classes in ((0.8, 2, 2), (2.0, 30, 6)):
        curve = noisy_curve(sigma, 1, 1e-5)
        for P, Q in rows(sigma, K, classes, 30):
            for epsilon in (0.0, 0.3, 1.0, 2.0):
                assert np.maximum(0, P - math.exp(epsilon) * Q).sum() <= curve.at(np.array([epsilon])).max()


def best_attack(room: float, a: np.ndarray, choices: list[tuple[float, np.ndarray, np.ndarray]]) -> np.ndarray:
    """The largest Pr[event | D] - a Pr[event | D'] of an analyst who chooses noise and votes by all labels so far."""
    best = np.maximum(0.0, 1 - a)
    for charged, P, Q in choices:
        if charged <= room:
            after = [p * best_attack(room - charged, a * q / p, choices) for p, q in zip(P, Q, strict=True)]
            best = np.maximum(best, sum(after))
    return best


@pytest.mark.thorough
@pytest.mark.parametrize(("epsilon", "delta", "sigmas"), [(6.0, 1e-3, (1.0, 1.3)), (0.5, 0.1, (3.0, 4.6))])
def test_no_adaptive_choice_of_noise_breaks_the_filter(
    epsilon: float, delta: float, sigmas: tuple[float, float]
) -> None:
    """Two classes, whose labels have closed forms. At half the charge the first budget would be overspent."""
    order = filters.best_order(epsilon, delta)
    allowed = filters.filter_at(order, filters.FAILURES * delta, epsilon, delta).divergence
    found = []
    for share in (1.0, 0.5):
        choices = []
        for sigma in sigmas:
            for ahead in (0, 1, 2, 3):  # with an even and an odd number of voters
                t = np.array([ahead, ahead - 2]) / (math.sqrt(2) * sigma)
                P, Q = (np.array([norm.cdf(x), norm.cdf(-x)]) for x in t)
                charged = share * filters.of_noisy_max(sigma, order).divergence
                choices += [(charged, P, Q), (charged, Q, P)]
        found.append(float(best_attack(allowed, np.array([math.exp(epsilon)]), choices)[0]))
    assert found[0] <= delta
    assert found[1] > (delta if epsilon == 6 else 2 * found[0])
    assert epsilon == 6 or found[0] > 0.2 * delta


@pytest.mark.slow
def test_a_ledger_at_the_size_of_pate(tmp_path: Path) -> None:
    """The same labels by every rule: the ladder, its prefix beside other charges, and the divergence of the counts."""
    noisy = GaussianNoisyMax(40.0, K=250, classes=10)
    assert max_queries(noisy, 4.0, 1e-5) == Ledger.create(tmp_path / "one.json", noisy, **BUDGET).remaining(noisy)
    for n in (10, 1000):
        mu, pad = any_votes_profile(40.0, n, 1e-5)
        assert pad <= 1e-7
        by_prefix = darrm.accounting.gaussian.gdp_epsilon(mu, 1e-5 - pad)
        assert by_prefix == pytest.approx(any_votes_epsilon(40.0, n, 1e-5), rel=1e-3)
    composed = Ledger.create(tmp_path / "composed.json", rule="in-advance", voters="fresh", **BUDGET)
    composed.charge(noisy, 1000)
    assert any_votes_epsilon(40.0, 1000, 1e-5) == pytest.approx(composed.spent()[0], rel=1e-3)
    filtered = Ledger.create(tmp_path / "renyi.json", rule="renyi-filter", voters="fresh", **BUDGET)
    assert 500 < filtered.remaining(noisy) < 650


@pytest.mark.slow
def test_the_curve_of_many_labels_is_above_the_exact_composition() -> None:
    for K, classes in ((5, 2), (6, 3)):
        for epsilon in (2.0, 4.0):
            delta = float(noisy_curve(2.0, 20, 1e-5).at(np.array([epsilon])).max())
            assert compose(GaussianNoisyMax(2.0, K=K, classes=classes), 20, delta=delta).lower <= epsilon


@pytest.mark.every
@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
def test_labels_after_a_check_are_not_charged_as_labels_alone(tmp_path: Path, rule: str) -> None:
    """Their noise has a sigma too, and each check costs beside it; a cap on labels is not counted."""
    checked = ConfidentNoisyMax(threshold=200, sigma_check=150, sigma=40, answers=286)
    budget: dict[str, Any] = {"total_epsilon": 4, "total_delta": 1e-5, "voters": "fresh", "rule": rule}
    with pytest.raises(darrm.InputError, match=r"does not count a cap on labels\. Make it without answers"):
        Ledger.create(tmp_path / "of_one.json", checked, **budget)
    assert not list(tmp_path.glob("of_one.json"))
    if rule != "exact":
        ledger = Ledger.create(tmp_path / "ledger.json", **budget)
        with pytest.raises(darrm.InputError, match="does not count a cap on labels"):
            ledger.charge(checked, 640)
        assert ledger.spent() == (0, 0)


@pytest.mark.parametrize("rule", ["renyi-filter", *thorough("exact"), *slow("in-advance")])
def test_every_query_is_charged_as_a_check_and_a_label(tmp_path: Path, rule: str) -> None:
    """Whatever its threshold; fewer than labels alone, and as many as by `compose` where that is the rule."""
    checked, path = ConfidentNoisyMax(7, 8.0, 4.0), tmp_path / "ledger.db"
    made = checked if rule == "exact" else None
    ledger = Ledger.create(path, made, rule=rule, voters="fresh", **BUDGET)
    left = ledger.remaining(checked)
    assert left is not None
    if rule == "renyi-filter":
        order = ledgers.content(path)["order"]
        each = float(checked.rdp([order])[0])
        assert filters.of_noisy_max(4.0, order, 1, 8.0).divergence == pytest.approx(each, rel=1e-14)
        assert each > order / 16
        assert left == int(filters.filter_at(order, 1e-6, 4.0, 1e-5).divergence / each)
    else:
        assert left == max_queries(checked, 4.0, 1e-5)
    ledger.charge(checked, left)
    assert Ledger(path).remaining(ConfidentNoisyMax(99, 8.0, 4.0)) == 0
    assert compose(checked, left, delta=1e-5).upper * (1 - 1e-6) <= ledger.spent()[0] <= 4
    assert ledger.status()["charges"][0]["what"].endswith("sigma 4, of a check 8")
    with pytest.raises(darrm.BudgetError, match="overspend"):
        ledger.charge(checked)
    if rule == "exact":
        with pytest.raises(darrm.InputError, match="or more noise"):
            ledger.charge(GaussianNoisyMax(4.0))
        forged(path, "wider.db", check_hex=None)
        with pytest.raises(darrm.InputError, match="does not match its name"):
            Ledger(tmp_path / "wider.db")


@pytest.mark.slow
def test_several_sigmas_share_a_budget_along_the_way(tmp_path: Path) -> None:
    """Each takes its share, and more noise than a listed one is charged as that."""
    noises, path = [GaussianNoisyMax(8.0), GaussianNoisyMax(16.0)], tmp_path / "ledger.db"
    ledger = Ledger.create(path, noises, **BUDGET)
    each = shares((Noise(8.0), Noise(16.0)), 4.0, 1e-5)
    assert [ledger.remaining(noise) for noise in noises] == [int(1 / share) for share in each]
    assert ledger.status()["left"] is None
    assert ledger.status()["left_of"] == {"sigma 8": int(1 / each[0]), "sigma 16": int(1 / each[1])}
    ledger.charge(noises[1], 10)
    ledger.charge(GaussianNoisyMax(11.0, K=250, classes=10), 4)
    with ledger.lease(GaussianNoisyMax(300.0), 5) as lease:
        lease.take(2)
    assert (ledger.released(noises[0]), ledger.released(noises[1])) == (4, 12)
    left = 1 - 4 * each[0] - 12 * each[1]
    assert [Ledger(path).remaining(noise) for noise in noises] == [int(left / share) for share in each]
    with pytest.raises(darrm.BudgetError, match=f"{int(left / each[0])} (is|are) left"):
        ledger.charge(noises[0], int(left / each[0]) + 1)
    ledger.charge(noises[0], int(left / each[0]))
    total = darrm.accounting.gaussian.gdp_epsilon(math.sqrt(24 / 256 + 2 * ledger.released(noises[0]) / 64), 1e-5)
    assert 0.7 * total < ledger.spent()[0] < min(total, 4)
    for wrong, match in (
        (GaussianNoisyMax(7.9), "or more noise"),
        (GaussianNoisyMax(9.0, max_affected=2), "or more noise"),
    ):
        with pytest.raises(darrm.InputError, match=match):
            ledger.charge(wrong)
        assert ledger.remaining(wrong) == 0


@pytest.mark.thorough
def test_lists_of_noise_that_a_ledger_does_not_take(tmp_path: Path) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    for listed, rule, match in (
        ([NOISY, design], "exact", "A list is of noisy max .* Got Design"),
        ([NOISY, LaplaceNoisyMax(0.5)], "exact", "Got LaplaceNoisyMax"),
        ([NOISY, GaussianNoisyMax(4.0)], "in-advance", "Got rule 'in-advance'"),
        ([NOISY, GaussianNoisyMax(4.0, max_affected=2)], "exact", "Got 1 and 2"),
        ([NOISY, ConfidentNoisyMax(3, 4.0, 5.0, answers=2)], "exact", "does not count a cap"),
    ):
        with pytest.raises(darrm.InputError, match=match):
            Ledger.create(tmp_path / "ledger.db", listed, rule=rule, voters="fresh", **BUDGET)  # type: ignore[arg-type]
    with pytest.raises(darrm.BudgetError, match="does not cover one label with noise of sigma 1"):
        Ledger.create(tmp_path / "ledger.db", [NOISY, GaussianNoisyMax(1.0)], **BUDGET)
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_what_the_filter_allows_is_within_the_budget_though_a_total_proves_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theorem 7 begins the ladder of every sigma at level 0, so its total may exceed a budget that the filter keeps."""
    noises = [GaussianNoisyMax(20.0), GaussianNoisyMax(40.0)]
    ledger = Ledger.create(tmp_path / "ledger.db", noises, voters="fresh", **BUDGET)
    for noise in noises:
        ledger.charge(noise, 2)
    monkeypatch.setattr(noise_rule, "_total", lambda noisy, delta: 1.1 * BUDGET["total_epsilon"])
    status = ledger.status()
    assert ledger.spent() == (BUDGET["total_epsilon"], BUDGET["total_delta"])
    assert "the number of labels of each noise does not depend on what was released" in status["condition"]
