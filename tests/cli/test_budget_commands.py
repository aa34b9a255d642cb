"""profile, budget, plan and ledger, as a user types them."""

import csv
import json
import math
import re
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.accounting.accounts import Labels
from darrm.cli import main


@pytest.fixture(scope="module")
def design_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("design") / "gamma.json"
    darrm.solve(K=11, m=3, epsilon=0.0892, Delta=1e-4).save(path)
    return path


@pytest.fixture
def votes_file(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(",".join("abcdefghijk") + "\n" + f"{','.join('01010101011')}\n" * 30, encoding="utf-8")
    return path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def refused(capsys: pytest.CaptureFixture[str], status: int, *arguments: str) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


@pytest.mark.parametrize("asked", [("--queries", "5"), ("--total-epsilon", "9")])
def test_a_plan_for_fixed_voters_has_no_budget_of_fresh_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: tuple[str, str]
) -> None:
    path = str(tmp_path / "plan.json")
    darrm.solve(K=3, m=1, epsilon=0.2).for_plan("fixed").save(path)
    budget = ("budget", path, *asked, "--total-delta", "1e-5", "--voters")
    assert "planned for fixed voters" in refused(capsys, 2, *budget, "fresh")
    assert main([*budget, "fixed"]) == 0


@pytest.mark.thorough
def test_profile_falls_to_the_guarantee(design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = run_json(capsys, "profile", str(design_file), "--epsilons", "0,0.1,0.2676,inf")["profile"]
    assert [point["epsilon"] for point in points] == [0, 0.1, 0.2676, None]
    assert points[2]["delta"] == pytest.approx(2.9997e-4, rel=1e-6)
    assert all(point["delta_lower"] <= point["delta"] for point in points)
    picture = tmp_path / "profile.png"
    assert main(["profile", str(design_file), "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "The profile holds for one release if" in capsys.readouterr().out


@pytest.mark.thorough
def test_budget_of_noisy_max_for_any_votes(design_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = ["budget", "--noisy-max", "40", "--total-delta", "1e-5"]
    total = run_json(capsys, *noise, "--queries", "30")
    assert total["upper"] == darrm.accounting.compose(darrm.mechanisms.GaussianNoisyMax(40), 30, delta=1e-5).upper
    assert total["upper"] == total["bounds"]["ladder of Gaussian profiles"]
    assert main([*noise, "--queries", "5"]) == 0
    assert "5 labels together are (" in (said := " ".join(capsys.readouterr().out.split()))
    assert "any number of votes and classes, if a change of one record changes one vote, or adds" in said
    assert "no vote decides what to ask, draw again or release" in said
    most = run_json(capsys, *noise, "--total-epsilon", "0.4")["queries"]
    assert main([*noise, "--total-epsilon", "0.4"]) == 0
    assert f"(0.4, 1e-05) covers {most} labels." in capsys.readouterr().out
    assert "Pass either the file of a design or --noisy-max" in refused(
        capsys, 2, *noise, str(design_file), "--queries", "5"
    )
    assert "voters does not apply" in refused(capsys, 2, *noise, "--queries", "5", "--voters", "fresh")
    assert "--noisy-max must be" in refused(
        capsys, 2, "budget", "--noisy-max", "0", "--total-delta", "1e-5", "--queries", "5"
    )


@pytest.mark.thorough
def test_budget_of_fresh_and_fixed_voters(design_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["budget", str(design_file), "--queries", "100", "--total-delta", "0.0297"]
    fresh = run_json(capsys, *arguments, "--voters", "fresh")
    assert 5.03 < fresh["lower"] <= fresh["upper"] <= 5.33
    fixed = run_json(capsys, *arguments, "--voters", "fixed")
    assert fixed["upper"] < 0.3
    for voters, words in (("fresh", "for adaptively chosen queries"), ("fixed", "or any number of them, are")):
        assert main([*arguments, "--voters", voters]) == 0
        assert words in (said := " ".join(capsys.readouterr().out.split()))
        assert "no vote decides what to ask, draw again or release" in said


@pytest.mark.parametrize("planned", ["", "fresh"])
def test_that_a_plan_prints_another_total_is_told_of_its_file_alone(
    planned: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, problem = str(tmp_path / "d.json"), darrm.DecisionProblem([darrm.VoterGroup(1, 1.0, max_affected=1)], 1.0)
    darrm.Design(problem, [0.4, 0.6], darrm.objectives.truth([0.7]), planned_for=planned).save(file)
    assert main(["budget", file, "--queries", "2", "--total-delta", "0.01", "--voters", "fresh"]) == 0
    assert ("stop at coarser bounds. All hold." in " ".join(capsys.readouterr().out.split())) is bool(planned)


@pytest.mark.thorough
def test_words_of_the_figures_are_explained(
    design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pure = tmp_path / "pure.json"
    darrm.solve(K=5, m=2, epsilon=0.5).save(pure)
    for file, has_largest_loss in ((pure, True), (design_file, False)):  # with Delta no loss is the largest
        assert main(["budget", str(file), "--queries", "2", "--total-delta", "0.01", "--voters", "fresh"]) == 0
        assert ("Pure-DP epsilon of a label: the largest change" in capsys.readouterr().out) is has_largest_loss
    assert main(["profile", str(pure), "--epsilons", "1"]) == 0
    assert "Achieved: some voters" in capsys.readouterr().out


def test_voters_without_privacy_are_not_called_fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, ledger = str(tmp_path / "table.json"), str(tmp_path / "ledger.db")
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, math.inf, max_affected=1)], epsilon=0.5)
    darrm.solve(problem, objective=darrm.objectives.truth([0.8])).save(file)
    assert main(["budget", file, "--total-delta", "1e-6", "--total-epsilon", "2"]) == 0
    assert main(["ledger", "create", ledger, file, "--total-epsilon", "2", "--total-delta", "1e-6"]) == 0
    assert main(["ledger", "show", ledger]) == 0
    said = capsys.readouterr().out
    assert "labels of non-private voters" in said
    assert "for non-private voters, rule exact" in " ".join(said.split())
    assert main(["budget", file, "--total-delta", "1e-6", "--queries", "2"]) == 0
    assert main(["profile", file, "--epsilons", "1"]) == 0
    assert main(["verify", file, "--independent"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "For some non-private voters, epsilon is at least" in said
    assert "Achieved: some non-private voters reach" in said
    assert "votes may depend on each other" in said
    assert "as private as stated" not in said
    assert "vote independently" not in said


@pytest.mark.thorough
def test_how_many_labels_a_budget_pays_for(design_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["budget", str(design_file), "--total-delta", "0.0297", "--voters", "fresh"]
    assert run_json(capsys, *arguments, "--total-epsilon", "5.32")["queries"] == 100
    assert main([*arguments, "--total-epsilon", "5.32"]) == 0
    assert "covers 100 labels of fresh voters" in capsys.readouterr().out
    assert "either --queries or" in refused(capsys, 2, *arguments)


@pytest.mark.parametrize(
    ("Delta", "adjacency", "voters", "asked"),
    [
        (1e-7, "replace-one", "fixed", "Accountants of DP-SGD"), (1e-7, "add-remove", "fixed", ""),
        (0.0, "replace-one", "fixed", "If their epsilon is for"), (1e-7, "replace-one", "fresh", ""),
    ],
)  # fmt: skip
def test_fixed_voters_are_asked_for_their_neighbours(
    Delta: float, adjacency: str, voters: str, asked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, book = str(tmp_path / "design.json"), str(tmp_path / "book.json")
    darrm.solve(K=3, m=1, epsilon=0.5, Delta=Delta, max_affected=1, adjacency=adjacency).save(file)
    of = ["--voters", voters]
    for budget in (
        ["budget", file, "--queries", "2", "--total-delta", "1e-6", *of],
        ["budget", file, "--total-epsilon", "2", "--total-delta", "1e-6", *of],
        ["ledger", "create", book, file, "--total-epsilon", "2", "--total-delta", "1e-6", *of],
    ):
        assert main(budget) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert told.endswith("with adjacency add-remove.") is bool(asked)
        assert asked in told


@pytest.mark.thorough
def test_accountants_are_asked_after_for_private_voters_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, groups in enumerate(((math.inf, 1e-7, 1.0, 0.0), (math.inf, 0.0, 1.0, 1e-7))):
        pair = [darrm.VoterGroup(2, groups[0], groups[1]), darrm.VoterGroup(3, groups[2], groups[3])]
        problem = darrm.DecisionProblem(pair, epsilon=1.0, delta=1e-3, max_affected=1)
        file = tmp_path / f"{number}.json"
        darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.7])).save(file)
        assert main(["budget", str(file), "--queries", "1", "--total-delta", "0.01", "--voters", "fixed"]) == 0
        assert ("Accountants of DP-SGD" in " ".join(capsys.readouterr().out.split())) is (number == 1)


@pytest.mark.parametrize(("total", "many"), [("2.5", "any number of labels"), ("0.6", "1 label")])
def test_the_price_of_fixed_voters_pays_for_any_number_of_labels(
    total: str, many: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "design.json"
    darrm.solve(K=5, m=1, epsilon=0.5).save(file)
    assert main(["budget", str(file), "--total-epsilon", total, "--total-delta", "0", "--voters", "fixed"]) == 0
    assert f"({total}, 0) covers {many} of fixed voters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--voters": None}, '"fresh"'),
        ({"--voters": "both"}, '"fixed"'),
        ({"--queries": "0"}, "queries must be"),
        ({"--queries": "many"}, "queries must be"),
        ({"--total-delta": "nan"}, "delta must be"),
        ({"--total-delta": "-1"}, "delta must be"),
        ({"--total-delta": "0.001"}, "0.018018"),
    ],
)
def test_budgets_that_are_none(
    design_file: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str | None], words: str
) -> None:
    options = {"--queries": "100", "--total-delta": "0.0297", "--voters": "fresh", **change}
    given = [text for name, value in options.items() if value is not None for text in (name, value)]
    assert words in refused(capsys, 2, "budget", str(design_file), *given)


@pytest.mark.parametrize("epsilons", ["-1", "nan", "a", "", "0,,1"])
def test_epsilons_that_are_none(design_file: Path, capsys: pytest.CaptureFixture[str], epsilons: str) -> None:
    assert "epsilons must be" in refused(capsys, 2, "profile", str(design_file), "--epsilons", epsilons)


@pytest.mark.thorough
def test_plan_stays_within_its_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--K", "5", "--epsilon", "0.1", "--queries", "10", "--total-epsilon", "1.5", "--total-delta", "1e-4"]
    sure, out = [*options, "--max-affected", "5", "--accuracy", "0.8"], tmp_path / "plan.json"
    got = run_json(capsys, "plan", *sure, "--voters", "fresh", "--out", str(out))
    assert 1.485 < got["spent"] <= 1.5
    assert darrm.load(out).table.tolist() == got["design"]["table"]
    assert got["comparison"][0]["wrong"] == got["wrong"] < got["comparison"][1]["wrong"]
    assert got["curve"] == []
    assert main(["plan", *sure, "--voters", "fixed"]) == 0
    assert "10 labels together are (0.49749, 0.0001)-DP" in " ".join(capsys.readouterr().out.split())
    assert "voters must be" in refused(capsys, 2, "plan", *sure)
    for missing, words in {
        "--max-affected": "max_affected must be given",
        "--accuracy": "one of base_accuracy",
    }.items():
        at = sure.index(missing)
        assert words in refused(capsys, 2, "plan", *sure[:at], *sure[at + 2 :], "--voters", "fresh")


@pytest.mark.thorough
def test_plan_by_a_prior_of_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--K", "5", "--epsilon", "0.1", "--queries", "10", "--total-epsilon", "1.5", "--total-delta", "1e-4"]
    options += ["--max-affected", "5", "--prior", "uniform", "--voters", "fresh"]
    out = tmp_path / "plan.json"
    got = run_json(capsys, "plan", *options, "--out", str(out))
    assert 1.45 < got["spent"] <= 1.5
    assert darrm.load(out).gamma.tolist() == got["design"]["gamma"]
    planned, *others = got["comparison"]
    assert planned["disagreement"] == got["disagreement"]
    assert len(others) >= 6
    assert others[-1]["name"] == "plain majority of fixed voters"
    assert all(other["disagreement"] > planned["disagreement"] for other in others[:-1] if other["within"])
    assert got["wrong"] is None or got["wrong"] != got["wrong"]


@pytest.mark.thorough
def test_plan_for_votes_whose_epsilon_is_to_be_found(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--K", "3", "--epsilon", "auto", "--queries", "5", "--total-epsilon", "2", "--total-delta", "1e-4"]
    options += ["--max-affected", "1", "--voters", "fresh", "--base-accuracy", "0.9"]
    got = run_json(capsys, "plan", *options, "--aggregator-epsilon", "5", "--no-comparison")
    assert got["curve"][-1]["epsilon"] == got["vote_epsilon"] > 0.5
    assert all(step["public"] <= 2 and step["aggregator"] <= 5 for step in got["curve"])
    assert "needs an upper end" in refused(capsys, 2, "plan", *options)


@pytest.mark.thorough
def test_release_charges_its_ledger(
    design_file: Path, votes_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, out = tmp_path / "ledger.json", tmp_path / "labels.csv"
    budget = ["--total-epsilon", "3", "--total-delta", "0.0297", "--voters", "fresh"]
    made = run_json(capsys, "ledger", "create", str(book), str(design_file), *budget)
    allowed = made["left"]
    assert 30 <= allowed < 60
    release = ["release", str(design_file), "--votes", str(votes_file), "--ledger", str(book)]
    assert main([*release, "--out", str(out)]) == 0
    assert f"{allowed - 30} left" in capsys.readouterr().err
    assert len(out.read_text(encoding="utf-8").splitlines()) == 31
    again = tmp_path / "again.csv"
    assert "would overspend" in refused(capsys, 3, *release, "--out", str(again))
    assert not again.exists()
    shown = run_json(capsys, "ledger", "show", str(book))
    assert shown["released"] == 30
    budget_of_30 = ["budget", str(design_file), "--queries", "30", "--total-delta", "0.0297", "--voters", "fresh"]
    assert shown["spent_epsilon"] == pytest.approx(run_json(capsys, *budget_of_30)["upper"], rel=0.01)
    assert shown["spent_delta"] == 0.0297
    assert (made["spent_epsilon"], made["spent_delta"]) == (0, 0)
    assert main(["ledger", "show", str(book)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "30 labels released" in said
    assert re.search(r"Spent so far, certified: \(2\.1\d+, 0\.0297\)", said)


def test_what_a_caller_stated_is_no_certificate(
    design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = str(tmp_path / "ledger.db")
    budget = ["--total-epsilon", "30", "--total-delta", "0.5", "--voters", "fresh", "--rule", "renyi-filter"]
    assert main(["ledger", "create", book, *budget]) == 0
    for charge, said in (
        ([str(design_file)], "certified: ("),
        (["--epsilon", "1", "--adjacency", "replace-one"], "certified, if each charged pair, event or distribution "),
    ):
        assert main(["ledger", "charge", book, *charge]) == 0
        assert f"Spent so far, {said}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_every_charge_has_a_time_a_host_and_a_digest(
    design_file: Path, votes_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, out = tmp_path / "ledger.db", tmp_path / "charges.csv"
    budget = ["--total-epsilon", "30", "--total-delta", "0.0297", "--voters", "fresh", "--rule", "in-advance"]
    begun = datetime.now(UTC)
    assert main(["ledger", "create", str(book), *budget]) == 0
    pair = ["--epsilon", "0.5", "--adjacency", "replace-one", "--note", "a count, of all"]
    assert main(["ledger", "charge", str(book), *pair, "--times", "2"]) == 0
    labels = ["--votes", str(votes_file), "--out", str(tmp_path / "labels.csv"), "--ledger", str(book)]
    assert main(["release", str(design_file), *labels]) == 0
    capsys.readouterr()
    shown = run_json(capsys, "ledger", "show", str(book))["history"]
    design = darrm.load(design_file)
    assert [charge["n"] for charge in shown] == [2, 30]
    assert [charge["note"] for charge in shown] == ["a count, of all", ""]
    assert {charge["host"] for charge in shown} == {socket.gethostname()}
    assert shown[1]["digest"] == Labels.of(design).name != shown[0]["digest"]
    times = [datetime.fromisoformat(charge["time"]) for charge in shown]
    assert begun <= times[0] <= times[1] <= datetime.now(UTC)
    assert run_json(capsys, "ledger", "export", str(book), "--csv", str(out)) == {"charges": 2, "out": str(out)}
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{name: "" if cell is None else str(cell) for name, cell in charge.items()} for charge in shown]
    assert main(["ledger", "show", str(book)]) == 0
    assert f"at {shown[1]['time']} on {socket.gethostname()}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_a_ledger_shows_what_its_labels_cost_if_the_assumption_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, file = str(tmp_path / "ledger.json"), str(tmp_path / "known.json")
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 1}
    problem = darrm.DecisionProblem([darrm.VoterGroup(5, 1.0, max_affected=1, **known)], 1.0)
    design = darrm.Design(problem, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0], darrm.objectives.truth([0.7]))
    design.save(file)
    budget = ["--total-epsilon", "9", "--total-delta", "1e-6", "--voters", "fresh"]
    assert "fallback" not in run_json(capsys, "ledger", "create", book, file, *budget)
    charged = run_json(capsys, "ledger", "charge", book, file, "--times", "5")
    shown = run_json(capsys, "ledger", "show", book)
    assert charged["fallback"] == shown["fallback"] == pytest.approx(5, rel=1e-5)  # every label the affected vote
    assert shown["spent_epsilon"] < 4.9
    assert main(["ledger", "show", book]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "This holds if every voter but 1 draws every vote" in said
    both = r"All charges together are \((5|4\.9999\d*), 1e-06\)-DP if only the affected voters randomize as stated"
    assert re.search(both, said)
    assert "The ledger keeps no budget for it" in said
    capped = [str(tmp_path / "capped.json"), file]
    made = run_json(capsys, "ledger", "create", *capped, *budget, "--fallback-epsilon", "9.5")
    assert (made["fallback_epsilon"], made["left"]) == (9.5, 9)
    assert "second budget of this ledger, epsilon 9.5" in refused(
        capsys, 3, "ledger", "charge", *capped, "--times", "10"
    )
    assert main(["ledger", "charge", *capped, "--times", "5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "If the charges depend on what was released, claim the second budget, epsilon 9.5, in place of it." in said
    asked = ["budget", file, "--queries", "5", "--total-delta", "1e-6", "--voters", "fresh"]
    assert run_json(capsys, *asked)["fallback"] == pytest.approx(5, rel=1e-2)
    covered = run_json(capsys, "budget", file, "--total-epsilon", "4", *asked[4:])
    labels = ["--queries", str(covered["queries"])]
    assert covered["fallback"] == run_json(capsys, "budget", file, *labels, *asked[4:])["fallback"]
    assert main(asked) == 0
    assert "draw again or release. If you do not know" in " ".join(capsys.readouterr().out.split())
    voters = "--group 3:1 --randomizer response --colluders 0 --base-accuracy .8 --max-affected 1"
    asked = "--queries 1 --total-epsilon .5 --total-delta 0 --fallback-epsilon 0.6 --voters fresh --no-comparison"
    assert main([*f"plan {voters} {asked} --out".split(), str(tmp_path / "p.json")]) == 0
    assert "--total-epsilon 0.5 --total-delta 0.0 --fallback-epsilon 0.6 --voters fresh" in capsys.readouterr().err


def test_ledgers_that_cannot_be(design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = tmp_path / "ledger.json"
    make = ["ledger", "create", str(book), str(design_file), "--total-delta", "0.0297"]
    assert "voters must be" in refused(capsys, 2, *make, "--total-epsilon", "3")
    assert "does not cover" in refused(capsys, 3, *make, "--total-epsilon", "0.001", "--voters", "fresh")
    assert "--total-epsilon must be" in refused(capsys, 2, *make, "--total-epsilon", "nan", "--voters", "fresh")
    assert "does not exist" in refused(capsys, 2, "ledger", "show", str(tmp_path / "none.json"))
    assert not book.exists()


@pytest.mark.thorough
def test_fixed_voters_are_charged_once(
    design_file: Path, votes_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "ledger.json"
    made = run_json(capsys, "ledger", "create", str(book), str(design_file), "--total-epsilon", "1", "--total-delta",
                    "0.0011", "--voters", "fixed")  # fmt: skip
    assert made["left"] is None
    for name in ("a", "b", "c"):
        arguments = ["--votes", str(votes_file), "--ledger", str(book), "--out", str(tmp_path / name)]
        assert main(["release", str(design_file), *arguments]) == 0
    assert run_json(capsys, "ledger", "show", str(book))["released"] == 90
    assert math.isclose(made["total_epsilon"], 1)


@pytest.mark.thorough
def test_labels_of_fixed_voters_alone_hold_whatever_decided_which(
    votes_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, file = str(tmp_path / "ledger.json"), tmp_path / "one.json"
    darrm.solve(K=11, m=1, epsilon=0.1, max_affected=1).save(file)
    budget = ["--total-epsilon", "1", "--total-delta", "1e-6", "--voters", "fixed", "--rule", "in-advance"]
    assert main(["ledger", "create", book, *budget]) == 0
    assert "This holds if all charges are fixed in advance" in " ".join(capsys.readouterr().out.split())
    release = ["release", str(file), "--votes", str(votes_file), "--ledger", book, "--out", str(tmp_path / "l.csv")]
    assert main(release) == 0
    told = " ".join(capsys.readouterr().err.split())
    alone = "if only labels of these voters were charged, chosen in any way"
    assert "rule in-advance, if the voters are independent" in told
    assert f"It rests on this too: {alone.removeprefix('if ')}." in told
    assert main(["ledger", "show", book]) == 0
    assert f"This holds {alone}." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("rule", ["exact", "basic-filter"])
def test_a_new_ledger_says_how_many_labels_of_the_design_it_covers(
    design_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str
) -> None:
    book = str(tmp_path / "ledger.db")
    budget = ["--total-epsilon", "1", "--total-delta", "0.1", "--voters", "fresh", "--rule", rule]
    assert main(["ledger", "create", book, str(design_file), *budget]) == 0
    said = " ".join(capsys.readouterr().out.split())
    left = run_json(capsys, "ledger", "show", book, str(design_file))["left"]
    assert left > 0
    assert f"that the remaining budget covers: {left}." in said or f"released, {left} left." in said


@pytest.mark.thorough
def test_a_ledger_of_everything(
    design_file: Path, votes_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = str(tmp_path / "ledger.json")
    budget = ["--total-epsilon", "8", "--total-delta", "0.1", "--voters", "fresh", "--rule", "in-advance"]
    assert main(["ledger", "create", book, *budget]) == 0
    assert "fixed in advance, independently of what was released" in " ".join(capsys.readouterr().out.split())
    pair = ["--epsilon", "0.5", "--delta", "1e-6"]
    assert "has no stated neighbouring relation" in refused(capsys, 2, "ledger", "charge", book, *pair)
    pair += ["--adjacency", "replace-one", "--note", "a count", "--times", "2"]
    counted = run_json(capsys, "ledger", "charge", book, *pair)
    assert counted["charges"] == [{"what": "(0.5, 1e-06)-DP", "n": 2, "note": "a count"}]
    training = ["--noise-multiplier", "1.1", "--sampling-rate", "0.01", "--steps", "100"]
    trained = run_json(capsys, "ledger", "charge", book, *training)
    assert trained["spent_epsilon"] > counted["spent_epsilon"] > 0
    release = ["release", str(design_file), "--votes", str(votes_file), "--ledger", book]
    assert main([*release, "--out", str(tmp_path / "labels.csv")]) == 0
    told = " ".join(capsys.readouterr().err.split())
    left = run_json(capsys, "ledger", "show", book, str(design_file))
    assert left["released"] == 30
    assert f"{left['left']} left" in told
    assert "fixed in advance, independently of what was released" in told
    assert main(["ledger", "show", book, str(design_file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        rf"Labels of this design \([0-9a-f]{{8}}\) that the remaining budget covers: {left['left']}\.", said
    )
    assert "2 x (0.5, 1e-06)-DP (a count)" in said
    too_many = ["ledger", "charge", book, str(design_file), "--times", str(left["left"] + 1)]
    assert f"{left['left']} are left" in refused(capsys, 3, *too_many)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Charge a design, FILE, or a mechanism"),
        (["gamma.json", "--epsilon", "1"], "Charge a design, FILE, or a mechanism"),
        (["--epsilon", "1", "--noise-multiplier", "1"], "Charge a design, FILE, or a mechanism"),
        (["--noise-multiplier", "1", "--delta", "1e-6"], "--delta goes with --epsilon"),
        (["--epsilon", "1", "--steps", "3"], "go with --noise-multiplier"),
        (["--noise-multiplier", "0"], "--noise-multiplier must be"),
        (["--noise-multiplier", "1", "--sampling-rate", "2"], "--sampling-rate must be"),
        (["--noise-multiplier", "1", "--steps", "2.5"], "steps must be"),
        (["--epsilon", "1", "--adjacency", "replace-one", "--times", "0"], "--times must be"),
        (["--epsilon", "1", "--adjacency", "replace-one", "--note", "two\nlines"], "note must be"),
        (["missing.json"], "missing.json could not be read"),
    ],
)
def test_charges_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    book = tmp_path / "ledger.json"
    budget = ["--total-epsilon", "8", "--total-delta", "0.1", "--voters", "fresh", "--rule", "in-advance"]
    assert main(["ledger", "create", str(book), *budget]) == 0
    before = book.read_bytes()
    capsys.readouterr()
    assert message in refused(capsys, 2, "ledger", "charge", str(book), *arguments)
    assert book.read_bytes() == before


@pytest.mark.parametrize("voters", [["--group", "1000000:1"], ["--K", "1000000", "--epsilon", "1"]])
def test_a_plan_that_no_file_holds_is_refused_before_it_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, voters: list[str]
) -> None:
    monkeypatch.setattr("darrm.planning.planner.plan", None)
    labels = ["--accuracy", "0.7", "--max-affected", "1", "--queries", "10", "--voters", "fresh"]
    budget = ["--total-epsilon", "5", "--total-delta", "1e-6", "--out", str(tmp_path / "design.json")]
    said = refused(capsys, 2, "plan", *voters, *labels, *budget)
    assert "at most 30,000,000 can be read again" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_ledger_shown_with_another_design_keeps_what_it_says_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    for epsilon in (0.3, 0.6):
        problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], epsilon=epsilon, max_affected=1)
        darrm.solve(problem, objective=darrm.objectives.truth([0.7])).save(tmp_path / f"{epsilon}.json")
    ledger = tmp_path / "ledger.db"
    design = darrm.load(tmp_path / "0.3.json")
    darrm.accounting.Ledger.create(ledger, design, total_epsilon=2.0, total_delta=1e-6, voters="fresh").charge(
        design, 2
    )
    said = []
    for file in ("0.3.json", "0.6.json"):
        assert main(["ledger", "show", str(ledger), str(tmp_path / file)]) == 0
        said.append(" ".join(capsys.readouterr().out.split()))
    own, other = (text.partition("Last charge")[0] for text in said)
    assert "count the whole budget, (2, 1e-06), instead." in own
    assert own.split("This holds")[0].strip() in other
    called = []
    for file in ("0.3.json", "0.6.json"):
        assert main(["verify", str(tmp_path / file)]) == 0
        called += re.findall(r"A ledger calls it (design [0-9a-f]{8})\.", capsys.readouterr().out)
    assert f"It covers no label of the given file ({called[1]})." in other
    assert f"This ledger was made for labels of 3 voters, each label (0.3, 0)-DP ({called[0]})." in other
    assert "It covers no label" not in own
    design = darrm.load(tmp_path / "0.3.json")
    book = darrm.accounting.Ledger(ledger)
    book.charge(design, book.remaining(design) or 0)
    for file, covers in (("0.3.json", True), ("0.6.json", False)):
        shown = run_json(capsys, "ledger", "show", str(ledger), str(tmp_path / file))
        assert (shown["left"], shown["covers_file"]) == (0, covers)  # a spent budget, and a foreign design


def test_a_ledger_says_that_a_file_is_for_other_fixed_voters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their designs have one number, because no number depends on names."""
    ledger = tmp_path / "one.db"
    for names in ("abc", "abd"):
        problem = darrm.DecisionProblem([darrm.VoterGroup(3, 0.3, names=list(names))], 0.6)
        darrm.solve(problem, objective=darrm.objectives.truth([0.8])).save(tmp_path / f"{names}.json")
    own = darrm.load(tmp_path / "abc.json")
    darrm.accounting.Ledger.create(ledger, own, total_epsilon=0.9, total_delta=0.0, voters="fixed")
    said = []
    for names in ("abc", "abd"):
        assert main(["ledger", "show", str(ledger), str(tmp_path / f"{names}.json")]) == 0
        said.append(" ".join(capsys.readouterr().out.split()))
    assert "It covers no label" not in said[0]
    assert "This ledger charges the fixed voters ('a', 'b', 'c'), once. Got a design for ('a', 'b', 'd')." in said[1]
    assert all("Add the total of other voters on the same records" in text for text in said)


def test_what_a_plan_kept_and_its_file_does_not_hold_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 1}
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0, max_affected=1, **known)], 1.01)
    design = darrm.Design(problem, [0.0, 0.0, 1.0, 1.0], darrm.objectives.truth([0.7]), planned_for="fresh")
    file, votes, out = (str(tmp_path / name) for name in ("known.json", "votes.csv", "labels.csv"))
    design.save(file)
    budget = ["--total-epsilon", "3", "--total-delta", "1e-6", "--voters", "fresh"]
    assert main(["ledger", "create", str(tmp_path / "book.db"), file, *budget]) == 0
    assert "with --fallback-epsilon 6, the default of the plan, or with what the plan was" in capsys.readouterr().err
    Path(votes).write_text("a,b,c\n0,1,0\n1,1,0\n")
    assert main(["release", file, "--votes", votes, "--out", out]) == 0
    asked = r"total epsilon of 2 labels; pass the delta of the plan:\n.* --total-delta DELTA "
    assert re.search(asked, capsys.readouterr().err)
