"""Which cases are `thorough`, one line for each reason to skip, and `--independent-check`: every design judged anew."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from cases import beyond_each_value

made = pytest.StashKey[dict[str, Any]]()
LEFT = ("slow", "thorough")  # to other targets of make already
END = 700.0  # nats, where float64 ends: beyond, certificates name some case if none needs any delta
LONG = 5.0  # seconds of an independent check; designs that take longer are counted and left to the command line


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--independent-check", action="store_true", help="judge every design anew; takes minutes")
    parser.addoption("--judged", type=Path, default=None, help="write how many designs were judged here")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["DARRM_QUIET"] = "1"  # on a busy machine any command can take long enough to say so
    os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"  # of other packages, which take half a second to load
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: programs inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not config.getoption("--independent-check"):
        return
    from darrm.design.design import Design, in_file

    found = config.stash[made] = {}

    original = Design.__init__

    def recorded(self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        content = in_file(self)
        exact = content.get("gamma_hex", content.get("table_hex"))
        found[json.dumps([content["problem"], exact, content["certificate"]], sort_keys=True)] = content

    Design.__init__ = recorded  # type: ignore[method-assign]


def pytest_collection() -> None:
    gc.disable()  # of what is collected nothing goes away


def pytest_collection_finish() -> None:
    gc.freeze()  # and need not be searched for garbage again
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, obj: object) -> list[pytest.Item] | None:
    """Make no cases of a test that the target of make leaves out whole: half of the time of collecting."""
    own = getattr(obj, "pytestmark", ())
    marks = {mark.name for mark in own if isinstance(mark, pytest.Mark)} if callable(obj) else set()
    return [] if any(is_left_out(collector.config, kind) for kind in marks) else None


def is_left_out(config: pytest.Config, kind: str) -> bool:
    """Whether the target of make leaves out what has this mark."""
    return kind in LEFT and f"not {kind}" in config.getoption("markexpr")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make no cases that `make test` leaves out, as far as one `parametrize` shows which: most are."""
    test = metafunc.definition
    if not all(is_left_out(metafunc.config, kind) for kind in LEFT):
        return
    alone = len(list(test.iter_markers("parametrize"))) == 1
    first = test.get_closest_marker("first")
    most = (first.args[0] if first else 1) if alone and not test.get_closest_marker("every") else None
    for at, mark in enumerate(test.own_markers):
        if mark.name != "parametrize" or not isinstance(mark.args[1], list | tuple):
            continue
        names, values = mark.args[:2]
        marks = [{own.name for own in getattr(value, "marks", ())} for value in values]
        quick = [case for case, own in enumerate(marks) if not own & {*LEFT}][:most]
        said = dict(mark.kwargs)
        ids = said.get("ids")
        if ids is not None and not callable(ids):
            said["ids"] = [one for case, one in enumerate(ids) if case in quick]
        if quick:
            made = pytest.mark.parametrize(names, [values[case] for case in quick], **said)
            test.own_markers[at] = made.mark


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make thorough` what repeats a kind.

    Quick are, of each test that is not marked, enough cases that each value of several parameters is there once, or the
    first of one parameter. A list in which every case is a thing of its own and costs milliseconds, as a command or a
    stored file, is marked `every`; one of which a few cases are kinds, `first(n)`. Of a grid of many cases that cost
    more than a tenth of a second `first(n, most)` leaves all but ``most`` to `make slow`.
    """
    for _, group in groupby(items, key=lambda item: (item.parent, getattr(item, "originalname", item.name))):
        cases = [case for case in group if not case.get_closest_marker("slow")]
        limits = cases[0].get_closest_marker("first") if cases else None
        if limits and len(limits.args) > 1:
            beyond = list(beyond_each_value(cases))
            for case in [*(case for case in cases if case not in beyond), *beyond][limits.args[1] :]:
                case.add_marker(pytest.mark.slow)
        cases = [case for case in cases if not any(case.get_closest_marker(kind) for kind in LEFT)]
        if not cases or not hasattr(cases[0], "callspec") or cases[0].get_closest_marker("every"):
            continue
        several = len(list(cases[0].iter_markers("parametrize"))) > 1
        left = list(beyond_each_value(cases)) if several else []
        first = cases[0].get_closest_marker("first")
        if first or not several:
            left += [case for case in cases if case not in left][first.args[0] if first else 1 :]
        for case in left:
            case.add_marker(pytest.mark.thorough)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped; for a library that is missing, how to get it."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, times in sorted(reasons.items()):
        text = " ".join(reason.removeprefix("Skipped: ").split())
        if missing := re.match("could not import '([^']+)'", text):
            text = f"needs {missing[1]}: pip install -e '.[dev]'"
        terminalreporter.write_line(f"SKIPPED [{times}] {text}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    found = session.config.stash.get(made, None)
    if not found:
        return
    from darrm import InputError
    from darrm.independent import check, cost

    wrong, large = [], 0
    for content in found.values():
        try:
            light = cost(content).seconds <= LONG
        except InputError:  # too many votes to hold
            light = False
        if light:
            seen = check(json.loads(json.dumps(content)))
            problem = content["problem"]
            # Of voters that may fail and are many, a certificate describes a bound (docs/decisions.md, Lemma D4).
            describable = not any(group["delta"] for group in problem.get("groups", []))
            describable &= problem.get("m", 1) * problem["epsilon"] <= END
            wrong += [f"{claim}: {problem}" for claim in seen.wrong + (seen.loose if describable else ())]
        else:
            large += 1
    line = f"independent check: {len(found)} designs, {large} of them too large, {len(wrong)} disagreements"
    if session.config.getoption("--judged"):
        with session.config.getoption("--judged").open("a") as file:
            print(line, *wrong, sep="\n", file=file)
    else:
        print("\n" + line, *wrong, sep="\n")
    if wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
