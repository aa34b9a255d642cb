"""Labels of tables that an engine passes on part by part, in any order and more than once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.accounting import Ledger
from darrm.columns import release, release_batches
from darrm.errors import BudgetError, InputError, RepeatedIdError
from darrm.mechanisms import LabelKey, PrivateDecision

pa = pytest.importorskip("pyarrow")
KEY = LabelKey(bytes(range(32)))
N = 6000
DESIGN = darrm.solve(K=5, m=1, epsilon=0.5)
MECHANISM = PrivateDecision(DESIGN)


def table(n: int = N, start: int = 0) -> Any:
    votes = np.random.default_rng(0).integers(0, 2, (N, 5), dtype=np.int8)[start : start + n]
    ids = [f"q{i}" for i in range(start, start + n)]
    return pa.table({**{name: votes[:, j] for j, name in enumerate("abcde")}, "id": ids})


def of(batches: Any) -> dict[str, Any]:
    made = pa.Table.from_batches(batches)
    return dict(zip(made["id"].to_pylist(), made["label"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def known() -> dict[str, int]:
    labels = release(MECHANISM, table(), key=KEY).to_pylist()
    return dict(zip(table()["id"].to_pylist(), labels, strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The design, its key and the votes as files."""
    monkeypatch.chdir(tmp_path)
    DESIGN.save("gamma.json")
    Path("labels.key").write_bytes(bytes(range(32)))
    os.chmod("labels.key", 0o600)
    import pyarrow.parquet as pq

    pq.write_table(table(), "votes.parquet")
    return tmp_path


@pytest.mark.parametrize("size", [97, 1000])
def test_batches_have_the_labels_of_the_table(size: int, known: dict[str, int]) -> None:
    batches = table().to_batches(max_chunksize=size)[::-1]
    made = list(release_batches(MECHANISM, iter(batches), key=KEY))
    assert [len(one) for one in made] == [len(one) for one in batches]
    assert made[0].schema == pa.schema({"id": pa.string(), "label": pa.int32()})
    assert of(made) == known


def test_names_are_texts_and_voters_are_taken_by_name() -> None:
    groups = [darrm.VoterGroup(2, epsilon=1.0, names=["ben", "anna"]), darrm.VoterGroup(1, epsilon=0.5, names=["eve"])]
    problem = darrm.DecisionProblem(groups, epsilon=0.8, classes=["no", "yes"])
    mechanism = PrivateDecision(darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.6])))
    votes = pa.table({"eve": ["no", "yes"], "id": [7, 8], "other": [0, 0], "anna": ["no"] * 2, "ben": ["yes"] * 2})
    made = of(release_batches(mechanism, votes.to_batches(), key=KEY))
    assert made == dict(zip(["7", "8"], release(mechanism, votes, key=KEY).to_pylist(), strict=True))
    rows = mechanism.release([[1, 0, 0], [1, 0, 1]], key=KEY, ids=["7", "8"])
    assert list(made.values()) == [problem.names[label] for label in rows]


def test_a_ledger_is_charged_once_and_before_the_labels(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l.json", DESIGN, total_epsilon=5.0, total_delta=0.0, voters="fresh")
    batches = table(8).to_batches(max_chunksize=4)
    first = release_batches(MECHANISM, batches, key=KEY, ledger=book)
    one = next(first)
    assert book.status()["released"] == 4
    every = of([one, *first])
    assert of(release_batches(MECHANISM, batches, key=KEY, ledger=book)) == every
    assert book.status()["released"] == 8
    third = release_batches(MECHANISM, [*batches, *table(4, 8).to_batches()], key=KEY, ledger=book)
    with pytest.raises(BudgetError):
        list(third)
    with pytest.raises(RepeatedIdError):
        list(release_batches(MECHANISM, batches, ledger=book))
    assert book.status()["released"] == 8


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="Each batch must have a column id"):
        list(release_batches(MECHANISM, table().drop_columns("id").to_batches()))
    with pytest.raises(InputError, match="The stream has the id 'q0' twice"):
        list(release_batches(MECHANISM, [table(2), table(2)], key=KEY))
    with pytest.raises(InputError, match="batches must be"):
        release_batches(MECHANISM, 7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="mechanism must be"):
        release_batches(DESIGN, [])  # type: ignore[arg-type]
    assert list(release_batches(MECHANISM, [], key=KEY)) == []


def test_polars_evaluates_a_lazy_frame_twice(folder: Path, known: dict[str, int]) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.scan_parquet("votes.parquet").map_batches(
        lambda frame: frame.select("id", release(MECHANISM, frame, key="labels.key")),
        schema={"id": polars.String, "label": polars.UInt8},
    )
    for _ in range(2):
        made = lazy.collect()
        assert dict(zip(made["id"], made["label"], strict=True)) == known


@pytest.mark.thorough
def test_duckdb_passes_batches_in_any_order(folder: Path, known: dict[str, int]) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        reader = database.sql("SELECT * FROM 'votes.parquet' ORDER BY hash(id)").to_arrow_reader(1000)
        assert of(release_batches(MECHANISM, reader, key="labels.key")) == known


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own, by a newer pandas
def test_dask_evaluates_partitions_twice(folder: Path, known: dict[str, int]) -> None:
    frames = pytest.importorskip("dask.dataframe")
    votes = frames.read_parquet("votes.parquet").repartition(npartitions=3)
    made = votes.map_partitions(
        lambda part: part[["id"]].assign(label=release(MECHANISM, part, key="labels.key")),
        meta={"id": "str", "label": "uint8"},
    )
    for _ in range(2):
        found = made.compute(scheduler="threads")
        assert dict(zip(found["id"], found["label"], strict=True)) == known


SPARK = """
import sys
import darrm
from pyspark.sql import SparkSession

def labels(batches):
    mechanism = darrm.mechanisms.DaRRM(darrm.load("gamma.json"))
    return darrm.columns.release_batches(mechanism, batches, key="labels.key")

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
votes = session.read.parquet("votes.parquet").repartition(4)
made = votes.mapInArrow(labels, "id string, label int")
made.write.parquet("first")
made.write.parquet("second")
session.stop()
"""


@pytest.mark.slow
def test_spark_evaluates_a_job_twice(folder: Path, known: dict[str, int]) -> None:
    pytest.importorskip("pyspark")
    import pyarrow.parquet as pq

    places = os.pathsep.join(str(Path(module.__path__[0]).parent) for module in (darrm, __import__("darrm_solvers")))
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": places}
    subprocess.run([sys.executable, "-c", SPARK], env=env, check=True, capture_output=True, timeout=300)
    for name in ("first", "second"):
        assert of(pq.read_table(name).to_batches()) == known


def test_batches_are_read_one_at_a_time() -> None:
    """What an engine has not passed on yet is not waited for."""
    taken = 0

    def batches() -> Iterator[Any]:
        nonlocal taken
        for batch in table().to_batches(max_chunksize=1000):
            taken += 1
            yield batch

    made = release_batches(MECHANISM, batches(), key=KEY)
    next(made)
    assert taken == 1
