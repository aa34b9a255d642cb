"""Labels by key in Spark, Dask, DuckDB and polars: each evaluates the same votes twice; are the labels the same?

    python benchmarks/studies/engines.py [--rows 2000000] [--engines spark,dask,duckdb,polars]

Takes: two minutes. An engine that is not installed is left out. Spark needs Java.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import darrm
import darrm_solvers

K, KEY = 7, "labels.key"


def mechanism() -> darrm.mechanisms.PrivateDecision:
    return darrm.mechanisms.PrivateDecision(darrm.load("gamma.json"))


def spark(out: str) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def labels(batches: Any) -> Any:
        import darrm

        made = darrm.mechanisms.PrivateDecision(darrm.load("gamma.json"))
        return darrm.columns.release_batches(made, batches, key="labels.key")

    votes = session.read.parquet("votes.parquet").repartition(8)
    votes.mapInArrow(labels, "id string, label int").write.parquet(out)


def dask(out: str) -> None:
    import dask.dataframe

    made = mechanism()
    votes = dask.dataframe.read_parquet("votes.parquet").repartition(npartitions=8)
    votes.map_partitions(
        lambda part: part[["id"]].assign(label=darrm.columns.release(made, part, key=KEY)),
        meta={"id": "str", "label": "uint8"},
    ).to_parquet(out)


def duckdb(out: str) -> None:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet

    reader = duckdb.sql("SELECT * FROM 'votes.parquet' ORDER BY hash(id)").to_arrow_reader(100_000)
    made = pa.Table.from_batches(darrm.columns.release_batches(mechanism(), reader, key=KEY))
    os.mkdir(out)
    pyarrow.parquet.write_table(made, f"{out}/labels.parquet")


def polars(out: str) -> None:
    import polars

    made = mechanism()
    os.mkdir(out)
    polars.scan_parquet("votes.parquet").map_batches(
        lambda frame: frame.select("id", darrm.columns.release(made, frame, key=KEY)),
        schema={"id": polars.String, "label": polars.UInt8},
    ).collect().write_parquet(f"{out}/labels.parquet")


ENGINES: dict[str, tuple[str, Callable[[str], None]]] = {
    "spark": ("pyspark", spark),
    "dask": ("dask", dask),
    "duckdb": ("duckdb", duckdb),
    "polars": ("polars", polars),
}


def in_order(folder: str) -> np.ndarray[Any, np.dtype[Any]]:
    """The labels in the order of the rows."""
    import pyarrow.parquet

    made = pyarrow.parquet.read_table(folder)
    rows = made["id"].cast("int64").to_numpy()
    labels = np.full(len(rows), -1)
    labels[rows] = made["label"].to_numpy()
    return labels


def main() -> None:
    import pyarrow as pa
    import pyarrow.parquet

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engines", default=",".join(ENGINES))
    given = parser.parse_args()
    places = (str(Path(module.__path__[0]).parent) for module in (darrm, darrm_solvers))
    os.environ["PYTHONPATH"] = os.pathsep.join(places)  # of Spark's workers
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        darrm.solve(K=K, m=2, epsilon=1).save("gamma.json")
        darrm.mechanisms.LabelKey.create(KEY)
        votes = np.random.default_rng(0).integers(0, 2, (given.rows, K), dtype=np.int8)
        columns = {f"bank {j}": votes[:, j] for j in range(K)}
        ids = pa.array(np.arange(given.rows)).cast(pa.string())
        pyarrow.parquet.write_table(pa.table({"id": ids, **columns}), "votes.parquet", row_group_size=1 << 18)
        known = mechanism().release(votes, key=KEY, ids=map(str, range(given.rows)))
        print(f"{given.rows:,} rows, {known.sum():,} labels are 1")
        for name in given.engines.split(","):
            library, run = ENGINES[name]
            if find_spec(library) is None:
                print(f"{name}: not installed")
                continue
            start = time.perf_counter()
            for out in ("first", "second"):
                run(f"{name}-{out}")
            seconds = time.perf_counter() - start
            first, second = (in_order(f"{name}-{out}") for out in ("first", "second"))
            version = __import__(library).__version__
            print(
                f"{name} {version}: {np.count_nonzero(first != second)} labels differ between two evaluations, "
                f"{np.count_nonzero(first != known)} from those of one array; {seconds:.0f} s"
            )
        os.chdir("/")


if __name__ == "__main__":
    main()
