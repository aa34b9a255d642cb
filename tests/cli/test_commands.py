"""The commands, as a user types them."""

import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.cli import app, common, main

PROBLEM = ["--K", "11", "--m", "3", "--epsilon", "0.1"]
PURE = [0.939702612175, 0.542090086874, 1, 1, 0.977331829136, 1]
APPROXIMATE = [0.9392405761813, 0.5423404272148, 1, 1, 0.977695588276, 1]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The one JSON object that a command printed; anything else on standard output fails."""
    assert main([*arguments, "--json"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\n")
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


@pytest.fixture(scope="module")
def design_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("design") / "gamma.json"
    darrm.solve(K=11, m=3, epsilon=0.1).save(path)
    return path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (PROBLEM, PURE),
        ([*PROBLEM, "--voter-delta", "1e-5"], APPROXIMATE),
        (["--K", "11", "--m", "1", "--epsilon", "0.1"], [l / 11 for l in range(1, 12, 2)]),
    ],
    ids=["pure", "approximate", "m = 1"],
)
def test_solve_finds_the_known_optimum(
    capsys: pytest.CaptureFixture[str], options: list[str], expected: list[float]
) -> None:
    gamma = run_json(capsys, "solve", *options)["gamma"]
    assert gamma == gamma[::-1]
    np.testing.assert_allclose(gamma[6:], expected, rtol=0, atol=1e-8)


def test_solve_json_has_the_guaranteed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    options = [*PROBLEM, "--delta", "1e-4", "--max-affected", "5", "--shape", "monotone", "--prior", "common:2,3"]
    got = run_json(capsys, "solve", *options)
    assert {"problem", "gamma", "error", "gap", "shape", "prior", "certificate", "seconds"} <= got.keys()
    problem = {"K": 11, "m": 3, "epsilon": 0.1, "Delta": 0, "delta": 1e-4, "max_affected": 5}
    assert problem.items() <= got["problem"].items()
    assert {"holds", "needed_delta", "tight_epsilon", "worst_case"} <= got["certificate"].keys()
    assert got["certificate"]["holds"] is True
    assert got["certificate"]["needed_delta"] <= got["problem"]["delta"]
    assert len(got["gamma"]) == 12
    assert got["shape"] == "monotone"
    assert np.all(np.diff(got["gamma"][6:]) >= 0)
    assert got["prior"] == {"kind": "common", "a": 2.0, "b": 3.0}
    assert got["seconds"] > 0


@pytest.mark.thorough
def test_a_comparison_at_one_total_says_who_sees_what(capsys: pytest.CaptureFixture[str]) -> None:
    """What counts and labels guarantee where the randomizer is known, and what all votes do, as in a plan."""
    budget = ["--queries", "3", "--total-epsilon", "3", "--total-delta", "1e-5", "--voters", "fresh"]
    voters = ["--K", "5", "--epsilon", "1", "--base-accuracy", ".8", "--max-affected", "1"]
    given = ["compare", *voters, *budget, "--randomizer", "response", "--colluders", "0"]
    got = run_json(capsys, *given)
    assert got["mechanisms"][0]["total"] < got["counts"] <= got["mechanisms"][0]["aggregator"]
    assert main(given) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"The counts of the votes, without the votes, are ({got['counts']:.5f}"[:-2] in out
    assert "darrm release-shared needs none, if all its parties follow the protocol" in out
    assert run_json(capsys, "compare", *voters, *budget)["counts"] is None
    assert run_json(capsys, *(one.replace("response", "randomized response") for one in given)) == got


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("budget --noisy-max 40 --total-delta 1e-5", "Run once for each total."),
        (
            "plan --K 5 --epsilon 1 --base-accuracy .8 --max-affected 1 --queries 3 --total-delta 1e-5 --voters fresh",
            "Each of several budgets belongs to a group of voters: pass as many groups (--group), or run once for each "
            "total.",
        ),
    ],
    ids=["noisy max", "one group"],
)
def test_several_totals_are_several_runs_or_of_groups(
    capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    assert main([*command.split(), "--total-epsilon", "2,4,8"]) == 2
    assert f"Got [2, 4, 8]. {said}\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["solve", "verify", "compare"])
def test_json_is_strict_where_numbers_overflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = tmp_path / "gamma.json"
    darrm.solve(K=3, m=3, epsilon=800).save(path)
    arguments = [str(path)] if command == "verify" else ["--K", "3", "--m", "3", "--epsilon", "800"]
    assert main([command, *arguments, "--json"]) == 0

    def refuse(token: str) -> None:
        pytest.fail(f"{token} is no JSON")

    got = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert (got["mechanisms"][0] if command == "compare" else got)["certificate"]["holds"] is True


@pytest.mark.parametrize("engine", ["full-list", "full-list-cvxpy"])
def test_engines_agree(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    assert run_json(capsys, "solve", *PROBLEM, "--engine", engine)["gamma"][6:] == pytest.approx(PURE, abs=1e-7)


def test_solve_tells_the_result_to_a_reader(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", *PROBLEM]) == 0
    captured = capsys.readouterr()
    for text in ("5:6", "0.939703", "4:7", "0.542090", "0:11", "(0.3, 0)-DP", "replace-one"):
        assert text in captured.out
    assert "Solved and verified" in captured.err


def test_numbers_may_be_written_as_floats(capsys: pytest.CaptureFixture[str]) -> None:
    got = run_json(capsys, "solve", "--K", "11.0", "--m", "3e0", "--epsilon", "1e-1", "--max-affected", "11.0")
    assert got["gamma"][6:] == pytest.approx(PURE, abs=1e-8)


def test_solve_writes_a_design_that_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gamma.json"
    got = run_json(capsys, "solve", *PROBLEM, "--out", str(path))
    design = darrm.load(path)
    assert design.gamma.tolist() == got["gamma"]
    assert design.problem == darrm.MajorityProblem(K=11, m=3, epsilon=0.1)


def test_solve_takes_its_prior_from_a_votes_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "public.csv"
    path.write_text("a,b,c\n1,1,1\n1,1,0\n0,0,0\n1,1,1\n", encoding="utf-8")
    got = run_json(capsys, "solve", "--K", "3", "--m", "2", "--epsilon", "0.1", "--prior", f"votes:{path}")
    assert got["prior"] == {"kind": "votes", "histogram": [1.0, 0.0, 1.0, 2.0]}
    assert got["objective"] == "disagreement"


def test_verify_says_that_a_design_holds(design_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(design_file)]) == 0
    out = capsys.readouterr().out
    assert "Verified" in out
    assert "worst case" in out
    got = run_json(capsys, "verify", str(design_file))
    assert got["certificate"]["holds"] is True
    assert got["problem"]["K"] == 11


def test_verify_answers_no_for_a_table_that_breaks_its_guarantee(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gamma.json"
    design = darrm.solve(K=5, m=2, epsilon=0.1)
    object.__setattr__(design, "table", np.ones(6))
    design.save(path)
    assert main(["verify", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "is not certified (0.2, 0)-DP" in captured.err
    (tmp_path / "votes.csv").write_text("a,b,c,d,e\n1,1,1,1,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 1
    assert not Path("labels.csv").exists()


def test_solver_without_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gamma.json"
    assert main(["solve", *PROBLEM, "--time-limit", "1e-9", "--out", str(path)]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert not path.exists()


def test_release_answers_every_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, votes, labels = (str(tmp_path / name) for name in ("gamma.json", "votes.csv", "labels.csv"))
    # K voters with an allowance of K epsilon need no noise, so the labels are known.
    darrm.solve(K=3, m=3, epsilon=0.1).save(design)
    Path(votes).write_text('id,a,b,c\nx,1,1,0\n"y, z",0,0,1\n', encoding="utf-8")
    got = run_json(capsys, "release", design, "--votes", votes, "--out", labels)
    assert got["labels"] == 2
    assert got["out"] == labels
    assert got["epsilon_of_one_label"] == pytest.approx(0.3)
    rows = list(csv.reader(io.StringIO(Path(labels).read_text(encoding="utf-8"))))
    assert rows == [["id", "label"], ["x", "1"], ["y, z", "0"]]


def test_release_speaks_on_standard_error_only(
    design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    votes, labels = tmp_path / "votes.csv", tmp_path / "labels.csv"
    header = ",".join(f"v{i}" for i in range(11))
    votes.write_text(f"{header}\n" + f"{','.join('1' * 11)}\n" * 3, encoding="utf-8")
    assert main(["release", str(design_file), "--votes", str(votes), "--out", str(labels)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Wrote 3 labels" in captured.err
    assert "Those of fixed voters do not" in captured.err
    lines = labels.read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "1", "2", "3"]
    assert {line.split(",")[1] for line in lines[1:]} <= {"0", "1"}


@pytest.mark.thorough
def test_compare_json_lists_every_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    got = run_json(capsys, "compare", *PROBLEM)
    assert got["problem"]["K"] == 11
    rows = got["mechanisms"]
    names = [row["name"].split(" (")[0].split(",")[0] for row in rows]
    expected = ["gamma_opt", "monotone", "double subsampling of 5 votes", "subsampling of 3 votes"]
    noisy = ["tuned subsampling", "Gaussian noisy max", "Laplace noisy max"]
    noisy += ["permute-and-flip", "exponential mechanism"]
    assert names == [*expected, "randomized response", "randomized response", *noisy, "plain majority"]
    assert all(len(row["gamma"]) == 12 for row in rows)
    np.testing.assert_allclose(rows[0]["gamma"][6:], PURE, rtol=0, atol=1e-8)
    assert not rows[-1]["certificate"]["holds"]


@pytest.mark.thorough
def test_compare_takes_noise_functions_of_the_user(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, design_file: Path
) -> None:
    mine = [abs(2 * l - 11) / 11 for l in range(12)]
    texts = ["--extra", f"mine={','.join(map(str, mine))}", "--extra", f"kept={design_file}"]
    rows = {row["name"]: row for row in run_json(capsys, "compare", *PROBLEM, *texts)["mechanisms"]}
    assert rows["mine"]["gamma"] == mine
    assert rows["kept"]["error"] == pytest.approx(rows["gamma_opt"]["error"], rel=1e-9)
    assert rows["kept"]["certificate"]["holds"]
    for wrong, said in (
        (["mine"], "--extra must be NAME=g0"),
        (["mine=1,x"], "--extra mine must be numbers"),
        (["mine=1,1"], "--extra mine: gamma"),
        (texts[1::2][:1] * 2, "a name of its own"),
    ):
        assert main(["compare", *PROBLEM, *(word for text in wrong for word in ("--extra", text))]) == 2
        assert said in capsys.readouterr().err
    many = ["--queries", "5", "--total-epsilon", "1", "--total-delta", "1e-6", "--voters", "fresh"]
    assert main(["compare", "--K", "11", "--epsilon", "0.1", *many, "--extra", "mine=1"]) == 2
    assert "--extra is for one release" in capsys.readouterr().err


@pytest.mark.thorough
def test_compare_prints_what_it_computed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row["name"]: row for row in run_json(capsys, "compare", *PROBLEM)["mechanisms"]}
    monkeypatch.setenv("COLUMNS", "150")
    assert main(["compare", *PROBLEM]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, row in rows.items():
        line = next(line for line in lines if line.strip().startswith(f"{name}  "))
        assert f"{row['error']:.6f}" in line
        assert line.split()[-1] == ("yes" if row["certificate"]["holds"] else "no")


@pytest.mark.thorough
def test_demo_keeps_a_design_and_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "demo"
    assert main(["demo", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    for text in ("fresh", "affects 1 of the 25 votes", "planned", "plain majority", "verified", "within the privacy"):
        assert text in out
    assert (
        "keep secret the column on these votes and the error rates of the answers: they are computed from the votes"
        in " ".join(out.split())
    )
    design = darrm.load(folder / "gamma.json")
    assert (design.problem.K, design.problem.max_affected) == (25, 1)
    assert darrm.accounting.compose(design, 100, delta=1e-6, voters="fresh").upper <= 6
    assert len((folder / "labels.csv").read_text(encoding="utf-8").splitlines()) == 101


@pytest.mark.thorough
def test_demo_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    said = r"To plan for your own voters, as in the example of its help:\n  darrm plan --help\n"
    assert re.fullmatch(said, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main([option]) == 0
    out = capsys.readouterr().out
    assert {"solve", "verify", "release", "compare", "demo"} <= set(app.commands)
    for name in app.commands:
        assert f"  {name} " in out


@pytest.mark.every
@pytest.mark.parametrize("name", sorted(app.commands))
def test_every_command_has_help_for_every_option(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: darrm {name}")
    for parameter in app.commands[name].params:
        assert parameter.opts[0] in out or parameter.param_type_name == "argument"


def test_no_command_shows_the_help_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage: darrm" in captured.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"darrm, version {darrm.__version__}\n"


def test_both_shapes_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    got = run_json(capsys, "solve", *PROBLEM, "--both-shapes")
    monotone = darrm.solve(K=11, m=3, epsilon=0.1, shape="monotone")
    assert got["shapes"]["free"]["error"] == got["error"]
    assert got["shapes"]["monotone"]["error"] == monotone.error > got["error"]
    assert main(["solve", *PROBLEM, "--both-shapes"]) == 0
    assert f"shape monotone: expected TV error {monotone.error:.8g}" in " ".join(capsys.readouterr().out.split())


def test_the_best_so_far_is_certified(capsys: pytest.CaptureFixture[str]) -> None:
    late = ["--K", "101", "--m", "10", "--epsilon", "0.1", "--voter-delta", "1e-5", "--prior", "common"]
    got = run_json(capsys, "solve", *late, "--time-limit", "1e-3", "--on-time-limit", "best")
    assert got["certificate"]["holds"]
    assert got["error"] - got["gap"] <= 0.0111902840
    assert got["error"] > 0.0111902841


def test_release_says_what_it_rests_on(design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text(",".join("abcdefghijk") + "\n" + ",".join("1" * 11) + "\n", encoding="utf-8")
    assert main(["release", str(design_file), "--votes", str(votes), "--out", str(tmp_path / "labels.csv")]) == 0
    assert (
        "each is (0.1, 0)-DP, and a change to a neighbouring data set (replace-one) affects at most 11"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("needed", "holds", "said"), [(1.9999999e-7, True, "1.9999999e-07 <="), (2.0000001e-7, False, "2.00001e-07 >")]
)
def test_a_needed_delta_is_on_the_side_of_delta_that_the_verdict_says(
    needed: float, holds: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded up it would be 2e-7, above a delta of 1.99999995e-7 that it is at most."""
    part = SimpleNamespace(certificate=SimpleNamespace(needed_delta=needed, tight_epsilon=1.0, holds=holds, kinds={}))
    monkeypatch.setattr(common, "tables_of", lambda design: [part])
    one = SimpleNamespace(delta=1.99999995e-7)
    design = SimpleNamespace(problem=SimpleNamespace(kinds={"": one}), absent=False, of_kind=lambda kind: design)
    assert f"needed delta {said} delta 1.99999995e-07" in common.tightness(design)  # type: ignore[arg-type]


def test_a_computed_delta_is_printed_with_few_digits(capsys: pytest.CaptureFixture[str]) -> None:
    """All digits of 1 - (1 - Delta)^m say nothing, and those of a typed delta are what was asked for."""
    solve = ["solve", "--K", "11", "--m", "3", "--epsilon", "0.1", "--voter-delta", "1e-5"]
    assert main(solve) == 0
    said = " ".join(capsys.readouterr().out.split())
    # The delta is 2.9999700001e-05, and both figures are rounded up.
    assert re.search(
        r"needed delta 2\.9999[78]e-05 <= delta 2\.99998e-05; tight epsilon 0\.3 at delta 2\.99998e-05", said
    )
    assert main([*solve, "--delta", "2.123456789e-5"]) == 0
    assert "<= delta 2.123456789e-05; tight" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("K", "said"), [(2, True), (3, False)])
def test_a_comparison_says_what_a_tie_does_where_there_is_one(
    capsys: pytest.CaptureFixture[str], K: int, *, said: bool
) -> None:
    assert main(["compare", "--K", str(K), "--m", "1", "--epsilon", ".5"]) == 0
    assert ("a tie agrees with both labels. A tie releases" in " ".join(capsys.readouterr().out.split())) is said


@pytest.mark.thorough
def test_no_name_of_a_mechanism_breaks_inside_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compare", "--K", "11", "--m", "7", "--epsilon", ".1"]) == 0  # all seven hold
    tables = capsys.readouterr().out.partition("gamma by votes")[2]
    for word in ("gamma_opt", "monotone", "subsampling", "randomized", "response", "majority"):
        assert word in tables
