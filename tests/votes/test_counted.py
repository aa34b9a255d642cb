"""Files of counted votes, and of one row a vote."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from cases import thorough

import darrm
from darrm.votes import counted, read_counts

NAMES = ["cat", "dog", "fox"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "votes.csv"


@pytest.mark.parametrize(
    ("text", "ids", "has_ids"),
    [
        ("id,cat,dog,fox\na,3,1,0\nb,0,4,0\n", ["a", "b"], True),
        ("fox,dog,ID,cat\n0,1,a,3\n0,4,b,0", ["a", "b"], True),
        ("cat,dog,fox,label\n3,1,0,dog\n0,4,0,cat\n", ["1", "2"], False),
        ("\ufeffcat;dog;fox\r\n3;1;0\r\n0;4;0.0\r\n\r\n", ["1", "2"], False),
    ],
    ids=["plain", "another order", "with a label", "of Excel"],
)
def test_counts_by_the_names_of_classes(path: Path, text: str, ids: list[str], has_ids: bool) -> None:
    path.write_text(text, encoding="utf-8", newline="")
    table = read_counts(path, NAMES)
    assert isinstance(table.counts, np.ndarray)
    assert table.counts.tolist() == [[3, 1, 0], [0, 4, 0]]
    assert (list(table.ids), table.has_ids) == (ids, has_ids)
    assert repr(table) == "<votes for 3 classes on 2 queries>"


@pytest.mark.parametrize(
    "text",
    [
        "id,voter,vote\na,x,cat\nb,x,dog\na,y,2\nb,y,1\n",
        "vote;id;minutes\ncat;a;7\n2;a;\ndog;b;1\n1.0; b ;1\n",
    ],
    ids=["mixed rows", "other columns, no voter"],
)
def test_one_row_a_vote(path: Path, text: str) -> None:
    path.write_text(text)
    table = read_counts(path, NAMES, tall=True)
    assert isinstance(table.counts, scipy.sparse.csr_array)
    assert table.counts.toarray().tolist() == [[1, 0, 1], [0, 2, 0]]
    assert (list(table.ids), table.has_ids) == (["a", "b"], True)


def test_an_integer_is_one_id_however_it_is_written(path: Path) -> None:
    """As ledgers take it: votes of 007 and 7 are votes on one query."""
    path.write_text("id,vote\n007,0\n7,1\n8,1\n7.0,1\n")
    table = read_counts(path, 2, tall=True)
    assert (list(table.ids), table.counts.toarray().tolist()) == (["007", "8"], [[1, 2], [0, 1]])


@pytest.mark.parametrize("kind", thorough("counts", "rows"))
def test_parquet_is_as_csv(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path, tall = tmp_path / "votes.parquet", kind == "rows"
    columns = {"id": [1, 1, 2], "vote": ["cat", "fox", None]} if tall else {"dog": [1, 4], "cat": [3, 0], "fox": [0, 0]}
    pq.write_table(pa.table(columns).slice(0, 2), path)
    assert read_counts(path, NAMES, tall=tall).counts.sum() == (2 if tall else 8)
    if tall:
        pq.write_table(pa.table(columns), path)
        with pytest.raises(darrm.InputError, match=r"row 3, column vote: A vote must be cat, dog or fox. Got ''"):
            read_counts(path, NAMES, tall=True)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(darrm.InputError, match="not a whole Parquet file"):
        read_counts(path, NAMES, tall=tall)


def test_many_classes_are_sparse(path: Path) -> None:
    path.write_text(",".join(map(str, range(1001))) + "\n" + ",".join(["0"] * 1000) + ",5\n")
    counts = read_counts(path, 1001).counts
    assert isinstance(counts, scipy.sparse.csr_array)
    assert (counts.nnz, counts[0, 1000]) == (1, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "id,cat,dog\na,1,2\n",
            r"for each class, whose name is the class: cat, dog or fox\. Got id, cat, dog\. Add one for fox, or",
        ),
        ("cat,dog,fox,owl\n1,2,0,1\n", "the column owl, which is not a class"),
        ("cat,dog,fox,cat\n1,2,0,1\n", "the column cat twice"),
        ("cat,dog,fox\n1,2\n", "line 2: 2 columns where the header has 3"),
        ("cat,dog,fox\n1,2,-1\n", r"line 2, column fox: A count must be an integer of at least 0\. Got '-1'"),
        ("cat,dog,fox\n1,,0\n", r"column dog: A count .* Got ''"),
        ("cat,dog,fox\n1,nan,0\n", "A count must be"),
        ("cat,dog,fox\n1,inf,0\n", "A count must be"),
        ("cat,dog,fox\n1,.5,0\n", "A count must be"),
        ("cat,dog,fox\n", "holds no counts"),
        ("id,cat,dog,fox\na,1,2,0\na,1,2,0\n", "has the id 'a' twice"),
        ("cat,dog,fox\n1,2,0\n1,2,1\n", r"Each query must have 3 votes\. Got 4 for '2'"),
        ("4,5,3\n1,2,0\n", r"no header\. .* id, and one for each class, which is cat, dog or fox\. Got 4, 5, 3\."),
        ("a,2,2,2\n", "has no header"),
        ("", "has no header|must have a column"),
    ],
)
def test_counts_that_are_none(path: Path, text: str, said: str) -> None:
    path.write_text(text)
    with pytest.raises(darrm.InputError, match=said):
        read_counts(path, NAMES, K=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query,vote\na,cat\n", r"must have the columns id, of the query, and vote.* Got query, vote"),
        ("a,x,cat\nb,x,dog\n", r"Got a, x, cat\. Rename its columns, or .*if the file has no header"),
        ("id,voter,vote\na,x,cat\na,x,dog\n", r"line 3: x votes on a a second time\."),
        ("id,voter,vote\na,,cat\n", "line 2: column voter is empty"),
        ("id,vote\n,cat\n", "line 2, column id is empty"),
        ("id,vote\na,owl\n", r"line 2, column vote: A vote must be cat, dog or fox\. Got 'owl'"),
        ("id,vote\na,Cat\n", r"Got 'Cat'\. Did you mean 'cat'\?"),
        ("id,vote\na,3\n", r"Got '3'"),
        ("id,vote\n", "holds no votes"),
        ("id,vote\na,cat\na,dog\nb,cat\n", r"Each query must have 2 votes\. Got 1 for 'b'"),
    ],
)
def test_votes_that_are_none(path: Path, text: str, said: str) -> None:
    path.write_text(text)
    with pytest.raises(darrm.InputError, match=said):
        read_counts(path, NAMES, tall=True, K=2)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(darrm.InputError, match="could not be read"):
        read_counts(tmp_path / "none.csv", 2)
    (tmp_path / "latin.csv").write_bytes("id,vote\né,1\n".encode("latin-1"))
    with pytest.raises(darrm.InputError, match="not UTF-8"):
        read_counts(tmp_path / "latin.csv", 2, tall=True)
    darrm.solve(K=3, m=1, epsilon=1.0).save(tmp_path / "gamma.json")
    with pytest.raises(darrm.InputError, match="design"):
        read_counts(tmp_path / "gamma.json", 2)


@pytest.mark.thorough
def test_labels_of_many_classes_are_written_by_name_and_number(tmp_path: Path) -> None:
    labels = np.array([50_256, 255, 0])
    for names, last in (
        (list(map(str, range(50_257))), "50256"),
        ([f"token {i}" for i in range(50_257)], "token 50256"),
    ):
        darrm.votes.write_labels(tmp_path / "labels.csv", ["a", "b", "c"], labels, names=names)
        assert (tmp_path / "labels.csv").read_text().split("\n")[1] == f"a,{last}"
    with pytest.raises(darrm.InputError, match="A label must be an integer from 0 to 50256"):
        darrm.votes.write_labels(tmp_path / "labels.csv", ["a"], np.array([50_257]), names=names)


def test_counts_are_read_in_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other forms of numbers, faults and repeated ids in a later block are found as in the first."""
    monkeypatch.setattr(counted, "_ROWS", 4)
    rows = [[i % 3, 2, 5 - i % 3] for i in range(11)]
    lines = [f"q{i},{','.join(map(str, row))}" for i, row in enumerate(rows)]
    lines[9] = "q9,0.0,2e0,5"
    path.write_text("\n".join(["id,cat,dog,fox", *lines]) + "\n")
    parts = list(counted.count_blocks(path, tuple(NAMES), 7))
    assert [len(part.counts) for part in parts] == [4, 4, 3]
    table = read_counts(path, NAMES, K=7)
    assert table.counts.tolist() == rows == np.concatenate([part.counts for part in parts]).tolist()
    assert list(table.ids) == [f"q{i}" for i in range(11)]
    for at, line, said in (
        (9, "q9,1,1,1", "Each query must have 7 votes. Got 3 for 'q9'"),
        (9, "q9,1,x,1", "line 11, column dog: A count must be an integer"),
        (9, "q9,1,,6", "line 11, column dog: A count must be an integer"),
        (10, "q1,1,1,5", "q1"),
        (10, "q10,99999999999999,1,5", "line 12, column cat: A count must be an integer"),
    ):
        path.write_text("\n".join(["id,cat,dog,fox", *lines[:at], line, *lines[at + 1 :]]) + "\n")
        with pytest.raises(darrm.InputError, match=said):
            read_counts(path, NAMES, K=7)
        first = counted.count_blocks(path, tuple(NAMES), 7)
        assert len(next(first).counts) == 4
    path.write_text("cat,dog,fox\n" + "1,2,3\n" * 9)
    assert list(read_counts(path, NAMES).ids) == [str(i) for i in range(1, 10)]


@pytest.mark.slow
def test_a_million_rows_of_counts_within_moderate_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "counts.csv").write_text("cat,dog,fox\n")
    with (tmp_path / "counts.csv").open("ab") as file:
        for _ in range(100):
            np.savetxt(file, rng.multinomial(20, [0.5, 0.3, 0.2], 10_000), "%d", ",")
    tracemalloc.start()
    n = sum(len(block.counts) for block in counted.count_blocks(tmp_path / "counts.csv", tuple(NAMES), 20))
    assert n == 10**6
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
