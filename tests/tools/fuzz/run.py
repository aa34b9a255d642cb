"""Fuzz darrm: the command line, and every kind of file that it reads.

    python tests/tools/fuzz/run.py --minutes 60 --seed 1            all targets in turn, one process at a time
    python tests/tools/fuzz/run.py --targets design,ledger --minutes 5
    python tests/tools/fuzz/run.py --again FINDING.json             one finding once more, or one case of corpus/

Takes: as long as --minutes says.

Cases are drawn by Hypothesis from strategies that know the files, and, where atheris is installed (pip install
atheris), by what they make darrm's code do. Nothing may raise but DarrmError; exit statuses are 0, 1, 2 and 130, with
one line on standard error for what is wrong; a case takes at most 10 s of processor time and 2 GB; what is accepted is
confirmed by the independent check, the csv module alone, or what the untouched file says. What does not
hold is kept with its case in --findings. Linux only (/proc). Exit status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from worker import ADDRESSES, HERE, MEMORY, named

NAMES = ("command", "design", "certificate", "votes", "table", "journal", "ledger", "idx", "text")
NAMES += ("decision", "charges", "plan", "page", "place", "parties", "key", "old")
SHARES = {
    "command": 4,
    "certificate": 2,
    "idx": 0.5,
    "decision": 2,
    "charges": 2,
    "plan": 2,
    "page": 2,
    "key": 0.2,
}  # of the time; 1 for the others
CPU, WALL = 10.0, 120.0  # seconds of a case
KEPT = 20_000  # characters of a case of the corpus
ROUND = 40.0  # seconds of a worker
LATE = "the worker did not end in time"
_TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watched(arguments: list[str], folder: Path, seconds: float) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
    """Run a worker; what it reports, and why and with which case it ended before its time, if it did."""
    command = [sys.executable, str(HERE / "worker.py"), *arguments, "--folder", str(folder)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "MPLCONFIGDIR": str(folder), "HOME": str(folder)}
    current = folder / "current.json"
    began, case, end = time.monotonic(), b"", time.monotonic() + 2 * seconds + 300
    why = None
    with (folder / "output.txt").open("wb") as output:
        worker = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while worker.poll() is None:
            time.sleep(0.1)
            try:
                now = current.read_bytes() if current.exists() else b""
                if now != case:
                    case, began = now, time.monotonic()
                used = processor_seconds(worker.pid) - json.loads(case)["cpu"] if case else 0.0
                size = resident(worker.pid)
            except (OSError, ValueError, IndexError):
                continue  # it was just being written, or the worker has just ended
            if case and (used > CPU or time.monotonic() - began > WALL):
                why = f"hang: {used:.1f} s of processor time"
            elif size > MEMORY:
                why = f"memory: {size:,} bytes"
            elif time.monotonic() > end:
                why = LATE
            if why:
                worker.send_signal(signal.SIGUSR1)
                time.sleep(0.5)
                worker.kill()
                worker.wait()
        if why is None and worker.returncode:
            why = f"died with status {worker.returncode}"
            case = current.read_bytes() if current.exists() else b""
    report = folder / "report.json"
    found = json.loads(report.read_text()) if report.exists() else {"cases": 0, "outcomes": {}, "findings": {}}
    return found, why, json.loads(case or b"{}")


def keep(corpus: Path, firsts: dict[str, dict[str, Any]]) -> None:
    """The first case of each outcome, in files of its own."""
    for outcome, case in firsts.items():
        kept = corpus / f"{case['target']}-{named(outcome)}.json"
        # How far a search gets before its time is over depends on the machine.
        text = json.dumps({"outcome": outcome, **case}, indent=1) + "\n"
        if outcome != "finding" and "stopped" not in outcome and len(text) <= KEPT and not kept.exists():
            corpus.mkdir(parents=True, exist_ok=True)
            kept.write_text(text, encoding="utf-8")


def one_round(
    name: str, seed: int, seconds: float, cases: int, guided: bool, findings: Path, corpus: Path | None = None
) -> Counter[str]:
    """One worker's work; its counts."""
    with tempfile.TemporaryDirectory(prefix="darrm-fuzz-") as place:
        folder = Path(place)
        how = ["--atheris"] if guided else ["--cases", str(cases)]
        if guided and corpus is not None:
            how += ["--corpus", str(corpus.resolve())]
        report, why, case = watched([name, "--seed", str(seed), "--seconds", str(seconds), *how], folder, seconds)
        found: dict[str, dict[str, Any]] = report["findings"]
        if why == LATE:
            print(f"  {name}, seed {seed}: {why} (too little of the processor?)", flush=True)
        elif why is not None:
            read = [
                (folder / file).read_text(errors="replace") if (folder / file).exists() else ""
                for file in ("stack.txt", "output.txt")
            ]
            inner = [line.strip() for line in read[0].splitlines() if "darrm" in line]
            found[f"{why.partition(':')[0]} {inner[0] if inner else ''}"] = {
                "target": name,
                "case": case.get("case"),
                "text": f"{why}\n{read[0][-3000:]}\n{read[1][-2000:]}",
            }
            report["cases"] = max(report["cases"], case.get("at", 0))
        for key, value in found.items():
            kept = findings / f"{name}-{named(key)}.json"
            if not kept.exists():
                findings.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps({"signature": key, "seed": seed, "guided": guided, **value}, indent=1))
                print(f"  finding in {name}, seed {seed}: {key}: {kept}", flush=True)
        if corpus is not None:
            keep(corpus, report.get("firsts", {}))
        counts = Counter({f"{key}": n for key, n in report["outcomes"].items()})
        counts["cases"] = report["cases"]
        return counts


def again(path: Path) -> int:
    """Run the case of a finding once more."""
    finding = json.loads(path.read_text())
    with tempfile.TemporaryDirectory(prefix="darrm-fuzz-") as place:
        report, why, _ = watched([finding["target"], "--again", str(path.resolve())], Path(place), 60)
        for key, value in report["findings"].items():
            print(key, value["text"], sep="\n")
        print(why or f"ended: {report['outcomes']}")
    return 1 if report["findings"] or why else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cases", type=int, default=None, help="so many cases of each target instead, without atheris")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default=",".join(NAMES), help="names with commas between")
    parser.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir()) / "darrm-fuzz-findings")
    parser.add_argument(
        "--corpus",
        type=Path,
        help="keep the first case of each outcome here, and what atheris finds new, for further turns",
    )
    parser.add_argument("--no-atheris", action="store_true")
    parser.add_argument("--again", type=Path, help="a finding")
    given = parser.parse_args()
    if given.again:
        return again(given.again)
    names = given.targets.split(",")
    if not set(names) <= set(NAMES):
        parser.error(f"targets are {', '.join(NAMES)}")
    guided = not given.no_atheris and given.cases is None and importlib.util.find_spec("atheris") is not None
    if not guided:
        print("without atheris: Hypothesis draws every case" + ("" if given.cases else " (pip install atheris)"))
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    started, before = time.monotonic(), set(given.findings.glob("*.json")) if given.findings.exists() else set()
    turn = 0
    while given.cases is not None or time.monotonic() - started < 60 * given.minutes:
        for name in names:
            seed = given.seed * 1_000_000 + turn * 100 + NAMES.index(name)
            left = 60 * given.minutes - (time.monotonic() - started)
            if given.cases is None and left <= 1:
                break
            seconds = 600.0 if given.cases else min(ROUND * SHARES.get(name, 1), left)
            counts[name] += one_round(
                name, seed, seconds, given.cases or 1_000_000, guided and turn % 2 == 1, given.findings, given.corpus
            )
        turn += 1
        if given.cases is None:
            print(f"{(time.monotonic() - started) / 60:.1f} min, {turn} turns: " + _said(counts), flush=True)
        else:
            break
    print(f"seed {given.seed}, {turn} turns, {(time.monotonic() - started) / 60:.1f} minutes")
    for name, count in counts.items():
        rest = ", ".join(f"{key} {n}" for key, n in sorted(count.items()) if key != "cases")
        print(f"{name:12} {count['cases']:8} cases: {rest}")
    new = sorted(set(given.findings.glob("*.json")) - before) if given.findings.exists() else []
    print(f"{len(new)} findings" + "".join(f"\n{path}: {json.loads(path.read_text())['signature']}" for path in new))
    return 1 if new else 0


def _said(counts: dict[str, Counter[str]]) -> str:
    return ", ".join(f"{name} {count['cases']}" for name, count in counts.items())


if __name__ == "__main__":
    assert ADDRESSES > MEMORY
    sys.exit(main())
