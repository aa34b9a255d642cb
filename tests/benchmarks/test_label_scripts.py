"""The scripts behind docs/label_privacy.md: utilities and learners are what they are said to be."""

import math
from pathlib import Path

import numpy as np
import pytest
from scripts import load

import darrm
from darrm import mechanisms
from darrm.labels import CountKernel

matrix, figures, equal = load("label_matrix"), load("label_figures"), load("label_equal")
points, tasks = load("label_points"), load("label_tasks")
K = matrix.K


def test_label_privacy_of_kernels() -> None:
    assert matrix.label_dp(darrm.labels.GeometricLabelProportions(0.8)) == pytest.approx(0.8, abs=1e-12)
    assert matrix.label_dp(darrm.labels.LabelProportions()) == math.inf
    assert matrix.label_dp(CountKernel.from_noise_function(np.full(K + 1, 0.8))) == pytest.approx(
        math.log(9), abs=1e-12
    )
    noisy = mechanisms.LaplaceNoisyMax(1.0)
    assert 1 < matrix.label_dp(noisy) <= noisy.epsilon


@pytest.mark.thorough
def test_the_matrix_is_at_one_utility() -> None:
    setting = matrix.SETTINGS[0]
    found = {one.name: one for one in matrix.lines(setting)}
    assert len(found) == 12
    fair = [one for one in found.values() if one.matched]
    assert len(fair) == 8
    for one in fair:
        assert one.utility == pytest.approx(setting.target, abs=1e-7)
    # A coin on the majority is right with (1 + gamma) / 2, and costs log (1 + gamma) / (1 - gamma).
    constant = found["randomized response on the majority"]
    assert constant.parameter == "gamma = 0.8"
    assert constant.label_dp == pytest.approx(math.log(9), abs=1e-6)
    for one in found.values():
        assert one.row.largest_log_odds_change <= one.label_dp * (1 + 1e-9)
        assert one.row.additive_advantage <= one.row.max_individual_advantage
    assert found["LabelProportions"].row.infinite_mass > 0
    assert len(matrix.table(list(found.values()))) == 12
    assert "0.5000" in matrix.reading(setting, list(found.values()))[-1]


TINY = points.Scale(200, 44, 88, (1.0, 4.0), (1, 8), (8,), (1e-3, 1e-2), trials=2, search=1, epochs=2)


def write_files(folder: Path) -> tuple[Path, Path]:
    """Files with the format of the data sets: 28 numbers, and 11 categories of values 1."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 300)
    higgs, kdd = folder / "HIGGS.csv", folder / "track2.txt"
    X = rng.normal(size=(300, 28)) + 2 * y[:, None] * (np.arange(28) < 4)
    rows = [f"{v:.18e}," + ",".join(map(repr, row)) for v, row in zip(y, X.tolist(), strict=True)]
    higgs.write_text("\n".join(rows) + "\n", encoding="utf-8")
    lines = [
        f"{v} " + " ".join(f"{5_000_000 * c + rng.integers(9) + 20 * v * (c < 3)}:1" for c in range(11)) for v in y
    ]
    kdd.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return higgs, kdd


PICTURES = ("spindles", "distributions", "tradeoff", "learning", "response")


@pytest.mark.slow
def test_all_figures_of_files_with_the_format_of_the_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    higgs, kdd = write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "QUICK", TINY)
    arguments = ["--quick", "--higgs", str(higgs), "--kdd", str(kdd), "--rows", "280", "--search", "2"]
    monkeypatch.setattr("sys.argv", ["label_figures.py", *arguments])
    figures.main()
    said = capsys.readouterr().out
    assert "* Higgs, AUC at" in said
    assert "* KDD12, AUC at" in said
    assert "* KDD12: LLP of labels drawn without the features" in said
    assert "synthetic" not in said
    assert "2 learning rates, chosen by 2 of 2 trials of 2 epochs" in said
    assert "Higgs, 280 examples; KDD12, 280 examples" in said
    for name in PICTURES:
        assert (tmp_path / f"label_{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_files_the_data_are_called_synthetic() -> None:
    made = tasks.tasks_of(None, None, None, (TINY.examples, TINY.columns), TINY.hashed)
    assert list(made) == ["synthetic, like Higgs", "synthetic, like KDD12"]
    higgs, kdd = made.values()
    assert (higgs.X.shape, kdd.X.shape) == ((100, 28), (100, 44))
    assert np.all(kdd.X.sum(axis=1) == 11)
    for task in made.values():
        assert task.eta.shape == task.y.shape == task.y_test.shape == (100,)
    more = tasks.tasks_of(None, None, 600, (200, 44), 44).values()
    assert [len(task.y) + len(task.y_test) for task in more] == [600, 600]


def test_click_data_have_rare_ones_and_values_of_all_frequencies() -> None:
    task = tasks.simulated_clicks(40_000, 1100)
    assert 0.03 < task.y.mean() < 0.1
    assert task.y.mean() == pytest.approx(task.eta.mean(), abs=0.005)
    frequencies = np.asarray(task.X.mean(axis=0)).reshape(11, 100).mean(axis=0)
    # Pr[value v of 100] = log_101 (v + 1) / v, v = 1, 2, ...
    wanted = np.diff(np.log(np.arange(1, 102))) / np.log(101)
    assert frequencies == pytest.approx(wanted, abs=0.003)


def test_the_ranges_are_those_of_the_papers() -> None:
    scale = points.PAPERS
    assert scale.epsilons == tuple(2.0**i for i in range(-4, 6))
    assert scale.sizes == tuple(2**i for i in range(10))
    assert scale.rates == (1e-6, 5e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)
    assert (scale.trials, scale.hashed) == (10, 100_000)


def test_the_rate_is_the_best_of_the_searched_and_all_trials_count(monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.simulated(400)
    scale = TINY._replace(rates=(0.1, 0.2, 0.3), trials=5, search=2)
    asked: list[tuple[float, int]] = []

    def learned(task: object, mechanism: object, bags: object, released: object, **settings: float) -> float:
        asked.append((settings["learning_rate"], int(settings["random_state"])))
        return settings["learning_rate"] + settings["random_state"]

    monkeypatch.setattr(points, "learn", learned)
    monkeypatch.setattr(points, "scores", lambda task, model: (-abs(model % 1 - 0.2) + model // 1, 10 * model))
    found = points.utility(task, scale, darrm.labels.LabelProportions(), 4)
    assert asked == [(rate, seed) for rate in scale.rates for seed in (0, 1)] + [(0.2, seed) for seed in (2, 3, 4)]
    # AUCs 0 to 4: mean 2, standard error sqrt(2.5 / 5)
    assert found == pytest.approx((2, 22, math.sqrt(0.5)))


@pytest.mark.thorough
def test_one_call_brings_four_mechanisms_to_one_auc() -> None:
    rows = equal.at_one_auc(tasks.simulated(2400), 4, 0.8, 0.02, low=0.15)
    assert [row.name for row in rows] == ["RR", "LLP+Lap", "LLP+Geom", "LLP"]
    assert [row.matched for row in rows] == [True, True, True, False]
    for row in rows[:3]:
        assert row.utility == pytest.approx(0.8, abs=0.03)
        assert row.largest_log_odds_change <= row.guaranteed_epsilon * (1 + 1e-9)
    assert rows[3].bag_size in (8, 16, 32, 64, 128)
    assert [equal.equal_row(row)["mechanism"] for row in rows][-1] == "LLP *"


def test_scores_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import log_loss, roc_auc_score

    task = tasks.simulated(400)
    bags = tasks.bags_of(200, 4)
    sums = darrm.labels.LabelProportions()
    model = tasks.learn(task, sums, bags, tasks.release(sums, task.y[bags], 1), max_iter=3, tol=0.5)
    model.coef_ = np.round(model.coef_, 1)
    guess = model.predict_proba(task.X_test)[:, 1]
    wanted = roc_auc_score(task.y_test, guess), log_loss(task.y_test, guess)
    assert tasks.scores(task, model) == pytest.approx(wanted, rel=1e-12)


def test_eta_of_a_file_is_learned_on_the_other_half(tmp_path: Path) -> None:
    higgs, _ = write_files(tmp_path)
    data = tasks.label_data.higgs(higgs)
    task = tasks.of_file(data)
    flipped = tasks.label_data.LabelledData(data.X, data.y.copy())
    order = np.random.default_rng(12).permutation(300)
    flipped.y[order[:150]] ^= 1  # the labels that are released
    assert np.array_equal(tasks.of_file(flipped).eta, task.eta)
    assert ((task.eta > 0.5) == task.y).mean() > 0.8


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.RandomizedResponse(30.0),
        darrm.labels.LabelProportions(),
        darrm.labels.LaplaceLabelProportions(30.0),
        darrm.labels.GeometricLabelProportions(30.0),
    ],
    ids=repr,
)
def test_the_learners_learn(mechanism: object) -> None:
    task = tasks.simulated(2000, 4)
    adam = {"solver": "adam", "learning_rate": 1e-2, "epochs": 20, "random_state": 1}
    found = [
        tasks.scores(task, tasks.learn(task, one, bags, tasks.release(one, task.y[bags], 1), **adam))
        for one, bags in (
            (mechanism, tasks.bags_of(1000, 2)),
            (darrm.labels.LabelProportions(), np.arange(1000)[:, None]),
        )
    ]
    (auc, loss), best = found
    assert auc > best[0] - 0.02
    assert loss < best[1] + 0.05
