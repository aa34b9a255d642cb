"""Tables of decisions by groups of voters."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import objectives, tables
from darrm.cli import main
from darrm.problem.groups import LEFT_OUT, NO_VOTE
from darrm.tables import files
from darrm.tables.table import as_design

PROBLEMS = """groups,total_epsilon,accuracy,objective,prior,cost,ordered,max_affected
2:1.0 3:0.2,1.0,0.7 0.6,,,,,
2:1.0 3:0.2,1.0,0.7 0.6,,0.9 0.1,0 5 1 0,yes,2
3:0.5,0.8,0.6,at-least:2,,,,
2:inf:0:1 1:0.5,1.0,0.9 0.6,weights:2 1,,,,
"[""1:0.5"", ""1:0.2""]",0.4,"[0.7,0.6]",majority,,,,
"""


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "problems.csv"
    path.write_text(PROBLEMS)
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_hold_what_solve_gives(problems: Path, tmp_path: Path, ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"table.{ending}"
    made = tables.solve_grid(tables.from_csv(problems), out=out)
    assert not made.failures
    table = tables.read(out)
    assert table.rows == made.rows
    groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    problem = darrm.DecisionProblem(groups, epsilon=1.0, max_affected=2)
    goal = objectives.truth([0.7, 0.6], prior=[0.9, 0.1], cost=[[0, 5], [1, 0]])
    alone = darrm.solve(problem, objective=goal, ordered=True)
    design = as_design(table.rows[1])
    assert design.problem == problem
    np.testing.assert_array_equal(design.table, alone.table)
    assert table.rows[1]["expected_cost"] == alone.expected_cost
    rule = as_design(table.rows[2])
    assert rule.objective == objectives.rule(objectives.at_least(2), [0.6])
    assert tables.verify_table(out).holds
    assert tables.solve_grid(tables.from_csv(problems), out=out).found == 5


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_known_randomizers_are_of_the_key_and_of_the_proof(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path, out = tmp_path / "problems.csv", tmp_path / f"table.{ending}"
    rows = ("7:1.0:0:1", "7:1.0:0:1:response:1", "7:1.0:0:1:response:3", "4:1.0:response:0 3:0.5")
    path.write_text(
        "groups,total_epsilon,accuracy\n"
        + "".join(f"{row},0.4,{' '.join(['0.7'] * len(row.split()))}\n" for row in rows)
    )
    made = tables.solve_grid(tables.from_csv(path), out=out)
    table = tables.read(out)
    assert table.rows == made.rows
    assert not made.failures
    assert [json.loads(row["groups"]) for row in table.rows] == [
        ["7:1.0:0.0:1"],
        ["7:1.0:0.0:1:response:1"],
        ["7:1.0:0.0:1:response:3"],
        ["4:1.0:0.0:4:response:0", "3:0.5:0.0:3"],
    ]
    voters = darrm.VoterGroup(7, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=1)
    problem = darrm.DecisionProblem([voters], epsilon=0.4)
    alone = darrm.solve(problem, objective=objectives.truth([0.7]))
    design = as_design(table.rows[1])
    assert design.problem == problem
    np.testing.assert_array_equal(design.table, alone.table)
    costs = [row["expected_cost"] for row in table.rows]
    assert costs[1] < costs[0] - 1e-3  # less noise
    assert costs[1] <= costs[2] + 1e-9
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out
    assert "3 rows rest on an assumption" in said
    assert all(clause in said for clause in (LEFT_OUT, NO_VOTE))
    assert main(["verify", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["assumption"] in said
    assert main(["table", "--problems", str(path), "--out", str(tmp_path / "again.csv")]) == 0
    assert "every voter but COLLUDERS draws every vote" in capsys.readouterr().out
    # the same numbers prove nothing for any voters: the row rests on what its groups say
    changed = {**table.rows[1], "groups": json.dumps(["7:1.0:0.0:1"])}
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(files.as_json(changed))
    assert main(["verify", str(wrong)]) == 1


def test_it_goes_on_where_it_stopped(problems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tables.solve_grid(tables.from_csv(problems))
    out = tmp_path / "table.csv"

    def stop(done: int, of: int, failed: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tables.solve_grid(tables.from_csv(problems), out=out, progress=stop)
    again = tables.solve_grid(tables.from_csv(problems), out=out)
    assert again.found == 2
    assert [row["table"] for row in again] == [row["table"] for row in whole]


@pytest.mark.thorough
def test_what_was_changed_is_found(problems: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.jsonl"
    tables.solve_grid(tables.from_csv(problems), out=out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for name, value in (("expected_cost", 0.1), ("total_epsilon", 0.1), ("table", [0.5]), ("ordered", "perhaps")):
        out.write_text("\n".join(json.dumps({**row, name: value}) for row in rows[:1]))
        assert len(tables.verify_table(out).wrong) == 1, name


def test_designs_of_both_kinds_are_no_table(problems: Path, tmp_path: Path) -> None:
    rows = [*tables.solve_grid(3, 1, 0.5).rows, *tables.solve_grid(tables.from_csv(problems)).rows]
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join(map(files.as_json, rows)))
    with pytest.raises(darrm.InputError, match="both kinds"):
        tables.read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2:1.0 3:0.2,1.0,0.7,,,,,", "accuracy must have one entry for each of 2 groups"),
        ("2,1.0,0.7,,,,,", "COUNT:EPSILON"),
        ("2:x,1.0,0.7,,,,,", "must be a number"),
        ("2:-1,1.0,0.7,,,,,", "epsilon must be"),
        ("2.5:1,1.0,0.7,,,,,", "must be an integer"),
        (",1.0,0.7,,,,,", "groups is missing"),
        ("2:1.0,,0.7,,,,,", "total_epsilon is missing"),
        ("2:1.0,1.0,0.7,best,,,,", "objective must be"),
        ("2:1.0,1.0,0.7,majority,,0 5 1 0,,", "cost goes with the objective truth"),
        ("2:1.0,1.0,0.7,,,0 5 1,,", "four numbers"),
        ("2:1.0,1.0,0.7,,,,maybe,", "ordered must be yes or no"),
        ("2:1.0,1.0,0.7,,,,,3", "max_affected must be"),
        ("2:1.0,1.0,0.7,,,,,,,", "more or fewer columns"),
        ("2:1.0:response,1.0,0.7,,,,,", "response:COLLUDERS, once"),
        ("2:1.0:response:0:1,1.0,0.7,,,,,", "response:COLLUDERS, once"),
        ("2:1.0:response:few,1.0,0.7,,,,,", "colluders of groups must be an integer"),
        ("2:1.0:response:2,1.0,0.7,,,,,", "colluders must be"),
        ("2:1.0:0:1:.9:.1/.2:.8:0,1.0,0.7,,,,,", "no other randomizer, such as a table of probabilities"),
        ("2:1.0:.9:.1/.2:.8,1.0,0.7,,,,,", "no other randomizer, such as a table of probabilities"),
        ("2:1.0 3:0.2,0.3 1.0,0.7,,,,,", "total_epsilon must be one number in a table"),
        ('2:1.0 3:0.2,"[0.3, 1.0]",0.7,,,,,', "total_epsilon must be one number in a table"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(problems: Path, line: str, message: str) -> None:
    problems.write_text(PROBLEMS.splitlines()[0] + "\n" + line + "\n")
    with pytest.raises(darrm.InputError, match=message) as error:
        tables.from_csv(problems)
    assert "line 2" in str(error.value)


def test_the_command_takes_decisions(problems: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "table.csv"
    assert main(["table", "--problems", str(problems), "--out", str(out)]) == 0
    assert "5 designs" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    with pytest.raises(darrm.InputError, match="decisions by groups"):
        tables.lookup(out, 3, 1, 0.5)


@pytest.mark.thorough
def test_lists_are_json_in_cells_and_stay_as_they_are_when_written_again(problems: Path, tmp_path: Path) -> None:
    made = tables.solve_grid(tables.from_csv(problems), out=tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, design in zip(rows, map(as_design, made.rows), strict=True):
        assert json.loads(row["table"]) == design.table.ravel().tolist()
        assert len(json.loads(row["groups"])) == len(json.loads(row["accuracy"])) == len(design.problem.groups)
        assert row["cost"] == "none" or len(json.loads(row["cost"])) == 4
    assert [row["objective"] for row in rows][3] == "weights:[2.0, 1.0]"
    columns = list(rows[0])[: list(rows[0]).index("table")]
    with (tmp_path / "again.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in rows)
    assert tables.from_csv(tmp_path / "again.csv").tasks == tables.from_csv(problems).tasks
