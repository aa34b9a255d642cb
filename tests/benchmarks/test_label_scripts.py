"""The scripts behind docs/label_privacy.md: utilities and learners are what they are said to be."""

import math
from pathlib import Path

import numpy as np
import pytest
from scripts import load

from darrm import mechanisms
from darrm.measures import CountKernel

matrix, figures = load("label_matrix"), load("label_figures")
K = matrix.K


def test_label_privacy_of_kernels() -> None:
    assert matrix.label_dp(mechanisms.GeometricLabelProportions(0.8)) == pytest.approx(0.8, abs=1e-12)
    assert matrix.label_dp(mechanisms.LabelProportions()) == math.inf
    assert matrix.label_dp(CountKernel.from_noise_function(np.full(K + 1, 0.8))) == pytest.approx(
        math.log(9), abs=1e-12
    )
    noisy = mechanisms.LaplaceNoisyMax(1.0)
    assert 1 < matrix.label_dp(noisy) <= noisy.epsilon


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


TINY = figures.Scale(200, 44, (1.0, 4.0), (1, 8), (8,), (1e-2,), trials=2, epochs=2)


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


def quick(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(figures, "QUICK", TINY)
    monkeypatch.setattr(figures, "STANDARD_ERRORS", [])
    one_auc = figures.at_one_auc
    monkeypatch.setattr(figures, "at_one_auc", lambda task: one_auc(figures.simulated(600), 4, 0.625, 0.05))
    monkeypatch.setattr("sys.argv", ["label_figures.py", "--quick", *arguments])
    figures.main()


PICTURES = ("spindles", "distributions", "tradeoff", "learning", "response", "equal_utility")


def test_all_figures_of_files_with_the_format_of_the_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    higgs, kdd = write_files(tmp_path)
    quick(monkeypatch, tmp_path, "--higgs", str(higgs), "--kdd", str(kdd), "--rows", "280")
    said = capsys.readouterr().out
    assert "* Higgs, AUC at" in said
    assert "* KDD12, AUC at" in said
    assert "synthetic" not in said
    for name in PICTURES:
        assert (tmp_path / f"label_{name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_files_the_data_are_called_synthetic() -> None:
    tasks = figures.tasks_of(None, None, None, TINY)
    assert list(tasks) == ["synthetic, like Higgs", "synthetic, like KDD12"]
    higgs, kdd = tasks.values()
    assert (higgs.X.shape, kdd.X.shape) == ((100, 28), (100, 44))
    assert np.all(kdd.X.sum(axis=1) == 11)
    for task in tasks.values():
        assert task.eta.shape == task.y.shape == task.y_test.shape == (100,)


def test_the_ranges_are_those_of_the_papers() -> None:
    scale = figures.PAPERS
    assert (scale.epsilons[0], scale.epsilons[-1], len(scale.epsilons)) == (1 / 16, 32, 10)
    assert scale.sizes == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert scale.rates == (1e-6, 5e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)
    assert (scale.trials, scale.hashed) == (10, 100_000)


def test_eta_of_a_file_is_learned_on_the_other_half(tmp_path: Path) -> None:
    higgs, _ = write_files(tmp_path)
    data = figures.label_data.higgs(higgs)
    task = figures.of_file(data)
    flipped = figures.label_data.LabelledData(data.X, data.y.copy())
    order = np.random.default_rng(12).permutation(300)
    flipped.y[order[:150]] ^= 1  # the labels that are released
    assert np.array_equal(figures.of_file(flipped).eta, task.eta)
    assert ((task.eta > 0.5) == task.y).mean() > 0.8


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.RandomizedResponse(30.0),
        mechanisms.LabelProportions(),
        mechanisms.LaplaceLabelProportions(30.0),
        mechanisms.GeometricLabelProportions(30.0),
    ],
    ids=repr,
)
def test_the_learners_learn(mechanism: object) -> None:
    task = figures.simulated(2000, 4)
    bags = mechanisms.bags(1000, 2, np.random.default_rng(1)).indices
    auc, loss = figures.scores(task, figures.learn(task, mechanism, bags, 1, 1e-2, 20))
    labels = figures.learn(task, mechanisms.LabelProportions(), np.arange(1000)[:, None], 1, 1e-2, 20)
    best = figures.scores(task, labels)
    assert auc > best[0] - 0.02
    assert loss < best[1] + 0.05
