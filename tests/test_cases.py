"""Which cases of a test with several parameters `make test` runs."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from cases import beyond_each_value

SETS = {"a": ["x", "y", "z", "w"], "b, c": [(1, 2), (1, 3), (2, 3)], "d": [0.5, 1.5]}


def case(a: str, bc: tuple[int, int], d: float) -> Any:
    marks = [pytest.mark.parametrize(names, values).mark for names, values in SETS.items()]
    params = {"a": a, "b": bc[0], "c": bc[1], "d": d}
    return SimpleNamespace(callspec=SimpleNamespace(params=params), iter_markers=lambda name: marks)


def test_each_value_of_each_parameter_is_run_once() -> None:
    cases = [case(*values) for values in product(*SETS.values())]
    left = list(beyond_each_value(cases))
    run = [one.callspec.params for one in cases if all(one is not other for other in left)]
    assert [one["a"] for one in run] == SETS["a"]
    assert {(one["b"], one["c"]) for one in run} == set(SETS["b, c"])
    assert {one["d"] for one in run} == set(SETS["d"])
    assert len(run) + len(left) == len(cases)
