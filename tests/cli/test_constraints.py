"""darrm constraints: the paper's list, as a user sees it."""

import csv
import json
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm.cli import main
from darrm.problem.corners import NAMES
from darrm_solvers.highs import silent


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["constraints", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("Delta", "corners"), [("0", 4), ("1e-5", 8)])
def test_every_multiset_is_listed_once(capsys: pytest.CaptureFixture[str], Delta: str, corners: int) -> None:
    head, *rows = csv.reader(printed(capsys, "--K", "4", "--Delta", Delta).splitlines())
    assert tuple(head) == NAMES[:corners]
    expected = {
        tuple(chosen.count(corner) for corner in range(corners))
        for chosen in combinations_with_replacement(range(corners), 4)
    }
    assert {tuple(map(int, row)) for row in rows} == expected
    assert len(rows) == len(expected) == comb(4 + corners - 1, 4)
    assert printed(capsys, "--K", "4", "--Delta", Delta, "--count").startswith(f"{len(rows)} multisets of size 4 from ")


def test_fewer_may_move(capsys: pytest.CaptureFixture[str]) -> None:
    _, *rows = csv.reader(printed(capsys, "--K", "5", "--max-affected", "2").splitlines())
    assert all(int(hi_lo) + int(lo_hi) <= 2 for _, _, hi_lo, lo_hi in rows)
    found = json.loads(printed(capsys, "--K", "5", "--max-affected", "2", "--count", "--json"))
    assert found == {"K": 5, "corners": list(NAMES[:4]), "multisets": len(rows)}


@pytest.mark.parametrize("Delta", ["0", "1e-3"])
def test_coefficients_are_those_of_the_constraint_by_its_definition(
    capsys: pytest.CaptureFixture[str], Delta: str
) -> None:
    """By the distributions of the votes of each corner, convolved; and a gamma keeps all of them if it verifies."""
    K, m, epsilon = 4, 1.5, 0.4
    problem = darrm.MajorityProblem(K, m, epsilon, float(Delta))
    arguments = ["--K", str(K), "--m", str(m), "--epsilon", str(epsilon), "--Delta", Delta, "--json"]
    found = json.loads(printed(capsys, *arguments))
    names = found["columns"][: -(K - K // 2)]
    assert found["columns"][len(names) :] == ["gamma(3)", "gamma(4)"]
    hi, D = (np.exp(epsilon) + float(Delta)) / (np.exp(epsilon) + 1), float(Delta)
    at = {"0": 0.0, "1": 1.0, "hi": hi, "lo": 1 - hi, "D": D, "1-D": 1 - D}
    factor = np.exp(problem.release_epsilon)
    for row in found["rows"]:
        sides = [np.ones(1), np.ones(1)]
        for name, count in zip(names, row, strict=False):
            for side, p in enumerate(at[part] for part in name.strip("()").split(",")):
                for _ in range(count):
                    sides[side] = np.convolve(sides[side], [1 - p, p])
        lead = [(side - side[::-1])[K // 2 + 1 :] for side in sides]
        expected = (lead[0] - factor * lead[1]) / (factor - 1 + 2 * problem.delta)
        assert row[len(names) :] == pytest.approx(expected, abs=1e-12)
    rows = np.array(found["rows"])[:, len(names) :]
    gamma = darrm.solve(problem).gamma
    assert (rows @ gamma[K // 2 + 1 :]).max() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_file_of_the_program_has_the_optimum_of_solve(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str
) -> None:
    """Read by HiGHS, which did not write it from the same arrays: costs, constant, bounds and rows."""
    path = tmp_path / f"program.{ending}"
    arguments = ["--K", "7", "--m", "2", "--epsilon", ".3", "--prior", "common:2,2", "--out", str(path)]
    assert printed(capsys, *arguments) == ""
    highs = silent()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    assert list(highs.getLp().col_names_) == ["gamma_4", "gamma_5", "gamma_6", "gamma_7"]
    assert highs.getLp().num_row_ == comb(10, 3)
    highs.run()
    design = darrm.solve(K=7, m=2, epsilon=0.3, prior="common:2,2")
    assert highs.getInfo().objective_function_value == pytest.approx(design.error, abs=1e-7)
    before = path.read_bytes()
    assert main(["constraints", "--K", "7", "--m", "9", "--epsilon", ".3", "--out", str(path)]) == 2
    assert path.read_bytes() == before


def test_the_list_and_the_arrays_are_files_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for more in ([], ["--m", "2", "--epsilon", ".3"]):
        listed = printed(capsys, "--K", "5", *more)
        assert printed(capsys, "--K", "5", *more, "--out", str(tmp_path / "list.csv")) == ""
        assert (tmp_path / "list.csv").read_text(encoding="utf-8") == listed
    assert printed(capsys, "--K", "5", *more, "--out", str(tmp_path / "program.npz")) == ""
    program = darrm.linear_program(K=5, m=2, epsilon=0.3)
    with np.load(tmp_path / "program.npz") as found:
        assert set(found) == {"A", "b", "c", "constant", "multisets", "corners", "variables"}
        for name in found:
            assert np.array_equal(found[name], getattr(program, name))
        head = printed(capsys, "--K", "5", *more).splitlines()[0]
        assert next(csv.reader([head])) == [*found["corners"], *found["variables"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--K", "3", "--prior", "common"], "--prior is for a whole program"),
        (["--K", "3", "--out", "x.lp"], "A program needs coefficients. Got --out x.lp. Pass --m and --epsilon too"),
        (["--K", "3", "--out", "x.json"], "--out must end in .csv (the list), or in .mps, .lp, .npz (the program)"),
        (["--K", "3", "--out", "x.csv", "--json"], "Leave --count and --json out"),
        (["--K", "3", "--out", "x.csv", "--prior", "common"], "--prior is for a whole program"),
        (["--K", "301", "--m", "1", "--epsilon", "1", "--out", "x.lp"], "a full list stops at 15,000,000 coefficients"),
        (["--K", "0"], "K must be an integer of at least 1"),
        (["--K", "101", "--Delta", "1e-5"], "There are 27,883,218,168 multisets; at most 10,000,000 are listed"),
        (["--K", "40000", "--max-affected", "1"], "K must be at most 3,001 to be listed. Got 40,000. Pass --count."),
        (["--K", "120", "--m", "1", "--epsilon", ".1", "--json"], "One JSON object holds at most 5,000,000 numbers"),
        (["--K", "3", "--m", "1"], "--m and --epsilon go together"),
        (["--K", "3", "--delta", "0.1"], "--delta is for coefficients"),
        (["--K", "3", "--max-affected", "4"], "--max-affected must be an integer in [1, K]"),
        (["--K", "3", "--Delta", "1"], "Delta must be in [0, 1)"),
        (["--K", "3", "--m", "4", "--epsilon", "1"], "m must be in (0, K]"),
    ],
)
def test_what_is_wrong_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["constraints", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == "" or json.loads(captured.out)["error"]["code"] == "bad-input"
    assert captured.err.count("\n") == 1


def test_large_lists_are_counted_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--K", "3001", "--Delta", "0.1", "--count").startswith(f"{comb(3008, 7):,} multisets")
