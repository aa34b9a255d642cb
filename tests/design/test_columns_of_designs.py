"""Designs as tables for analysis."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm.storage import frames

MAJORITY = darrm.solve(K=4, m=2, epsilon=0.3, Delta=1e-3)
GROUPS = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(1, epsilon=0.5)]
PROBLEM = darrm.DecisionProblem(GROUPS, epsilon=1.0, classes=["no", "yes"])
DECISION = darrm.solve(PROBLEM, objective=darrm.objectives.truth([0.8, 0.7]))
ABSENT = darrm.solve(PROBLEM, objective=darrm.objectives.truth([0.8, 0.7], [0.75, 0.25]), absent=True)


def test_a_majority_has_a_row_for_each_number_of_ones() -> None:
    columns = MAJORITY.columns()
    assert columns["ones"] == [0, 1, 2, 3, 4]
    assert columns["gamma"] == MAJORITY.gamma.tolist()
    np.testing.assert_allclose(columns["probability_1"], darrm.mechanisms.DaRRM(MAJORITY).kernel(4)[:, 1])
    np.testing.assert_allclose(np.add(columns["probability_0"], columns["probability_1"]), 1)
    assert columns["probability_1"][4] > 0.5 > columns["probability_1"][0]


def test_a_decision_has_a_row_for_each_vector_of_counts() -> None:
    columns = DECISION.columns()
    assert list(columns) == ["ones_1", "ones_2", "probability_no", "probability_yes"]
    counts = np.stack([columns["ones_1"], columns["ones_2"]], axis=1)
    assert len({tuple(row) for row in counts.tolist()}) == DECISION.table.size == 6
    got = np.stack([columns["probability_no"], columns["probability_yes"]], axis=1)
    np.testing.assert_array_equal(got, DECISION.probabilities(counts))


def test_absent_voters_have_rows_of_their_own() -> None:
    columns = ABSENT.columns()
    rows = list(zip(*columns.values(), strict=True))
    assert list(columns)[:4] == ["present_1", "present_2", "ones_1", "ones_2"]
    assert len(rows) == 18  # (1 + 2 + 3) numbers of ones of group 1 times (1 + 2) of group 2
    assert rows[0] == (0, 0, 0, 0, 1 - ABSENT.without_votes, ABSENT.without_votes) == (0, 0, 0, 0, 1.0, 0.0)
    one, other = (next(row for row in rows if row[:4] == counts) for counts in [(1, 0, 1, 0), (2, 1, 1, 1)])
    assert one[5] == ABSENT.with_present((1, 0)).table[1]
    assert other[5] == ABSENT.table[1, 1]


@pytest.mark.parametrize("design", [MAJORITY, DECISION, ABSENT], ids=["majority", "decision", "absent"])
def test_files_and_frames_hold_all_digits(design: darrm.Design | darrm.DecisionDesign, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    columns = design.columns()
    for ending in frames.FORMATS:
        frames.write(tmp_path / f"t.{ending}", columns)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert {name: [float(row[name]) for row in read] for name in columns} == columns
    rows = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert {name: [row[name] for row in rows] for name in columns} == columns
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == columns
    assert {name: column.tolist() for name, column in design.to_frame().items()} == columns
    design.to_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


@pytest.mark.parametrize("design", [MAJORITY, DECISION], ids=["majority", "decision"])
def test_a_name_means_its_format(design: darrm.Design | darrm.DecisionDesign, tmp_path: Path) -> None:
    for name in ("gamma.csv", "gamma.PARQUET", "gamma.tex"):
        with pytest.raises(darrm.InputError, match="A design file is JSON"):
            design.save(tmp_path / name)
    for name in ("gamma.json", "gamma.parquet", "gamma.tex"):
        with pytest.raises(darrm.InputError, match="to_csv writes CSV"):
            design.to_csv(tmp_path / name)
    with pytest.raises(darrm.InputError, match=r"must end in \.csv, \.parquet, \.json, \.tex"):
        frames.write(tmp_path / "gamma.xlsx", design.columns())
    assert list(tmp_path.iterdir()) == []


def test_infinity_is_null_in_json_and_inf_in_csv(tmp_path: Path) -> None:
    for ending in ("csv", "json"):
        frames.write(tmp_path / f"t.{ending}", {"a": [1.5, float("inf")]})
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == "a\n1.5\ninf\n"
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8")) == [{"a": 1.5}, {"a": None}]
