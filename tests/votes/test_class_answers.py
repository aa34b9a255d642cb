"""Votes and labels of three classes and of eleven, by numbers and by names, in files of every kind."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import votes
from darrm.votes import csv as votes_csv
from darrm.votes.answers import Answers

THREE = ("no", "may be", "yes")
ELEVEN = tuple(f"c{i}" for i in range(11))
NUMBERS = {n: tuple(map(str, range(n))) for n in (2, 3, 10, 11, 255)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votes.csv"


def drawn(classes: int, n: int = 300) -> np.ndarray:
    return np.random.default_rng(classes).integers(0, classes, (n, 4))


@pytest.mark.parametrize("size", [4, 50, 1 << 20])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("names", [*NUMBERS.values(), THREE, ELEVEN], ids=lambda names: f"{len(names)} {names[-1]}")
def test_csv(path: Path, monkeypatch: pytest.MonkeyPatch, size: int, named: bool, names: tuple[str, ...]) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    cells = drawn(len(names))
    lines = [",".join([f"q{i}"] * named + [names[c] for c in row]) for i, row in enumerate(cells.tolist())]
    path.write_text("\n".join([",".join(["id"] * named + ["a", "b", "c", "label"]), *lines]), encoding="utf-8")
    table = votes.read(path, K=3, names=names)
    assert table.votes.dtype == np.uint8
    assert table.votes.tolist() == cells[:, :3].tolist()
    assert table.labels is not None
    assert table.labels.tolist() == cells[:, 3].tolist()


@pytest.mark.parametrize("names", [NUMBERS[3], NUMBERS[10], THREE], ids=str)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_numbers_of_one_digit_need_no_csv_module(
    path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], ends: str
) -> None:
    cells = drawn(len(names))
    for first in ("id,", ""):
        lines = [(f"x{i}," if first else "") + ",".join(map(str, row)) for i, row in enumerate(cells.tolist())]
        path.write_text(ends.join([f"{first}a,b,c,d", *lines]), encoding="utf-8", newline="")
        with monkeypatch.context() as patch:
            patch.setattr(votes_csv, "_by_csv_module", None)
            assert votes.read(path, names=names).votes.tolist() == cells.tolist()


@pytest.mark.parametrize("names", [("2", "1", "0"), ("0", "1", "x")], ids=str)
def test_digits_that_are_names_of_others_are_not_read_as_numbers(path: Path, names: tuple[str, ...]) -> None:
    path.write_text("a,b\n0,1\n1,1\n", encoding="utf-8")
    assert votes.read(path, names=names).votes.tolist() == [[names.index("0"), 1], [1, 1]]
    path.write_text("a,b\n0,1\n1,2\n", encoding="utf-8")
    if "2" in names:
        assert votes.read(path, names=names).votes.tolist() == [[2, 1], [1, 0]]
    else:
        with pytest.raises(darrm.InputError, match=r"line 3, column b: A vote must be 0, 1 or x\. Got '2'"):
            votes.read(path, names=names)


@pytest.mark.parametrize("size", [4, 1 << 20])
@pytest.mark.parametrize("bad", ["3", "-1", "", "nan", "1.5", " 3", "yes", ":", "4", "03", "/", "1e9", "True"])
def test_cells_that_are_no_class(path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, size: int) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    hint = r" Classes are numbered from 0: pass 0 to 2\." if bad in ("3", "03", " 3") else ""
    hint = r" Name the classes where the design is planned or solved, as in --classes .*" if bad.isalpha() else hint
    hint = r" Voters may be absent if the design was solved with --absent; .*" if bad in ("-1", "", "nan") else hint
    path.write_text(f"a,b,label\n0,2,1\n1,{bad},2\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=rf"line 3, column b: A vote must be 0, 1 or 2\. Got '{bad}'\.{hint}$"):
        votes.read(path, names=NUMBERS[3])
    path.write_text(f"a,b,label\n0,2,1\n1,0,{bad}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=rf"line 3, column label: A label must be 0, 1 or 2\. Got '{bad}'"):
        votes.read(path, names=NUMBERS[3])


@pytest.mark.parametrize("bad", [":", "?", "/", "10", "a"])
def test_what_stands_beside_the_digits_is_none(path: Path, bad: str) -> None:
    path.write_text(f"a,b\n0,9\n1,{bad}\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match=r"line 3, column b: A vote must be an integer from 0 to 9\. Got"):
        votes.read(path, names=NUMBERS[10])


def test_what_is_allowed_is_said_in_few_words(path: Path) -> None:
    path.write_text("a\n0\nx\n", encoding="utf-8")
    for names, said in (
        (THREE, "must be no, may be or yes. Got 'x'"),
        (NUMBERS[11], "must be an integer from 0 to 10. Got 'x'. Name the classes .* as in --classes a,b,c, or"),
        (tuple(f"c{i}" for i in range(200)), "must be one of 200 names: c0, c1, .*, c11 and so on. Got 'x'"),
    ):
        with pytest.raises(darrm.InputError, match=f"line 3, column a: A vote {said}"):
            votes.read(path, names=names)


def test_none_is_no_vote_and_no_true_answer(path: Path) -> None:
    """It is an answer of releases alone."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, classes=3, none=True)
    for text in ("a,label\nnone,1\n", "a,label\n1,none\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(darrm.InputError, match=r"must be 0, 1 or 2\. Got 'none'"):
            votes.read(path, names=problem.names)


def test_too_many_names_for_a_file(path: Path) -> None:
    with pytest.raises(darrm.InputError, match=r"at most 255 answers\. Got 256\. Pass arrays"):
        Answers(tuple(map(str, range(256))))
    with pytest.raises(darrm.InputError, match="at most 127 answers of voters that may be absent"):
        Answers(tuple(map(str, range(128))), absent=True)
    with pytest.raises(darrm.InputError, match="at most 255 answers"):
        next(votes.blocks(path, names=list(map(str, range(300)))))
    votes.write_labels(path, ["x"], np.array([299]), names=list(map(str, range(300))))
    assert path.read_text().split() == ["id,label", "x,299"]


def test_votes_for_three_classes_have_no_histogram(path: Path) -> None:
    path.write_text("a,b\n0,1\n1,2\n", encoding="utf-8")
    table = votes.read(path, names=NUMBERS[3])
    with pytest.raises(darrm.InputError, match="more than two classes have no histogram"):
        _ = table.histogram


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "votes.parquet"
    cells = drawn(11)
    columns = {
        "id": [f"q{i}" for i in range(len(cells))],
        "a": pa.array(cells[:, 0], pa.int8()),
        "b": pa.array(cells[:, 1].astype(float)),
        "c": pa.array([ELEVEN[c] for c in cells[:, 2]]).dictionary_encode(),
        "label": pa.array([ELEVEN[c] for c in cells[:, 3]], pa.large_string()),
    }
    pq.write_table(pa.table(columns), path)
    table = votes.read(path, names=ELEVEN)
    assert table.votes.tolist() == cells[:, :3].tolist()
    assert table.labels is not None
    assert table.labels.tolist() == cells[:, 3].tolist()
    for names, said in (
        (NUMBERS[11], "row 1, column c: A vote must be an integer from 0 to 10. Got 'c[0-9]"),
        (ELEVEN[:10], "row [0-9]+, column a: A vote must be c0, c1, .* or c9. Got 10"),
    ):
        with pytest.raises(darrm.InputError, match=said):
            votes.read(path, names=names)


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ([0, 3], "3"),
        ([0, -1], "-1"),
        ([0.0, 1.5], "1.5"),
        ([0.0, float("nan")], "NaN"),
        ([1, None], "None"),
        ([2, 255], "255"),
    ],
)
def test_bad_parquet(tmp_path: Path, column: list[Any], got: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"a": pa.array([0, 2]), "b": pa.array(column)}), path)
    with pytest.raises(darrm.InputError, match=rf"row 2, column b: A vote must be 0, 1 or 2\. Got {got}"):
        votes.read(path, names=NUMBERS[3])


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
@pytest.mark.parametrize(
    "names",
    [*(NUMBERS[n] for n in (3, 10, 11, 255)), THREE, ('say "no", always', "x", "none"), (*NUMBERS[3], "none")],
    ids=lambda names: f"{len(names)} {names[-1]}",
)
def test_labels_are_written_by_their_names(tmp_path: Path, suffix: str, names: tuple[str, ...]) -> None:
    path = tmp_path / f"labels.{suffix}"
    labels = np.arange(len(names))[::-1]
    ids = [f"q{i}" for i in range(len(names))]
    wanted: list[Any] = [names[label] for label in labels]
    whole = names == NUMBERS.get(len(names))
    for kind in (np.uint8, np.int64, float):
        if suffix == "parquet":
            pq = pytest.importorskip("pyarrow.parquet")
            votes.write_labels(path, ids, labels.astype(kind), names=names)
            rows = pq.read_table(path).to_pylist()
        else:
            votes.write_labels(path, ids, labels.astype(kind), names=names)
            text = path.read_text(encoding="utf-8")
            rows = json.loads(text) if suffix == "json" else list(csv.DictReader(text.splitlines()))
        assert rows == [
            {"id": name, "label": int(label) if whole and suffix != "csv" else label}
            for name, label in zip(ids, wanted, strict=True)
        ]


@pytest.mark.parametrize("bad", [3, -1, 255, 0.5, float("nan")])
def test_a_label_that_is_no_answer_is_not_written(path: Path, bad: float) -> None:
    with pytest.raises(darrm.InputError, match=r"A label must be 0, 1 or 2\. Got .* in row 1"):
        votes.write_labels(path, ["x", "y"], np.array([2, bad]), names=THREE)
    with pytest.raises(darrm.InputError, match="plain array of numbers 0 to 2"):
        votes.write_labels(path, ["x"], np.array(["yes"]), names=THREE)
    assert not path.exists()


@pytest.mark.parametrize("size", [4, 1 << 20])
def test_absent_voters_among_eleven_classes(path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(votes_csv, "_BLOCK", size)
    path.write_text("a,b\n10,\n-1,3\n", encoding="utf-8")
    assert votes.read(path, names=NUMBERS[11], absent=True).votes.tolist() == [[10, -1], [-1, 3]]
