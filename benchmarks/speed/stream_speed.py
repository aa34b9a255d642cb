"""Releases of streams: ten million rows of eleven votes from CSV and Parquet, by the command and in Python.

    python benchmarks/speed/stream_speed.py [--rows 10000000] [--ids] [--docs]

Takes: some minutes and two GB of disk, or half a minute with --ids. --docs writes docs/howto/streams.md.

With --ids it measures what ids, a ledger and a key take for a tenth of the rows.

Each release is a process of its own. Seconds are those from its start to its end, imports and the check of the design
included; CPU seconds leave out what other work on the machine adds. Memory is the most it held at any time (VmHWM of
/proc, so Linux only); a tenth of the rows shows whether it grows with them. The ledger is one of fixed voters, which
has no end.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, table

import darrm
from darrm.accounting import Ledger
from darrm.mechanisms import LabelKey

K, PART = 11, 1_000_000
NAMES = [f"v{j}" for j in range(K)]
MEMORY = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
COMMAND = """
import sys
from darrm.cli import main
assert main(sys.argv[1:]) == 0
"""
IN_PYTHON = """
import sys
import darrm
from darrm.accounting import Ledger
mechanism = darrm.mechanisms.DaRRM(darrm.load("gamma.json"))
ledger = Ledger(sys.argv[2]) if sys.argv[2:] else None
blocks = (block.votes for block in darrm.votes.blocks(sys.argv[1]))
ones = sum(int(labels.sum()) for labels in mechanism.release_blocks(blocks, ledger=ledger))
"""
SINGLE_ROWS = """
import sys
import darrm, numpy
mechanism = darrm.mechanisms.DaRRM(darrm.load("gamma.json"))
row = numpy.ones(11, dtype=numpy.uint8)
ones = sum(int(labels.sum()) for labels in mechanism.release_blocks(row for _ in range(int(sys.argv[1]))))
"""
BY_CSV_MODULE = "from darrm.votes import csv as votes_csv; votes_csv._plain = lambda *given: None\n" + COMMAND
COLUMN = """
import sys
import darrm, numpy
mechanism = darrm.mechanisms.DaRRM(darrm.load("gamma.json"))
votes = numpy.random.default_rng(0).integers(0, 2, (int(sys.argv[2]), 11), dtype=numpy.uint8)
if sys.argv[1] == "pandas":
    import pandas
    given = pandas.DataFrame(votes)
else:
    import pyarrow
    given = pyarrow.table({str(j): votes[:, j] for j in range(11)})
import time
start = time.perf_counter()
darrm.columns.release(mechanism, given)
print(time.perf_counter() - start)
"""


def make(folder: Path, rows: int) -> None:
    """The same votes three times: CSV with and without ids, Parquet with ids; and the first tenth of the CSV."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, header = np.random.default_rng(0), ",".join(NAMES)
    schema = pa.schema([("id", pa.string()), *((name, pa.uint8()) for name in NAMES)])
    with (
        (folder / "plain.csv").open("wb") as plain,
        (folder / "ids.csv").open("wb") as named,
        pq.ParquetWriter(folder / "votes.parquet", schema) as parquet,
    ):
        plain.write(f"{header}\n".encode())
        named.write(f"id,{header}\n".encode())
        for start in range(0, rows, PART):
            drawn = rng.integers(0, 2, (min(PART, rows - start), K), dtype=np.uint8)
            cells = np.full((len(drawn), 2 * K), ord(","), dtype=np.uint8)
            cells[:, ::2] = drawn + ord("0")
            cells[:, -1] = ord("\n")
            lines = cells.tobytes()
            ids = [f"query-{i}" for i in range(start, start + len(drawn))]
            plain.write(lines)
            named.write(b"".join(f"{name},".encode() + lines[22 * i : 22 * i + 22] for i, name in enumerate(ids)))
            arrays = [pa.array(ids), *(pa.array(drawn[:, j]) for j in range(K))]
            parquet.write_batch(pa.record_batch(arrays, schema=schema))
    for name in ("plain.csv", "ids.csv"):
        with (folder / name).open("rb") as whole, (folder / f"tenth-{name}").open("wb") as tenth:
            for _ in range(rows // 10 + 1):
                tenth.write(whole.readline())


def cpu() -> float:
    """CPU seconds of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(folder: Path, code: str, *arguments: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds and MB of a process."""
    start, before = time.perf_counter(), cpu()
    ended = subprocess.run(
        [sys.executable, "-c", code + MEMORY, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return time.perf_counter() - start, cpu() - before, int(ended.stdout.split()[-1]) / 1000


def column_seconds(folder: Path, kind: str, rows: int) -> float:
    command = [sys.executable, "-c", COLUMN, kind, str(rows)]
    return float(subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout)


def with_ids(folder: Path, design: darrm.Design, rows: int) -> list[dict[str, str]]:
    """What ids cost: rows with ids by the command, without a ledger, with one, with a key too, and a retry by key."""
    LabelKey.create(folder / "labels.key")
    by_key, lines = ["--key", "labels.key"], []
    command = ["release", "gamma.json", "--overwrite", "--votes", "ids.csv", "--out", "labels.csv"]
    for way, book, more in (
        ("command", "", []),
        ("command, ledger", "ids.db", []),
        ("command, ledger, key", "keyed.db", by_key),
        ("the same again (retry)", "keyed.db", by_key),
    ):
        path = folder / book
        if book and not path.exists():
            Ledger.create(path, design, total_epsilon=K, total_delta=0, voters="fixed")
        _, used, memory = run(folder, COMMAND, *command, *more, *(["--ledger", book] if book else []))
        size = f"{path.stat().st_size / 1e6:.0f}" if book else ""
        lines.append({"release": way, "rows": f"{rows:,}", "CPU s": f"{used:.1f}", "peak, MB": f"{memory:.0f}",
                      "ledger file, MB": size})  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--docs", action="store_true", help="also put the figures into docs/howto/streams.md")
    parser.add_argument("--ids", action="store_true", help="a tenth of the rows, with ids, a ledger and a key alone")
    options = parser.parse_args()
    n = options.rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, n // 10)
        design = darrm.solve(K=K, m=3, epsilon=1)
        design.save(folder / "gamma.json")
        content = table(with_ids(folder, design, n // 10))
    print(content)
    if options.docs:
        put("ids", content, DOCS / "howto" / "streams.md")
    if options.ids:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, n)
        design = darrm.solve(K=K, m=3, epsilon=1)
        design.save(folder / "gamma.json")
        release = ["release", "gamma.json", "--overwrite", "--votes"]
        lines = []

        def line(way: str, votes: str, size: int, measured: tuple[float, float, float]) -> float:
            seconds, used, memory = measured
            rate = size / used
            lines.append({"release": way, "votes": votes, "rows": f"{size:,}", "s": f"{seconds:.1f}",
                          "CPU s": f"{used:.1f}",
                          "million rows/CPU s": f"{rate / 1e6:.2f}", "peak, MB": f"{memory:.0f}"})  # fmt: skip
            return rate

        rates, slow = {}, {}
        for kind, votes in (("CSV", "plain.csv"), ("CSV, ids", "ids.csv"), ("Parquet, ids", "votes.parquet")):
            book = f"{votes}.ledger.db"  # of its own: the ids of another file would come again
            Ledger.create(folder / book, design, total_epsilon=K, total_delta=0, voters="fixed")
            charged = ["--ledger", book]
            out = "labels.parquet" if votes.endswith("parquet") else "labels.csv"
            rates[kind] = line("command", kind, n, run(folder, COMMAND, *release, votes, "--out", out))
            if kind == "CSV":  # what a ledger adds to rows with ids is in the other table
                line("command, ledger", kind, n, run(folder, COMMAND, *release, votes, "--out", out, *charged))
            line("release_blocks", kind, n, run(folder, IN_PYTHON, votes))
            line("release_blocks, ledger", kind, n, run(folder, IN_PYTHON, votes, book))
            if kind != "Parquet, ids":
                line("command", kind, n // 10, run(folder, COMMAND, *release, f"tenth-{votes}", "--out", out))
                measured = run(folder, BY_CSV_MODULE, *release, votes, "--out", out)
                slow[kind] = line("command, csv module alone", kind, n, measured)
        line("release_blocks", "single rows", n // 10, run(folder, SINGLE_ROWS, str(n // 10)))
        notes = [
            f"By CPU seconds the command is {rates['CSV'] / slow['CSV']:.1f} times as fast as with the csv module "
            f"alone, {rates['CSV, ids'] / slow['CSV, ids']:.1f} times with ids.",
            *(
                f"`darrm.columns.release` of {n // 10:,} rows, {kind}: "
                f"{n / 10e6 / column_seconds(folder, kind, n // 10):.1f} million rows/s, without start and imports."
                for kind in ("pandas", "Arrow")
            ),
        ]
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}: "
        f"K = {K}, uint8 votes; one process each, from its start to its end. "
        f"The machine was busy with other work (load {os.getloadavg()[1]:.0f}): CPU seconds carry over, seconds do not."
    )
    content = "\n\n".join([machine, table(lines), bullets(notes)])
    print(content)
    if options.docs:
        put("streams", content, DOCS / "howto" / "streams.md")


if __name__ == "__main__":
    main()
