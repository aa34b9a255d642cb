"""One process of fuzzing: draws cases of one target and runs them, and keeps what must not have happened.

Before a case is run it stands in ``current.json``, so that the process that watches this one can keep the case with
which it hung, grew or died.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import faulthandler
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PLACES = [
    str(place) for place in (HERE, ROOT, ROOT / "solvers", ROOT / "benchmarks" / "paper", ROOT / "tests" / "oracles")
]
sys.path[:0] = [place for place in PLACES if place not in sys.path]

MEMORY = 2 << 30  # bytes of a case, at most
ADDRESSES = 16 << 30  # bytes that may be asked for; a guard of the machine


def plain(value: Any) -> Any:
    """JSON for a case: bytes and odd texts in base64, floats in hex."""
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, dict):
        return {"dict": {key: plain(inner) for key, inner in value.items()}}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def unplain(value: Any) -> Any:
    """The case that `plain` wrote."""
    if isinstance(value, list):
        return [unplain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "float" in value:
        return float.fromhex(value["float"])
    return {key: unplain(inner) for key, inner in value["dict"].items()}


def signature(error: BaseException) -> str:
    """What tells one defect from another: the error and the innermost line of darrm that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/darrm" in frame.filename or "/benchmarks/paper" in frame.filename]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}:{ours[-1].lineno}" if ours else "check"
    # Figures and names in quotes tell cases apart, not defects.
    text = re.sub(r"'[^']*'|[^a-z ]+", "", str(error))[:60] if type(error).__name__ == "Finding" else ""
    return f"{type(error).__name__} {text} at {where}"


class TimeIsUp(KeyboardInterrupt):
    """Ends Hypothesis, which passes interrupts on at once."""


class Runs:
    """Runs cases of a target and counts.

    Attributes
    ----------
    cases : int
    outcomes : Counter
    findings : dict of str to dict
        By signature, the first case with each.
    firsts : dict of str to dict
        By outcome, the first case with each.
    """

    def __init__(self, name: str, folder: Path, deadline: float = float("inf")) -> None:
        from targets import targets

        self.name, self.folder, self.deadline = name, folder, deadline
        self.target = targets()[name]
        self.cases, self.outcomes, self.findings = 0, Counter[str](), dict[str, dict[str, Any]]()
        self.firsts = dict[str, dict[str, Any]]()
        self._current, self._scratch = folder / "current.json", folder / "scratch"
        self._largest = 0

    def run(self, case: dict[str, Any]) -> None:
        if time.monotonic() > self.deadline:
            raise TimeIsUp
        self.cases += 1
        written = {"target": self.name, "case": plain(case)}
        self._write("current.json", {"at": self.cases, "cpu": time.process_time(), **written})
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        os.chdir(self._scratch)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", category=RuntimeWarning, module="darrm")
                outcome = self.target.run(case)
        except Exception as error:
            outcome = "finding"
            text = "".join(traceback.format_exception(error, limit=-12))
            self.findings.setdefault(signature(error), {**written, "text": text[-4000:]})
        self._current.unlink()
        self.outcomes[outcome] += 1
        self.firsts.setdefault(outcome, written)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if peak > MEMORY and self._largest <= MEMORY:
            self.findings.setdefault("memory", {**written, "text": f"{peak:,} bytes"})
        self._largest = peak
        if self.cases % 20 == 0:
            self.report()

    def report(self) -> None:
        """Counts and findings so far, to a file that the watching process reads."""
        found = {"outcomes": self.outcomes, "findings": self.findings, "firsts": self.firsts}
        self._write("report.json", {"cases": self.cases, **found})

    def _write(self, name: str, content: dict[str, Any]) -> None:
        part = self.folder / "part"
        part.write_text(json.dumps(content))
        os.replace(part, self.folder / name)  # the watching process never sees half of it


def by_hypothesis(runs: Runs, seed: int, cases: int) -> None:
    """Draw ``cases`` cases from the strategy of the target."""
    test = drawn(runs, cases)
    from hypothesis import seed as seeded

    with contextlib.suppress(TimeIsUp):
        seeded(seed)(test)()


def drawn(runs: Runs, cases: int = 100) -> Any:
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings

    hypothesis.configuration.set_hypothesis_home_dir(runs.folder / "hypothesis")

    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(runs.target.strategy())
    def test(case: dict[str, Any]) -> None:
        runs.run(case)

    return test


def by_atheris(name: str, folder: Path, corpus: Path, seed: int, seconds: float) -> None:
    """Follow the coverage of darrm, with bytes that Hypothesis turns into cases or that are files themselves.

    What reached something new is kept in ``corpus``.
    """
    import atheris

    with atheris.instrument_imports(include=["darrm", "idx", "label_data"]):
        import idx  # noqa: F401
        import label_data  # noqa: F401

        import darrm.accounting.events
        import darrm.accounting.ledger
        import darrm.cli
        import darrm.cli.table
        import darrm.design.design
        import darrm.design.solve
        import darrm.labels.audit_files
        import darrm.planning.planner
        import darrm.priors
        import darrm.show.explore.app
        import darrm.tables
        import darrm.tables.journal
        import darrm.votes.parquet  # noqa: F401
    from material import good

    runs = Runs(name, folder)
    raw = runs.target.raw
    drawn_from_bytes = raw is None or seed // 200 % 2 == 1
    corpus = corpus / name / ("drawn" if drawn_from_bytes else "raw")
    corpus.mkdir(parents=True, exist_ok=True)
    if drawn_from_bytes:  # every other of the guided turns
        one_input = drawn(runs).hypothesis.fuzz_one_input
        numbers = random.Random(seed)
        for i in range(16):
            (corpus / f"{seed}-{i}").write_bytes(numbers.randbytes(4096))  # enough choices for a case
    else:
        files = {"design": ".json", "votes": ".csv", "table": ".jsonl"}
        for file, content in good().items():
            if file.endswith(files.get(name, "?")):
                (corpus / file).write_bytes(content)

        def one_input(data: bytes) -> None:
            runs.run(raw(data))

    def guarded(data: bytes) -> None:
        one_input(data)
        if runs.cases % 20 == 0:
            runs.report()

    good()  # made now, or the first case would pay for it
    limits = [f"-max_total_time={max(1, int(seconds))}", f"-seed={seed % 2**31 or 1}", f"-artifact_prefix={folder}/"]
    # The watching process ends what hangs or grows.
    limits += ["-rss_limit_mb=0", "-timeout=1000", "-verbosity=0", "-max_len=65536", "-len_control=0"]
    atheris.Setup(["fuzz", *limits, str(corpus)], guarded)
    try:
        atheris.Fuzz()
    finally:
        runs.report()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--corpus", type=Path, help="where atheris begins, and keeps what it finds new")
    parser.add_argument("--again", type=Path, help="a finding")
    given = parser.parse_args()
    folder = given.folder.resolve()
    faulthandler.register(signal.SIGUSR1, file=(folder / "stack.txt").open("w"), all_threads=True)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    os.environ["PYTHONWARNINGS"] = "always"
    if given.again:
        runs = Runs(given.target, folder)
        runs.run(unplain(json.loads(given.again.read_text())["case"]))
    elif given.atheris:
        by_atheris(given.target, folder, given.corpus or folder / "corpus", given.seed, given.seconds)
        return
    else:
        runs = Runs(given.target, folder, time.monotonic() + given.seconds)
        by_hypothesis(runs, given.seed, given.cases)
    runs.report()


def named(finding: str) -> str:
    """A short file name for a signature."""
    return hashlib.sha256(finding.encode()).hexdigest()[:10]


if __name__ == "__main__":
    main()
