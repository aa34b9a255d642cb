"""`--second-opinion`: every design that the tests make is also judged by tests/oracles/second_opinion.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

made = pytest.StashKey[dict[str, Any]]()
LARGE = 100_000  # steps of the second opinion; designs above are counted and left to it on the command line


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--second-opinion", action="store_true", help="judge every design anew; takes minutes")
    parser.addoption("--opinions", type=Path, default=None, help="write how many designs were judged here")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--second-opinion"):
        return
    from darrm.design import design, files

    found = config.stash[made] = {}
    original = design.Design.__post_init__

    def recorded(self: design.Design) -> None:
        original(self)
        content = files.as_dict(self) | {"gamma_hex": [value.hex() for value in self.gamma.tolist()]}
        key = json.dumps([content["problem"], content["gamma_hex"], content["certificate"]], sort_keys=True)
        found[key] = content

    design.Design.__post_init__ = recorded


def pytest_sessionfinish(session: pytest.Session) -> None:
    found = session.config.stash.get(made, None)
    if not found:
        return
    from second_opinion import opinion, steps

    wrong, large = [], 0
    for content in found.values():
        if steps(content["problem"]) > LARGE:
            large += 1
        else:
            wrong += [f"{claim}: {content['problem']}" for claim in opinion(content)]
    line = f"second opinion: {len(found)} designs, {large} of them too large, {len(wrong)} disagreements"
    if session.config.getoption("--opinions"):
        with session.config.getoption("--opinions").open("a") as file:
            print(line, *wrong, sep="\n", file=file)
    else:
        print("\n" + line, *wrong, sep="\n")
    if wrong:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
