"""Decisions show themselves in notebooks."""

import math
import re
import sys

import numpy as np
import pytest

import darrm
from darrm import VoterGroup, objectives

GROUPS = (
    VoterGroup(2, epsilon=1.0),
    VoterGroup(3, epsilon=0.5),
    VoterGroup(1, epsilon=math.inf),
    VoterGroup(1, epsilon=0.1),
)


@pytest.mark.parametrize("several", [1, 2, 3, 4])
def test_decisions_show_guarantee_picture_and_table(several: int) -> None:
    pytest.importorskip("matplotlib")
    adjacency = "<script>alert(1)</script>"
    problem = darrm.DecisionProblem(GROUPS[:several], epsilon=1.0, classes=("no", "yes"), adjacency=adjacency)
    design = darrm.solve(problem, objective=objectives.truth([0.7, 0.65, 0.6, 0.55][:several]))
    text = design._repr_html_()
    assert "<script>" not in text
    assert "is (1, 0)-DP" in text
    assert f"Expected cost {design.expected_cost:.6g}" in text
    assert text.count("data:image/svg+xml;base64,") == (several <= 3)
    numbers = [float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", text)]
    np.testing.assert_allclose(numbers, design.table.ravel(), atol=5e-4)


@pytest.mark.thorough
def test_absent_voters_bring_their_condition() -> None:
    problem = darrm.DecisionProblem([VoterGroup(3, epsilon=1.0)], epsilon=1.0)
    text = darrm.solve(problem, objective=objectives.truth([0.7]), absent=True)._repr_html_()
    assert "who is absent depends neither on the data" in text


def test_without_matplotlib_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = darrm.DecisionProblem(GROUPS[:2], epsilon=1.0)
    design = darrm.solve(problem, objective=objectives.truth([0.7, 0.6]))
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    text = design._repr_html_()
    assert "<img" not in text
    assert f"{design.table[1, 1]:.3f}" in text


@pytest.mark.thorough
def test_a_comparison_of_one_release_shows_itself() -> None:
    found = darrm.compare(darrm.MajorityProblem(3, 2, 0.3))
    text = found._repr_html_()
    for entry in found:
        cells = f"<td>{entry.error:.6f}</td><td>{entry.disagreement:.6f}</td>"
        assert f"{entry.called}</th>{cells}" in text
    assert "tight epsilon" in text
    assert "nan" not in text
    groups = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0), darrm.VoterGroup(1, 0.3)], 1.0)
    decided = darrm.compare(groups, objective=darrm.objectives.truth([0.7, 0.6]))
    assert f"<td>{decided[0].expected_cost:.6f}</td><td>{decided[0].wrong:.6f}</td>" in decided._repr_html_()
    unknown = darrm.compare(groups, objective=darrm.objectives.costs(np.ones((3, 2, 2)) / 6 + np.eye(2)[0]))
    assert "nan" not in unknown._repr_html_()
