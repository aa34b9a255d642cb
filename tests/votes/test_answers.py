"""Answers by their names, and absent voters, in files of votes and labels."""

import csv
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import votes
from darrm.votes import csv as votes_csv

YES_NO = ("no", "yes")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votes.csv"


@pytest.mark.parametrize("size", [4, 30, 1 << 20])
def test_names_and_numbers_may_be_mixed(path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    path.write_text('id,a,b,label\n1,0,1,no\n2,yes,"no",1\n3,1,1,1\n', encoding="utf-8")
    table = votes.read(path, K=2, names=YES_NO)
    assert table.votes.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert table.votes.dtype == np.uint8
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 1]


def test_names_that_are_digits_the_other_way_round(path: Path) -> None:
    """Also in lines that are plain zeros and ones."""
    path.write_text("a,b\n0,1\n1,1\n", encoding="utf-8")
    assert votes.read(path, names=("1", "0")).votes.tolist() == [[1, 0], [0, 0]]
    path.write_text("a,b\n2,1\n", encoding="utf-8")
    assert votes.read(path, names=("1", "2")).votes.tolist() == [[1, 0]]
    path.write_text("a,b\n0,1\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="column a: A vote must be 1 or 2"):
        votes.read(path, names=("1", "2"))


@pytest.mark.every
@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        ("Cat", " Did you mean 'cat'?"),
        ("polarbear", " Did you mean 'polar bear'?"),
        ("none", ' "none" is an answer of releases alone, no vote.'),
        ("cart", ""),
    ],
)
def test_a_name_that_is_nearly_one_and_none(path: Path, cell: str, hint: str) -> None:
    path.write_text(f"a,b\ndog,{cell}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError) as refusal:
        votes.read(path, names=("cat", "dog", "polar bear"))
    assert str(refusal.value).endswith(f"A vote must be cat, dog or polar bear. Got '{cell}'.{hint}")


@pytest.mark.parametrize("size", [4, 30, 1 << 20])
def test_absent_voters(path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    path.write_text("a,b,label\n0,1,0\n,-1,1\n1,,0\n", encoding="utf-8")
    blocks = list(votes.blocks(path, absent=True))
    assert np.concatenate([block.votes for block in blocks]).tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert {block.votes.dtype for block in blocks} == {np.dtype(np.int8)}
    table = votes.read(path, absent=True)
    with pytest.raises(darrm.InputError, match="some are absent have no histogram"):
        _ = table.histogram
    with pytest.raises(darrm.InputError, match="line 3, column a: A vote must be 0 or 1"):
        votes.read(path)


@pytest.mark.parametrize("label", ["", "-1"])
def test_a_label_is_never_absent(path: Path, label: str) -> None:
    path.write_text(f"a,b,label\n0,1,{label}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=f"column label: A label must be 0 or 1. Got '{label}'"):
        votes.read(path, absent=True)


@pytest.mark.parametrize(
    ("first", "hint"),
    [
        ("a|b|c", "Separate columns by commas, semicolons or tabs"),
        ("x1,no,yes,no", "Its first line, x1, no, yes, no, may be a row of votes"),
        ("name,a,b,c", "One is too many: call name id if it holds ids, call c label if it holds true answers, delete"),
        (
            "id,name,a,b,c",
            "One is too many: call c label if it holds .*, or name those of votes .darrm release --columns",
        ),
        ("x,name,a,b,c", "2 are too many: delete"),
        ("ID,a,b", r"Got 2: a, b\. Column ID is taken for the id\.$"),
        ("a,b", r"Got 2: a, b\. One voter has no column: add it, or use a design for 2 voters\.$"),
    ],
)
def test_a_header_of_other_columns_says_what_may_be_wrong(tmp_path: Path, first: str, hint: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"{first}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=hint):
        darrm.votes.read(path, 3, names=["no", "yes"])


@pytest.mark.parametrize("first", ["no,yes", "0,yes", ",-1"])
def test_a_first_line_of_votes_is_no_header(path: Path, first: str) -> None:
    path.write_text(f"{first}\nno,no\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="has no header"):
        votes.read(path, names=YES_NO, absent=True)


@pytest.mark.parametrize("names", [("no",), ("no", "no"), ("no", 1), ("no", ""), "ny", ("a", "b", "a")])
def test_names_that_are_none(path: Path, names: object) -> None:
    path.write_text("a,b\n0,1\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="names must be two or more different texts"):
        votes.read(path, names=names)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="names must be two or more different texts"):
        votes.write_labels(path, ["x"], np.array([1]), names=names)  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", [("1", "0"), ("1", "2"), ("yes", "0")])
def test_a_number_is_the_name_of_its_own_place(classes: tuple[str, str]) -> None:
    """Columns of numbers hold places, columns of text names: 1 must not mean two answers."""
    with pytest.raises(darrm.InputError, match=r"A class called [01] must be at index"):
        darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, classes=classes)
    darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, classes=("0", "1"))


def test_a_vote_is_never_taken_for_an_absent_voter(path: Path) -> None:
    """Votes of -1 and 1: in a column of numbers -1 would be an absent voter, in a text the first answer."""
    path.write_text("a,b\n-1,1\n", encoding="utf-8")
    assert votes.read(path, names=("-1", "1")).votes.tolist() == [[0, 1]]
    with pytest.raises(darrm.InputError, match="names must be other texts than -1 where that stands for an absent"):
        votes.read(path, names=("-1", "1"), absent=True)
    with pytest.raises(darrm.InputError, match="A class must not be called -1, which stands for an absent voter"):
        darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], 1.0, classes=("-1", "1"))


def test_labels_are_written_by_their_names(path: Path) -> None:
    names, ids = ('say "no", always', "yes"), ["x", 'a,"b"']
    votes.write_labels(path, ids, np.array([0, 1], dtype=np.uint8), names=names)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["id", "label"], [ids[0], names[0]], [ids[1], names[1]]]


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "votes.parquet"
    columns = {
        "a": pa.array(["no", None, "yes"]),
        "b": pa.array([1.0, None, -1.0]),
        "c": pa.array([None, True, False]),
        "d": pa.array([0, -1, None], pa.int32()),
    }
    pq.write_table(pa.table(columns), path)
    assert votes.read(path, names=YES_NO, absent=True).votes.tolist() == [
        [0, 1, -1, 0],
        [-1, -1, 1, -1],
        [1, -1, 0, -1],
    ]
    for names, absent, said in (
        (YES_NO, False, "row 2, column a: A vote must be no or yes. Got None. Voters may be absent"),
        (("0", "1"), True, "row 1, column a: A vote must be 0 or 1, or -1 or nothing for an absent voter. Got 'no'"),
        (("no", "maybe"), True, "row 3, column a: A vote must be no or maybe, or -1 or nothing.* Got 'yes'"),
    ):
        with pytest.raises(darrm.InputError, match=said):
            votes.read(path, names=names, absent=absent)
    votes.write_labels(path, ["x", "y"], np.array([1, 0], dtype=np.uint8), names=YES_NO)
    assert pq.read_table(path).to_pylist() == [{"id": "x", "label": "yes"}, {"id": "y", "label": "no"}]


@pytest.mark.parametrize("bad", [255, 2, -2, 0.5, float("inf")])
def test_parquet_of_other_numbers(tmp_path: Path, bad: float) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"a": pa.array([0, bad])}), path)
    with pytest.raises(darrm.InputError, match=f"row 2, column a: A vote must be 0 or 1, or -1.* Got {bad}"):
        votes.read(path, absent=True)


def test_classes_stand_in_the_place_of_names(path: Path) -> None:
    path.write_text("a,b\n2,0\n1,1\n", encoding="utf-8")
    for given in (3, ["x", "y", "z"], iter("xyz")):
        assert votes.read(path, classes=given).votes.tolist() == [[2, 0], [1, 1]]
    with pytest.raises(darrm.InputError, match=r"A vote must be .*pass classes=3, or their names"):
        votes.read(path)
    with pytest.raises(darrm.InputError, match="classes takes the place of names"):
        votes.read(path, names=("x", "y", "z"), classes=3)
    for wrong in (1, 2.5, 300, "xyz", True):
        with pytest.raises(darrm.InputError, match=r"classes must be an integer|names must be"):
            votes.read(path, classes=wrong)  # type: ignore[arg-type]
