"""The independent check agrees with what darrm makes, and sees what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import independent_check as oracle
from oracles.independent_check import Voters, independent_check

import darrm

SCRIPT = Path(oracle.__file__)
arb = oracle.arb


def content(tmp_path: Path, **problem: Any) -> dict[str, Any]:
    path = tmp_path / "gamma.json"
    darrm.solve(**problem).save(path)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    "problem",
    [
        {"K": 11, "m": 3, "epsilon": 0.1},
        {"K": 11, "m": 3, "epsilon": 0.1, "Delta": 1e-5},
        {"K": 10, "m": 2.5, "epsilon": 1.0, "Delta": 0.01, "max_affected": 6},
        {"K": 7, "m": 7, "epsilon": 3.0, "Delta": 0.2},
        {"K": 1, "m": 1, "epsilon": 1e-6, "Delta": 1e-300},
        {"K": 3, "m": 1, "epsilon": 50.0},
        {"K": 25, "m": 4, "epsilon": 0.2, "shape": "monotone"},
    ],
    ids=str,
)
def test_it_agrees(problem: dict[str, Any], tmp_path: Path) -> None:
    assert independent_check(content(tmp_path, **problem)) == []


def test_the_two_searches_agree() -> None:
    rng = np.random.default_rng(5)
    for _ in range(25):
        K = int(rng.integers(1, 7))
        problem = {
            "K": K,
            "m": 2,
            "epsilon": float(rng.choice([0.1, 1.0, 3.0])),
            "Delta": float(rng.choice([0.0, 1e-5, 0.1, 0.6])),
            "max_affected": int(rng.integers(1, K + 1)),
        }
        half = [float(rng.choice([0.0, 1.0, rng.random()])) for _ in range(K + 1)]
        voters = Voters(problem, [half[max(l, K - l)] for l in range(K + 1)])
        prices = [arb(x).exp() for x in (2 * problem["epsilon"], 0.3, 0.0)]
        for listed, split in zip(voters.listed(prices), voters.split(prices), strict=True):
            assert listed.overlaps(split)
            assert abs(listed - split) < 1e-25


def altered(whole: dict[str, Any], **changes: Any) -> dict[str, Any]:
    problem = {**whole["problem"], **changes.pop("problem", {})}
    certificate = {**whole["certificate"], **changes.pop("certificate", {})}
    return {**whole, "problem": problem, "certificate": certificate, **changes}


@pytest.mark.parametrize("Delta", [0.0, 1e-3])
def test_it_sees_what_is_wrong(Delta: float, tmp_path: Path) -> None:
    whole = content(tmp_path, K=7, m=1.5, epsilon=0.5, Delta=Delta, max_affected=2)
    gamma, claim = [float.fromhex(value) for value in whole["gamma_hex"]], whole["certificate"]
    raised = [min(1.0, value * (1 + 1e-9)) for value in gamma]
    crooked = [*gamma[:-1], gamma[-1] / 2]
    wrong = {
        "gamma a part in 1e9 larger": altered(whole, gamma_hex=[value.hex() for value in raised]),
        "gamma not symmetric": altered(whole, gamma_hex=[value.hex() for value in crooked]),
        "more voters reached": altered(whole, problem={"max_affected": 3}),
        "voters less private": altered(whole, problem={"epsilon": 0.5 * (1 + 1e-9), "m": 1.5 / (1 + 1e-9)}),
        "a smaller delta": altered(whole, problem={"delta": whole["problem"]["delta"] - 1e-9}),
        "a smaller needed delta": altered(whole, certificate={"needed_delta": claim["needed_delta"] - 1e-9}),
        "a smaller epsilon": altered(whole, certificate={"tight_epsilon": claim["tight_epsilon"] * (1 - 1e-9)}),
        "a larger epsilon": altered(whole, certificate={"tight_epsilon": claim["tight_epsilon"] * 1.001}),
        "rounding that excuses everything": altered(
            whole, certificate={"worst_case": {"(0,0)": 3, "(1,1)": 4}, "rounding": 1e9}
        ),
        "said not to hold": altered(whole, certificate={"holds": False}),
        "gamma unlike gamma_hex": altered(whole, gamma=[0.0] * 8),
        "more voters reached than there are": altered(whole, problem={"max_affected": 9}),
        "another worst case": altered(whole, certificate={"worst_case": {"(0,0)": 3, "(1,1)": 4}}),
    }
    assert independent_check(whole) == []
    assert [name for name, case in wrong.items() if not independent_check(case)] == []


def test_on_the_command_line(tmp_path: Path) -> None:
    content(tmp_path, K=5, m=2, epsilon=1.0)
    run = subprocess.run([sys.executable, SCRIPT, "gamma.json"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "gamma.json: agrees\n")


@pytest.mark.thorough
def test_the_designs_of_tests_are_judged() -> None:
    test = f"{Path(__file__).resolve()}::{test_on_the_command_line.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--independent-check", test]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "independent check: 1 designs, 0 of them too large, 0 disagreements" in ended.stdout


def test_it_is_short_and_alone() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip()]) <= 150
    assert "import darrm" not in text
    assert "from darrm" not in text
