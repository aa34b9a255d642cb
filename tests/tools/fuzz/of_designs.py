"""Design files, and designs near the limit of what they guarantee."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from judging import Case, Finding, confirm, confirm_decision
from material import GROUPS, PROBLEMS, good
from mutate import Draw, broken, dump, signed, spoiled

import darrm
from darrm.errors import CertificateError, DarrmError

DESIGNS = (*PROBLEMS, *GROUPS)


@st.composite
def design_files(draw: Draw) -> Case:
    content = good()[draw(st.sampled_from(DESIGNS))]
    if draw(st.integers(0, 4)) == 0:
        return {"content": broken(draw, content)}
    tree = json.loads(content)
    digest = tree.pop("sha256")
    gammas = draw(st.booleans())
    tree = spoiled(draw, tree)
    if gammas and isinstance(tree, dict):
        # Both ways of writing gamma, or a table, agree, so that more than that is looked at.
        for name in ("gamma", "table"):
            if isinstance(tree.get(name), list):
                tree[f"{name}_hex"] = [x.hex() if type(x) is float else x for x in flat(tree[name])]
    text = dump(tree)
    if draw(st.integers(0, 9)):
        text = signed(text)
    elif isinstance(tree, dict):
        text = dump(tree | {"sha256": digest})
    content = text.encode("utf-8", "surrogatepass")
    return {"content": broken(draw, content, 1) if draw(st.integers(0, 19)) == 0 else content}


def flat(tree: Any) -> list[Any]:
    """All values of lists in lists."""
    return [inner for value in tree for inner in flat(value)] if isinstance(tree, list) else [tree]


def run_design(case: Case) -> str:
    Path("gamma.json").write_bytes(case["content"])
    try:
        design = darrm.load("gamma.json")
    except DarrmError:
        return "refused"
    claimed = json.loads(case["content"])
    if design.encoding.key == "table":
        if [float.fromhex(value) for value in claimed["table_hex"]] != design.table.ravel().tolist():
            raise Finding("the design that was read has another table than the file")
        return confirm_decision(claimed)  # what the file says, not what was read
    if [float.fromhex(value) for value in claimed["gamma_hex"]] != design.gamma.tolist():
        raise Finding("the design that was read has another gamma than the file")
    return confirm(design)


# Designs near the limit of what they guarantee, as files.

UNIT = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1 - 2**-53]), st.floats(0, 1))
DELTAS = st.one_of(st.just(0.0), st.sampled_from([1e-5, 1e-300, 5e-324, 0.3, 0.999, 1 - 2**-53]), st.floats(0, 0.5))
EPSILONS = st.one_of(
    st.sampled_from([0.1, 1.0, 5e-324, 1e-300, 1e-16, 1e-9, 30.0, 36.8, 40.0, 350.0, 709.0, 710.0, 745.2, 1e4, 1e6]),
    st.floats(1e-3, 10),
    st.floats(5e-324, 1e6),
)


@st.composite
def certificates(draw: Draw) -> Case:
    K = draw(st.integers(1, 7))
    problem = {
        "K": K,
        "m": draw(st.one_of(st.integers(1, K), st.floats(1, K))),
        "epsilon": draw(EPSILONS),
        "Delta": draw(DELTAS),
        "delta": draw(st.one_of(st.none(), DELTAS)),
        "max_affected": draw(st.integers(1, K)),
    }
    if draw(st.booleans()):
        half = [draw(UNIT) for _ in range(K // 2 + 1)]
        return {"problem": problem, "gamma": [half[min(l, K - l)] for l in range(K + 1)], "change": None}
    changes = ["repair", "solve", *(1 + x for x in (0.0, 2e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-9, 1e-6))]
    return {"problem": problem, "gamma": None, "change": draw(st.sampled_from(changes)), "at": draw(st.integers(0, K))}


def run_certificate(case: Case) -> str:
    try:
        problem, gamma = darrm.MajorityProblem(**case["problem"]), case["gamma"]
        if gamma is None:
            found = darrm.solve(problem, time_limit=5)
            confirm(found)
            gamma = found.gamma.tolist()
            change = case["change"]
            if change == "repair":
                gamma = darrm.repair([1.0] * (problem.K + 1), problem).tolist()
            elif change != "solve":
                for l in {case["at"], problem.K - case["at"]}:
                    gamma[l] = min(1.0, gamma[l] * change)
        design = darrm.Design(problem, gamma, darrm.priors.independent())
    except CertificateError:
        return "not proved"
    except DarrmError:
        return "refused"
    design.save("gamma.json")
    again = darrm.load("gamma.json")
    if again.gamma.tolist() != design.gamma.tolist() or again.problem != design.problem:
        raise Finding("a saved design is read as another")
    return confirm(again)
