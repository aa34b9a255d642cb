"""A file of another kind: the error says which kind it is and what reads it."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import darrm
from darrm.cli import main
from darrm.storage import sealed_json
from darrm.storage.kinds import kind_of

KINDS = {
    "gamma.json": "design",
    "design.csv": "design",
    "decision.json": "design",
    "ledger.json": "ledger",
    "table.csv": "table",
    "table.jsonl": "table",
    "table.parquet": "table",
    "decisions.csv": "table",
    "problems.csv": "problems",
    "table.jsonl.journal": "journal",
    "export.csv": "export",
    "export.json": "export",
    "export.parquet": "export",
    "decision_export.csv": "export",
    "votes.csv": "votes",
    "votes.parquet": "votes",
    "labels.csv": "labels",
    "labels.json": "labels",
    "labels.parquet": "labels",
    "rows.csv": "audit",
    "rows.json": "audit",
    "rows.tex": "latex",
    "export.tex": "latex",  # with its problem in a comment first
    "page.html": "page",
    "picture.svg": "picture",
    "picture.png": "picture",
}
SAID = {
    "design": "a design file",
    "ledger": "a ledger",
    "table": "a table of designs",
    "problems": "a file of problems",
    "journal": "the journal of a table",
    "export": "a table for analysis",
    "votes": "a file of votes",
    "labels": "a file of released labels",
    "audit": "a table of an audit",
    "latex": "a table in LaTeX",
    "page": "a page of HTML",
    "picture": "a picture",
}
OF_DESIGNS = {
    "report": ["report", "{}"],
    "budget": ["budget", "{}", "--queries", "2", "--total-delta", "1e-5", "--voters", "fresh"],
    "release": ["release", "{}", "--votes", "votes.csv", "--out", "out.csv"],
    "profile": ["profile", "{}"],
    "export": ["export", "{}", "--out", "out.csv"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind, as the commands write it."""
    folder = tmp_path_factory.mktemp("kinds")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("votes.csv").write_text("id,a,b,c\nx,1,0,1\ny,0,0,1\n", encoding="utf-8")
        Path("problems.csv").write_text("K,m,epsilon\n3,1,1\n", encoding="utf-8")
        Path("groups.csv").write_text("groups,total_epsilon,accuracy\n2:1.0,1.0,0.7\n", encoding="utf-8")
        solve = ["solve", "--K", "3", "--m", "2", "--epsilon", "0.5"]
        decision = ["solve", "--group", "3:1", "--total-epsilon", "1", "--accuracy", ".8"]
        release = ["release", "gamma.json", "--votes", "votes.csv", "--out"]
        budget = ["--total-epsilon", "5", "--total-delta", "1e-5", "--voters", "fresh"]
        audit = ["audit", "--mechanism", "rr", "--epsilon", "1", "--eta", "beta:1,1", "--n", "9", "--out"]
        commands = [
            [*solve, "--out", "gamma.json", "--plot", "picture.svg"],
            [*solve, "--plot", "picture.png"],
            [*decision, "--out", "decision.json"],
            ["report", "gamma.json", "--out", "page.html", "--short"],
            ["ledger", "create", "ledger.json", "gamma.json", *budget],
            *[
                ["table", "--problems", "problems.csv", "--out", f"table.{kind}"]
                for kind in ("csv", "jsonl", "parquet")
            ],
            ["table", "--problems", "groups.csv", "--out", "decisions.csv"],
            *[["export", "gamma.json", "--out", f"export.{kind}"] for kind in ("csv", "json", "parquet", "tex")],
            ["export", "decision.json", "--out", "decision_export.csv"],
            *[[*release, f"labels.{kind}"] for kind in ("csv", "json", "parquet")],
            *[[*audit, f"rows.{kind}"] for kind in ("csv", "json", "tex")],
        ]
        for command in commands:
            assert main(command) == 0, command
        shutil.copyfile("gamma.json", "design.csv")
        Path("table.jsonl.journal").write_text('{"format": "darrm-journal", "version": 2}\n', encoding="utf-8")
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": [0, 1], "b": [1, 1], "c": [0, 0]}), "votes.parquet")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, to work in."""
    shutil.copytree(made, tmp_path / "it")
    monkeypatch.chdir(tmp_path / "it")
    return tmp_path / "it"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


@pytest.mark.first(8)
@pytest.mark.parametrize("name", KINDS)
def test_kinds_are_told_apart(folder: Path, name: str) -> None:
    assert kind_of(folder / name) == KINDS[name]


@pytest.mark.parametrize(
    "content", [b"", b"\0\xff", b"hello", b'{"a": 1}', b"a,b\n1,2\n", b"PAR1", b"[", b"<a>", b'a,"b\n' + b"1" * 200_000]
)
def test_other_files_are_of_no_kind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert kind_of(tmp_path / "file") is None
    assert kind_of(tmp_path / "nothing") is None
    assert kind_of(tmp_path) is None


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", OF_DESIGNS)
def test_in_place_of_a_design(capsys: pytest.CaptureFixture[str], command: str) -> None:
    for name, kind in KINDS.items():
        if kind != "design" and (command, kind) != ("export", "table"):  # it exports these too
            said = refused(capsys, *(word.format(name) for word in OF_DESIGNS[command]))
            assert said.startswith(f"darrm: {name} is {SAID[kind]}, not a design file. "), said


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
def test_what_is_said_to_run_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ran = 0
    for name, kind in KINDS.items():
        if kind == "design":
            continue
        found = re.search(r"(?:Run|Pass it as --votes): darrm (.*)$", refused(capsys, "report", name))
        assert bool(found) == (kind in ("ledger", "table", "problems", "votes"))
        if found:
            ran += 1
            Path("table.csv.journal").unlink(missing_ok=True)
            Path("labels.csv").unlink(missing_ok=True)
            assert main(shlex.split(found[1])) == 0, found[1]
    assert ran == 8


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verify", "votes.csv"], "votes.csv is a file of votes, not a table of designs"),
        (["verify", "votes.parquet"], "votes.parquet is a file of votes, not a table of designs"),
        (["verify", "export.csv"], "export.csv is a table for analysis, not a table of designs"),
        (["verify", "design.csv"], "design.csv is a design file, not a table of designs. Rename it"),
        (["verify", "ledger.json"], "ledger.json is a ledger, not a design file. Run: darrm ledger show ledger.json"),
        (["verify", "page.html"], "page.html is a page of HTML, not a design file"),
        (["release", "gamma.json", "--votes", "rows.tex", "--out", "o.csv"], "a table in LaTeX, not a file of votes"),
        (["ledger", "show", "gamma.json"], "not a ledger. Pass a ledger. To look at this file, run: darrm verify "),
        (["release", "gamma.json", "--votes", "ledger.json", "--out", "o.csv"], "is a ledger, not a file of votes"),
        (["release", "gamma.json", "--votes", "labels.csv", "--out", "o.csv"], "released labels, not a file of votes"),
        (
            ["release", "gamma.json", "--votes", "decision.json", "--out", "o.csv"],
            "not a file of votes. Pass a file of votes.",
        ),
        (["release", "gamma.json", "--votes", "table.parquet", "--out", "o.csv"], "of designs, not a file of votes"),
        (
            ["release", "rows.tex", "--votes", "gamma.json", "--out", "o.csv"],
            "gamma.json is a design file, in the place of --votes. Exchange the two: darrm release gamma.json --votes "
            "rows.tex, with",
        ),
        (
            ["release", "ledger.json", "--votes", "votes.csv", "--out", "o.csv", "--ledger", "gamma.json"],
            "gamma.json is a design file, in the place of --ledger. Exchange the two: darrm release gamma.json "
            "--ledger ledger.json, with",
        ),
        (
            ["release-shared", "ledger.json", "--votes", "votes.csv", "-M", "3", "--ledger", "gamma.json"],
            "gamma.json is a design file, in the place of --ledger. Exchange the two: darrm release-shared gamma.json",
        ),
        (
            ["ledger", "create", "gamma.json", "new.db", "--total-epsilon", "1", "--total-delta", "0"],
            "gamma.json is a design file, in the place of the ledger. Exchange the two: darrm ledger create new.db "
            "gamma.json, with",
        ),
        (["table", "--problems", "table.csv", "--out", "o.csv"], "a table of designs, not a file of problems"),
        (["solve", "--K", "3", "--m", "1", "--epsilon", "1", "--prior", "votes:table.csv"], "not a file of votes"),
    ],
)
def test_in_place_of_others(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert said in refused(capsys, *arguments)


@pytest.mark.usefixtures("folder")
def test_python_says_the_same() -> None:
    with pytest.raises(darrm.InputError, match=r"votes\.csv is a file of votes, not a design file"):
        darrm.load("votes.csv")
    with pytest.raises(darrm.InputError, match=r"gamma\.json is a design file, not a ledger"):
        darrm.accounting.Ledger("gamma.json")


@pytest.mark.usefixtures("folder")
def test_a_file_of_the_right_kind_keeps_its_own_error(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("gamma.json").read_text(encoding="utf-8")
    Path("gamma.json").write_text(text[:-20], encoding="utf-8")
    assert "is not a whole JSON file" in refused(capsys, "verify", "gamma.json")
    Path("votes.csv").write_text("id,a,b,c\nx,1,0,1\ny,2,0,1\n", encoding="utf-8")
    said = refused(capsys, "release", "decision.json", "--votes", "votes.csv", "--out", "o.csv")
    assert "line 3, column a" in said


@pytest.mark.parametrize("argument", [[], ["--independent"]])
@pytest.mark.parametrize("name", ["gamma.json", "decision.json"])
def test_a_file_does_not_write_on_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, argument: list[str]
) -> None:
    """Escape codes in it could put an acceptance in the place of the refusal."""
    whole = json.loads((folder / name).read_text(encoding="utf-8"))
    del whole["sha256"]
    escape = "\x1b[2K\x1b[1Gdesign.json: what it says of privacy holds.\x1b[8m\x07"
    forged = Path("forged.json")
    for changes in (
        {"problem": {**whole["problem"], escape: 1}},
        {"problem": escape},
        {"problem": {**whole["problem"], "adjacency": escape}},
        {"objective": escape},
        {escape: escape},
        {"certificate": {escape: escape}},
        {"made_with": {escape: escape}},
    ):
        sealed_json.write(forged, {**whole, **changes})
        main(["verify", str(forged), *argument])
        told = capsys.readouterr()
        assert (told.out + told.err).replace("\n", "").isprintable()
    sealed_json.write(forged, {**whole, "problem": {**whole["problem"], escape: 1}})
    assert "1Gdesign.json" in refused(capsys, "verify", str(forged), *argument)


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.json"])
def test_a_missing_file_is_called_missing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for argument in ([], ["--independent"]):
        assert f"{name} could not be read: " in refused(capsys, "verify", name, *argument)


def test_a_name_of_a_file_does_not_write_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in refused(capsys, "verify", "nothing\x1b[2K.json")


def test_a_row_of_a_table_writes_no_line_of_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (folder / "table.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(rows[0])
    row |= {"gamma": [1.0] * len(row["gamma"]), "adjacency": "replace-one)\n1 of 1 rows verified.\x1b[8m"}
    Path("forged.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["verify", "forged.jsonl"]) == 1
    told = capsys.readouterr().out
    assert "1 of 1 rows verified." not in told.splitlines()
    assert told.replace("\n", "").isprintable()


def test_a_name_that_stands_twice_in_a_row_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "table.jsonl").read_text(encoding="utf-8")
    Path("forged.jsonl").write_text(text.replace('"epsilon":', '"epsilon": 0.1, "epsilon":', 1), encoding="utf-8")
    assert "a name stands twice" in refused(capsys, "verify", "forged.jsonl")


def test_digits_beyond_float64_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rounded to float64 a delta can be above the one that is written, if by a part in 1e17."""
    path = folder / "gamma.json"
    text = path.read_text(encoding="utf-8")
    assert '"epsilon": 0.5,' in text
    longer = text.replace('"epsilon": 0.5,', '"epsilon": 0.49999999999999999999999999999999,')
    digest = sealed_json._digest(longer)
    path.write_text(re.sub('"sha256": "[0-9a-f]+"', f'"sha256": "{digest}"', longer), encoding="utf-8")
    for argument in ([], ["--independent"]):
        assert "is not a number as Python writes it" in refused(capsys, "verify", "gamma.json", *argument)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\n3,", "\n3.0,", "in row 1 K is not an integer"),
        (",1.0,1.0,", ",1.0,x,", "in row 1 epsilon is not a number"),
    ],
)
def test_a_cell_that_is_no_number_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    path = folder / "table.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert said in refused(capsys, "verify", "table.csv")


def test_a_table_by_another_name_is_to_be_renamed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile("table.csv", "mine.txt")
    assert "Rename it: tables end in .csv, .jsonl or .parquet." in refused(capsys, "verify", "mine.txt")


def test_the_independent_check_says_what_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = ["--profile", "0.4:0.2"]
    assert main(["solve", "--K", "3", "--m", "2", "--epsilon", "0.3", *profile, "--out", "more.json"]) == 0
    for name, said in {
        "gamma.json": "(1, 0)-DP.",
        "decision.json": "(1, 0)-DP.",
        "more.json": "(0.6, 0)-DP and (0.4, 0.2)-DP.",
    }.items():
        capsys.readouterr()
        assert main(["verify", name, "--independent"]) == 0
        assert f"One release is {said}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one.json", '{"K": 3, "gamma": [1, 0.5, 0.5, 1]}'),
        ("list.json", "[[1, 0.5, 0.5, 1]]"),
        ("rows.csv", "1,0.5,0.5,1\n1,0.4,0.4,1\n"),
        ("one.txt", "0.5\n0.25\n"),
        ("named.csv", "K,m,epsilon,gamma\n3,2,0.5,1 0.5 0.5 1\n"),
    ],
)
def test_numbers_of_another_program_are_sent_to_python(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    assert f"{name} is a file of numbers that darrm did not write" in refused(capsys, "verify", name)
    assert "Pass the numbers of each table to darrm.verify in Python." in refused(capsys, "verify", name)
