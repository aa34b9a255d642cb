"""The experiment on private ensembles: its files, its votes, its budgets, and what it says of its tables."""

import gzip
import struct
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow
from scripts import load

import darrm
from darrm.accounting import compose, general, gnmax_sigma, gnmax_sigma_analytic, optimal, plan, rdp_epsilon
from darrm.accounting.fresh import of_region
from darrm.accounting.profile import region
from darrm.errors import InputError
from darrm.mechanisms import DaRRM, RandomizedResponse
from darrm.randomness.words import NotPrivateWarning

pytest.importorskip("sklearn")
pytest.importorskip("dp_accounting")

idx, ensemble_data, methods, reading, script = (
    load(name) for name in ("idx", "ensemble_data", "ensemble_methods", "ensemble_reading", "private_ensembles")
)
LABELS = np.array([5, 8, 3, 8, 5, 5, 8], dtype=np.uint8)
PIXELS = np.arange(7 * 2 * 3, dtype=np.uint8).reshape(7, 2, 3) * 6


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    """The experiment draws from a generator, as it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield


def idx_bytes(values: np.ndarray, kind: int = 8) -> bytes:
    head = struct.pack(">HBB", 0, kind, values.ndim)
    return head + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def idx_folder(folder: Path, joint: str = "-", packed: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    for part in ("train", "t10k"):
        for stem, values, axes in (("images", PIXELS, 3), ("labels", LABELS, 1)):
            content = idx_bytes(values)
            name = f"{part}-{stem}{joint}idx{axes}-ubyte"
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("joint", ["-", "."])
def test_idx_files_are_read(tmp_path: Path, joint: str, packed: bool) -> None:
    folder = idx_folder(tmp_path / "m", joint, packed)
    found = idx.images(folder, "train")
    assert np.array_equal(found.pixels, PIXELS)
    assert np.array_equal(found.labels, LABELS)
    data = ensemble_data.load("mnist", np.random.default_rng(0), folder)
    assert data.X.shape == (6, 6)  # the 3 is left out
    assert data.y.sum() == 3
    for row, label in zip(data.X, data.y, strict=True):
        at = [i for i in range(7) if np.allclose(PIXELS[i].ravel() / 255 / 3, row)]
        assert [LABELS[i] == 8 for i in at] == [label == 1]


GOOD = idx_bytes(PIXELS)
BROKEN = {
    "empty": (b"", "no IDX file"),
    "a text": (b"label,pixel\n1,2\n", "no IDX file"),
    "another type": (idx_bytes(PIXELS, kind=9), "Got type 9"),
    "another number of axes": (idx_bytes(LABELS), "1 axes"),
    "end within the header": (GOOD[:9], "ends within its header"),
    "end within the values": (GOOD[:-1], "Got 41"),
    "more than it says": (GOOD + b"\0", "Got more"),
    "no images": (struct.pack(">HBBIII", 0, 8, 3, 0, 2, 3), "from 1 to"),
    "a huge claim": (struct.pack(">HBBIII", 0, 8, 3, 2**32 - 1, 2**16, 2**16), "from 1 to"),
    "gzip that ends early": (gzip.compress(GOOD)[:-12], "cannot be read"),
    "gzip with another checksum": (gzip.compress(GOOD)[:-8] + b"\0\1\2\3" + gzip.compress(GOOD)[-4:], "cannot be read"),
    "gzip of nonsense": (b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 30, "cannot be read"),
    "gzip of too little": (gzip.compress(GOOD[:-1]), "Got 41"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_idx_files_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, words = BROKEN[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        idx.read(path, 3)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_idx_files_and_other_counts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="None is there"):
        idx.images(tmp_path, "train")
    folder = idx_folder(tmp_path / "m")
    (folder / "train-labels-idx1-ubyte").write_bytes(idx_bytes(LABELS[:6]))
    with pytest.raises(InputError, match="7 images and 6 labels"):
        idx.images(folder, "train")


@pytest.mark.thorough
def test_data_sets_are_split_without_overlap_and_scaled_by_constants() -> None:
    for name, held_out in ensemble_data.HELD_OUT.items():
        data = ensemble_data.load(name, np.random.default_rng(3), None)
        assert len(data.asked) == len(data.truth) == held_out
        rows = {row.tobytes() for row in data.X}
        assert sum(row.tobytes() in rows for row in data.asked) <= 2  # two images occur twice
        lengths = np.linalg.norm(data.X, axis=1)
        assert 1 < np.median(lengths) < 5
        other = ensemble_data.load(name, np.random.default_rng(4), None)
        assert sorted(map(float, np.r_[data.X, data.asked].sum(axis=1))) == pytest.approx(
            sorted(map(float, np.r_[other.X, other.asked].sum(axis=1)))
        )
    drawn = ensemble_data.load("drawn", np.random.default_rng(0), None)
    assert drawn.X.shape == (11272, 20)


@pytest.mark.thorough
def test_same_seed_same_teachers_and_votes() -> None:
    def run(seed: int) -> dict[str, np.ndarray]:
        rng = script.generator(seed, "cancer", 0)
        data = ensemble_data.load("cancer", rng)
        found = script.draws_of(data, 1.0, rng, allowances=(3,), queries=(20, 50), draws=3)
        assert list(found) == [(3, 20), (3, 50)]
        return found[3, 50]

    first, again, other = run(0), run(0), run(1)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)
    for right in first.values():
        assert right.shape == (3,)
        assert right * 50 == pytest.approx(np.round(right * 50))  # 50 labels were looked at
    # A label of (3, 3e-4) needs little noise: nearly the plain majority, and its queries' own labels are meant.
    assert first["no privacy"].mean() > 0.85
    assert first[methods.LABEL].mean() > 0.85


@pytest.mark.thorough
@pytest.mark.parametrize("max_affected", [1, 3])
def test_a_replaced_record_reaches_so_many_teachers(max_affected: int) -> None:
    """What the budget of fixed voters rests on: the others are the same to the last bit."""
    touched = {voter % 11 for voter in range(40, 40 + max_affected)}
    for model in (methods.plain_model(), methods.dp_model(1.0, 1e-4)):
        data = ensemble_data.load("cancer", np.random.default_rng(0))
        before = methods.votes(model, data, 11, max_affected, np.random.default_rng(7))
        assert np.array_equal(before, methods.votes(model, data, 11, max_affected, np.random.default_rng(7)))
        data.X[40], data.y[40] = 100 * data.X[40], 1 - data.y[40]
        after = methods.votes(model, data, 11, max_affected, np.random.default_rng(7))
        reached = set(np.flatnonzero((before != after).any(axis=0)).tolist())
        # Clipping and noise can hide one record from the labels of a private teacher.
        assert reached <= touched
        assert model.__class__.__name__ == "DPLogisticRegression" or reached == touched


@pytest.mark.thorough
def test_expected_shares_are_those_of_the_mechanisms() -> None:
    rng = np.random.default_rng(5)
    cast = rng.integers(0, 2, (40, 11))
    truth = rng.integers(0, 2, 40)
    times = 500
    many, right = np.tile(cast, (times, 1)), np.tile(truth, times)
    for way in methods.per_query(3, 0.5, 11).values():
        sampled = (way.release(many, rng) == right).mean()
        assert sampled == pytest.approx(methods.share_right(way.chances, cast, truth), abs=0.015)
    design = darrm.solve(K=11, m=3, epsilon=1)
    labels = DaRRM(design).release(RandomizedResponse(1.0).release(many, rng), rng)
    assert (labels == right).mean() == pytest.approx(methods.share_right(methods.fresh(design), cast, truth), abs=0.015)


def test_randomized_response_before_a_release_by_hand() -> None:
    released, flip = np.array([0.1, 0.35, 0.65, 0.9]), 1 / (1 + np.exp(0.7))
    found = methods.after_randomized_response(released, 0.7)
    for l in range(4):
        votes = np.arange(3) < l
        wanted = sum(
            np.prod(np.where(np.array(flips), flip, 1 - flip)) * released[(votes ^ np.array(flips)).sum()]
            for flips in product([False, True], repeat=3)
        )
        assert found[l] == pytest.approx(wanted, rel=1e-12)


def test_one_label_costs_the_same_for_all_methods() -> None:
    for m in (1, 3):
        ways = methods.per_query(m, 0.5, 11)
        problem = darrm.MajorityProblem(11, m, 0.5, 1e-4, delta=m * 1e-4)
        for name in (methods.SUBSAMPLING_ALL, methods.OPTIMAL_ALL):
            half = 2 * ways[name].chances[6:] - 1
            gamma = np.concatenate([half[::-1], half])
            assert ways[name].chances == pytest.approx(methods.response(gamma))
            assert darrm.repair(gamma, problem) == pytest.approx(gamma, abs=1e-9)
        assert ways["GNMax"].chances == pytest.approx(methods.noisy_max(gnmax_sigma(m * 0.5, m * 1e-4), 11))
        # Less noise, and so more for the majority.
        assert np.all(ways[methods.LABEL].chances[6:] > ways[methods.COUNTS].chances[6:])
        assert np.all(ways[methods.COUNTS].chances[6:] > ways["GNMax"].chances[6:])
        assert np.all(ways["GNMax"].chances[6:] > ways[methods.LABEL_ALL].chances[6:])
        assert np.all(ways[methods.LABEL_ALL].chances[6:] > 0.5)
        # Private teachers of whom a record reaches one: nothing is left to hide at m >= 1.
        assert ways[methods.PLAIN].chances == pytest.approx(methods.majority(11), abs=1e-12)
        # Noisy max whose label is charged to all 11 voters: the loss from 0 ones to 11 is what is guaranteed.
        ones = ways[methods.LABEL_ALL].chances
        assert ones[11] - np.exp(m * 0.5) * ones[0] == pytest.approx(m * 1e-4, rel=1e-3)


def test_budgets_are_kept_and_used() -> None:
    for total, max_affected in ((0.5, 3), (4.0, 11)):
        epsilon, delta = methods.teacher_budget(total, max_affected)
        assert optimal(epsilon, delta, max_affected, 1e-4).epsilon <= total
        assert optimal(1.001 * epsilon, delta, max_affected, 1e-4).epsilon > total
    assert methods.teacher_budget(2.0, 1) == (2.0, 1e-4)
    answer = methods.silent(2.0, 3, 20)
    assert optimal(answer, 0.0, 60, 1e-4).epsilon <= 2 < optimal(1.001 * answer, 0.0, 60, 1e-4).epsilon


@pytest.mark.thorough
@pytest.mark.parametrize("max_affected", [*slow(1), 3])
def test_the_epsilon_of_an_answer_is_chosen_by_public_numbers(
    max_affected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best of the grid for assumed voters, by hand; its labels keep the budget, and both totals are told."""
    monkeypatch.setattr(methods, "plan", partial(plan, shape="monotone"))  # quicker, and as good for the choice
    right = {}
    for epsilon in methods.ANSWERS:
        design = methods.planned_at(2.0, max_affected, 5, 5, epsilon)
        assert (design.problem.max_affected, design.problem.epsilon) == (max_affected, epsilon)
        spent = compose(design, 5, delta=1e-4, voters="fresh").upper
        assert spent <= 2
        assert spent > 1.9 or np.all(design.gamma == 1)
        flip = 1 / (1 + np.exp(epsilon))
        answered = 0.85 * (1 - flip) + 0.15 * flip  # an answer is right
        ones = np.arange(6)
        likely = np.array([comb(5, n) for n in ones]) * answered**ones * (1 - answered) ** (5 - ones)
        right[epsilon] = likely @ (0.5 + 0.5 * np.sign(2 * ones - 5) * design.gamma)
        assert methods.assumed_right(design) == pytest.approx(right[epsilon], rel=1e-12)
    least = methods.unaided(2.0, max_affected, 5, 5)
    for most in (1.8, 8.0):
        design = methods.planned(2.0, max_affected, 5, 5, most)
        chosen = design.problem.epsilon
        allowed = [one for one in methods.ANSWERS if least < one <= most]
        assert chosen in allowed
        assert right[chosen] >= max(right[one] for one in allowed) - methods.WORTH
        # No smaller one would do, and answers that carry all the noise are worse.
        assert all(right[one] < max(right.values()) - methods.WORTH for one in allowed if one < chosen)
        assert right[chosen] > methods.assumed_right(methods.planned_at(2.0, max_affected, 5, 5, least))
        aggregator = methods.collected(chosen, max_affected, 5)
        assert aggregator == optimal(chosen, 0.0, 5 * max_affected, 1e-4).epsilon > 2
    # A larger epsilon of the answers tells the aggregator more, whether or not it brings right labels.
    assert methods.collected(8.0, max_affected, 5) > 4 * methods.collected(1.8, max_affected, 5)
    if max_affected == 1:
        assert methods.planned(2.0, max_affected, 5, 5, 8.0).problem.epsilon == 8
        assert right[8.0] > right[1.8] > right[1.0] > right[0.5]


@pytest.mark.slow
def test_noise_for_many_labels_of_noisy_max() -> None:
    paper, by_counts, by_label = (methods.many_labels_sigma(2.0, 100, 11, gauge) for gauge in methods.GAUGES)
    assert paper == pytest.approx(10 * gnmax_sigma(2.0, 1e-4))
    assert methods.many_noisy_max(2.0, 100, 11, methods.GAUGES[0]) == pytest.approx(methods.noisy_max(paper, 11))
    orders = np.linspace(1.01, 200, 20_000)
    papers = 100 * orders / paper**2 - np.log(1e-4) / (orders - 1)
    assert rdp_epsilon(orders, 100 * orders / paper**2, 1e-4) < papers.min() == pytest.approx(2.0, abs=1e-4)
    # A hundred shifts of the counts are one shift of ten times the length.
    assert by_counts == pytest.approx(10 * gnmax_sigma_analytic(2.0, 1e-4))
    # For labels alone about sqrt(2 / pi) of it.
    assert by_label / by_counts == pytest.approx(np.sqrt(2 / np.pi), abs=0.02)


@pytest.mark.thorough
def test_the_noise_of_many_labels_is_the_least_by_one_pair_of_votes() -> None:
    """From below: the same two neighbouring counts at every query already spend nearly the whole total."""
    total, queries = 2.0, 20
    sigma = methods.many_labels_sigma(total, queries, 11, methods.GAUGES[2])
    assert 0.995 * total < methods.labels_total(methods.noisy_max(sigma, 11), queries) <= total
    ones = methods.noisy_max(0.9 * sigma, 11)  # a tenth less noise
    x, y = ones[6], ones[5]
    count = np.arange(queries + 1)
    ours, others = (
        np.array([comb(queries, n) for n in count]) * p**count * (1 - p) ** (queries - count) for p in (x, y)
    )
    spent = np.maximum(0, ours - np.exp(total) * others).sum()
    assert spent > 1e-4
    # As a release of ours, of votes whose own privacy is next to none.
    released = methods.noisy_max(sigma, 11)
    half = 2 * released[6:] - 1
    problem = darrm.MajorityProblem(11, 11, methods.NO_PRIVACY, max_affected=1)
    one = region(np.concatenate([half[::-1], half]), problem)
    assert of_region(one, problem.affected, queries, 1e-4).upper == pytest.approx(total, rel=5e-3)


def test_one_pure_label_of_voters_without_privacy() -> None:
    """DaRRM's chances by the rule of the optimum: each step multiplies by e, on one side of the middle or the other."""
    chances = [1 / (1 + np.e)]  # 5 ones of 11, below the middle and e times less than 6 ones
    for _ in range(5):
        chances.append(chances[-1] / np.e)
    below = np.array(chances[::-1])
    ones = np.concatenate([below, 1 - below[::-1]])
    assert np.max(ones[1:] / ones[:-1]) <= np.e * (1 + 1e-12)
    for right, printed in ((0.8, (0.956, 0.883)), (0.85, (0.978, 0.922))):
        likely = np.array([comb(11, n) * right**n * (1 - right) ** (11 - n) for n in range(12)])
        ours, theirs = methods.one_pure_label(right, 11)
        assert ours == pytest.approx(likely @ ones, abs=1e-6)
        assert (ours, theirs) == pytest.approx(printed, abs=5e-4)


@pytest.mark.thorough
def test_totals_are_those_that_the_paper_prints() -> None:
    """Tables 2, 5, 7 and 9 of the paper, MNIST, in whose setting every total is far above that of fixed teachers."""
    printed = {
        **{(1, 20): 1.704, (1, 50): 2.837, (1, 100): 4.202, (3, 20): 5.352, (3, 50): 9.901, (3, 100): 15.044},
        **{(5, 20): 8.920, (5, 50): 18.428, (5, 100): 28.926, (7, 20): 12.488, (7, 50): 28.392, (7, 100): 45.683},
    }
    rows = script.total_rows(0.0892)
    for row in rows:
        assert row["Theorem 2.3"] == pytest.approx(printed.pop((row["m"], row["Q"])), abs=1.1e-3)
        assert row["Theorem 2.3"] == general(row["m"] * 0.0892, row["m"] * 1e-4, row["Q"], 1e-4).epsilon
        assert row["Theorem 2.3"] > row["optimal"] > row["exact, fresh voters"] > row["fixed, t = 11"]
        assert row["fixed, t = 1"] == 0.0892
        assert row["_with noise"] == pytest.approx(row["fixed, t = 11"], rel=1e-6)
    assert not printed


@pytest.mark.thorough
def test_paired_tests() -> None:
    from scipy.stats import ttest_rel, wilcoxon

    rng = np.random.default_rng(0)
    a, b = rng.random(10), rng.random(10)
    assert script.p_values(a, b) == pytest.approx((ttest_rel(a, b).pvalue, wilcoxon(a - b).pvalue))
    assert script.p_values(a, a) == (1.0, 1.0)
    by_t, by_ranks = script.p_values(a + 0.25, a)
    assert by_t == 0.0
    assert by_ranks == pytest.approx(2 / 2**10)


def quick_plan(**setting: Any) -> darrm.Design:
    """All that `plan` can do only where a test looks at it: one voter reached, with next to no noise in the answers."""
    best = (setting["epsilon"], setting["max_affected"], setting["queries"]) == (8.0, 1, 20)
    return plan(**setting, shape=None if best else "monotone")


@pytest.mark.slow
def test_equal_budgets_and_their_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "K", 5)  # quicker to plan for
    monkeypatch.setattr(methods, "plan", quick_plan)
    monkeypatch.setattr(script, "FRESH", ((1, 20), (1, 100), (3, 20)))
    monkeypatch.setattr(methods, "ANSWERS", (1.8, 8.0))
    found = script.budgets("cancer", 0, totals=(8.0,), splits=2)
    right = found[8.0]
    assert all(one.shape == (2,) and np.all((one > 0.4) & (one <= 1)) for one in right.values())
    # A budget of 8 is ample for the model, scarce for a hundred labels of its own.
    assert right["one model, no privacy"].mean() > 0.93
    assert right["one DP model"].mean() > 0.9
    mean = {name: one.mean() for name, one in right.items()}
    for q in (20, 100):
        gauged = [mean[script.gnmax_column(gauge, q)] for gauge in methods.GAUGES]
        assert gauged == sorted(gauged)
        assert mean["fixed, t = 1"] > mean[script.fresh_column(1, q, script.CAPPED)]
        assert mean[script.fresh_column(1, q, script.LESS)] < mean[script.fresh_column(1, q, script.CAPPED)] - 0.02
    assert mean[script.fresh_column(1, 20, script.CAPPED)] <= mean[script.fresh_column(1, 20, script.ANY)]
    # With next to no noise in the answers, and the same total of the labels, DaRRM and GNMax are nearly the same: it is
    # planned for the paper's prior, under which it is the better one, and these votes fall otherwise.
    gnmax = mean[script.gnmax_column(methods.GAUGES[2], 20)]
    assert mean[script.fresh_column(1, 20, script.ANY)] == pytest.approx(gnmax, abs=0.01)
    of_prior = darrm.plan(
        K=5,
        epsilon=8.0,
        prior="uniform",
        queries=20,
        total_epsilon=8,
        total_delta=methods.DELTA,
        voters="fresh",
        max_affected=1,
    ).comparison
    assert of_prior is not None
    assert of_prior[0].disagreement < of_prior["Gaussian noisy max"].disagreement
    assert mean[script.fresh_column(3, 20, script.CAPPED)] > mean[script.fresh_column(3, 20, script.LESS)]
    assert mean[script.fresh_column(3, 20, script.CAPPED)] < mean[script.fresh_column(1, 20, script.CAPPED)]
    (row,) = script.budget_rows("cancer", found)
    assert set(row) == {"data", "total epsilon"} | {name for name in right if not name.startswith("t = ")}
    # Both totals: that of the labels, and in brackets that of the aggregator.
    (row,) = script.fresh_budget_rows("cancer", found, (1,))
    column = script.fresh_column(1, 20, script.CAPPED)
    assert row["total epsilon of the labels"] == 8.0
    assert row[column] == f"{mean[column]:.3f} ({optimal(1.8, 0.0, 20, 1e-4).epsilon:.3g})"
    assert script.told("0.5", 1760.0) == "0.5 (1760)"
    least = methods.unaided(8.0, 1, 20, 5)
    assert row[script.fresh_column(1, 20, script.LESS)].endswith(f" ({optimal(least, 0.0, 20, 1e-4).epsilon:.3g})")
    picture = script.draw({"cancer": found, "again": found})
    lines = [line for line in picture.axes[1].get_lines() if line.get_label().startswith("fixed voters, t = 1")]
    assert float(lines[0].get_ydata()[0]) == pytest.approx(right["fixed, t = 1"].mean())
    drawn = [
        line
        for line in picture.axes[0].get_lines()
        if line.get_label().startswith("GNMax, exact for the label, Q = 20")
    ]
    assert float(drawn[0].get_ydata()[0]) == pytest.approx(mean[script.gnmax_column(methods.GAUGES[2], 20)])


def test_the_reading_counts_from_its_tables() -> None:
    row = {"data": "d", "m": 3, "epsilon": 0.5, "GNMax": 0.7, methods.COUNTS: 0.9, methods.LABEL: 0.97}
    row |= {methods.LABEL_ALL: 0.6, methods.SUBSAMPLING_ALL: 0.6, methods.PLAIN: 0.98}
    allowances = [row | {methods.OPTIMAL_ALL: 0.8}, row | {methods.OPTIMAL_ALL: 0.95, methods.PLAIN: 0.5}]
    said = reading._as_charged(allowances)
    assert "In 1 of 2 rows gamma_opt is the best" in said
    assert "These rows are: d (epsilon 0.5, m 3). " in said
    assert "below GNMax in 0 rows, below GNMax exact for the counts in 1, below GNMax exact for the label in 2." in said
    assert "above subsampling (t = 11) in 2 rows." in said
    said = reading._equal_t(allowances)
    ahead = "It is ahead, by data and epsilon, at: d 0.5"
    assert f"exact for the label in 1 of 2 rows, and behind in 1. {ahead} (1)." in said
    assert f"exact for the label in 2 of 2 rows, and behind in 0. {ahead} (2)." in said
    tests = [
        {"data": "d", "_a less b": (0.1, 0.01, 0.2), "_a less c": (-0.1, 0.01, 0.01), "_z less b": (1.0, 0.0, 0.0)}
    ]
    said = reading._tests(tests, "as charged", "a")
    lines = ["  | than | d |", "  | --: | --: |", "  | b | 1 (0) to 0 (0) of 1 |", "  | c | 0 (0) to 1 (1) of 1 |"]
    assert said.endswith(":\n\n" + "\n".join(lines))
    by_total = {total: {"a": np.array([0.7]), "b": np.array([b])} for total, b in ((1.0, 0.6), (2.0, 0.8))}
    assert reading._first(by_total, "a", "b") == "1"
    assert reading._first(by_total, "b", "b") == "none"
    reached = ((1, 20), (1, 100), (3, 20), (3, 100), (11, 20))
    names = [f"t = {t}, Q = {q}, {said}" for t, q in reached for said in ("no DaRRM", reading.CAPPED, "any")]
    shares = (0.6, 0.7, 0.71, 0.5, 0.52, 0.55, 0.6, 0.61, 0.59, 0.5, 0.5, 0.5, 0.5, 0.7, 0.72)
    values = dict(zip(names, shares, strict=True))
    values |= {f"{methods.LABEL}, Q = {q}": 0.7 for q in (20, 100)}
    accuracy = {"d": {1.0: {name: np.array([value]) for name, value in values.items()}}}
    said = reading._aggregator(accuracy)
    learned = "Together the raw answers, which the aggregator sees, have an epsilon of up to"
    assert f"For Q = 20 the gain is 0.100 to 0.100. {learned} 36" in said
    assert f"For Q = 100 the gain is 0.020 to 0.020. {learned} 169" in said
    said = reading._several(accuracy)
    assert "| 3 | 20 | +0.010 to +0.010 | -0.020 to -0.020 | 105 |" in said
    assert "| 3 | 100 | +0.000 to +0.000 | +0.000 to +0.000 | 461 |" in said
    assert "| 11 | 20 | +0.200 to +0.200 | +0.020 to +0.020 | 345 |" in said
    said = reading._tie(accuracy)
    assert "With answers of at most 1.8 the difference is -0.180 to +0.000." in said
    assert "With any epsilon of an answer the difference is -0.150 to +0.010." in said
    values |= {"one DP model": 0.8, "fixed, t = 1": 0.65, "fixed, t = 3": 0.7, "fixed, t = 11": 0.5}
    rows = reading._budgets({"d": {1.0: {name: np.array([value]) for name, value in values.items()}}})
    assert "| one DP model | fixed, t = 1 | 1 |" in rows
    assert "| fixed, t = 1 | one DP model | none |" in rows
    assert "| fixed, t = 11 | fixed, t = 1 | none |" in rows
    assert "| GNMax (exact for the label), 100 labels | fixed, t = 1 | 1 |" in rows
    assert "| DaRRM (fresh, t = 3, answers of at most 1.8), 20 labels | fixed, t = 1 | none |" in rows


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "iris"], "Got iris"),
        (["--data", "mnist"], "--mnist FOLDER"),
        (["--data", ""], "--data must name"),
        (["--data", "", "--mnist", "nowhere"], "nowhere must hold one of"),
    ],
)
def test_wrong_arguments_end_in_one_line(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["private_ensembles.py", *arguments])
    with pytest.raises(SystemExit) as caught:
        script.main()
    assert caught.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]
