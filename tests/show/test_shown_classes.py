"""Decisions between several classes in rows, pictures and notebooks."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm import DecisionDesign, DecisionProblem, VoterGroup, objectives
from darrm.errors import InputError
from darrm.problem.counts import count_vectors
from darrm.show import classes
from darrm.show.plots_decision import described, not_drawn, plot_decision

NAMES = ("ash", "birch", "cedar")


def plurality(K: int, C: int, none: float | None = None, **more: object) -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(K, 0.7)], 1.2, classes=C, none=none is not None)
    return darrm.solve(problem, objective=objectives.rule("plurality", [0.6], none=none), **more)


def named() -> DecisionDesign:
    """Classes that are not alike."""
    problem = DecisionProblem([VoterGroup(4, 0.7)], 1.2, classes=NAMES, none=True)
    return darrm.solve(problem, objective=objectives.truth([0.6], [0.5, 0.3, 0.2], none=0.3))


def two_groups() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(2, 1.0), VoterGroup(2, 0.5)], 1.2, classes=3)
    return darrm.solve(problem, objective=objectives.truth([0.7, 0.6], [0.5, 0.3, 0.2]))


CASES = {
    "three": lambda: plurality(5, 3),
    "three and none": lambda: plurality(5, 3, 0.3),
    "named": named,
    "two and none": lambda: plurality(5, 2, 0.3),
    "four and none": lambda: plurality(4, 4, 0.3),
    "five": lambda: plurality(3, 5),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def design(request: pytest.FixtureRequest) -> DecisionDesign:
    made: DecisionDesign = request.param()
    return made


def test_rows_are_the_table_and_all_of_them_come_up(design: DecisionDesign) -> None:
    whole = classes.rows(design)
    assert whole.every == classes.n_rows(design) == len(whole.votes)
    np.testing.assert_array_equal(whole.chances, design.table)
    np.testing.assert_allclose(whole.chances, design.probabilities(whole.votes), atol=1e-15)
    assert whole.often is not None
    assert math.fsum(whole.often) == pytest.approx(1, rel=1e-12)
    assert len(classes.answer_heads(design)) == design.problem.n_answers


def test_few_rows_are_those_that_come_up_most_often() -> None:
    design = named()
    whole, few = classes.rows(design), classes.telling(design, 4)
    assert len(few.votes) == 4
    assert few.every == 15
    assert whole.often is not None
    assert few.often is not None
    assert sorted(few.often) == sorted(whole.often)[-4:]
    for votes, chances in zip(few.votes, few.chances, strict=True):
        np.testing.assert_array_equal(chances, design.probabilities(votes[None])[0])
    said = classes.selected(few)
    assert said.startswith("The 4 most likely of 15 vectors of votes, with total probability ")
    assert float(re.findall(r"([\d.]+)%", said)[0]) == pytest.approx(100 * few.often.sum(), rel=5e-3)
    assert classes.selected(whole) == ""


def test_a_table_of_costs_says_nothing_of_how_often() -> None:
    problem = DecisionProblem([VoterGroup(4, 0.7)], 1.2, classes=3)
    costs = 1 - (count_vectors(4, 3) == count_vectors(4, 3).max(axis=1, keepdims=True))
    design = darrm.solve(problem, objective=objectives.costs(costs / len(costs)))
    few = classes.telling(design, 3)
    assert few.often is None
    assert len(few.votes) == 3
    assert classes.selected(few) == f"3 of {classes.n_rows(design)} vectors of votes."


def test_places_are_those_of_the_certificate() -> None:
    case = {"answer 0": 1, "answer 2": 1, "group 1 from 0 to 2": 3, "group 2 at (0, 1, 2, 0)": 4, "group 2 surely 1": 5}
    answers, places = classes.worst_places(case)
    assert answers == (0, 2)
    assert [place[:3] for place in places] == [(1, (0, 2), 3), (2, (0, 1, 2, 0), 4), (2, (1,), 5)]
    problem = DecisionProblem([VoterGroup(3, 0.7), VoterGroup(9, 0.7, 1e-6)], 1.2, 1e-3, classes=NAMES)
    said = [classes.said(place, problem) for place in places]
    assert said == ["from ash to cedar", "at ash, birch, cedar, ash", "surely birch"]
    assert classes.answers_of(problem.answers, answers) == "ash or cedar"


@pytest.mark.thorough
def test_votes_of_several_groups_stand_side_by_side() -> None:
    shown = classes.telling(two_groups())
    assert len(shown.votes) == 30 < shown.every == 36
    assert classes.votes_text(shown.votes[0].tolist()) == "2:0:0 + 2:0:0"


def test_places_in_an_order_have_their_names() -> None:
    assert [classes.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th")
    ]


# Pictures


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_pictures_render(design: DecisionDesign, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    from darrm.show.figures import save

    for title in (True, False):
        path = tmp_path / f"{title}.png"
        save(path, plot_decision(design, title=title), dpi=60)
        pixels = imread(path)
        assert min(pixels.shape[:2]) > 100
        assert len(np.unique(pixels[..., :3].reshape(-1, 3), axis=0)) > 20
    alternative = described(design, "")
    assert len(alternative) > 80
    assert ("The answer none has probability" in alternative) is design.problem.none


@pytest.mark.parametrize(
    ("name", "shown"),
    [("three", ["0"]), ("three and none", ["0", "none"]), ("named", [*NAMES, "none"])],
)
def test_triangles_have_the_chance_of_every_vote(name: str, shown: list[str]) -> None:
    pytest.importorskip("matplotlib")
    design = CASES[name]()
    figure = plot_decision(design)
    panels = [ax for ax in figure.axes if ax.collections and ax.get_title()]
    assert [ax.get_title() for ax in panels] == [f'probability of "{answer}"' for answer in shown]
    votes = count_vectors(design.problem.K, 3)
    for ax, answer in zip(panels, shown, strict=True):
        (cells,) = ax.collections
        wanted = design.probabilities(votes)[:, design.problem.answers.index(answer)]
        np.testing.assert_array_equal(cells.get_array(), wanted)
        assert cells.get_clim() == (0, 1)
        centres = np.array([path.vertices[:6].mean(axis=0) for path in cells.get_paths()])
        # Barycentric: the corners are where all name one class.
        np.testing.assert_allclose(centres, votes[:, 1:] @ [[1, 0], [0.5, math.sqrt(3) / 2]], atol=1e-9)
        assert [text.get_text() for text in ax.texts[-3:]] == [f"all {name}" for name in design.problem.names]


def test_two_classes_and_none_are_lines() -> None:
    pytest.importorskip("matplotlib")
    design = CASES["two and none"]()
    (ax,) = plot_decision(design).axes
    assert [line.get_label() for line in ax.lines] == ["0", "1", "none"]
    wanted = design.probabilities(count_vectors(5, 2))
    np.testing.assert_array_equal(np.stack([line.get_ydata() for line in ax.lines], axis=1), wanted)


@pytest.mark.thorough
def test_more_classes_are_shown_by_the_lead() -> None:
    pytest.importorskip("matplotlib")
    design = CASES["four and none"]()
    first, none = plot_decision(design).axes[:2]
    whole = classes.rows(design)
    lead = whole.votes[:, 0, 0] - whole.votes[:, 0, 1]
    for ax, column in ((first, 0), (none, -1)):
        np.testing.assert_array_equal(
            ax.collections[0].get_offsets(), np.stack([lead, whole.chances[:, column]], axis=1)
        )


@pytest.mark.thorough
def test_several_groups_have_no_picture_of_several_classes() -> None:
    pytest.importorskip("matplotlib")
    design = two_groups()
    assert "one group. Got 3 answers and 2 groups" in not_drawn(design.problem)
    with pytest.raises(InputError, match="decisions of one group"):
        plot_decision(design)


# Notebooks


@pytest.mark.thorough
def test_notebooks_show_several_classes(design: DecisionDesign) -> None:
    pytest.importorskip("matplotlib")
    text = design._repr_html_()
    assert f"is ({design.problem.epsilon:g}, 0)-DP" in text
    assert text.count("data:image/svg+xml;base64,") == 1
    cells = np.array([float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", text)])
    shown = classes.telling(design)
    numbers = cells.reshape(len(shown.votes), -1)
    np.testing.assert_allclose(numbers[:, :-1], shown.chances, atol=5e-7)
    np.testing.assert_allclose(numbers[:, -1], shown.often, atol=5e-5)


@pytest.mark.thorough
def test_notebooks_show_two_groups_without_a_picture() -> None:
    text = two_groups()._repr_html_()
    assert "<img" not in text
    assert "The 30 most likely of 36 vectors of votes" in text
    assert "2:0:0 + 2:0:0" in text
