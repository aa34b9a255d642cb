"""The proofs of this folder: that Coq accepts them, and that the library's corners are those of the proofs.

`make proofs` runs this file. Where Coq is not installed (apt-get install coq), the tests that need it are skipped.
"""

import re
import shutil
import subprocess
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import exact

import darrm
from darrm.constraints.multisets import corner_points
from darrm.problem.corners import NAMES, STILL, moving_corners

HERE = Path(__file__).resolve().parent
# In the order in which they need each other.
PROOFS = ("corners", "known_randomizers", "ladder")
# What the real numbers of Coq's own library rest on; that library's exponential function needs two axioms more.
OF_THE_REALS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
OF_EXP = OF_THE_REALS | {"ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic"}
# Commands by which a Coq file can state something without a proof, or switch off a part of the checker.
UNPROVED = (
    r"\b(?:Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Hypothes[ie]s|Variables?|Context|Declare|Load|Unset|Set"
    r"|bypass_check|Abort|Primitive|Register|Reserved|Notation)\b"
)

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="needs Coq: apt-get install coq")


def code(name: str) -> str:
    """The text of a proof without its comments."""
    text = (HERE / f"{name}.v").read_text(encoding="utf-8")
    while text != (text := re.sub(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", "", text, flags=re.DOTALL)):
        pass
    return text


def theorems(name: str) -> list[str]:
    return re.findall(r"^(?:Theorem|Corollary) (\w+)", code(name), re.MULTILINE)


def coqc(folder: Path, name: str) -> str:
    """What Coq prints for a file; the test fails if Coq refuses it."""
    ended = subprocess.run(["coqc", "-q", f"{name}.v"], cwd=folder, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def axioms(folder: Path, name: str, proved: Collection[str]) -> set[str]:
    """All that these theorems of a compiled file rest on without a proof."""
    both = f"Require Import {name}.\nDefinition of_all := ({', '.join(['0', *proved])}).\nPrint Assumptions of_all.\n"
    (folder / f"of_{name}.v").write_text(both, encoding="utf-8")
    printed = coqc(folder, f"of_{name}")
    if "Closed under the global context" in printed:
        return set()
    assert printed.startswith("Axioms:\n")
    return set(re.findall(r"^(\S+)(?: :|$)", printed.partition("\n")[2], re.MULTILINE))


@pytest.mark.every
@pytest.mark.parametrize("name", PROOFS)
def test_no_statement_is_left_without_a_proof(name: str) -> None:
    assert re.findall(UNPROVED, code(name)) == []
    assert code(name).count("Proof.") == code(name).count("Qed.")
    assert len(theorems(name)) >= 2


@needs_coq
@pytest.mark.thorough
def test_coq_accepts_the_proofs_with_the_axioms_of_its_reals_alone(tmp_path: Path) -> None:
    for name in PROOFS:
        shutil.copy(HERE / f"{name}.v", tmp_path)
        coqc(tmp_path, name)
        of_exp = [theorem for theorem in theorems(name) if theorem.endswith("_epsilon")]
        assert axioms(tmp_path, name, [one for one in theorems(name) if one not in of_exp]) == OF_THE_REALS
        if of_exp:
            assert axioms(tmp_path, name, of_exp) == OF_EXP


@needs_coq
@pytest.mark.thorough
def test_a_proof_with_a_hole_is_found(tmp_path: Path) -> None:
    text = "Lemma hole : 0 = 1. Admitted.\nTheorem whole : 0 = 0. Proof. reflexivity. Qed.\n"
    (tmp_path / "planted.v").write_text(text + "Theorem wrong : 0 = 1. Proof. exact hole. Qed.\n", encoding="utf-8")
    coqc(tmp_path, "planted")
    assert axioms(tmp_path, "planted", ["whole"]) == set()
    assert axioms(tmp_path, "planted", ["whole", "wrong"]) == {"hole"}
    assert re.search(UNPROVED, text)
    (tmp_path / "planted.v").write_text("Theorem wrong : 0 = 1. Proof. reflexivity. Qed.\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="Unable to unify"):
        coqc(tmp_path, "planted")


def defined(name: str) -> str:
    found = re.search(rf"^Definition {name}\b.*?:=\s*(.*?)\.$", code("corners"), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def values(name: str, a: Fraction, D: Fraction) -> list[tuple[Fraction, Fraction]]:
    """A list of corners of the proof, at numbers."""
    text = re.sub(r"\b(hi|lo) a (D|0)\b", lambda corner: f"{corner[1]}(a, {corner[2]})", defined(name))
    names: dict[str, Any] = {"a": a, "D": D}
    for corner in ("hi", "lo"):
        names[corner] = eval(f"lambda a, D: {defined(corner)}")
    return [(Fraction(p), Fraction(q)) for p, q in eval(text.replace(";", ","), names)]


def test_the_proof_names_the_corners_of_the_library() -> None:
    texts = [re.sub(r" a D|\s", "", defined(name)).strip("[]").split(";") for name in ("still", "moving")]
    assert [*texts[0], *texts[1]] == list(NAMES)
    assert re.sub(r" a 0|\s", "", defined("moving_pure")).strip("[]").split(";") == list(NAMES[STILL:4])


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("Delta", [0.0, 1e-8, 0.3])
def test_the_corners_of_the_proof_are_those_of_the_library(epsilon: float, Delta: float) -> None:
    a, D = exact.exponential(Decimal(epsilon)), Fraction(Delta)
    still, moving = values("still", a, D), values("moving", a, D)
    if not Delta:
        assert {*still, *values("moving_pure", a, D)} == {*still, *moving}
        moving = values("moving_pure", a, D)
    assert [*still, *moving] == exact.corners(darrm.MajorityProblem(3, 1, epsilon, Delta))
    listed = moving_corners(epsilon, Delta)
    assert len(listed) == len(moving)
    for corner, (p, q) in zip(listed, moving, strict=True):
        for got, wanted in zip(corner[1:], (p, 1 - p, q, 1 - q), strict=True):
            assert abs(Fraction(got) - wanted) <= Fraction(1, 10**30)
    points = corner_points(epsilon, Delta)
    for got, wanted in ((points.p, [*still, *moving]), (points.q, [(1 - p, 1 - q) for p, q in [*still, *moving]])):
        for row, pair in zip(got.tolist(), wanted, strict=True):
            assert all(abs(Fraction(x) - y) <= y / 2**53 for x, y in zip(row, pair, strict=True))


def pair(rng: np.random.Generator, a: Fraction, D: Fraction) -> tuple[Fraction, Fraction]:
    """A pair in the region, from its six conditions: p, and q at an end of what they allow or between."""
    p = Fraction(int(rng.integers(33)), 32)
    low, high = max(Fraction(0), (p - D) / a, 1 - a * (1 - p) - D), min(Fraction(1), a * p + D, 1 - (1 - p - D) / a)
    assert low <= p <= high
    return p, low + (high - low) * Fraction(int(rng.integers(3)), 2)


def label_by_definition(table: list[Fraction], p: list[Fraction]) -> Fraction:
    """Pr[label 1]: the sum over all outcomes of the votes."""
    return sum(
        (
            table[sum(votes)] * prod(x if vote else 1 - x for vote, x in zip(votes, p, strict=True))
            for votes in product((0, 1), repeat=len(p))
        ),
        Fraction(0),
    )


@pytest.mark.first(2)
@pytest.mark.parametrize("Delta", [0.3, 0.0])
@pytest.mark.parametrize("K", [3, 4, 1, 2, 5, 6])
def test_certificates_hold_for_private_votes_by_the_definition(K: int, Delta: float) -> None:
    """What no proof of Coq covers: from float64 back to the definition, in fractions."""
    rng = np.random.default_rng([K, int(10 * Delta)])
    for t in sorted({1, K}):
        problem = darrm.MajorityProblem(K, 1 + (K - 1) * 0.3, 0.7, Delta, max_affected=t)
        half = rng.random(K - K // 2)
        gamma = np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])
        needed = Fraction(darrm.verify(gamma, problem).needed_delta)
        at = exact.total_epsilon(problem)
        worst = exact.worst_excess(gamma.tolist(), problem, at)
        assert max(Fraction(0), worst) <= needed <= max(Fraction(0), worst) + Fraction(1, 10**11)
        table, grow = exact.acceptance(gamma.tolist()), exact.exponential(at)
        a, D = exact.exponential(Decimal(problem.epsilon)), Fraction(Delta)
        for _ in range(20):
            votes = [
                pair(rng, a, D) if voter < t else (p := Fraction(int(rng.integers(33)), 32), p) for voter in range(K)
            ]
            first, second = (label_by_definition(table, [v[side] for v in votes]) for side in (0, 1))
            for x, y in ((first, second), (second, first), (1 - first, 1 - second), (1 - second, 1 - first)):
                assert x - grow * y <= worst
