"""Which cases are `thorough`, one line for each reason to skip, and `--independent-check`: every design judged anew."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from cases import beyond_each_value

made = pytest.StashKey[dict[str, Any]]()
LEFT = ("slow", "thorough")  # to other targets of make already
LARGE = 100_000  # steps of the independent check; designs above are counted and left to it on the command line


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--independent-check", action="store_true", help="judge every design anew; takes minutes")
    parser.addoption("--judged", type=Path, default=None, help="write how many designs were judged here")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all are collected: nearly all of it stays, so looking for garbage finds none
    if not config.getoption("--independent-check"):
        return
    from darrm.design import design

    found = config.stash[made] = {}
    original = design.Design.__post_init__

    def recorded(self: design.Design) -> None:
        original(self)
        content = design.as_dict(self) | {"gamma_hex": [value.hex() for value in self.gamma.tolist()]}
        key = json.dumps([content["problem"], content["gamma_hex"], content["certificate"]], sort_keys=True)
        found[key] = content

    design.Design.__post_init__ = recorded


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for _, group in groupby(items, key=lambda item: (item.parent, getattr(item, "originalname", item.name))):
        cases = [case for case in group if not any(case.get_closest_marker(kind) for kind in LEFT)]
        if cases and len(list(cases[0].iter_markers("parametrize"))) > 1:
            for case in beyond_each_value(cases):
                case.add_marker(pytest.mark.thorough)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


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
    from independent_check import independent_check, steps

    wrong, large = [], 0
    for content in found.values():
        if steps(content["problem"]) > LARGE:
            large += 1
        else:
            wrong += [f"{claim}: {content['problem']}" for claim in independent_check(content)]
    line = f"independent check: {len(found)} designs, {large} of them too large, {len(wrong)} disagreements"
    if session.config.getoption("--judged"):
        with session.config.getoption("--judged").open("a") as file:
            print(line, *wrong, sep="\n", file=file)
    else:
        print("\n" + line, *wrong, sep="\n")
    if wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
