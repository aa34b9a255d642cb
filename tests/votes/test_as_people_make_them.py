"""Tables of votes as programs and people make them: the same in every format, or refused by the one cause."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import votes
from darrm.columns import _block_of
from darrm.votes.answers import Answers
from darrm.votes.rows import VotesBlock

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

NaN = float("nan")
YES_NO, THREE, CATS = ("no", "yes"), ("0", "1", "2"), ("cat", "dog", "fox")
FORMATS = ("csv", "parquet", "frame", "arrow", "polars")
ROWS = {"v1": [0, 1], "v2": [1, 1], "v3": [1, 0]}
READ = [[0, 1, 1], [1, 1, 0]]


def block(
    table: Any, kind: str, folder: Path, *, index: bool, K: int | None, names: Sequence[str], absent: bool
) -> VotesBlock:
    """A frame of pandas, read as a table of one kind."""
    if kind in ("csv", "parquet"):
        path = folder / f"votes.{kind}"
        if kind == "csv":
            table.to_csv(path, index=index)
        else:
            table.to_parquet(path)
        (made,) = votes.blocks(path, K, names=names, absent=absent)
        return made
    if kind == "arrow":
        table = pa.Table.from_pandas(table)
    if kind == "polars":
        table = pytest.importorskip("polars").from_pandas(table.reset_index() if index else table)
    return _block_of(table, K, Answers(tuple(names), absent))


class Case:
    """A frame, how it is read, and what comes out: votes and ids (None if there are none), or words of an error."""

    def __init__(
        self,
        columns: Any,
        outcome: Any,
        ids: list[str] | None = None,
        *,
        K: int | None = 3,
        names: Sequence[str] = ("0", "1"),
        absent: bool = False,
        index: bool = False,
        kinds: Sequence[str] = FORMATS,
    ) -> None:
        self.frame = columns if isinstance(columns, pd.DataFrame) else pd.DataFrame(columns)
        self.outcome, self.ids, self.kinds = outcome, ids, kinds
        self.how = {"K": K, "names": names, "absent": absent, "index": index}


def rows(**columns: Any) -> dict[str, Any]:
    """The usual rows, with these columns behind or in place of theirs."""
    return ROWS | columns


def named(index: Any) -> Any:
    return pd.DataFrame(ROWS, index=index)


CASES: dict[str, Case] = {
    "whole numbers": Case(ROWS, READ),
    "ids": Case({"id": ["a", "b"]} | ROWS, READ, ["a", "b"]),
    "ids that are numbers": Case({"id": [7, 12]} | ROWS, READ, ["7", "12"]),
    "ids and labels behind": Case(rows(label=[1, 0], id=["a", "b"]), READ, ["a", "b"]),
    "names in capitals": Case({"ID": ["a", "b"]} | ROWS | {"Label": [0, 1]}, READ, ["a", "b"]),
    "blanks around names": Case({" id": ["a", "b"], " v1 ": [0, 1], "v2": [1, 1], "v3": [1, 0]}, READ, ["a", "b"]),
    # Numbers
    "floats": Case({name: np.array(column, dtype=float) for name, column in ROWS.items()}, READ),
    "small whole numbers": Case(pd.DataFrame(ROWS, dtype="int8"), READ),
    "decimals": Case(rows(v1=[Decimal("0.00"), Decimal("1.00")]), READ),
    "nullable": Case(pd.DataFrame(ROWS, dtype="Int64"), READ),
    "truth values": Case(pd.DataFrame(ROWS).astype(bool), READ),
    "truth values of answers": Case(pd.DataFrame(ROWS).astype(bool), READ, names=YES_NO),
    "truth values by name": Case(
        pd.DataFrame(ROWS).astype(bool), [[1 - vote for vote in row] for row in READ], names=("true", "false")
    ),
    "texts of numbers": Case({"v1": ["0", " 1"], "v2": ["1.0", "1"], "v3": ["True", "FALSE"]}, READ),
    "categories of numbers": Case(rows(v1=pd.Categorical([0, 1])), READ),
    # Names of answers
    "answers": Case({"v1": YES_NO, "v2": ["yes", "yes "], "v3": ["yes", "no"]}, READ, names=YES_NO),
    "categories": Case(rows(v1=pd.Categorical(YES_NO)), READ, names=YES_NO),
    "two forms of accents": Case(rows(v1=["e\u0301", "x"], v2=["x", "x"]), READ, names=("\u00e9", "x")),
    # Absent voters
    "NaN": Case(rows(v1=[0, NaN]), [[0, 1, 1], [-1, 1, 0]], absent=True),
    "nulls of whole numbers": Case(rows(v1=pd.array([0, None], dtype="Int8")), [[0, 1, 1], [-1, 1, 0]], absent=True),
    "nulls of truth values": Case(
        rows(v1=pd.array([False, None], dtype="boolean")), [[0, 1, 1], [-1, 1, 0]], absent=True
    ),
    "no text": Case(rows(v1=["no", None]), [[0, 1, 1], [-1, 1, 0]], names=YES_NO, absent=True),
    "words for nothing": Case(
        {"v1": ["NA", "1"], "v2": ["nan", "1"], "v3": ["null", "0"]}, [[-1, -1, -1], [1, 1, 0]], absent=True
    ),
    "minus one": Case(rows(v1=[0, -1], v2=[1.0, -1.0]), [[0, 1, 1], [-1, -1, 0]], absent=True),
    "a column of nothing": Case(rows(v1=[None, None]), [[-1, 1, 1], [-1, 1, 0]], absent=True),
    "a row of nothing": Case({"v1": [0, NaN], "v2": [1, NaN], "v3": [1, NaN]}, [[0, 1, 1], [-1] * 3], absent=True),
    "nothing for several classes": Case(
        {"v1": ["fox", None], "v2": ["dog", "cat"], "v3": ["dog", "cat"]},
        [[2, 1, 1], [-1, 0, 0]],
        names=CATS,
        absent=True,
    ),
    # Indices
    "an id that is the index": Case(named(pd.Index(["a", "b"], name="id")), READ, ["a", "b"], index=True),
    "an index in capitals": Case(named(pd.Index([5, 3], name="ID")), READ, ["5", "3"], index=True),
    "a counted index called id": Case(
        named(pd.RangeIndex(4, 6, name="id")), READ, ["4", "5"], index=True, kinds=("csv", "parquet", "frame", "arrow")
    ),
    "texts in an index without a name": Case(named(["a", "b"]), READ, ["a", "b"], index=True, kinds=FORMATS[:4]),
    "whole numbers in an index without a name": Case(named([8, 3]), READ, index=True, kinds=FORMATS[:4]),
    "an index of times": Case(
        named(pd.date_range("2024-01-01", periods=2)), READ, index=True, kinds=("parquet", "frame", "arrow")
    ),
    "an index of several levels": Case(
        named(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["id", "part"])),
        READ,
        ["a", "b"],
        index=True,
        kinds=("parquet", "frame", "arrow"),
    ),
    # Columns
    "columns that pandas numbered": Case(pd.DataFrame([[0, 2, 1]]), [[0, 2, 1]], names=THREE),
    "columns numbered from 1": Case(pd.DataFrame([[0, 1, 1]], columns=["1", "2", "3"]), [[0, 1, 1]]),
    "numbers of columns beside an id": Case(
        {"id": ["a", "b"], "1": [0, 1], "0": [1, 1]}, [[0, 1], [1, 1]], ["a", "b"], K=2
    ),
    "three that no join made": Case(pd.DataFrame([[0, 1, 1]], columns=["v_a", "v_x", "v_y"]), [[0, 1, 1]]),
    "three that no join of R made": Case(pd.DataFrame([[0, 1, 1]], columns=["v.x", "v.y", "v.z"]), [[0, 1, 1]]),
    "a right one beside a left one": Case(pd.DataFrame([[0, 1, 1]], columns=["v_left", "v_right", "x_y"]), [[0, 1, 1]]),
    "a column without a name behind": Case(rows(**{"Unnamed: 3": [NaN, NaN]}), READ),
    # Refused: rows
    "an id twice": Case(
        {"id": ["a", "b", "a"], "v": [0, 1, 0]}, "the id 'a' twice, in (rows [01] and [23]|lines 2 and 4)", K=1
    ),
    "a number twice": Case({"id": [7, 7], "v": [0, 1]}, "the id '7' twice, in (rows [01] and [12]|lines 2 and 3)", K=1),
    "an id twice but for blanks": Case({"id": ["a", " a"], "v": [0, 1]}, "the id ' a' twice", K=1),
    "a number twice, once as a float": Case(
        {"id": ["7", "7.0"], "v": [0, 1]}, "the id '7.0' twice.*An integer is one id", K=1
    ),
    "a number twice, once with zeros": Case({"id": ["007", "7"], "v": [0, 1]}, "the id '7' twice", K=1),
    "an id twice but for what nobody sees": Case({"id": ["a", "a\u200b"], "v": [0, 1]}, "twice, in (rows|lines)", K=1),
    "an id that nobody sees": Case({"id": ["a", "\u200b"], "v": [0, 1]}, "column id is empty", K=1),
    "an id twice in two forms": Case({"id": ["\u00e9", "e\u0301"], "v": [0, 1]}, "twice, in (rows|lines)", K=1),
    "an index twice": Case(
        pd.DataFrame({"v": [0, 1]}, index=["a", "a"]), "the id 'a' twice", K=1, index=True, kinds=FORMATS[:4]
    ),
    "no id": Case({"id": ["a", None], "v": [0, 1]}, "(row [12]|line 3), column id is empty", K=1),
    "a blank id": Case({"id": ["a", " "], "v": [0, 1]}, "(row [12]|line 3), column id is empty", K=1),
    # Refused: cells
    "NaN where none may be absent": Case(rows(v1=[0, NaN]), "column v1: A vote must be 0 or 1. Got .*solved with --"),
    "no text where none may be absent": Case(
        rows(v1=["no", None]), "column v1: A vote must be no or yes. Got .*solved with --absent", names=YES_NO
    ),
    "NaN of several classes": Case(
        rows(v1=[0, NaN]),
        "cat, dog or fox. Got .*Voters may be absent if the design was solved with --absent",
        names=CATS,
    ),
    "a label that is missing": Case(rows(label=[1, NaN]), "column label: .* Fill it in, or", kinds=("csv", "parquet")),
    "half": Case(rows(v1=[0, 0.5]), "column v1: A vote must be 0 or 1. Got '?0.5"),
    "truth values of three": Case(pd.DataFrame(ROWS).astype(bool), "must be cat, dog or fox. Got '?False", names=CATS),
    "truth values of other names": Case(
        pd.DataFrame(ROWS).astype(bool), "must be true or maybe. Got '?False", names=("true", "maybe")
    ),
    "another answer": Case(rows(v1=["no", "Maybe"]), "must be no or yes. Got 'Maybe'", names=YES_NO),
    "times": Case(
        rows(v1=pd.to_datetime(["2024-01-01", "2024-01-02"])),
        "column v1.* Got ('2024|type time|dtype date|type date)",
    ),
    # Refused: columns
    "a voter twice": Case(
        pd.DataFrame([[0, 1, 1]], columns=["v1", "v2", "v2"]),
        "column v2 twice, in places 2 and 3: a change",
        kinds=("csv", "frame"),
    ),
    "a voter twice but for blanks": Case(pd.DataFrame([[0, 1]], columns=["v", " v"]), "column v twice", K=2),
    "a voter twice in two forms": Case(pd.DataFrame([[0, 1]], columns=["\u00e9", "e\u0301"]), "twice, in places", K=2),
    "a voter twice that pandas renamed": Case(
        pd.read_csv(io.StringIO("v1,v2,v2\n0,1,1\n")), r"columns v2 and v2\.1: either v2 stood there twice"
    ),
    "a voter twice that a join of pandas renamed": Case(
        pd.DataFrame({"id": ["a"], "v1": [0], "v2": [1]}).merge(pd.DataFrame({"id": ["a"], "v2": [1]}), on="id"),
        "columns v2_x and v2_y: either v2 stood there twice.*To keep the names of two voters, .*--columns",
    ),
    "two voters twice that a join of pandas renamed": Case(
        pd.DataFrame([[0, 1, 1, 0]], columns=["v_x", "w_x", "v_y", "w_y"]), "columns v_x and v_y: either v", K=4
    ),
    "a voter twice that a join of polars renamed": Case(
        pd.DataFrame([[0, 1, 1]], columns=["v1", "v2", "v2_right"]),
        "columns v2 and v2_right: either v2 stood there twice",
    ),
    "a voter twice but for what nobody sees": Case(
        pd.DataFrame([[0, 1]], columns=["v", "\ufeffv"]), "column v twice, in places 1 and 2", K=2
    ),
    "votes for a header": Case(pd.read_csv(io.StringIO("1,0,1\n0,1,1\n")), "1, 0, 1.1.* may be .* row of votes"),
    "votes with an id for a header": Case(
        pd.read_csv(io.StringIO("q1,yes,no,yes\nq2,no,no,no\n")),
        "q1, yes, no, yes.1.* may be .* row of votes",
        K=None,
        names=YES_NO,
    ),
    "numbers in another order": Case(pd.DataFrame([[0, 1, 1]], columns=["2", "0", "1"]), "2, 0, 1.* may be"),
    "one row a vote": Case(
        {"query": [1, 1], "voter": [0, 1], "vote": [0, 1]}, r"one row a vote .*pivot\(index='query', columns='voter'"
    ),
    "one row a label": Case(
        {"task": [1, 1], "worker_id": [0, 1], "label": [0, 1]}, "pivot.*columns='worker_id', values='label'", K=None
    ),
    "one too many": Case(
        {"query": ["a", "b"]} | ROWS,
        "Got 4: query, v1, v2, v3. One is too many: call query id if it holds ids, call v3",
    ),
    "one too few": Case({"ID": ["a", "b"], "v1": [0, 1], "v2": [1, 1]}, "Got 2: v1, v2. Column ID is taken for the id"),
    "two ids": Case({"id": ["a", "b"], "ID": ["c", "d"]} | ROWS, "several columns for the id: id, ID"),
    "something in a column without a name": Case(
        rows(**{"Unnamed: 3": [NaN, 7.0]}), "column 4 has no name and holds '?7.0"
    ),
    "a voter called None": Case(
        pd.DataFrame([[0, 1, 1]], columns=["v1", None, "v3"]), "column 2 has no name", kinds=("csv", "frame")
    ),
    "a voter without a name": Case({"v1": [0, 1], "Unnamed: 1": [0, 1], "v3": [1, 0]}, "column 2 has no name"),
}


@pytest.mark.parametrize(("what", "kind"), [(what, kind) for what, case in CASES.items() for kind in case.kinds])
def test_every_format_has_the_same_outcome(tmp_path: Path, what: str, kind: str) -> None:
    case = CASES[what]
    if isinstance(case.outcome, str):
        with pytest.raises(darrm.InputError, match=case.outcome) as error:
            block(case.frame, kind, tmp_path, **case.how)
        assert len(str(error.value).splitlines()) == 1
        return
    made = block(case.frame, kind, tmp_path, **case.how)
    assert made.votes.tolist() == case.outcome
    assert made.has_ids == (case.ids is not None)
    assert case.ids is None or list(made.ids) == case.ids


# What only texts can be

HEAD = "id,v1,v2,v3\n"
ONE = ([[1, 0, 1]], ["a"])
TWO = ([[1, 0, 1], [1, 1, 0]], ["a", "b"])
Text = tuple[str | bytes, Any]
TEXTS: dict[str, Text] = {
    "floats": (f"{HEAD}a,1.0,0.0,1.00\nb,1.,+1,-.0\n", TWO),
    "floats of numpy": ("# id,v1,v2,v3\na,1.000000000000000000e+00,0.000000000000000000e+00,1\n", ONE),
    "semicolons": ("id;v1;v2;v3\na;1;0;1\nb;1;1;0\n", TWO),
    "decimal commas": ("id;v1;v2;v3\na;1,0;0,0;1\n", ONE),
    "tabs": ("id\tv1\tv2\tv3\r\na\t1\t0\t1\r\n", ONE),
    "the mark of Excel": ("sep=;\nid;v1;v2;v3\na;1;0;1\n", ONE),
    "UTF-8 with its mark": (f"{HEAD}a,1,0,1\n".encode("utf-8-sig"), ONE),
    "UTF-16": (f"{HEAD}a,1,0,1\n".replace(",", "\t").encode("utf-16"), ONE),
    "UTF-16 the other way": (b"\xfe\xff" + f"{HEAD}a,1,0,1\n".encode("utf-16-be"), ONE),
    "UTF-32": (f"{HEAD}a,1,0,1\n".encode("utf-32"), ONE),
    "UTF-16 without its mark": (f"{HEAD}a,1,0,1\n".encode("utf-16-le"), "zero bytes in it"),
    "Latin 1": (f"{HEAD}é,1,0,1\n".encode("latin-1"), "not UTF-8 text"),
    "blank lines": (f"\n\n{HEAD}\na,1,0,1\n\n  \nb,1,1,0\n\n\n", TWO),
    "blank lines of Windows": (f"{HEAD}a,1,0,1\n\nb,1,1,0\n\n".replace("\n", "\r\n"), TWO),
    "a comma behind": ("id,v1,v2,v3,\na,1,0,1,\nb,1,1,0,\n", TWO),
    "commas behind": ("id,v1,v2,v3,,,\na,1,0,1,,,\nb,1,1,0,,,\n", TWO),
    "a comma behind rows": (f"{HEAD}a,1,0,1,\nb,1,1,0,\n", TWO),
    "a comma behind the header": ("id,v1,v2,v3,\na,1,0,1\nb,1,1,0\n", TWO),
    "a vote behind the header": (f"{HEAD}a,1,0,1,1\n", "line 2: 5 columns where the header has 4"),
    "a vote without a name": ("id,v1,v2,v3,\na,1,0,1,\nb,1,1,0,1\n", "line 3, column 5 has no name and holds '1'"),
    "a row of commas": (f"{HEAD}a,1,0,1\n,,,\n", "line 3 holds nothing but .* Delete that line"),
    "an index of pandas": (",v1,v2,v3\n0,1,0,1\n1,1,1,0\n", ([[1, 0, 1], [1, 1, 0]], None)),
    "an index beside ids": (",id,v1,v2,v3\n0,a,1,0,1\n1,b,1,1,0\n", TWO),
    "an index of numbered columns": (",0,1,2\n0,1,0,1\n", ([[1, 0, 1]], None)),
    "names of rows of R": ('"","v1","v2","v3"\n"1",TRUE,FALSE,TRUE\n', ([[1, 0, 1]], None)),
    "a table of R": ('"v1" "v2" "v3"\n"1" 0 1 1\n', "not a CSV file"),
    "bars": ("id|v1|v2|v3\na|1|0|1\n", "Separate columns by commas, semicolons or tabs"),
    "no header": ("1,0,1\n0,0,0\n", "Its first line, 1, 0, 1, may be a row of votes"),
    "no header, floats": ("1.0,0.0,1.0\n0.0,0.0,0.0\n", "may be a row of votes"),
    "no header, truth": ("True,False,True\nTrue,True,True\n", "may be a row of votes"),
    "no header, ids": ("q1,1,0,1\nq2,0,0,0\n", "Its first line, q1, 1, 0, 1, may be a row of votes"),
    "no header, ids that are numbers": ("17,0,1,1\n18,0,1,1\n", "may be a row of votes"),
    "nothing": ("", "has no header"),
    "blank lines alone": ("\n\n", "has no header"),
    "a header alone": (HEAD, "there is no line below the header"),
    "a header and blank lines": (f"{HEAD}\n\n", "there is no line below the header"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_texts(tmp_path: Path, what: str) -> None:
    content, outcome = TEXTS[what]
    path = tmp_path / "votes.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if isinstance(outcome, str):
        with pytest.raises(darrm.InputError, match=outcome):
            votes.read(path, 3)
        return
    (made,) = votes.blocks(path, 3)
    ids = list(made.ids) if made.has_ids else None
    assert (made.votes.tolist(), ids) == outcome


def test_the_same_of_a_file_in_small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.votes import csv

    path = tmp_path / "votes.csv"
    for what, (content, outcome) in TEXTS.items():
        if isinstance(outcome, str):
            continue
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        for size in (1, 5, 16):
            monkeypatch.setattr(csv, "_BLOCK", size)
            assert votes.read(path, 3).votes.tolist() == outcome[0], what


@pytest.mark.parametrize(
    ("header", "K", "names", "read"),
    [
        ("0", 1, ("0", "1"), False),  # as likely a first vote
        ("0,1", 2, ("0", "1"), False),
        ("0,1", 2, THREE, False),
        ("0,1,2", 3, THREE, True),
        ("0,1,2", 3, ("0", "1"), True),
        ("0,2", 2, ("0", "1"), True),  # no votes of two answers
        ("id,0", 1, ("0", "1"), True),
        ("0,label", 1, ("0", "1"), True),
        ("id,no,yes", 2, YES_NO, True),
        ("no,yes", 2, YES_NO, False),
        ("a,yes", 2, YES_NO, False),
        ("yes,a", 2, YES_NO, False),
        ("yes,a,b", 3, YES_NO, True),
        ("1,0,x", 3, ("0", "1"), False),  # a row with a fault
        ("1,0,NA", 3, ("0", "1"), False),
        ("0,1,5", 3, ("0", "1"), True),
    ],
)
def test_a_header_of_numbers_or_answers(
    tmp_path: Path, header: str, K: int, names: tuple[str, ...], read: bool
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"{header}\n{','.join('0' * (header.count(',') + 1))}\n", encoding="utf-8")
    if read:
        assert votes.read(path, K, names=names).votes.tolist() == [[0] * K]
    else:
        with pytest.raises(darrm.InputError, match="may be a row of votes, or names of voters"):
            votes.read(path, K, names=names)


@pytest.mark.parametrize(
    ("text", "K", "said"),
    [
        ("23,23,4\n20,25,5\n", 3, True),
        ("r1,23,23\nr2,25,21\n", 2, True),
        ("23,22,4\n20,25,5\n", 3, True),
        ("23,22\n20,25\n", 45, True),
        ("id,23,23\nr1,0,1\n", 2, False),  # a header, with a voter twice
        ("id,23,22\nr1,0,2\n", 2, False),
        ("7,23\n0,2\n", 2, False),  # voters by their numbers, and a third class
    ],
)
def test_a_first_line_of_counts_is_called_no_header(tmp_path: Path, text: str, K: int, *, said: bool) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(darrm.InputError) as error:
        votes.read(path, K)
    assert ("may be no header" in str(error.value) and "--layout counts" in str(error.value)) is said


def test_numbers_that_pandas_gave_columns_are_names_in_any_order() -> None:
    frame = pd.DataFrame([[0, 1, 2]])[[2, 0, 1]]
    assert _block_of(frame, 3, Answers(THREE)).votes.tolist() == [[2, 0, 1]]
    assert _block_of(frame[[1, 0]], 2, Answers(THREE)).votes.tolist() == [[1, 0]]


def test_one_voter_and_a_blank_line(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("v\n1\n\n0\n", encoding="utf-8")
    assert votes.read(path, 1).votes.tolist() == [[1], [0]]
    with pytest.raises(darrm.InputError, match="line 3 is blank: this may be no row, or one whose voter is absent"):
        votes.read(path, 1, absent=True)


def test_an_empty_last_cell_is_not_passed_over_where_it_may_be_a_vote(tmp_path: Path) -> None:
    """R writes names of rows without a name above them: the votes may be the last three cells."""
    path = tmp_path / "votes.csv"
    path.write_text("v1,v2,v3\n1,0,1,\n", encoding="utf-8")
    assert votes.read(path, 3).votes.tolist() == [[1, 0, 1]]
    with pytest.raises(darrm.InputError, match="line 2: 4 columns where the header has 3"):
        votes.read(path, 3, absent=True)


@pytest.mark.parametrize("K", [1, None])
def test_a_voter_called_voter(tmp_path: Path, K: int | None) -> None:
    """One voter beside an id and a label is no table with one row a vote, if there must be one voter."""
    path = tmp_path / "votes.csv"
    path.write_text("id,voter,label\nq,1,0\n", encoding="utf-8")
    if K:
        assert votes.read(path, K).votes.tolist() == [[1]]
    else:
        with pytest.raises(darrm.InputError, match="one row a vote"):
            votes.read(path, K)


@pytest.mark.parametrize("names", [("\u00e9", "e\u0301"), ("yes", " yes")])
def test_names_of_answers_that_look_alike(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("v\n0\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="differ by more than blanks around them and forms of Unicode"):
        votes.read(path, names=names)


def test_numbers_mean_the_same_in_columns_of_numbers_and_in_texts(tmp_path: Path) -> None:
    """Answers called by numbers of other places."""
    for table, names, read in (
        ({"a": [1, 2]}, ("1", "2"), [[0], [1]]),
        ({"a": [-1, 1]}, ("-1", "1"), [[0], [1]]),
        ({"a": [1, 0]}, ("1", "0"), [[0], [1]]),
    ):
        for kind in ("csv", "parquet", "frame", "arrow"):
            how: dict[str, Any] = {"index": False, "K": 1, "names": names, "absent": False}
            assert block(pd.DataFrame(table), kind, tmp_path, **how).votes.tolist() == read


# One change of the data must reach one vote of a voter


def losses(columns: Sequence[int], table: Callable[[int], float], low: float) -> list[float]:
    """How far log-probabilities of a label move if the one voter that ``columns`` show changes, by brute force.

    All other voters vote as they please. The voter is private by itself, votes 1 with ``low`` or 1 - ``low``, and its
    vote is counted once for each of its columns.
    """
    found = []
    for others in range(2 ** (3 - len(columns))):
        ones = bin(others).count("1")
        here, there = ((1 - p) * table(ones) + p * table(ones + len(columns)) for p in (low, 1 - low))
        found += [abs(np.log(here / there)), abs(np.log((1 - here) / (1 - there)))]
    return found


def test_what_a_voter_that_is_there_twice_would_lose(tmp_path: Path) -> None:
    """A release certified for one vote a change has not its guarantee: so no such file is released."""
    epsilon, total = 1.0, 0.3
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=epsilon, max_affected=1)], epsilon=total)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.7]))
    chances = design.probabilities([[ones] for ones in range(4)])[:, 1]
    low = 1 / (1 + np.exp(epsilon))
    assert max(losses([1], lambda ones: chances[ones], low)) <= total + 1e-9
    assert max(losses([1, 2], lambda ones: chances[ones], low)) > 1.2 * total
    mechanism = darrm.mechanisms.PrivateDecision(design)
    (tmp_path / "votes.csv").write_text("id,v1,v2,v2\nq,0,1,1\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="column v2 twice"):
        votes.read(tmp_path / "votes.csv", 3)
    with pytest.raises(darrm.InputError, match="column v2 twice"):
        darrm.columns.release(mechanism, pd.DataFrame([[0, 1, 1]], columns=["v1", "v2", "v2"]))
    with pytest.raises(darrm.InputError, match="column v2 twice"):
        darrm.columns.release(mechanism, pa.table([[0], [1], [1]], names=["v1", "v2", "v2 "]))


def test_a_frame_that_is_taken_for_an_array_has_each_voter_once() -> None:
    mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=40.0))
    twice = pd.DataFrame([[0, 1, 1]], columns=["v1", "v2", "v2"])
    for use in (
        mechanism.release,
        lambda frame: next(mechanism.release_blocks([frame])),
        lambda frame: votes.counts(frame, 2),
    ):
        with pytest.raises(darrm.InputError, match="column v2 twice, in places 2 and 3"):
            use(twice)
        with pytest.raises(darrm.InputError, match="column v twice"):
            use(pa.table([[0], [1], [1]], names=["a", "v", "v"]))
        with pytest.raises(darrm.InputError, match="a data frame with a column Id: pass it to"):
            use(pd.DataFrame([[0, 1, 1]], columns=["Id", "v1", "v2"]))
        assert use(pd.DataFrame(ROWS)) is not None
