"""Votes are taken by the names of their voters, whatever the order of the columns and whatever stands beside them."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import InputError, VoterGroup, votes
from darrm.cli import main
from darrm.votes import csv as votes_csv
from darrm.votes.by_name import places

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

HEADER = ["eve", "id", "note", "ben", "label", "anna"]
ROWS = [[1, "q1", 7, 0, 1, 0], [0, "q2", 8, 1, 0, 1], [1, "q,3", 9, 1, 1, 0]]
VOTERS = ["anna", "ben", "eve"]
TAKEN = [[0, 0, 1], [1, 1, 0], [0, 1, 1]]
Table = Callable[[list[str], list[list[Any]]], Path]


@pytest.fixture(params=["csv", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Writes a table of votes, in one format or the other."""

    def write(header: list[str], rows: list[list[Any]]) -> Path:
        frame = pd.DataFrame(rows, columns=header)
        path = tmp_path / f"votes.{request.param}"
        if request.param == "csv":
            frame.to_csv(path, index=False)
        else:
            arrays = [frame.iloc[:, at].tolist() for at in range(len(header))]
            parquet.write_table(pa.table(list(map(pa.array, arrays)), names=header), path)
        return path

    return write


def test_columns_are_taken_by_name(table: Table) -> None:
    read = votes.read(table(HEADER, ROWS), voters=VOTERS)
    assert read.votes.tolist() == TAKEN
    assert read.ids == ("q1", "q2", "q,3")
    assert read.voters == ("anna", "ben", "eve")
    assert read.labels is not None
    assert read.labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("others", [[], ["id"], ["label"], ["id", "label"]])
def test_plain_csv_is_read_in_any_order(
    order: tuple[int, ...], others: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By numpy, as in the usual order: the csv module would be several times slower."""
    monkeypatch.setattr(votes_csv, "_by_csv_module", None)
    rows = np.random.default_rng(1).integers(0, 2, (50, 3))
    frame = pd.DataFrame(rows[:, list(order)], columns=[VOTERS[at] for at in order])
    if "id" in others:
        frame.insert(0, "id", [f"q{i}" for i in range(50)])
    if "label" in others:
        frame.insert(2, "label", rows[:, 1])
    frame.to_csv(tmp_path / "votes.csv", index=False)
    read = votes.read(tmp_path / "votes.csv", K=3, voters=VOTERS)
    assert read.votes.tolist() == rows.tolist()
    assert read.ids[49] == ("q49" if "id" in others else "50")
    assert (None if read.labels is None else read.labels.tolist()) == (
        rows[:, 1].tolist() if "label" in others else None
    )


def test_names_are_the_same_up_to_space_and_normal_form(table: Table) -> None:
    path = table([" anna ", "e\u0301ve"], [[1, 0]])
    assert votes.read(path, voters=["\u00e9ve", "anna"]).votes.tolist() == [[0, 1]]


def test_voters_may_be_called_by_numbers(table: Table) -> None:
    assert votes.read(table(["1", "0"], [[1, 0]]), voters=["0", "1"]).votes.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (["anna", "ben", "dan"], "none for 'eve'. Its other columns are 'dan'. Correct the column, or the name"),
        (["anna", "ben"], "none for 'eve'. It has no others. Add it"),
        (["anna", "ben", "Eve"], "none for 'eve'. Its other columns are 'Eve': did you mean 'Eve' for 'eve'? Correct"),
        (["anna", "b_en", "eve"], "none for 'ben'. Its other columns are 'b_en': did you mean 'b_en' for 'ben'?"),
        (["annna", "ben", "eve"], "did you mean 'annna' for 'anna'?"),
        (["x", "y", "z"], "none for 'anna', 'ben', 'eve'"),
        (["anna", "ben", "eve", "ben "], "It has 2 called 'ben'"),
        (["0", "1", "1"], "none for 'anna', 'ben', 'eve'. Its other columns are '0', '1'"),
    ],
)
def test_a_voter_without_a_column_or_with_two_is_refused(header: list[str], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        places("votes.csv", header, VOTERS)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith("votes.csv must have")
    assert "\n" not in str(refusal.value)


def test_files_without_a_voter_are_refused(table: Table) -> None:
    with pytest.raises(InputError, match="none for 'dan'"):
        votes.read(table(HEADER, ROWS), voters=[*VOTERS[:2], "dan"])


@pytest.mark.parametrize(
    ("voters", "K", "words"),
    [
        (["anna", "ben", "anna"], None, "'anna' twice"),
        (["anna", "ben"], 3, "voters must be a list of 3 different names"),
        ([], None, "voters must be a list of different names"),
        ("anna", None, "voters must be"),
        (["anna", "id"], None, "must not be called id"),
    ],
)
def test_what_names_no_voters_is_refused(voters: Any, K: int | None, words: str, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("anna,ben\n1,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        votes.read(tmp_path / "votes.csv", K=K, voters=voters)


def test_without_names_blocks_say_what_their_columns_are_called(table: Table) -> None:
    (block,) = votes.blocks(table(["id", "b", "a"], [["q", 1, 0]]))
    assert block.voters == ("b", "a")


# Releases: almost without noise the answer is the vote of eve, who is alone in group 2.


def design_of(named: bool) -> darrm.DecisionDesign:
    groups = [
        VoterGroup(2, 40.0, names=["anna", "ben"] if named else None),
        VoterGroup(1, 40.0, names=["eve"] if named else None),
    ]
    problem = darrm.DecisionProblem(groups, epsilon=1000.0)
    return darrm.DecisionDesign(problem, [[0, 1]] * 3, darrm.objectives.truth([0.5, 1.0]))


def columns_of(*names: str) -> dict[str, list[int]]:
    of = {"anna": [0, 1, 0, 1], "ben": [0, 0, 1, 1], "eve": [1, 1, 0, 0], "age": [50, 60, 70, 80]}
    return {name: of[name] for name in names}


SHUFFLED = columns_of("eve", "age", "anna", "ben")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_are_taken_by_the_names_of_the_design(kind: str) -> None:
    made: dict[str, Callable[..., Any]] = {"pandas": pd.DataFrame, "arrow": pa.table}
    if kind == "polars":
        made["polars"] = pytest.importorskip("polars").DataFrame
    mechanism = darrm.mechanisms.PrivateDecision(design_of(named=True))
    labels = darrm.columns.release(mechanism, made[kind](SHUFFLED))
    assert (labels.to_pylist() if kind == "arrow" else labels.to_list()) == [1, 1, 0, 0]
    with pytest.raises(InputError, match="none for 'ben'"):
        darrm.columns.release(mechanism, made[kind](columns_of("eve", "anna")))
    with pytest.raises(InputError, match="Leave voters out"):
        darrm.columns.release(mechanism, made[kind](SHUFFLED), voters=VOTERS)


def test_frames_are_taken_by_the_names_that_are_passed() -> None:
    mechanism = darrm.mechanisms.PrivateDecision(design_of(named=False))
    labels = darrm.columns.release(mechanism, pd.DataFrame(SHUFFLED), voters=VOTERS)
    assert labels.tolist() == [1, 1, 0, 0]
    majority = darrm.mechanisms.DaRRM(darrm.solve(K=1, m=1, epsilon=40.0))
    assert darrm.columns.release(majority, pd.DataFrame(SHUFFLED), voters=["eve"]).tolist() == [1, 1, 0, 0]
    with pytest.raises(InputError, match="K = 3"):
        darrm.columns.release(mechanism, pd.DataFrame(SHUFFLED))
    with pytest.raises(InputError, match="voters must be a list of 3"):
        darrm.columns.release(mechanism, pd.DataFrame(SHUFFLED), voters=VOTERS[1:])


def test_a_frame_is_no_array_where_voters_have_names() -> None:
    """Numpy would take its columns by position, and forget what they are called."""
    mechanism = darrm.mechanisms.PrivateDecision(design_of(named=True))
    frame = pd.DataFrame(columns_of("eve", "ben", "anna"))
    for release in (mechanism.release, lambda votes: next(mechanism.release_blocks([votes]))):
        with pytest.raises(InputError, match="columns by the names"):
            release(frame)
    assert mechanism.release(frame[VOTERS].to_numpy()).tolist() == [1, 1, 0, 0]


FRAME = pd.DataFrame(columns_of("eve", "ben", "anna"))


@pytest.mark.parametrize(
    "rows",
    [
        FRAME.iloc[0],
        [FRAME.iloc[0], FRAME.iloc[1]],
        next(FRAME.itertuples(index=False)),
        list(FRAME.itertuples(index=False)),
        tuple(FRAME.itertuples(index=False)),
    ],
    ids=["series", "list of series", "named tuple", "list of named tuples", "tuple of named tuples"],
)
def test_rows_whose_cells_have_names_are_no_arrays_either(rows: Any) -> None:
    """By position the vote of eve, who decides, would be that of anna."""
    mechanism = darrm.mechanisms.PrivateDecision(design_of(named=True))
    for release in (mechanism.release, lambda votes: next(mechanism.release_blocks([votes]))):
        with pytest.raises(InputError, match="Got rows whose cells have names"):
            release(rows)
    darrm.mechanisms.PrivateDecision(design_of(named=False)).release(rows)


def test_what_was_read_from_a_file_is_to_be_read_by_the_names(tmp_path: Path) -> None:
    """What `read` gives without voters= is in the order of the file."""
    FRAME.to_csv(tmp_path / "votes.csv", index=False)
    read = darrm.votes.read(tmp_path / "votes.csv")
    with pytest.raises(InputError, match=r"pass its \.votes, read with voters=design\.problem\.voters"):
        darrm.mechanisms.PrivateDecision(design_of(named=True)).release(read)
    with pytest.raises(InputError, match=r"pass its \.votes\.$"):
        darrm.mechanisms.PrivateDecision(design_of(named=False)).release(read)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    design_of(named=True).save("named.json")
    design_of(named=False).save("plain.json")
    darrm.solve(K=1, m=1, epsilon=40.0).save("majority.json")
    pd.DataFrame(SHUFFLED).to_csv("votes.csv", index=False)
    pd.DataFrame(columns_of("anna", "ben", "eve")).to_csv("ordered.csv", index=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[dict[str, Any], str, list[int]]:
    """What a release prints as JSON, what it says, and its labels."""
    assert main(["release", *line, "--out", "labels.csv", "--overwrite", "--json"]) == 0
    printed, said = capsys.readouterr()
    return json.loads(printed), said, votes_of("labels.csv")


def votes_of(path: str) -> list[int]:
    return [int(line.split(",")[1]) for line in Path(path).read_text(encoding="utf-8").splitlines()[1:]]


MAPPING = {"group 1": ["anna", "ben"], "group 2": ["eve"]}
BY_NAME = "Vote columns were matched by name: anna, ben as group 1; eve as group 2."


@pytest.mark.usefixtures("folder")
def test_release_takes_columns_by_name_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["named.json"], ["plain.json", "--columns", "anna, ben,eve"]):
        printed, said, labels = run(capsys, *line, "--votes", "votes.csv")
        assert (printed["columns"], labels) == (MAPPING, [1, 1, 0, 0])
        assert BY_NAME in said
    printed, said, labels = run(capsys, "majority.json", "--votes", "votes.csv", "--columns", "eve")
    assert (printed["columns"], labels) == ({"group 1": ["eve"]}, [1, 1, 0, 0])
    assert "Vote columns were matched by name: eve." in said


@pytest.mark.usefixtures("folder")
def test_release_without_names_says_which_columns_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    printed, said, labels = run(capsys, "plain.json", "--votes", "ordered.csv")
    assert (printed["columns"], labels) == (MAPPING, [1, 1, 0, 0])
    assert (
        "Vote columns were used in order: 1 to 2 as group 1 and 3 to 3 as group 2, "
        "that is anna, ben as group 1; eve as group 2." in said
    )
    darrm.solve(K=3, m=1, epsilon=1.0).save("three.json")
    assert "Vote columns were used in order: anna, ben, eve." in run(capsys, "three.json", "--votes", "ordered.csv")[1]


@pytest.mark.usefixtures("folder")
def test_a_header_cannot_write_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Path("votes.csv").write_text("a,\x1b[2Kb,c\n1,1,1\n", encoding="utf-8")
    assert "\x1b" not in run(capsys, "plain.json", "--votes", "votes.csv")[1]


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["named.json", "--columns", "anna,ben,eve"], "Leave --columns out"),
        (["plain.json", "--columns", "anna,ben"], "--columns must be a list of 3 different names"),
        (["plain.json", "--columns", "anna,ben,anna"], "'anna' twice"),
        (["plain.json", "--columns", "anna,ben,Eve"], "did you mean 'eve' for 'Eve'? Correct the column, or the name"),
        (["plain.json"], "K = 3"),
    ],
)
def test_release_refuses_what_is_not_one_column_a_voter(
    line: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", *line, "--votes", "votes.csv", "--out", "labels.csv"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("labels.csv").exists()
