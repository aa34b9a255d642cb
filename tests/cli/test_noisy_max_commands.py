"""Plans that no table fits: from `darrm plan` to a file of labels, and what other commands say of the file."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.accounting import compose
from darrm.cli import main
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax
from darrm.numerics.deadline import OutOfTime
from darrm.problem.limits import ANY_NUMBER
from darrm.show.plots_plan import plot_plan

CLASSES = "cat,dog,elk,fox,hen,jay,owl,pig,rat,yak"
PLAN = f"plan --group 250:inf --classes {CLASSES} --max-affected 1 --queries 5 --total-epsilon 4 --total-delta 1e-5"


RELEASE = ["--votes", "votes.csv", "--out", "labels.csv"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def planned(here: Path, capsys: pytest.CaptureFixture[str]) -> GaussianNoisyMax:
    assert main([*PLAN.split(), "--accuracy", ".6", "--out", "plan.json", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    made = GaussianNoisyMax.load("plan.json")
    assert said["mechanism"] == made.as_dict() | {"classes": CLASSES.split(",")}
    assert said["design"] is None
    assert compose(GaussianNoisyMax(made.sigma), 5, delta=1e-5).upper == pytest.approx(said["spent"], rel=1e-9)
    assert said["spent"] <= 4
    return made


def votes_file(name: str, n: int, K: int = 250, header: list[str] | None = None) -> np.ndarray:
    """Nearly all voters agree, so the label is certain."""
    votes = np.repeat(np.arange(n) % 10, K).reshape(n, K)
    votes[:, :20] = (votes[:, :20] + 1) % 10
    with Path(name).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header or [f"t{k}" for k in range(K)])
        rows.writerows(votes.tolist())
    return votes


def released(name: str) -> list[str]:
    return [line.split(",")[1] for line in Path(name).read_text().splitlines()[1:]]


def test_a_plan_says_why_and_for_which_votes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PLAN.split()) == 0
    said, beside = capsys.readouterr()
    said = " ".join(said.split())
    assert said.startswith("5 labels together are (4, 1e-05)-DP (certified)")
    assert "No table fits the votes of 250 voters for 10 classes, so the plan is Gaussian noisy max" in said
    assert "holds for any number of votes and classes. The mechanism is made for 250 voters and 10 classes" in said
    assert "To save the mechanism" in beside


def test_a_plan_that_takes_no_out_says_how_to_save_its_noise(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noisy max was found for lack of time; with --out the same command is refused, and a larger one is not."""

    def planned(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("darrm.planning.planner.planned", planned)
    monkeypatch.setattr("darrm.planning.beyond_tables.any_votes_sigma", lambda *_: 40.0)
    asked = "--accuracy .8 --max-affected 1 --queries 2 --total-epsilon 8 --total-delta 1e-5 --no-comparison"
    assert main(f"plan --group 25:inf --classes 10 {asked} --time-limit 60".split()) == 0
    beside = capsys.readouterr().err
    assert "--out" not in beside
    assert "GaussianNoisyMax(sigma=40.0, K=25, classes=10) has this noise; its save makes a file" in beside
    assert main(f"plan --group 25:inf --classes 10 {asked} --out p.json".split()) == 2
    assert "at most 30,000,000 can be read again" in capsys.readouterr().err
    for table in ("--total-delta 0", "--ordered", "--cost 0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0,1,1,1,1,1,0"):
        asked_for = asked.replace("--total-delta 1e-5", table) if "delta" in table else f"{asked} {table}"
        assert main(f"plan --group 100:inf --classes 5 {asked_for} --out p.json".split()) == 2
        assert "at most 30,000,000 can be read again" in capsys.readouterr().err
    assert main(f"plan --group 100:inf --classes 5 {asked} --out p.json".split()) == 0
    assert GaussianNoisyMax.load("p.json").sigma == 40


@pytest.mark.thorough
def test_labels_are_drawn_by_the_file(planned: GaussianNoisyMax, capsys: pytest.CaptureFixture[str]) -> None:
    votes = votes_file("votes.csv", 5)
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 0
    said, beside = capsys.readouterr()
    assert said == ""
    assert (
        "Gaussian, sigma 3.41894. A total holds for 250 votes for 10 classes, if a change of one record changes one "
        "vote, every label has" in beside
    )
    assert "darrm budget plan.json --queries 5 --total-delta DELTA" in beside
    labels = released("labels.csv")
    assert labels == [CLASSES.split(",")[row[-1]] for row in votes]
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv", "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mechanism"] == json.loads(json.dumps(planned.as_dict()))
    assert main(["budget", "plan.json", "--queries", "5", "--total-delta", "1e-5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("5 labels together are (4, 1e-05)-DP, certified.")
    assert "This holds for 250 votes for 10 classes, if" in said


def test_votes_of_another_shape_are_refused(planned: GaussianNoisyMax, capsys: pytest.CaptureFixture[str]) -> None:
    votes_file("votes.csv", 3, K=249)
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("darrm: votes.csv must have K = 250 vote columns")
    assert len(told.splitlines()) == 1
    assert not Path("labels.csv").exists()
    Path("votes.csv").write_text(f"id,{CLASSES}\nq,{','.join(['25'] * 10)}\n")
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 2
    assert "the number of votes for each class, pass --layout counts" in capsys.readouterr().err


def test_a_vote_that_is_missing_is_no_matter_of_a_design(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GaussianNoisyMax(40.0, K=3, classes=3).save("plan.json")
    darrm.solve(K=3, m=1, epsilon=1.0).save("gamma.json")
    Path("votes.csv").write_text("a,b,c\n0,-1,1\n")
    for file, said in (("plan.json", "Noisy max takes a vote of every voter."), ("gamma.json", "solved with --absent")):
        assert main(["release", file, *RELEASE]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert ("--absent" in told) == (file == "gamma.json")


def test_voters_are_read_by_their_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"school{k}" for k in range(250)]
    named = ",".join(names)
    assert main([*PLAN.split(), "--columns", named, "--out", "plan.json"]) == 0
    votes = votes_file("votes.csv", 4, 251, header=["other", *reversed(names)])
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 0
    assert "Vote columns were matched by name" in capsys.readouterr().err
    labels = released("labels.csv")
    assert labels == [CLASSES.split(",")[row[-1]] for row in votes]


@pytest.mark.parametrize(
    "command",
    ["verify --independent", "report", "report --out page.html", "profile", "export --out table.csv"],
)
def test_commands_for_tables_say_that_there_is_none(
    here: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    GaussianNoisyMax(40.0, K=250, classes=10).save("plan.json")
    ConfidentNoisyMax(threshold=5, sigma_check=8, sigma=4, K=250, classes=10).save("checked.json")
    for file, name in (("plan.json", "GaussianNoisyMax"), ("checked.json", "ConfidentNoisyMax")):
        assert main([*command.split(), file]) == 2
        told = capsys.readouterr().err
        assert told == (
            f"darrm: {file} is a file of noisy max, not a design file. It has no table of probabilities. "
            f"In Python read it by darrm.mechanisms.{name}.load. For what its labels cost, run: darrm budget {file} "
            "--queries N --total-delta D\n"
        )


def test_a_file_of_noisy_max_is_verified_by_its_checksum(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ConfidentNoisyMax(threshold=5, sigma_check=8, sigma=4, K=250, classes=["cat", "dog"])
    made.save("plan.json")
    assert main(["verify", "plan.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "plan.json is intact: noisy max of 250 votes for 2 classes (cat, dog). " in said
    assert 'Gaussian, sigma 4; "none" where the largest count with noise of sigma 8 is below 5.' in said
    assert "It states no guarantee" in said
    assert main(["verify", "plan.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mechanism"] == json.loads(json.dumps(made.as_dict()))
    assert (found["holds"], found["wrong"]) == (True, [])
    Path("plan.json").write_text(Path("plan.json").read_text().replace('"sigma": 4', '"sigma": 8'))
    assert main(["verify", "plan.json"]) == 2
    assert "plan.json" in capsys.readouterr().err


def test_noisy_max_is_not_offered_over_shares(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    GaussianNoisyMax(40.0, K=250, classes=10).save("plan.json")
    assert main(["release-shared", "plan.json", "--votes", "votes.csv", "-M", "3"]) == 2
    assert "not offered over shares" in capsys.readouterr().err


def test_a_plan_by_noisy_max_is_shown_in_notebooks(here: Path) -> None:
    voters = [darrm.VoterGroup(250, float("inf"), max_affected=1)]
    plan = darrm.plan(voters, classes=10, queries=2, total_epsilon=3, total_delta=1e-5)
    assert "No table fits the votes of 250 voters" in plan._repr_html_()
    with pytest.raises(darrm.InputError, match="This one has neither"):
        plot_plan(plan)


@pytest.mark.thorough
def test_labels_are_charged_to_a_ledger(planned: GaussianNoisyMax, capsys: pytest.CaptureFixture[str]) -> None:
    votes_file("votes.csv", 3)
    total = "--total-epsilon 4 --total-delta 1e-5"
    assert main(f"ledger create book.json plan.json {total}".split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "rule exact: 0 labels released, 5 left." in said
    assert "This holds for any number of votes and classes, if a change of one record changes one vote" in said
    release = ["release", "plan.json", "--votes", "votes.csv", "--ledger", "book.json", "--out"]
    assert main([*release, "labels.csv"]) == 0
    beside = capsys.readouterr().err
    assert "Charged to book.json: 3 labels of non-private voters so far, 2 left;" in beside
    assert "(4, 1e-05)-DP together, rule exact, if a change of one record changes one vote, or adds" in beside
    assert main([*release, "more.csv"]) == 3
    assert capsys.readouterr().err.startswith("darrm: 3 more labels would overspend: 3 of 5 are released.")
    assert not Path("more.csv").exists()
    assert main(["ledger", "show", "book.json", "plan.json", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["released"], status["left"]) == (3, 2)
    assert len(status["rests_on"]) == 1


def test_noise_is_charged_without_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    total = "--total-epsilon 4 --total-delta 1e-5"
    assert main(f"ledger create book.json {total} --voters fresh --rule renyi-filter".split()) == 0
    GaussianNoisyMax(40.0, K=250, classes=10).save("plan.json")
    assert main(["ledger", "charge", "book.json", "--noisy-max", "20", "--times", "4"]) == 0
    assert main(["ledger", "charge", "book.json", "plan.json", "--times", "2"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "book.json", "plan.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "4 x labels of Gaussian noisy max, sigma 20 and 2 x labels of Gaussian noisy max, sigma 40" in said
    assert "a change of one record changes one vote of noisy max at most" in said
    assert "Labels of this noisy max (sigma 40) that the remaining budget covers: " in said
    assert main(["ledger", "charge", "book.json", "plan.json", "--noisy-max", "20"]) == 2
    assert "Charge a design, FILE, or a mechanism by --noisy-max" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("layout", ["rows", *thorough("counts")])
def test_votes_that_are_counted_or_one_a_row(
    planned: GaussianNoisyMax, layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = CLASSES.split(",")
    votes = votes_file("votes.csv", 5)
    with Path("other.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        if layout == "counts":
            rows.writerow(["id", *names])
            rows.writerows([f"q{i}", *row] for i, row in enumerate(darrm.votes.counts(votes, 10).tolist()))
        else:
            rows.writerow(["voter", "id", "vote"])
            rows.writerows([f"t{k}", f"q{i}", names[votes[i, k]]] for k in range(250) for i in range(5))
    run = ["release", "plan.json", "--votes", "other.csv", "--layout", layout, "--out", "labels.csv"]
    assert main(["ledger", "create", "book.json", "plan.json", "--total-epsilon", "5", "--total-delta", "1e-5"]) == 0
    assert main([*run, "--ledger", "book.json"]) == 0
    assert Path("labels.csv").read_text().splitlines() == ["id,label", *(f"q{i},{names[i]}" for i in range(5))]
    said = capsys.readouterr().err
    assert "Wrote 5 labels to labels.csv. Noise of each count: Gaussian, sigma 3.41894. A total holds" in said
    assert main([*run, "--ledger", "book.json", "--overwrite"]) == 6
    assert "5 ids were charged before, first 'q0'" in capsys.readouterr().err
    with Path("other.csv").open("a") as file:
        file.write("q9" + ",25" * 9 + ",24\n" if layout == "counts" else f"t0,q9,{names[0]}\n")
    assert main([*run, "--overwrite"]) == 2
    assert "Each query must have 250 votes. Got" in capsys.readouterr().err
    assert main([*run, "--columns", "a,b"]) == 2
    darrm.solve(K=3, m=1, epsilon=1.0).save("gamma.json")
    assert main(["release", "gamma.json", *run[2:], "--overwrite"]) == 2
    assert f"--layout {layout} is for noisy max" in capsys.readouterr().err


@pytest.mark.thorough
def test_two_affected_votes_are_planned_and_charged(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = PLAN.replace("--max-affected 1", "--max-affected 2").split()
    assert main([*plan, "--out", "plan.json"]) == 0
    beside = capsys.readouterr().err
    assert "darrm release plan.json --votes votes.csv --out labels.csv --ledger plan-ledger.db" in " ".join(
        beside.split()
    )
    assert GaussianNoisyMax.load("plan.json").max_affected == 2
    votes_file("votes.csv", 5)
    assert main(["release", "plan.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 0
    assert "if a change of one record changes at most 2 votes" in capsys.readouterr().err
    assert main(["ledger", "create", "book.json", "plan.json", "--total-epsilon", "5", "--total-delta", "1e-5"]) == 0
    charged = ["--out", "charged.csv", "--ledger", "book.json"]
    assert main(["release", "plan.json", "--votes", "votes.csv", *charged]) == 0
    assert "if a change of one record changes at most 2 votes, or adds or takes away as many" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_ledger_of_several_sigmas(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each charge is counted as one of a listed sigma, and what is left is said of each alone."""
    budget = "--total-epsilon 4 --total-delta 1e-5"
    assert main(f"ledger create ledger.db {budget} --noisy-max 8 --noisy-max 16".split()) == 0
    assert main(["ledger", "charge", "ledger.db", "--noisy-max", "11", "--times", "3"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "ledger.db"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    ledger = darrm.accounting.Ledger(here / "ledger.db")
    left = [ledger.remaining(GaussianNoisyMax(sigma)) for sigma in (8.0, 16.0)]
    assert f"3 labels released, left of one alone: {left[0]} of sigma 8, {left[1]} of sigma 16" in said
    assert main(["ledger", "charge", "ledger.db", "--noisy-max", "7", "--times", "3"]) == 2
    assert "or more noise" in capsys.readouterr().err
    assert (
        main(f"ledger create other.db {budget} --voters fresh --rule renyi --noisy-max 8 --noisy-max 16".split()) == 2
    )
    assert "A list is of noisy max" in capsys.readouterr().err
    assert not (here / "other.db").exists()


@pytest.mark.parametrize("classes", [3, 10])  # the total of 10 classes is that of any number of votes
def test_a_file_promises_nothing_of_rows_that_it_refuses(
    here: Path, capsys: pytest.CaptureFixture[str], classes: int
) -> None:
    """A vote that is taken away shows by the refusal; a ledger also takes noise of no number of votes."""
    GaussianNoisyMax(4.0, K=25, classes=classes).save("plan.json")
    rows = [[f"t{k}" for k in range(25)], ["0"] * 25]
    Path("votes.csv").write_text("".join(f"{','.join(row)}\n" for row in rows))
    total = ["--total-epsilon", "2", "--total-delta", "1e-5"]
    this = f"25 votes for {classes} classes, if a change of one record changes one vote, every label has new noise"
    assert main(["release", "plan.json", *RELEASE]) == 0
    assert f"A total holds for {this}" in capsys.readouterr().err
    assert main(["budget", "plan.json", *total]) == 0
    assert f"This holds for {this}" in " ".join(capsys.readouterr().out.split())
    assert main(["verify", "plan.json"]) == 0
    assert f"A total holds for {this}" in " ".join(capsys.readouterr().out.split())
    assert main(["ledger", "create", "book.json", "plan.json", *total]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"holds for {ANY_NUMBER}, if" in said
    assert "one vote, or adds or takes away as many where a row may have any number of votes, every" in said


@pytest.mark.parametrize(
    ("voters", "affected", "said"),
    [
        ("250:inf", 1, "darrm plan or darrm compare with --queries 1 --total-epsilon 0.1 --total-delta 1e-05 in place"),
        ("250:inf", 2, "darrm plan with --queries 1 --total-epsilon 0.1 --total-delta 1e-05 in place"),
        ("250:1", 1, "ask fewer voters.\n"),
    ],
)
def test_one_label_that_no_table_fits_is_found_as_a_total(
    capsys: pytest.CaptureFixture[str], voters: str, affected: int, said: str
) -> None:
    asked = ["--classes", "10", "--accuracy", ".3", "--release-epsilon", ".1", "--max-affected", str(affected)]
    for command in ("solve", "compare"):
        assert main([command, "--group", voters, *asked]) == 2
        assert said in capsys.readouterr().err
