"""Searches that are kept answer for one table, one limit and one thread."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.certificate import engines, separation
from darrm.certificate.protocol import largest
from darrm.errors import CertificateError
from darrm.problem import encodings
from darrm.problem.limits import guarantee

PROBLEM = darrm.MajorityProblem(K=5, m=2, epsilon=0.3, Delta=1e-4)
GAMMA = np.array([0.6, 0.5, 0.2, 0.2, 0.5, 0.6])


def test_each_thread_has_its_own() -> None:
    engines.forget()
    limit = guarantee(PROBLEM)
    mine, theirs = engines.search(GAMMA, limit), []
    thread = threading.Thread(target=lambda: theirs.append(engines.search(GAMMA, limit)))
    thread.start()
    thread.join()
    assert engines.search(GAMMA, limit) is mine
    assert theirs[0] is not mine


def test_another_table_or_limit_has_another() -> None:
    limit, other = guarantee(PROBLEM), guarantee(darrm.MajorityProblem(K=5, m=3, epsilon=0.3, Delta=1e-4))
    mine = engines.search(GAMMA, limit)
    assert engines.search(0.5 * GAMMA, limit) is not mine
    assert engines.search(GAMMA, other) is not engines.search(GAMMA, limit)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_answer_is_of_the_epsilon_that_was_asked_for(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though another is asked for, of the same search, before the first has ended."""
    groups = [darrm.VoterGroup(3, epsilon=0.5), darrm.VoterGroup(2, epsilon=0.3)][: 1 if classes > 2 else 2]
    problem = darrm.DecisionProblem(groups, epsilon=0.8, delta=1e-3, classes=classes)
    shape = (*problem.table_shape, classes) if classes > 2 else problem.table_shape
    table = np.random.default_rng(1).random(shape)
    if classes > 2:
        table /= table.sum(axis=-1, keepdims=True)
    engine = engines.engine(problem)
    limit = guarantee(problem)
    table = encodings.table(table, problem)
    alone = [largest(engine.separation(table, limit).worst_cases(Decimal(e))).bound for e in ("0.1", "2.0")]
    search: Any = engine.separation(table, limit)
    worst, asked = search._floats._worst, []

    def interrupted(*arguments: Any) -> Any:
        if not asked:
            asked.append(True)
            asked.append(largest(search.worst_cases(Decimal("2.0"))).bound)
        return worst(*arguments)

    monkeypatch.setattr(search._floats, "_worst", interrupted)
    assert largest(search.worst_cases(Decimal("0.1"))).bound == alone[0]
    assert asked[1] == alone[1] != alone[0]


def test_arithmetic_is_looked_at_though_the_search_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    engines.search(GAMMA, guarantee(PROBLEM))
    monkeypatch.setattr(separation, "_SUBNORMAL", 0.0)
    with pytest.raises(CertificateError, match="subnormal"):
        engines.search(GAMMA, guarantee(PROBLEM))
