"""The common parts of all design files: format, exact numbers, and the tolerance of comparisons on reading."""

from __future__ import annotations

import math
import os
import platform
from typing import Any

from darrm.errors import InputError
from darrm.problem.decision import AnyProblem, DecisionProblem
from darrm.problem.groups import ByGroups, VoterGroup, plain_values
from darrm.problem.limits import Problem
from darrm.problem.majority import MajorityProblem
from darrm.storage import frames
from darrm.storage.sealed_json import MAX_BYTES

FORMAT, VERSION = "darrm-design", 2
_KNOWN = {"randomizer", "colluders"}  # keys of groups with a known randomizer alone
AGAIN = "Restore a copy, or make it anew (Design.save, darrm solve --out, darrm plan --out)."
# Certificates are computed in float64 in a fixed order, errors through library functions: relative tolerance.
_SAME = 1e-9
# Bytes of a line with a number, of a line with it in hexadecimal, of the brackets of a list, and of the rest of a file.
_PER_NUMBER, _PER_HEX, _PER_LIST, _BESIDES = 28, 30, 12, 100_000


def headed(values: dict[str, object], form: str | None = None, edition: int | None = None) -> dict[str, object]:
    """``values`` as the content of a file: the format first, the version of darrm last."""
    from importlib.metadata import version  # loads email and more, so only writing a file waits for it

    made_with = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("darrm", "highspy", "numpy", "scipy")},
    }
    edition = VERSION if edition is None else edition
    return {"format": form or FORMAT, "version": edition, **values, "made_with": made_with}


def check_ending(path: str | os.PathLike[str]) -> None:
    """`InputError` for a file name of a table: a design saved under it could be taken for a table."""
    if frames.ending_of(path) in frames.TABLES:
        raise InputError(
            f"A design file is JSON. Got {str(path)!r}. Pass a name that ends in .json; to_csv and darrm export write "
            "tables for analysis, from which nothing can be released."
        )


def check_filed(problem: object) -> None:
    """Refuse to write the design of a problem type that `load` does not read."""
    if not isinstance(problem, AnyProblem):
        raise InputError(
            f"A design file holds a MajorityProblem or a DecisionProblem. Got {type(problem).__name__}. Keep its "
            "gamma, or add the type to problem_of in darrm/design/content.py."
        )
    check_whole(problem)


def check_whole(problem: AnyProblem) -> None:
    """Refuse to keep the problem of one kind of change, where other records have another limit."""
    if not all(group.max_affected for group in problem.groups):
        raise InputError(
            "The problem of one kind of change is kept in no file, because records of other groups have another limit. "
            "Keep the design of all kinds."
        )


def problem_in_file(problem: AnyProblem) -> dict[str, Any]:
    """A problem as plain values; the key for names of voters is present only if there are names."""
    values = plain_values(problem)
    if problem.voters is not None:
        for group, written in zip(problem.groups, values["groups"], strict=True):
            written["names"] = list(group.names or ())
    return values


def check_writable(problem: ByGroups) -> None:
    """Refuse, before the search, a problem whose design file could be too large to be read again."""
    *outer, _ = (*problem.table_shape, 1)
    lists, depth, entries = 1, len(outer), math.prod(problem.table_shape)
    most = _BESIDES + entries * (_PER_NUMBER + depth + _PER_HEX)
    for level, count in enumerate(outer):
        most += lists * (_PER_LIST + 2 * level)
        lists *= count
    if most > MAX_BYTES:
        fewer = "Do without --out, or take fewer voters."
        if problem.n_classes > 2:
            fewer = (
                "Take fewer voters or fewer classes, or release these votes without a table, by noisy max "
                "(darrm.mechanisms.GaussianNoisyMax). Without --out there is nothing to release by."
            )
        raise InputError(
            f"A design file for {entries:,} vectors of votes can have {most:,} bytes; at most {MAX_BYTES:,} can be "
            f"read again. {fewer}"
        )


def profile_of(content: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    """The profile in the content of a file, where None is an infinite epsilon."""
    return tuple((math.inf if epsilon is None else epsilon, delta) for epsilon, delta in content.get("profile", []))


def problem_of(content: dict[str, Any]) -> AnyProblem:
    """The problem in the content of a file, where None is an infinite epsilon; refused unless complete."""
    if not isinstance(content, dict):
        raise InputError(f"problem must be an object of named parameters. Got {content!r}")
    kind = DecisionProblem if "groups" in content else MajorityProblem
    if kind is DecisionProblem:
        content = {"none": False, **content}  # files for two classes may lack these keys
    if sorted(content) != sorted(kind.__dataclass_fields__):
        raise InputError(f"problem must have exactly its own parameters. Got {', '.join(map(repr, content))}")
    if any(value is None for value in content.values()):
        raise InputError("problem must have a value for all its parameters. Got null")
    if kind is MajorityProblem:
        return MajorityProblem(**content)
    fields = set(VoterGroup.__dataclass_fields__)
    if any(group.keys() - {"names"} not in (fields, fields - _KNOWN) for group in content["groups"]):
        raise InputError("a group must have exactly its own parameters")
    if any(group[name] is None for group in content["groups"] for name in group if name != "epsilon"):
        raise InputError("a group must have a value for all its parameters. Got null")
    groups = [
        VoterGroup(**{**group, "epsilon": math.inf if group["epsilon"] is None else group["epsilon"]})
        for group in content["groups"]
    ]
    for group, written in zip(groups, content["groups"], strict=True):
        if "names" in written and written["names"] != list(group.names or ()):
            raise InputError(f"names of voters must be NFC texts without outer space. Got {written['names']!r:.80}")
    return DecisionProblem(**{**content, "groups": groups})


def certificate_size(problem: Problem) -> float:
    """The scale for comparing the figures of a certificate: e^epsilon - 1 + 2 delta, the largest limit, at most 1."""
    sizes = [math.expm1(min(1.0, kind.release_epsilon)) + 2 * float(kind.delta) for kind in problem.kinds.values()]
    return min(1.0, max(sizes))


def check_same(name: str, now: object, then: object, size: float = 1.0) -> None:
    """`InputError` unless a figure of a file, or every figure of a mapping, equals the recomputed one to 1e-9."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        # Which of several equally bad multisets is named first may depend on the last bit.
        for key in now.keys() - {"worst_case", "probabilities", "rounding"}:
            check_same(f"{name}.{key}", now[key], then[key], size)
    elif isinstance(now, float) and isinstance(then, float):
        if not math.isclose(now, then, rel_tol=_SAME, abs_tol=_SAME * size):
            raise InputError(f"{name} must be {now!r}, as recomputed from the exact numbers. Got {then!r}")
    elif now != then or isinstance(now, bool) is not isinstance(then, bool):
        raise InputError(f"{name} does not match the exact numbers")
