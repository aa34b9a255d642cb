"""darrm audit, as a user types it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import mechanisms
from darrm.cli import main

GRID = ["--mechanism", "rr", "--mechanism", "llp", "--mechanism", "llp-laplace", "--mechanism", "llp-geometric"]


@pytest.fixture
def eta_file(tmp_path: Path) -> Path:
    path = tmp_path / "eta.csv"
    eta = np.random.default_rng(3).beta(2, 5, size=42)
    path.write_text("eta\n" + "".join(f"{value!r}\n" for value in eta.tolist()), encoding="utf-8")
    return path


@pytest.mark.thorough
def test_json_is_what_python_says(eta_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "audit",
        *GRID,
        "--epsilon",
        "0.5,1",
        "--bag-size",
        "4,8",
        "--eta",
        str(eta_file),
        "--seed",
        "9",
        "--json",
    ]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    got = json.loads(captured.out)
    assert got.keys() == {"labels", "rows"}
    assert got["labels"] == 42
    eta = np.random.default_rng(3).beta(2, 5, size=42)
    named = [(name, kind(e)) for name, kind in [("rr", mechanisms.RandomizedResponse)] for e in (0.5, 1.0)]
    named.append(("llp", darrm.labels.LabelProportions()))
    named += [("llp-laplace", darrm.labels.LaplaceLabelProportions(e)) for e in (0.5, 1.0)]
    named += [("llp-geometric", darrm.labels.GeometricLabelProportions(e)) for e in (0.5, 1.0)]
    rows = darrm.labels.audit(named, eta, bag_size=[4, 8], rng=np.random.default_rng(9))
    assert len(got["rows"]) == len(rows) == 2 + 2 * 5
    for found, row in zip(got["rows"], rows, strict=True):
        assert set(found) == set(row.__dataclass_fields__)
        for name, value in found.items():
            expected = getattr(row, name)
            wanted = str(expected) if name == "released_by" else expected
            assert value == (None if wanted == np.inf else wanted)
    assert main([*command, "--jobs", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == got


def test_the_command_of_the_interface(eta_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mechanism", "llp-laplace", "--epsilon", "1", "--bag-size", "8", "--eta", str(eta_file)]
    assert main(["audit", *arguments]) == 0
    captured = capsys.readouterr()
    assert "llp-laplace" in captured.out
    assert "k = 8: 2 labels are in no bag" in captured.out
    assert captured.err == ""  # no progress bar where there is no terminal


def test_the_table_fits_eighty_columns(
    eta_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["audit", *GRID, "--epsilon", "0.123456,2", "--bag-size", "6", "--eta", str(eta_file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith(("rr", "llp")) for line in lines) == 7  # a row a line
    assert all(len(line.split()) == 9 for line in lines if line.startswith(("rr", "llp")))
    assert "from a model that was trained on these labels, keep these figures secret" in " ".join(
        " ".join(lines).split()
    )


def test_releases_seen_together(eta_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--mechanism", "rr+rr", "--mechanism", "llp+llp-geometric", "--epsilon", "0.5,1", "--bag-size", "4"]
    assert main(["audit", *names, "--eta", str(eta_file), "--seed", "9", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["mechanism"], row["guaranteed_epsilon"]) for row in rows] == [
        ("rr+rr", 1.0),
        ("rr+rr", 2.0),
        ("llp+llp-geometric", None),
        ("llp+llp-geometric", None),
    ]
    # A noisy sum beside the exact one tells nothing more.
    exact = darrm.labels.audit(
        {"llp": darrm.labels.LabelProportions()},
        np.random.default_rng(3).beta(2, 5, size=42),
        bag_size=4,
        rng=np.random.default_rng(9),
    )
    assert rows[2]["additive_advantage"] == pytest.approx(exact[0].additive_advantage, abs=1e-14)
    assert main(["audit", "--mechanism", "rr+llp", "--epsilon", "1", "--bag-size", "4", "--eta", str(eta_file)]) == 2
    assert "must all answer each label" in capsys.readouterr().err


def test_designs_are_audited_in_bags_of_their_voters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gamma.json"
    design = darrm.solve(K=5, m=2, epsilon=0.5)
    design.save(path)
    command = ["audit", "--design", str(path), "--eta", "beta:2,2", "--n", "52", "--seed", "4", "--json"]
    assert main(command) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    rng = np.random.default_rng(4)
    eta = rng.beta(2, 2, size=52)
    (expected,) = darrm.labels.audit({"darrm": mechanisms.DaRRM(design)}, eta, bag_size=5, rng=rng)
    assert row["additive_advantage"] == expected.additive_advantage
    assert (row["mechanism"], row["bag_size"], row["remainder"]) == ("darrm", 5, 2)
    assert row["guaranteed_epsilon"] is None


@pytest.mark.thorough
def test_results_and_pictures_are_written(tmp_path: Path, eta_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out, plot = tmp_path / "rows.csv", tmp_path / "audit.png"
    arguments = [*GRID, "--epsilon", "0.5,2", "--bag-size", "4", "--eta", str(eta_file), "--out", str(out)]
    assert main(["audit", *arguments, "--plot", str(plot), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [f"Wrote {out}.", f"Wrote {plot}."]
    with out.open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    rows = json.loads(captured.out)["rows"]
    assert [float(record["additive_advantage"]) for record in records] == [row["additive_advantage"] for row in rows]
    assert records[2]["multiplicative_98"] == "inf"
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_how_many_may_be_written_as_a_float(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "--mechanism", "rr", "--epsilon", "1", "--eta", "beta:2,2", "--n", "2e1", "--seed", "1e2"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == 20


@pytest.mark.first(10)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "laplace"], "--mechanism must be one of"),
        (["--mechanism", "darrm"], "--design FILE"),
        ([], "at least one"),
        (["--mechanism", "rr"], "--epsilon is needed"),
        (["--mechanism", "llp"], "--bag-size is needed"),
        (["--mechanism", "rr", "--epsilon", "0"], "epsilon must be"),
        (["--mechanism", "rr", "--epsilon", "nan"], "epsilon must be"),
        (["--mechanism", "rr", "--epsilon", "1,,2"], "--epsilon must be numbers"),
        (["--mechanism", "llp", "--bag-size", "43"], "--bag-size must be an integer in [1, 42]"),
        (["--mechanism", "llp", "--bag-size", "0"], "--bag-size must be an integer in [1, 42]"),
        (["--mechanism", "llp", "--bag-size", "2.5"], "--bag-size must be integers"),
        (["--mechanism", "llp", "--bag-size", "4", "--jobs", "none"], "jobs must be"),
        (["--mechanism", "llp", "--bag-size", "4", "--seed", "-1"], "--seed must be"),
        (["--mechanism", "llp", "--bag-size", "4", "--n", "5"], "--n goes with"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "beta:2"], "two finite numbers"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "beta:2,0", "--n", "9"], "two finite numbers"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "beta:2,2"], "--n must be"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "beta:2,2", "--n", "0"], "--n must be"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "model:m.pkl"], "eta_from_model"),
        (["--mechanism", "llp", "--bag-size", "4", "--eta", "none.csv"], "could not be read"),
        (["--mechanism", "llp", "--bag-size", "4", "--out", "rows.txt"], "must end in .csv, .parquet, .json"),
        (["--mechanism", "llp", "--bag-size", "4", "--plot", "audit.txt"], "must end in"),
        (["--mechanism", "llp", "--bag-size", "4", "--out", "none/rows.csv"], "could not be written"),
        (["--design", "none.json"], "none.json"),
    ],
)
def test_bad_input_is_one_line(
    eta_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = arguments if "--eta" in arguments else [*arguments, "--eta", str(eta_file)]
    assert main(["audit", *given]) == (5 if "written" in message else 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert message in captured.err


@pytest.mark.parametrize("text", ["", "0.5\n-0.1\n", "0.5\nnan\n", "0.5\nhalf\n"])
def test_bad_probabilities_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    assert main(["audit", "--mechanism", "rr", "--epsilon", "1", "--eta", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert str(path) in captured.err


def test_classes_are_the_columns_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "eta.csv"
    path.write_text("a,b,c\n0.2,0.3,0.5\n0.1,0.1,0.8\n", encoding="utf-8")
    common = ["audit", "--epsilon", "1", "--eta", str(path), "--json"]
    assert main([*common, "--mechanism", "rr"]) == 0
    got = json.loads(capsys.readouterr().out)
    (row,) = darrm.labels.audit({"rr": mechanisms.RandomizedResponse(1.0, 3)}, [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    assert got["labels"] == 2
    assert got["rows"][0]["additive_advantage"] == row.additive_advantage
    assert got["rows"][0]["max_leakage"] == row.max_leakage
    assert main([*common, "--mechanism", "rr", "--mechanism", "llp", "--bag-size", "2"]) != 0
    assert "llp has two classes. Got --eta with 3 columns" in capsys.readouterr().err
