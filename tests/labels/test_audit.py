"""Audits: rows are what the measures say, whatever the number of threads and parts."""

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import mechanisms
from darrm.errors import InputError, MissingExtraError, OutputError
from darrm.labels.audit_files import read_eta, save_rows, table_format
from darrm.labels.measures import distribution, laplace
from darrm.labels.percentiles import mixture_quantile, multiplicative_summary

ETA = np.random.default_rng(5).beta(2, 4, size=203)
MECHANISMS = {
    "rr": mechanisms.RandomizedResponse(1.0),
    "llp": darrm.labels.LabelProportions(),
    "llp-laplace": darrm.labels.LaplaceLabelProportions(1.0),
    "llp-geometric": darrm.labels.GeometricLabelProportions(0.7),
    "noisy max": mechanisms.GaussianNoisyMax(2.0),
}


def seeded() -> np.random.Generator:
    return np.random.default_rng(7)


def test_rows_are_what_the_measures_say() -> None:
    drawn = mechanisms.bags(203, 8, seeded())
    rows = darrm.labels.audit(MECHANISMS, ETA, bags=drawn)
    assert [row.mechanism for row in rows] == list(MECHANISMS)
    bags = ETA[drawn.indices]
    for row in rows:
        mechanism = MECHANISMS[row.mechanism]
        gain = darrm.labels.individual_advantage(mechanism, bags)
        distribution = darrm.labels.multiplicative_advantage(mechanism, bags)
        assert (row.bag_size, row.bags, row.remainder) == (8, 25, 3)
        assert row.additive_advantage == darrm.labels.additive_advantage(mechanism, bags) == gain.mean()
        assert row.max_individual_advantage == gain.max()
        assert row.multiplicative_98 == distribution.quantile(0.98)
        assert row.infinite_mass == distribution.infinite_mass
        assert row.largest_log_odds_change == darrm.labels.largest_log_odds_change(mechanism, bags)
        assert row.mean_leakage == darrm.labels.label_leakage(mechanism, bags).mean()
        assert row.max_leakage == darrm.labels.label_leakage(mechanism, bags).max()
        assert row.mean_total_variation == darrm.labels.total_variation(mechanism, bags).mean()
        assert row.max_total_variation == darrm.labels.total_variation(mechanism, bags).max()
        assert row.attack_utility == pytest.approx(darrm.labels.attack_utility(mechanism, bags), abs=1e-15)
        assert row.auc is None
    guaranteed = [row.guaranteed_epsilon for row in rows]
    assert guaranteed == [1, math.inf, 1, 0.7, math.inf]
    assert all(row.largest_log_odds_change <= row.guaranteed_epsilon * (1 + 1e-12) for row in rows)


@pytest.mark.thorough
def test_threads_change_nothing_and_bags_are_shared() -> None:
    one, two = (darrm.labels.audit(MECHANISMS, ETA, bag_size=[4, 9], rng=seeded(), jobs=jobs) for jobs in (1, 2))
    assert one == two
    # Randomized response has no bags: one row. The others are in the grid.
    assert [(row.mechanism, row.bag_size, row.remainder) for row in one] == [
        ("rr", 1, 0),
        *((name, 4, 3) for name in list(MECHANISMS)[1:]),
        *((name, 9, 5) for name in list(MECHANISMS)[1:]),
    ]
    assert one != darrm.labels.audit(MECHANISMS, ETA, bag_size=[4, 9], rng=np.random.default_rng(8))


@pytest.mark.thorough
def test_progress_counts_every_row() -> None:
    seen: list[tuple[int, int]] = []
    darrm.labels.audit(MECHANISMS, ETA, bag_size=50, rng=seeded(), jobs=2, progress=lambda *count: seen.append(count))
    assert seen == [(done, 5) for done in range(1, 6)]


def test_a_designed_vote_is_audited_in_bags_of_its_voters() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.5)
    drawn = mechanisms.bags(203, 5, seeded())
    (row,) = darrm.labels.audit({"darrm": mechanisms.DaRRM(design)}, ETA, bags=drawn.indices)
    kernel = darrm.labels.CountKernel.from_noise_function(design.gamma)
    assert row.additive_advantage == pytest.approx(
        darrm.labels.additive_advantage(kernel, ETA[drawn.indices]), abs=1e-15
    )
    assert row.guaranteed_epsilon == math.inf  # it guarantees nothing about votes
    with pytest.raises(InputError, match="K = 5"):
        darrm.labels.audit({"darrm": mechanisms.DaRRM(design)}, ETA, bag_size=4)


@pytest.mark.thorough
@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("kept", [5, 4_000_000])
def test_percentiles_do_not_depend_on_the_parts(name: str, q: float, kept: int) -> None:
    bags = ETA[:196].reshape(-1, 7)
    whole = darrm.labels.multiplicative_advantage(MECHANISMS[name], bags)
    value, infinite = multiplicative_summary(MECHANISMS[name], bags, q, entries=300, kept=kept)
    assert value == pytest.approx(whole.quantile(q), rel=1e-11)
    assert infinite == pytest.approx(whole.infinite_mass, abs=1e-13)


@pytest.mark.thorough
def test_quantiles_of_mixtures_are_those_of_all_values() -> None:
    rng = seeded()
    values, weights = rng.exponential(size=(20, 50)), rng.uniform(size=(20, 50))
    values[rng.uniform(size=values.shape) < 0.05] = math.inf
    values[:, :5] = 0.25  # one value with more mass than may be held
    weights /= weights.sum(axis=1, keepdims=True)
    parts = [(0.05, distribution.DiscreteDistribution(*pair)) for pair in zip(values, weights, strict=True)]
    order = np.argsort(values, axis=None)
    sums = np.cumsum(weights.ravel()[order] / 20)
    for q in np.linspace(0.001, 0.999, 97):
        expected = values.ravel()[order][np.searchsorted(sums, q)]
        assert mixture_quantile(lambda: parts, float(q), kept=3)[0] == pytest.approx(expected, rel=1e-11)


def test_utility_comes_from_the_learner_that_is_passed() -> None:
    labels = (ETA > 0.4).astype(int)

    def utility(mechanism: object, indices: np.ndarray, given: np.ndarray) -> dict[str, float]:
        assert np.array_equal(given, labels)
        return {"auc": float(indices.shape[1]), "cross_entropy": float(indices.size)}

    rows = darrm.labels.audit(MECHANISMS, ETA, bag_size=6, labels=labels, utility=utility)
    assert [(row.auc, row.cross_entropy) for row in rows] == [(1.0, 203.0), *[(6.0, 198.0)] * 4]
    with pytest.raises(InputError, match="utility must return"):
        darrm.labels.audit(MECHANISMS, ETA, bag_size=6, utility=lambda *given: {"accuracy": 1.0})


def test_eta_of_a_model_is_its_probability_of_the_second_class() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    eta = darrm.labels.eta_from_model(model, X[1::2])
    assert np.array_equal(eta, model.predict_proba(X[1::2])[:, 1])
    llp, response = darrm.labels.audit(
        {"llp": MECHANISMS["llp"], "rr": MECHANISMS["rr"]}, eta, bag_size=8, rng=seeded()
    )
    assert 0 < llp.additive_advantage < 0.05
    assert response.largest_log_odds_change == 1
    with pytest.raises(InputError, match="predict_proba"):
        darrm.labels.eta_from_model(object(), X)
    three = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert np.array_equal(darrm.labels.eta_from_model(three, [[0.0], [3.0]]), three.predict_proba([[0.0], [3.0]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": [0.1, 1.2], "bag_size": 1}, "eta must be"),
        ({"eta": [0.1, math.nan], "bag_size": 1}, "eta must be"),
        ({"eta": [[0.1, 0.2]], "bag_size": 1}, "shape \\(n,\\)"),
        ({"eta": [], "bag_size": 1}, "eta must"),
        ({"bag_size": 204}, r"bag_size must be an integer in \[1, 203\]"),
        ({"bag_size": 0}, r"bag_size must be an integer in \[1, 203\]"),
        ({"bag_size": 2.5}, "an integer"),
        ({"bag_size": []}, "at least one size"),
        ({}, "one of the two"),
        ({"bag_size": 4, "bags": [[0, 1]]}, "one of the two"),
        ({"bags": [[0, 1], [1, 2]]}, "twice. Got 1 2 times"),
        ({"bags": [[0, 203]]}, "Got 0 to 203"),
        ({"bags": [[0.0, 1.0]]}, "indices of eta"),
        ({"bag_size": 4, "labels": [0, 1]}, "labels must have the shape"),
        ({"bag_size": 4, "jobs": 0}, "jobs must be"),
        ({"bag_size": 4, "mechanisms": {}}, "at least one"),
        ({"bag_size": 4, "mechanisms": None}, "mechanisms must be a mapping"),
        ({"bag_size": 4, "mechanisms": [MECHANISMS["rr"]]}, "pairs"),
        ({"bag_size": 4, "mechanisms": {"rr": mechanisms.RandomizedResponse}}, "mechanism must be"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"mechanisms": MECHANISMS, "eta": ETA} | arguments
    with pytest.raises(InputError, match=message) as error:
        darrm.labels.audit(given.pop("mechanisms"), given.pop("eta"), **given)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_files_hold_the_rows(tmp_path: Path, ending: str) -> None:
    rows = darrm.labels.audit(MECHANISMS, ETA, bag_size=[3, 8], rng=seeded())
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        save_rows(path, rows)
        records = parquet.read_table(path).to_pylist()
    elif ending == "csv":
        import csv

        save_rows(path, rows)
        with path.open(newline="", encoding="utf-8") as file:
            records = list(csv.DictReader(file))
        whole = {"bag_size", "bags", "remainder"}
        for record in records:
            for name, text in record.items():
                if name not in ("mechanism", "released_by"):
                    record[name] = None if text == "" else int(text) if name in whole else float(text)
    else:
        import json

        save_rows(path, rows)
        records = json.loads(path.read_text(encoding="utf-8"))
        for record in records:
            missing = dict.fromkeys(("guaranteed_epsilon", "largest_log_odds_change", "multiplicative_98"), math.inf)
            record.update({name: value for name, value in missing.items() if record[name] is None})
    assert [darrm.labels.AuditRow(**record) for record in records] == rows
    assert [record["released_by"] for record in records] == [str(row.released_by) for row in rows]
    assert [dataclasses.asdict(row).keys() for row in rows] == [record.keys() for record in records]


def test_bad_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"must end in \.csv, \.parquet, \.json"):
        table_format("rows.xlsx")
    with pytest.raises(OutputError, match="could not be written"):
        save_rows(tmp_path / "none" / "rows.csv", [])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"darrm\[tables\]"):
        table_format("rows.parquet")


@pytest.mark.parametrize("text", ["eta\n0.25\n1\n", "0.25\r\n1", '\ufeff"eta"\n0.25\n1e0\n'])
def test_probabilities_are_read_with_or_without_a_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "eta.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_eta(path).tolist() == [0.25, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no probabilities"),
        ("eta\n", "holds no probabilities"),
        ("eta\n0.5\n1.5\n", "line 3: a probability must be in"),
        ("0.5\nnan\n", "line 2: a probability must be in"),
        ("0.5\nx\n", "line 2: numbers in"),
        ("0.5\n\n0.5\n", "line 2: numbers in"),
        ("a,,c\n0.2,0.3,0.5\n", "line 1: numbers in"),
        ("a,1\n0.5,0.5\n", "line 1: numbers in"),
        ("eta\n0.5,0.5\n", "line 2: of two classes pass"),
        ("0.5\n0.2,0.3,0.5\n", "line 2: 1 numbers are wanted"),
        ("0.2,0.3,0.5\n0.2,0.8\n", "line 2: 3 numbers are wanted"),
        ("0.2,0.3,0.4\n", "line 1: the sum must be 1"),
        ("0.2,0.3,-0.5\n", "line 1: a probability must be in"),
    ],
)
def test_bad_probabilities_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "eta.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_eta(path)


def test_probabilities_of_classes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "eta.csv"
    path.write_text('a,"b",c\n0.2,0.3,0.5\n1,0,"0"\n', encoding="utf-8")
    assert read_eta(path).tolist() == [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]


def test_unreadable_probabilities_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could not be read"):
        read_eta(tmp_path / "none.csv")
    (tmp_path / "packed.csv").write_bytes(b"\x1f\x8b\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_eta(tmp_path / "packed.csv")


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [1e-6, 0.05, 1.0, 40.0, 100.0])
@pytest.mark.parametrize("k", [1, 2, 9, 700])
def test_laplace_odds_by_search_are_those_of_all_pieces(k: int, epsilon: float) -> None:
    rng = np.random.default_rng(9)
    sure = np.clip(rng.beta(0.01, 0.01, k), 1e-7, 1 - 1e-7)
    bags = np.stack([rng.beta(2, 5, k), sure, rng.choice([0.0, 1.0, 0.3], k), np.full(k, 1e-7)])
    found, pieces = laplace.LaplaceOdds(bags, epsilon), laplace.LaplaceOutputs(bags, epsilon)
    for x in epsilon * np.array([0.0, 1e-9, 0.01, 0.5, 0.9, 0.999]):
        e = math.exp(-x)
        moved = pieces.above(e, 1.0, bags, 1 - bags) + 1 - pieces.above(1.0, e, bags, 1 - bags)
        wanted = moved[(bags > 0) & (bags < 1)].sum()
        assert found.moved(float(x)) == pytest.approx(wanted, rel=1e-9, abs=1e-11 * bags.size)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 40.0, 900.0])
@pytest.mark.parametrize("k", [1, 2, 9, 300])
def test_laplace_odds_between_two_changes_are_those_of_all(k: int, epsilon: float) -> None:
    rng = np.random.default_rng(10)
    bags = np.stack([rng.beta(2, 5, k), rng.choice([0.0, 1.0, 0.3], k), np.full(k, 1e-7), rng.beta(0.1, 0.1, k)])
    whole = laplace.LaplaceOdds(bags, epsilon)
    for low, high in ((0.0, 1e-3), (0.3, 0.31), (0.6, 1 - 2e-12)):
        part = whole.between(low * epsilon, high * epsilon)
        assert part.size < whole.size or k < 300
        for x in epsilon * np.linspace(low, high, 7):
            assert part.moved(float(x)) == whole.moved(float(x))


@pytest.mark.slow
def test_laplace_percentiles_of_unlike_bags_are_found() -> None:
    """The first bag is no guide to the others, and the largest value has mass of its own."""
    bags = np.vstack([np.full((1, 5), 1e-6), ETA[:95].reshape(-1, 5), np.full((1, 5), 0.5)])
    whole = darrm.labels.multiplicative_advantage(MECHANISMS["llp-laplace"], bags)
    for q in (0.001, 0.3, 0.5, 0.7, 0.999):
        value, _ = multiplicative_summary(MECHANISMS["llp-laplace"], bags, q, entries=25)
        assert value == pytest.approx(whole.quantile(q), rel=1e-11)
    assert value == 1.0


def test_laplace_odds_do_not_run_out_of_range() -> None:
    """One sure 1 and three labels of 0.3: at epsilon = 500 the output is the sum, and 1 or 4 gives the three away."""
    bag = np.array([[1.0, 0.3, 0.3, 0.3, 0.0]])
    given_away = 3 * (0.7**3 + 0.3**3)
    assert laplace.LaplaceOdds(bag, 500.0).moved(250.0) == pytest.approx(given_away, abs=1e-9)


def test_bisections_at_once_are_those_one_by_one() -> None:
    def below(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(x / 3))

    plain = distribution.ContinuousDistribution(below, 3.0)
    for levels in (2, 5, 7):
        several = distribution.ContinuousDistribution(below, 3.0, levels=levels)
        for q in (0.0, 0.1, 0.98, 1.0):
            assert several.quantile(q) == plain.quantile(q)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["llp", "llp-laplace", "llp-geometric"])
def test_threads_split_the_bags_of_one_row(name: str) -> None:
    bags = ETA[:196].reshape(-1, 7)
    alone, shared = (multiplicative_summary(MECHANISMS[name], bags, 0.9, 100, 5, threads) for threads in (1, 3))
    assert alone == shared


def by_enumeration(kernels: list[np.ndarray], eta: np.ndarray, each: bool) -> dict[str, np.ndarray]:
    """Masses of all outputs given each value of each label, by all labellings and all outputs, one at a time."""
    k = eta.size
    answers = [
        list(itertools.product(range(x.shape[1]), repeat=k)) if each else list(range(x.shape[1])) for x in kernels
    ]
    outputs = list(itertools.product(*answers))
    given = np.zeros((2, k, len(outputs)))
    for y in itertools.product((0, 1), repeat=k):
        chances = np.where(np.array(y) == 1, eta, 1 - eta)
        for at, output in enumerate(outputs):
            answer = 1.0
            for kernel, o in zip(kernels, output, strict=True):
                answer *= math.prod(kernel[v, x] for v, x in zip(y, o, strict=True)) if each else kernel[sum(y), o]
            for i in range(k):
                given[y[i], i, at] += answer * np.prod(np.delete(chances, i))
    zero, one = given
    p = eta[:, None]
    return {
        "advantage": np.maximum(p * one, (1 - p) * zero).sum(axis=1) - np.maximum(eta, 1 - eta),
        "variation": np.maximum(one - zero, 0).sum(axis=1),
    }


@pytest.mark.parametrize(
    ("releases", "each"),
    [
        ([mechanisms.RandomizedResponse(1.0), mechanisms.RandomizedResponse(0.4)], True),
        ([darrm.labels.LabelProportions(), darrm.labels.GeometricLabelProportions(0.7)], False),
        ([darrm.labels.GeometricLabelProportions(0.7)] * 3, False),
        ([mechanisms.GaussianNoisyMax(2.0), darrm.labels.GeometricLabelProportions(0.7)], False),
    ],
    ids=str,
)
def test_releases_seen_together_are_those_of_all_labellings(releases: list[Any], each: bool) -> None:
    eta = np.array([0.2, 0.7, 0.45])
    together = darrm.labels.joint(releases)
    kernels = [release.label_kernel() if each else release.kernel(3) for release in releases]
    wanted = by_enumeration(kernels, eta, each)
    assert darrm.labels.individual_advantage(together, eta) == pytest.approx(wanted["advantage"], abs=1e-13)
    assert darrm.labels.total_variation(together, eta) == pytest.approx(wanted["variation"], abs=1e-13)
    (row,) = darrm.labels.audit({"together": releases}, eta, bags=[[0, 1, 2]])
    assert row.additive_advantage == pytest.approx(wanted["advantage"].mean(), abs=1e-13)
    assert row.guaranteed_epsilon == sum(getattr(release, "epsilon", math.inf) for release in releases)
    assert row.largest_log_odds_change <= row.guaranteed_epsilon + 1e-12
    assert row.released_by.mechanisms == tuple(releases)
    more = max(darrm.labels.additive_advantage(release, eta) for release in releases)
    assert row.additive_advantage >= more - 1e-13


def test_likelihoods_of_a_label_must_not_be_multiplied_for_sums() -> None:
    """Twice the exact sum tells what one tells; products of f_v over the two would say more."""
    exact = darrm.labels.LabelProportions()
    twice, once = darrm.labels.joint([exact, exact]), exact
    bag = [0.2, 0.7, 0.45]
    assert darrm.labels.individual_advantage(twice, bag) == pytest.approx(
        darrm.labels.individual_advantage(once, bag), abs=1e-15
    )


@pytest.mark.parametrize(
    "releases",
    [
        [],
        [MECHANISMS["rr"], MECHANISMS["llp"]],
        [MECHANISMS["llp"], MECHANISMS["llp-laplace"]],
        [MECHANISMS["llp-laplace"], MECHANISMS["llp-laplace"]],
        [MECHANISMS["llp"], darrm.labels.LabelProportions],
        [MECHANISMS["llp"], 3],
    ],
    ids=str,
)
def test_releases_without_an_exact_joint_are_refused(releases: list[Any]) -> None:
    with pytest.raises(InputError, match="mechanisms must all answer each label"):
        darrm.labels.joint(releases)
    with pytest.raises(InputError, match="mechanisms must all answer each label"):
        darrm.labels.audit({"together": releases}, ETA, bag_size=4)


def test_too_many_outputs_together_are_refused() -> None:
    with pytest.raises(InputError, match="probabilities of outputs"):
        darrm.labels.audit({"many": [darrm.labels.GeometricLabelProportions(1.0)] * 4}, ETA, bag_size=50)


def test_mechanisms_with_a_size_of_their_own_need_no_bag_size() -> None:
    response = MECHANISMS["rr"]
    assert darrm.labels.audit({"rr": response}, ETA) == darrm.labels.audit({"rr": response}, ETA, bag_size=8)
    kernel = darrm.labels.CountKernel.from_noise_function(np.full(6, 0.5))
    alone = darrm.labels.audit({"vote": kernel}, ETA, bag_size=5, rng=seeded())
    assert darrm.labels.audit({"vote": kernel, "rr": response}, ETA, rng=seeded())[0] == alone[0]
    vote = mechanisms.DaRRM(darrm.solve(K=5, m=2, epsilon=0.5))
    twice = darrm.labels.audit({"twice": (vote, kernel)}, ETA, rng=seeded())
    assert (twice[0].bag_size, twice[0].remainder) == (5, 3)
    with pytest.raises(InputError, match="one of the two: llp answers bags of any size"):
        darrm.labels.audit({"rr": response, "llp": MECHANISMS["llp"]}, ETA)


def test_a_name_is_no_list_of_mechanisms() -> None:
    with pytest.raises(InputError, match="mechanism must be one of darrm"):
        darrm.labels.audit({"llp": "llp"}, ETA, bag_size=4)  # type: ignore[dict-item]


def test_rows_keep_their_mechanism() -> None:
    rows = darrm.labels.audit(MECHANISMS, ETA, bag_size=6)
    assert all(row.released_by is MECHANISMS[row.mechanism] for row in rows)


@pytest.mark.thorough
def test_threads_beyond_the_rows_split_the_bags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("darrm.labels.percentiles.multiplicative_summary.__defaults__", (100, 5, 1))
    one, many = (darrm.labels.audit(MECHANISMS, ETA, bag_size=7, rng=seeded(), jobs=jobs) for jobs in (1, 16))
    assert one == many


def test_posteriors_of_releases_seen_together() -> None:
    bags, sums, votes = ETA[:8].reshape(2, 4), [1, 3], [0, 1]
    kernel = darrm.labels.CountKernel.from_noise_function(np.full(5, 0.6))
    noisy = darrm.labels.GeometricLabelProportions(0.7)
    both = darrm.labels.joint([noisy, kernel])
    for bag, s, v, found in zip(bags, sums, votes, darrm.labels.posterior(both, bags, [sums, votes]), strict=True):
        joint = np.zeros((4, 2))
        for y in itertools.product((0, 1), repeat=4):
            chance = np.prod(np.where(y, bag, 1 - bag)) * noisy.kernel(4)[sum(y), s] * kernel.kernel(4)[sum(y), v]
            joint[range(4), y] += chance
        assert found == pytest.approx(joint[:, 1] / joint.sum(axis=1), abs=1e-13)
    first, second = mechanisms.RandomizedResponse(1.0), mechanisms.RandomizedResponse(0.5)
    after = darrm.labels.posterior(darrm.labels.joint([first, second]), [0.3], [[1], [0]])
    odds = 0.3 / 0.7 * math.exp(1.0 - 0.5)
    assert after == pytest.approx([odds / (1 + odds)], abs=1e-14)
    with pytest.raises(InputError, match="one output for each of 2 mechanisms"):
        darrm.labels.posterior(both, bags, [sums])


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 40.0, 300.0, 800.0])
def test_one_output_may_undo_what_another_made_near_certain(epsilon: float) -> None:
    response = mechanisms.RandomizedResponse(epsilon)
    eta = [0.3, 1e-300, 1 - 2**-53, 0.5]
    both = darrm.labels.joint([response, response])
    if epsilon == 800:  # its flip has no chance in float64
        with pytest.raises(InputError, match="probability 0 under"):
            both.posterior(eta, [[1, 1, 0, 0], [0, 0, 1, 1]])
        return
    assert both.posterior(eta, [[1, 1, 0, 0], [0, 0, 1, 1]]) == pytest.approx(eta, rel=1e-12)
    again = darrm.labels.joint([both, both])
    output = [[[1, 1, 0, True], [0, 0, 1, False]], [[0, 0, 1, True], [1, 1, 0, False]]]
    assert darrm.labels.posterior(
        again, [eta, eta], [[[side, side] for side in pair] for pair in output]
    ) == pytest.approx(np.array([eta, eta]), rel=1e-12)


def test_posteriors_of_classes_seen_together() -> None:
    responses = [mechanisms.RandomizedResponse(1.0, 3), mechanisms.RandomizedResponse(0.5, 3)]
    both, eta, seen = darrm.labels.joint(responses), np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]]), [[0, 2], [1, 2]]
    wanted = eta * responses[0].label_kernel()[:, seen[0]].T * responses[1].label_kernel()[:, seen[1]].T
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert darrm.labels.posterior(both, eta, seen) == pytest.approx(wanted, abs=1e-15)
    assert both.posterior(eta[0], [0, 1]) == pytest.approx(wanted[0], abs=1e-15)


def test_posteriors_of_several_releases_take_features_too() -> None:
    for release, seen in ((MECHANISMS["rr"], [1, 0]), (MECHANISMS["llp"], 1)):
        both = darrm.labels.joint([release, release])
        after = darrm.labels.posterior(both, [0.3, 0.6], [seen, seen])
        assert darrm.labels.posterior(both, [0.3, 0.6], [seen, seen], X=[[1.0], [2.0]]).tolist() == after.tolist()
        with pytest.raises(InputError, match="X must"):
            darrm.labels.posterior(both, [0.3, 0.6], [seen, seen], X="features")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([[1, 0], [1]], "entries of one shape"),
        ([[1], [1]], "one answer for each label"),
        ([[1, 2], [1, 0]], "output must"),
        ([[1, math.nan], [1, 0]], "output must"),
        ([[1, 0]], "one output for each of 2"),
    ],
)
def test_outputs_that_several_releases_do_not_have(output: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        darrm.labels.joint([MECHANISMS["rr"], MECHANISMS["rr"]]).posterior([0.3, 0.6], output)


@pytest.mark.parametrize(
    ("releases", "message"),
    [
        ([mechanisms.RandomizedResponse(1.0), mechanisms.RandomizedResponse(1.0, 3)], "as many classes. Got 2 and 3"),
        (mechanisms.RandomizedResponse(1.0), "a sequence of mechanisms"),
        (None, "a sequence of mechanisms"),
    ],
    ids=str,
)
def test_what_is_no_list_of_like_releases_is_refused(releases: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        darrm.labels.joint(releases)


def test_sums_of_other_bags_tell_more_than_their_joint() -> None:
    """What the documents warn of, by enumeration: four labels, sums of pairs, and again of other pairs."""

    def advantage(*releases: list[tuple[int, int]]) -> float:
        chances: dict[tuple[int, ...], list[float]] = {}
        for y in itertools.product((0, 1), repeat=4):
            seen = tuple(y[a] + y[b] for pairs in releases for a, b in pairs)
            chances.setdefault(seen, [0.0, 0.0])[y[0]] += 1 / 16
        return sum(map(max, chances.values())) - 0.5

    exact, pairs = darrm.labels.LabelProportions(), [(0, 1), (2, 3)]
    assert (
        darrm.labels.additive_advantage(darrm.labels.joint([exact, exact]), [0.5, 0.5])
        == advantage(pairs, pairs)
        == 0.25
    )
    assert advantage(pairs, [(0, 2), (1, 3)]) == 0.4375
