"""An ending in --out means its format, whatever the command."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.cli import main

PROBLEM = ["--K", "3", "--m", "2", "--epsilon", "0.5"]
GROUPS = ["--group", "2:1", "--group", "1:.5", "--total-epsilon", "1", "--accuracy", ".8,.7"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text('id,a,b,c\n"x,""y",1,0,1\né,0,0,1\n', encoding="utf-8")
    return tmp_path


def rows(path: str) -> list[dict[str, Any]]:
    """The rows of a table in CSV, Parquet or JSON."""
    if path.endswith(".json"):
        return list(json.loads(Path(path).read_text(encoding="utf-8")))
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        return list(pq.read_table(path).to_pylist())
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("options", [PROBLEM, GROUPS], ids=["majority", "decision"])
def test_designs(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert main(["solve", *options, "--out", "gamma.json"]) == 0
    columns = darrm.load("gamma.json").columns()
    expected = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert "analysis" not in capsys.readouterr().err
    for name in ("table.csv", "table.parquet"):
        assert main(["solve", *options, "--out", name, "--json"]) == 0
        assert "Nothing can be released from it: design files are JSON." in capsys.readouterr().err
        assert rows(name) == expected
    for name in ("t.csv", "t.parquet", "t.json"):
        assert main(["export", "gamma.json", "--out", name]) == 0
        assert "Nothing can be released from it: design files are JSON." in capsys.readouterr().err
        assert rows(name) == expected


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet", "labels.json"])
@pytest.mark.parametrize("names", [None, ["no", 'y"es']], ids=["bits", "names"])
def test_labels(name: str, names: list[str] | None) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], 0.5, classes=names or 2)
    darrm.solve(problem, objective=darrm.objectives.truth([0.8])).save("decision.json")
    assert main(["release", "decision.json", "--votes", "votes.csv", "--out", name]) == 0
    if name.endswith(".csv"):
        with Path(name).open(encoding="utf-8", newline="") as file:
            cells = list(csv.reader(file))[1:]
        found = [(row[0], row[1] if names else int(row[1])) for row in cells]
    else:
        found = [(row["id"], row["label"]) for row in rows(name)]
    assert [identifier for identifier, _ in found] == ['x,"y', "é"]
    assert {label for _, label in found} <= ({*names} if names else {0, 1})


def test_labels_in_json_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from darrm import votes

    with votes.writing_labels("labels.json") as file:
        for start in (0, 0, 3):
            file.write([], np.zeros(0, dtype=np.uint8))
            file.write([str(start), str(start + 1)], np.array([0, 1], dtype=np.uint8))
    assert [row["id"] for row in rows("labels.json")] == ["0", "1", "0", "1", "3", "4"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "--out", "plan.csv"], "A design file is JSON"),
        (["plan", "--out", "plan.parquet"], "A design file is JSON"),
        (["report", "gamma.json", "--out", "page.csv"], "A report is HTML"),
        (["report", "gamma.json", "--out", "page.json"], "A report is HTML"),
        (["table", "--K", "3", "--m", "1", "--epsilon", "1", "--out", "table.json"], "A table must end in"),
        (["export", "gamma.json", "--out", "table.txt"], "A table must end in"),
        (["export", "gamma.json", "--out", "./gamma.json"], "would replace the design file"),
        (["release", "gamma.json", "--votes", "votes.json", "--out", "labels.csv"], "must be CSV or Parquet"),
    ],
)
def test_other_endings_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    darrm.solve(K=3, m=2, epsilon=0.5).save("gamma.json")
    Path("votes.json").write_text("[]", encoding="utf-8")
    before = sorted(path.name for path in Path().iterdir())
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == before
    darrm.load("gamma.json")
