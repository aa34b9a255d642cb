"""An ending in --out means its format, whatever the command."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from cases import slow

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
        (["plan", "--out", "plan.tex"], "A design file is JSON"),
        (["report", "gamma.json", "--out", "page.csv"], "A report is HTML"),
        (["report", "gamma.json", "--out", "page.json"], "A report is HTML"),
        (["report", "gamma.json", "--out", "page.tex"], "A report is HTML"),
        (["table", "--K", "3", "--m", "1", "--epsilon", "1", "--out", "table.json"], "A table must end in"),
        (["export", "gamma.json", "--out", "table.txt"], "A table must end in"),
        (["export", "gamma.json", "--out", "./gamma.json"], "would replace the design file"),
        (["table", "--K", "3", "--m", "1", "--epsilon", "1", "--out", "table.tex"], "A table must end in"),
        (["compare", *PROBLEM, "--out", "table.txt"], "A table must end in"),
        (["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.tex"], "not LaTeX"),
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


def cells(path: str) -> list[list[str]]:
    """The rows of a table in LaTeX, its head first."""
    text = Path(path).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("% ")]
    assert lines[0].startswith(r"\begin{tabular}{")
    assert lines[-1] == r"\end{tabular}"
    found = [line.removesuffix(r" \\").split(" & ") for line in lines[1:-1] if line != r"\hline"]
    assert {len(row) for row in found} == {len(lines[0]) - len(r"\begin{tabular}{}")}
    return found


OF_GROUPS = ["--release-epsilon" if word == "--total-epsilon" else word for word in GROUPS]
AT_ONE_TOTAL = ["--K", "3", "--epsilon", "1", "--base-accuracy", ".9", "--max-affected", "1", "--queries", "4"]
AT_ONE_TOTAL += ["--total-epsilon", "2", "--total-delta", "1e-5", "--voters", "fresh"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "bound"), [(PROBLEM, "tight_epsilon"), *slow((OF_GROUPS, "tight_epsilon"), (AT_ONE_TOTAL, "total"))]
)
def test_comparisons(options: list[str], bound: str) -> None:
    for name in ("t.csv", "t.parquet", "t.json", "t.tex"):
        assert main(["compare", *options, "--out", name]) == 0
    with Path("t.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    names = [row["name"] for row in found]
    for name in ("t.parquet", "t.json"):
        assert [row["name"] for row in rows(name)] == names
    head, *body = cells("t.tex")
    assert [row[0] for row in body] == [name.replace("_", r"\_") for name in names]
    at = head.index({"tight_epsilon": r"tight $\varepsilon$"}.get(bound, bound))
    for row, cell in zip(found, (row[at] for row in body), strict=True):
        if cell != r"$\infty$":
            assert len(cell.replace(".", "").lstrip("0")) <= 4
            assert float(cell) >= float(row[bound]) * (1 - 1e-11)
    if options is not PROBLEM:
        assert "error" not in head  # a decision has none: a column of nothing is left out


def test_tables_of_designs_have_a_number_of_gamma_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "--K", "3,4,5", "--m", "1", "--epsilon", "0.5", "--out", "table.csv"]) == 0
    made = darrm.tables.read("table.csv")
    columns = made.columns()
    wide = [f"gamma_{l}" for l in range(6)]
    assert [name for name in columns if name.startswith("gamma")] == wide
    for i, row in enumerate(made):
        gamma = [columns[name][i] for name in wide]
        assert gamma == [*row["gamma"], *[None] * (5 - row["K"])]
        assert all(columns[name][i] == row[name] for name in columns if name not in wide)
    for name in ("w.csv", "w.parquet", "w.json", "w.tex"):
        capsys.readouterr()
        assert main(["export", "table.csv", "--out", name]) == 0
        assert "Nothing can be released from it" in capsys.readouterr().err
    with Path("w.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [[float(row[name] or "nan") for name in wide[:4]] for row in read] == [row["gamma"][:4] for row in made]
    assert [row["gamma_5"] for row in read[:2]] == ["", ""]
    for name in ("w.parquet", "w.json"):
        assert {key: [row[key] for row in rows(name)] for key in wide} == {key: columns[key] for key in wide}
    head, *body = cells("w.tex")
    assert "failure" not in head
    assert [float(row[head.index(r"$\gamma(1)$")]) for row in body] == [0.3333, 0.5, 0.6]
    assert [row[head.index(r"$\gamma(2)$")] for row in body][1:] == ["0", "0.2000"]
    assert r"$\gamma(3)$" not in head  # gamma(3) = gamma(2) of 5 votes


@pytest.mark.thorough
def test_a_table_with_a_failure_and_one_of_decisions() -> None:
    made = darrm.tables.solve_grid(K=3, m=1, epsilon=0.5)
    failed = {**made.rows[0], "failure": "too hard"} | dict.fromkeys(("gamma", "error", "gap", "tight_epsilon"))
    columns = darrm.tables.Table((failed, *made.rows)).columns()
    assert columns["gamma_3"] == [None, made.rows[0]["gamma"][3]]
    assert columns["failure"] == ["too hard", None]
    Path("groups.csv").write_text("groups,total_epsilon,accuracy\n2:1.0 1:.5,1.0,0.7 .6\n", encoding="utf-8")
    decisions = darrm.tables.solve_grid(darrm.tables.from_csv("groups.csv"))
    columns = decisions.columns()
    assert [columns[f"table_{i}"] for i in range(6)] == [[x] for x in decisions.rows[0]["table"]]
    assert darrm.tables.Table(()).columns() == {}
