"""Bad input is one line on standard error, exit status 2, and nothing else; so is, with 5, what cannot be written."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import darrm
from darrm.cli import app, main
from darrm.cli.endings import with_option
from darrm.cli.needed import Command

Refused = Callable[..., str]
GOOD = {"K": "11", "m": "3", "epsilon": "0.1"}
HEADER = "id,a,b,c"
DEV_FULL = Path("/dev/full")
needs_dev_full = pytest.mark.skipif(not DEV_FULL.exists(), reason="needs /dev/full, a disk without room: run on Linux")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must be refused; its one line."""

    def run(*arguments: str, status: int = 2) -> str:
        capsys.readouterr()
        assert main(arguments) == status
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
        assert captured.err.startswith("darrm: ")
        assert "Traceback" not in captured.err
        return captured.err

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a design for three voters and votes for it."""
    monkeypatch.chdir(tmp_path)
    darrm.solve(K=3, m=2, epsilon=0.1).save("gamma.json")
    Path("votes.csv").write_text(f"{HEADER}\nx,1,0,1\n", encoding="utf-8")
    return tmp_path


def options(**changes: str) -> list[str]:
    return [text for name, value in {**GOOD, **changes}.items() for text in ("--" + name.replace("_", "-"), value)]


@pytest.mark.first(12)
@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("K", value) for value in ("0", "-3", "2.5", "eleven", "nan", "inf", "1e400", "True", "")],
        *[("m", value) for value in ("0", "-1", "12", "nan", "inf", "three")],
        *[("epsilon", value) for value in ("0", "-1", "inf", "nan", "1e400", "1e19", "1e-400", "small")],
        *[("Delta", value) for value in ("1", "-1e-9", "nan", "tiny")],
        *[("delta", value) for value in ("-1e-9", "1", "nan")],
        *[("max_affected", value) for value in ("0", "99", "1.5", "nan", "all")],
    ],
)
def test_a_problem_out_of_range(refused: Refused, command: str, name: str, value: str) -> None:
    said = refused(command, *options(**{name: value}))
    assert said.startswith(f"darrm: --{name.replace('_', '-')} must be ")
    assert "Got " in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("budget --noisy-max 4 --noisy-max 8 --total-delta .1", "--noisy-max is given twice: 4 and 8."),
        ("ledger charge at.db --times 9 --times=9", "--times is given twice: 9 and 9."),
        ("solve --K 3 --epsilon 1 --Delta 0 --voter-delta .1", "--voter-delta or --Delta is given twice: 0 and .1."),
        ("profile a.json --kind a --kind b --kind c", "--kind is given 3 times: a, b and c."),
    ],
)
def test_an_option_that_comes_twice(refused: Refused, typed: str, said: str) -> None:
    assert refused(*typed.split()).startswith(f"darrm: {said} Give it once. Try ")


def test_every_command_refuses_an_option_that_comes_twice() -> None:
    every = list(app.commands.values())
    for command in every:
        every += command.commands.values() if isinstance(command, click.Group) else ()
    assert all(isinstance(command, Command | click.Group) for command in every)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("solve --eps 1", "--epsilon"),
        ("plan -K 25", "--K"),
        ("plan -k 25", "--K"),
        ("solve --K 3 --M 2", "--m"),
        ("solve --K 3 --voter_delta 0", "--voter-delta"),
        ("budget gamma.json --eps 1", "--total-epsilon"),
        ("budget gamma.json --epsilon-total 4", "--total-epsilon"),
        ("solve --output x.json", "--out"),
        ("budget --delta 1e-5", "--total-delta"),
        ("report gamma.json --delta 1e-5", "--total-delta"),
        ("solve --epsilom 0.1", "--epsilon"),
    ],
)
def test_an_option_that_is_not_there_is_told_of_the_one_that_is(refused: Refused, typed: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in refused(*typed.split())
    *before, _, value = typed.split()
    assert "No such option" not in refused(*before, meant, value)


def test_an_option_of_other_commands_is_told_where_it_is(refused: Refused) -> None:
    said = refused("budget", "gamma.json", "--fallback-epsilon", "12")
    assert "No such option --fallback-epsilon. Commands that have it: compare, plan. Try" in said


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("budget gamma.json --queries 3 --total-delta 2 --voters fresh", "--total-delta"),
        ("budget gamma.json --total-epsilon 3 --total-delta 2 --voters fresh", "--total-delta"),
        ("solve --group 3:1 --release-epsilon -1 --accuracy .8", "--release-epsilon"),  # and that epsilon
        ("budget --noisy-max -1 --queries 3 --total-delta 1e-5", "--noisy-max"),
        ("ledger create new.db --noisy-max=-1 --total-epsilon 3 --total-delta 1e-6", "--noisy-max"),
        ("solve --K 3 --m 1 --epsilon 1 --Delta 2", "--Delta"),
        ("table --K 3 --m 1 --epsilon 1 --max-affected all --out t.csv", "--max-affected"),
        ("release-shared gamma.json --votes votes.csv --parties parties.json --party nort", "--party"),
    ],
)
def test_the_option_that_is_wrong_is_named_as_it_was_typed(
    refused: Refused, folder: Path, typed: str, named: str
) -> None:
    pytest.importorskip("mpyc")
    parties = [{"name": one, "address": f"127.0.0.1:{4000 + i}", "voters": [one]} for i, one in enumerate("abc")]
    Path("parties.json").write_text(json.dumps({"parties": parties}), encoding="utf-8")
    assert refused(*typed.split()).startswith(f"darrm: {named} must be ")


def test_an_argument_that_was_not_typed_keeps_its_name(refused: Refused) -> None:
    group = ["solve", "--group", "3:-1", "--release-epsilon", "1", "--accuracy", ".8"]
    assert refused(*group).startswith("darrm: --group 3:-1: epsilon must be")
    message, typed = "delta must be in [0, 1). Got 3.", ["budget", "gamma.json", "--total-delta", "2"]
    assert with_option(message, app.commands["budget"], typed) == message  # it is not what was typed
    plan = ["plan", "--K", "3", "--epsilon", "1", "--queries", "1", "--total-epsilon", "1", "--total-delta", "0"]
    assert refused(*plan, "--accuracy", ".8", "--max-affected", "1").startswith("darrm: voters must be")


def test_nothing_is_said_of_what_did_not_stand_there(refused: Refused, folder: Path) -> None:
    release = ["release", "gamma.json", "--votes", "votes.csv", "--out", "nowhere/labels.csv"]
    said = refused(*release, status=5)
    assert "nowhere/labels.csv could not be written: No such file or directory. Fix that" in said


def test_empty_adjacency(refused: Refused) -> None:
    assert "adjacency" in refused("solve", *options(adjacency=" "))


def test_adjacency_is_one_line(refused: Refused) -> None:
    assert "adjacency" in refused("solve", *options(adjacency="a\nb"))


@pytest.mark.parametrize("name", ["--release-epsilon", "--total-epsilon"])
def test_m_and_release_epsilon(refused: Refused, name: str) -> None:
    assert "either m or release_epsilon" in refused("solve", *options(), name, "0.1")
    assert "either m or release_epsilon. Got neither" in refused("solve", "--K", "11", "--epsilon", "0.1")


def test_delta_that_promises_nothing(refused: Refused) -> None:
    assert "guarantees nothing" in refused("solve", *options(Delta="0.9999999"))


@pytest.mark.first(10)
@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize(
    "prior",
    [
        *["", "foo", "uniform:1", "votes:", "votes:1,2", "votes:missing.csv", "votes:1,a", "votes:0" + ",0" * 11],
        *["votes:-1" + ",1" * 11, "votes:nan" + ",1" * 11, "votes:inf" + ",1" * 11],
        *["fixed:", "fixed:0.5", "fixed:2" + ",0.5" * 10, "fixed:nan" + ",0.5" * 10],
        *["independent:a", "independent:0.9,0.6", "independent:0.4,0.9", "independent:.6,.7,.8", "independent:nan"],
        *["common:0,1", "common:nan", "common:inf", "common:1,2,3", "independent:0.5,0.5"],
    ],
)
def test_bad_priors(refused: Refused, command: str, prior: str) -> None:
    refused(command, *options(prior=prior))


def test_huge_histogram_counts_are_taken_or_refused_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    # Their sum overflows; under this test suite a warning of numpy's would be an error.
    status = main(["solve", *options(prior="votes:1e308,1e308" + ",1" * 10), "--json"])
    captured = capsys.readouterr()
    assert status in (0, 2)
    assert len(captured.err.splitlines()) == (0 if status == 0 else 1)


def test_total_variation_is_refused_for_votes(refused: Refused) -> None:
    assert "disagreement" in refused("solve", *options(prior="fixed:" + ",".join(["0.7"] * 11), objective="tv"))


@pytest.mark.parametrize(
    "extra",
    [
        *[["--bogus", "1"], ["extra"], ["--shape", "round"], ["--objective", "fun"], ["--engine", "steam"], ["--m"]],
        *[["--time-limit", value] for value in ("0", "-1", "nan", "soon")],
    ],
)
def test_bad_options(refused: Refused, extra: list[str]) -> None:
    refused("solve", *options(), *extra)


@pytest.mark.parametrize(
    "arguments",
    [["solve"], ["solve", "--K", "11"], ["verify"], ["release"], ["release", "gamma.json"], ["bogus"], ["--bogus"]],
    ids=" ".join,
)
def test_missing_options_and_unknown_commands(refused: Refused, arguments: list[str]) -> None:
    refused(*arguments)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "plan --K 5 --total-delta 0",
            "Missing '--queries', '--total-epsilon', '--epsilon' (or '--group'), '--base-accuracy' (or '--accuracy', "
            "or '--prior'), '--max-affected' and '--voters'. Try 'darrm plan --help'.",
        ),
        ("plan --group 1:inf --queries 2 --accuracy .7", "Missing '--total-epsilon' and '--total-delta'. Try"),
        ("plan --group 5:x", "Missing '--queries', '--total-epsilon' and '--total-delta'. Try"),
        ("compare --queries 3 --total-epsilon 5 --group 3:1 --accuracy .7 --voters fixed", "delta' and '--max-aff"),
        ("budget gamma.json --total-delta 0", "Missing '--queries' (or '--total-epsilon') and '--voters' (unless all"),
        ("budget --noisy-max 9", "Missing '--total-delta' and '--queries' (or '--total-epsilon'). Try"),
        ("ledger create new.db gamma.json --voters fresh", "Missing '--total-epsilon' and '--total-delta'. Try"),
        ("ledger create new.db --total-epsilon 1 --total-delta 0", "Missing 'FILE' (or '--noisy-max', or another"),
        ("release gamma.json", "Missing '--votes' and '--out'. Try 'darrm release --help'."),
        ("release-shared gamma.json", "Missing '--votes' and '-M' (or '--parties' and '--party'). Try"),
        ("table --out new.csv --m 1", "Missing '--K' and '--epsilon'. Try"),
        ("audit", "Missing '--eta' and '--mechanism' (or '--design'). Try"),
        ("audit --mechanism llp-laplace", "Missing '--eta', '--epsilon' and '--bag-size'. Try"),
        ("audit --mechanism rr --eta beta:1,1", "Missing '--epsilon' and '--n'. Try"),
        ("solve", "Missing '--K', '--epsilon' and '--m' (or --group, --release-epsilon and --accuracy). Try"),
        ("compare --group 3:1 --accuracy .7", "Missing option '--release-epsilon'. Try"),
    ],
)
def test_all_that_is_missing_is_named_at_once(refused: Refused, line: str, said: str) -> None:
    assert said in refused(*line.split())


def test_what_click_refuses_ends_in_a_full_stop(refused: Refused) -> None:
    assert "extra argument (extra). Try 'darrm verify --help'." in refused("verify", "gamma.json", "extra")


def test_too_many_constraints_to_list(refused: Refused) -> None:
    said = refused("solve", *options(K="61", Delta="1e-5"), "--engine", "full-list")
    assert "K = 61 " in said
    assert "969,443,904 constraints" in said
    assert "lower K" in said


@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize("K", ["3002", "1000000000", "1" + "0" * 400])
def test_too_many_votes_to_verify(refused: Refused, command: str, K: str) -> None:
    said = refused(command, *options(K=K, Delta="1e-5"))
    assert "K must be at most 3001" in said
    assert K in said


@pytest.mark.first(8)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{HEADER}\nx,1,0,2\n", "line 2, column c: A vote must be 0 or 1. Got '2'"),
        (f"{HEADER}\nx,1,0,1\ny,1,,1\n", "line 3, column b: A vote must be 0 or 1. Got ''"),
        (f"{HEADER}\nx,1,0,1.5\n", "Got '1.5'"),
        (f"{HEADER}\nx,1,0,1\ny,0,0,0\nx,1,1,1\n", "has the id 'x' twice, in lines 2 and 4"),
        ("id,a,b,b\nx,1,0,0\n", "has the column b twice, in places 3 and 4"),
        ("query,voter,vote\nx,a,1\n", "has one row a vote"),
        (f"{HEADER}\nx,1,0,nan\n", "Got 'nan'"),
        (f"{HEADER},label\nx,1,0,1,2\n", "A label must be 0 or 1. Got '2'"),
        (f"{HEADER},d\nx,1,0,1,1\n", "K = 3"),
        ("id,a,b\nx,1,0\n", "K = 3"),
        ("id,label\nx,1\n", "a file of released labels, not a file of votes. No command reads one. Pass a file of"),
        (f"{HEADER}\nx,1,0,1\ny,1,0,1,1\n", "line 3: 5 columns where the header has 4"),
        (f"{HEADER}\nx,1,0,1\ny,1,0\n", "line 3: 3 columns"),
        (f"{HEADER}\nx,1,0,1\n,,,\n", "line 3 holds nothing"),
        ("1,0,1\n0,0,1\n", "no header"),
        (f"{HEADER}\n", "no line below the header"),
        ("", "no header"),
        ("\n", "no header"),
        (f'{HEADER}\n"x,1,0,1\n', "not a CSV file"),
        (f"{HEADER}\n{'x' * 200_000},1,0,1\n", "not a CSV file"),
        (f"{HEADER}\nx,1,0,1\n".encode("utf-16-le"), "not UTF-8"),
        (bytes(range(256)), "not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is a picture, not a file of votes"),
        (b"\x00" * 100, ""),
    ],
)
def test_bad_votes_files(folder: Path, refused: Refused, content: str | bytes, said: str) -> None:
    Path("votes.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in refused("release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv")
    assert said.replace("K = 3", "") in refused("solve", *options(), "--prior", "votes:votes.csv")
    assert sorted(path.name for path in folder.iterdir()) == ["gamma.json", "votes.csv"]


@pytest.mark.parametrize("path", ["missing.csv", ".", "missing/votes.csv", "x" * 300])
def test_votes_that_cannot_be_read(folder: Path, refused: Refused, path: str) -> None:
    said = refused("release", "gamma.json", "--votes", path, "--out", "labels.csv")
    assert f"{path} could not be read" in said


@pytest.mark.parametrize("path", ["missing.json", ".", "votes.csv", "x" * 300])
def test_designs_that_cannot_be_read(folder: Path, refused: Refused, path: str) -> None:
    assert path in refused("verify", path)
    assert path in refused("release", path, "--votes", "votes.csv", "--out", "labels.csv")
    assert not Path("labels.csv").exists()


@pytest.mark.parametrize("out", ["missing/out", ".", "votes.csv/out", "x" * 300])
def test_outputs_that_cannot_be_written(folder: Path, refused: Refused, out: str) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert "could not be written" in refused("solve", *options(), "--out", out, status=5)
    assert "could not be written" in refused("release", "gamma.json", "--votes", "votes.csv", "--out", out, status=5)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@needs_dev_full
def test_a_full_disk(folder: Path, refused: Refused) -> None:
    assert "No space left" in refused("solve", *options(), "--out", str(DEV_FULL), status=5)
    said = refused("release", "gamma.json", "--votes", "votes.csv", "--out", str(DEV_FULL), status=5)
    assert "No space left" in said
    assert stat.S_ISCHR(DEV_FULL.stat().st_mode)


def test_a_read_only_folder(folder: Path, refused: Refused) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("root may write into a read-only folder, nothing is refused: run as another user")
    assert "Permission denied" in refused("solve", *options(), "--out", str(locked / "gamma.json"), status=5)
    said = refused("release", "gamma.json", "--votes", "votes.csv", "--out", str(locked / "labels.csv"), status=5)
    assert "Permission denied" in said
    assert list(locked.iterdir()) == []


def test_files_that_may_not_be_read(folder: Path, refused: Refused) -> None:
    for name in ("gamma.json", "votes.csv"):
        Path(name).chmod(0)
    if os.access("votes.csv", os.R_OK):
        pytest.skip("root may read what nobody may, nothing is refused: run as another user")
    assert "gamma.json" in refused("verify", "gamma.json")
    Path("gamma.json").chmod(0o600)
    said = refused("release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv")
    assert "votes.csv" in said
    assert not Path("labels.csv").exists()


@pytest.mark.parametrize("out", ["gamma.json", "votes.csv", "./votes.csv", "link.csv", "absolute"])
def test_the_output_is_never_an_input(folder: Path, refused: Refused, out: str) -> None:
    Path("link.csv").symlink_to("votes.csv")
    path = str(folder / "votes.csv") if out == "absolute" else out
    before = Path("votes.csv").read_bytes()
    assert "input" in refused("release", "gamma.json", "--votes", "votes.csv", "--out", path)
    assert Path("votes.csv").read_bytes() == before
    assert Path("link.csv").is_symlink()
    darrm.load("gamma.json")


@pytest.mark.parametrize("command", ["solve", "compare"])
@pytest.mark.parametrize("picture", ["gamma.gif", "gamma", "gamma.png.txt"])
def test_unknown_kinds_of_picture(folder: Path, refused: Refused, command: str, picture: str) -> None:
    assert "png, svg, pdf" in refused(command, *options(K="3"), "--plot", picture)
    assert not Path(picture).exists()


def test_demo_into_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("votes.csv").read_bytes()
    assert main(["demo", "--out", "votes.csv"]) == 5
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert Path("votes.csv").read_bytes() == before


def test_brackets_and_colons_are_only_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    text = "[/x] or [bold]y or :smile:"
    assert main(["solve", *options(K="3", m="2", adjacency=text)]) == 0
    assert text in capsys.readouterr().out


BUDGET = "--queries 2 --total-epsilon 6 --total-delta 1e-6 --max-affected 1 --voters fresh"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"plan --group 3:1 {BUDGET} --accuracy .9 --prior uniform", "Pass e.g. 0.5,0.5, or leave the accuracy out"),
        (f"plan --group 3:1 {BUDGET} --accuracy .9 --classes 3 --prior .5,.5", "Pass e.g. 0.5,0.25,0.25"),
        (f"plan --group 3:1 {BUDGET} --accuracy .9 --base-accuracy .9", "Got base_accuracy and accuracy."),
        (f"plan --group 3:1:a,b {BUDGET} --accuracy .9", "Pass e.g. bank0,bank1,bank2."),
        (f"plan --group 3:1 {BUDGET} --accuracy .9 --randomizer x --colluders 0", "Pass response, or the table"),
        (f"plan --group 3:1 {BUDGET} --accuracy .9 --at-most 3", "(--epsilon auto)"),
        ("compare --K 5 --m 2 --epsilon .3 --extra mine", "Pass e.g. mine=1,1,1,1,1,1."),
        ("compare --K 5 --m 2 --epsilon .3 --extra mine=x.txt", "Got 'x.txt', which is neither."),
        (
            f"compare --K 5 --m 2 --epsilon .3 --extra a={','.join(['0.3333333333333333'] * 20)}",
            "must be numbers of shape (6,)",
        ),
        ("compare --K 5 --m 2 --epsilon .3 --extra a=1,1,1", "The second half mirrors the first: gamma(l) = gamma(5 -"),
        ("solve --K 5 --m 2 --epsilon .3 --absent", "--absent is for groups of voters"),
        ("solve --K 5 --epsilon .3", "(--m, --release-epsilon)"),
        ("ledger export a.db --csv", "Try 'darrm ledger export --help'."),
        ("ledger create a.db --total-epsilon 1 --total-delta 0 --voters fresh", "(--rule in-advance)"),
    ],
)
def test_what_to_do_stands_as_it_is_typed(refused: Refused, command: str, said: str) -> None:
    assert said in refused(*command.split())


def test_a_suggested_command_begins_as_the_running_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "show", "missing.db"], "python -m darrm") == 2
    assert "Run: python -m darrm ledger create --help" in capsys.readouterr().err
