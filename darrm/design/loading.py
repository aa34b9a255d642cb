"""Read a design file and verify it anew."""

from __future__ import annotations

import math
import os
from typing import Any

from darrm._validation import path as check_path
from darrm.design.content import AGAIN, FORMAT, VERSION, certificate_size, check_same, problem_of, profile_of
from darrm.design.design import Design, as_dict
from darrm.errors import InputError
from darrm.objectives.stored import from_dict
from darrm.priors import from_dict as prior_from_dict
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.storage.sealed_json import read


def load(path: str | os.PathLike[str]) -> Design:
    """Read a design file, verify its release again, and refuse a file that does not match.

    Gamma, or the table of a decision, is taken from the exact hex values. The certificate and the errors are computed
    again and compared with the values in the file.

    Returns
    -------
    Design
        A design equal to the saved one.

    Raises
    ------
    InputError
        If the file is missing, foreign, truncated or edited.
    CertificateError
        If its release does not satisfy the guarantee of its problem.

    Examples
    --------
    >>> import darrm
    >>> darrm.solve(K=5, m=1, epsilon=0.5).save("gamma.json")
    >>> design = darrm.load("gamma.json")
    >>> design.problem.K, design.certificate.holds
    (5, True)
    """
    name = check_path("path", path)
    content = read(name, FORMAT, VERSION, "design", AGAIN)
    try:
        return from_content(content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{name} is not a complete design file ({error!r}). {AGAIN}") from error
    except ValueError as error:
        raise InputError(f"{name} is not a valid design file ({error}). {AGAIN}") from error


def from_content(content: dict[str, Any]) -> Design:
    """The design in a file's content, verified again; `InputError` or KeyError if the content does not match it."""
    problem = problem_of(content["problem"])
    if "groups" in content["problem"]:
        ordered = content["ordered"]
        if type(ordered) is not bool:
            raise InputError(f"ordered must be true or false. Got {ordered!r}")
        goal: tuple[Any, str, str | None] = (from_dict(content["objective"]), "ordered" if ordered else "free", None)
        same: tuple[str, ...] = ("table", "absent", "certificate")
    else:
        goal = (prior_from_dict(content["prior"]), content["shape"], content["objective"])
        same = ("gamma", "shape", "error", "disagreement", "certificate")
    design = _made(content, problem, goal, profile_of(content))
    now = as_dict(design)
    size = certificate_size(problem)
    for key in same:
        # Earlier versions wrote errors with their sign.
        then = abs(content[key]) if key == "error" and isinstance(content[key], float) else content[key]
        check_same(key, now[key], then, 1.0 if key in ("error", "disagreement") else size)
    return design


def _made(
    part: dict[str, Any],
    problem: AnyProblem,
    goal: tuple[Any, str, str | None],
    profile: tuple[tuple[float, float], ...],
    present: tuple[int, ...] | None = None,
) -> Design:
    """The design in a part of a file, for all voters or for the present ones."""
    key = encodings.of(problem, ()).key
    table = encodings.stored(part[f"{key}_hex"], problem)
    if part["gap"] is not None and type(part["gap"]) is not float:
        raise InputError(f"gap must be a number with a decimal point, or null. Got {part['gap']!r}")
    parts = [] if key == "gamma" or present is not None else part.get("fewer", [])
    if any(other.keys() != {"present", "gap", "expected_cost", "table_hex"} for other in parts):
        raise InputError("a table for fewer voters must have present, gap, expected_cost and table_hex alone")
    if any(type(count) is not int for other in parts for count in other["present"]):
        raise InputError("present must be integers without a decimal point")
    objective, shape, name = goal
    fewer = {}
    for other in parts:
        there = tuple(other["present"])
        own = (objective.with_present(there), shape, name)
        fewer[there] = _made(other, problem.with_present(there), own, profile, there)
    if len(fewer) != len(parts):
        raise InputError("fewer has two tables for the same present voters")
    gap = math.inf if part["gap"] is None else part["gap"]
    made = (problem, table, objective, shape, name, gap, profile, fewer)
    design = Design(*made, planned_for=part.get("planned_for", ""))
    if key == "table":
        check_same("expected_cost", design.expected_cost, part["expected_cost"])
    return design
