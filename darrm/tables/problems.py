"""The problems of a table, and the order in which they are solved."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from darrm._validation import path as check_path
from darrm.constraints.usual import MOST_K
from darrm.errors import InputError
from darrm.priors import Prior
from darrm.problem.majority import MajorityProblem
from darrm.storage.kinds import check_kind
from darrm.tables.tasks import DECISIONS, MajorityTask, Task, kind_of, prior_text, task_of

Values: TypeAlias = "float | str | Iterable[float | str | None] | None"
_MOST = 1_000_000
_CHAIN = 32  # designs of one unit of work, at most


@dataclass(frozen=True)
class Grid:
    """The problems of a table.

    Attributes
    ----------
    tasks : tuple of Task
        Each task once, in the requested order.
    left_out : int
        The number of combinations with m or ``max_affected`` above K, which are invalid and were left out.

    Examples
    --------
    Four combinations, of which m = 4 for three voters is invalid, in two units of work:

    >>> import darrm
    >>> problems = darrm.tables.grid(K=[3, 5], m=[1, 4], epsilon=0.1)
    >>> len(problems.tasks), problems.left_out, len(problems.chains())
    (3, 1, 2)
    """

    tasks: tuple[Task, ...]
    left_out: int = 0

    @property
    def digest(self) -> str:
        """A digest that identifies this grid."""
        return hashlib.sha256(json.dumps([task.key for task in self.tasks]).encode()).hexdigest()

    def chains(self) -> list[list[int]]:
        """Indices of tasks in units of work: neighbours, from small m on, so that each helps the next.

        Small problems need no help, so those of one K share a unit: to hand one to another process takes as long as to
        solve it.
        """
        tasks = self.tasks
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, task in enumerate(tasks):
            shared = task.helped[:1] if task.problem.K <= MOST_K else task.helped
            groups.setdefault(shared or (i,), []).append(i)
        chains = []
        for members in groups.values():
            members.sort(key=lambda i: (tasks[i].helped, tasks[i].problem.release_epsilon, tasks[i].problem.delta))
            parts = max(1, -(-len(members) // _CHAIN))
            chains += [part.tolist() for part in np.array_split(np.array(members), parts)]
        # The largest first, so that no process is left with one at the end.
        return sorted(chains, key=lambda chain: (-tasks[chain[0]].problem.K, chain[0]))


def grid(
    K: Values,
    m: Values,
    epsilon: Values,
    Delta: Values = 0.0,
    *,
    delta: Values = None,
    max_affected: Values = None,
    prior: Prior | str | Iterable[Prior | str] = "uniform",
    shape: str | Iterable[str] = "free",
    objective: str | None = None,
    adjacency: str = "replace-one",
) -> Grid:
    """All combinations of the given values.

    Parameters
    ----------
    K, m, epsilon, Delta, delta, max_affected : number or iterable of numbers
        As of `darrm.MajorityProblem`; None for the default delta 1 - (1 - Delta)^max(m, 1) and ``max_affected`` = K.
        Combinations with m or ``max_affected`` above K are left out and counted.
    prior, shape : one or an iterable
        No guarantee rests on the prior, if it comes from elsewhere than the votes or records to be protected.
    objective, adjacency : str
        One for all.

    Returns
    -------
    Grid

    Raises
    ------
    InputError
        If a value is out of range, or nothing is left.

    Examples
    --------
    Three voters have no allowance of four:

    >>> import darrm
    >>> problems = darrm.tables.grid(K=[3, 5, 7], m=[1, 2, 4], epsilon=0.1)
    >>> len(problems.tasks), problems.left_out
    (8, 1)
    """
    named = {"K": K, "m": m, "epsilon": epsilon, "Delta": Delta, "delta": delta, "max_affected": max_affected}
    values = {name: _several(name, value) for name, value in named.items()}
    tasks: dict[MajorityTask, None] = {}
    left_out = 0
    texts, shapes = [prior_text(each) for each in _several("prior", prior)], _several("shape", shape)
    size = math.prod(map(len, [*values.values(), texts, shapes]))
    if size > _MOST:
        raise InputError(f"A grid may have {_MOST:,} combinations at most. Got {size:,}. Make several tables.")
    for *numbers, text, one_shape in product(*values.values(), texts, shapes):
        of = dict(zip(values, numbers, strict=True))
        if any(_above(of[name], of["K"]) for name in ("m", "max_affected")):
            left_out += 1
            continue
        problem = MajorityProblem(**of, adjacency=adjacency)
        tasks[task_of(problem, text, one_shape, objective)] = None
    if not tasks:
        raise InputError(f"The grid is empty: {left_out} combinations, all with m or max_affected above K.")
    return Grid(tuple(tasks), left_out)


def from_csv(path: str | Path) -> Grid:
    """The problems of a CSV file, one a line.

    The header names K, m, epsilon and any of Delta, delta, max_affected, adjacency, prior, shape, objective; an empty
    cell stands for the default.

    That of decisions by groups of voters names groups, total_epsilon, accuracy and any of delta, max_affected,
    adjacency, objective, prior, cost and ordered (yes, no). Groups are ``["4:1.0", "7:0.2"]``, each
    COUNT:EPSILON[:DELTA[:MAX_AFFECTED]][:response:COLLUDERS]; with the last part its voters draw every vote by
    randomized response, as docs/known_randomizers.md says. An accuracy is ``[0.8, 0.7]``. An objective is truth,
    majority, ``at-least:3`` or ``weights:[2, 1]``. A cost ``[0, 5, 1, 0]`` lists the costs of answer 0 if 0 is true and
    if 1 is true, then those of answer 1. A list may also have spaces between its parts and no brackets:
    ``4:1.0 7:0.2``.

    Raises
    ------
    InputError
        With the number of the line, if one cannot be used.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> problems = [[5, 1, 0.1], [7, 2, 0.1]]
    >>> np.savetxt("problems.csv", problems, "%g", ",", header="K,m,epsilon", comments="")
    >>> len(darrm.tables.from_csv("problems.csv").tasks)
    2
    """
    name = check_path("path", path)
    try:
        with name.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            header = rows.fieldnames or []
            kind = kind_of(header)
            known, needed = kind.key, kind.needed
            unknown, missing = set(header) - set(known), set(needed) - set(header)
            if kind is DECISIONS and {"classes", "none"} & unknown:
                raise InputError(
                    f"{name}: a table holds decisions between two answers. Got the column "
                    f"{min({'classes', 'none'} & unknown)}. Solve decisions between more one by one, with darrm solve."
                )
            if unknown or missing or len(set(header)) < len(header):
                others = ", ".join(column for column in known if column not in needed)
                raise InputError(
                    f"{name}: the header must name {', '.join(needed)} and may name {others}, each once. "
                    f"Got {', '.join(header) or 'nothing'}."
                )
            tasks: dict[Task, None] = {}
            for row in rows:
                try:
                    values = _texts(row)
                    tasks[kind.task(values)] = None
                except InputError as error:
                    raise InputError(f"{name}, line {rows.line_num}: {error}") from None
    except InputError:
        check_kind(name, "problems")
        raise
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a CSV file.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name} is not a CSV file ({error}).") from None
    if not tasks:
        raise InputError(f"{name} holds no problems: there is no line below the header.")
    return Grid(tuple(tasks))


def _texts(row: dict[str, Any]) -> dict[str, str]:
    if None in row or None in row.values():
        raise InputError("the line has more or fewer columns than the header.")
    return {name: text.strip() for name, text in row.items() if text.strip()}


def _several(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, np.ndarray):
        values = values.ravel().tolist()
    if values is None or isinstance(values, str | bytes | Prior) or not isinstance(values, Iterable):
        return [values]
    listed = list(values)
    if not listed:
        raise InputError(f"{name} has no values. Pass at least one.")
    return [value.item() if isinstance(value, np.generic) else value for value in listed]


def _above(value: Any, K: Any) -> bool:
    try:
        return value is not None and K >= 1 and bool(value > K)
    except TypeError:
        return False  # not a number: the problem says so
