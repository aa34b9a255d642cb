"""Report, explorer and pictures have the same colours, in the light and in the dark."""

import re
from pathlib import Path

import pytest

import darrm

pytest.importorskip("matplotlib")

from darrm.show import figures

SHOW = Path(darrm.__file__).parent / "show"


def colours(path: str) -> list[dict[str, str]]:
    """Colours by name of a style sheet: first the light ones, then the dark ones."""
    text = (SHOW / path).read_text(encoding="utf-8")
    return [dict(re.findall(r"--(\w+): (#\w+);", root)) for root in re.findall(r":root \{(.*?)\}", text, re.DOTALL)]


def test_the_report_has_the_colours_of_the_explorer() -> None:
    report, explorer = colours("report/page.html"), colours("explore/static/explore.css")
    assert len(report) == len(explorer) == 2
    for ours, theirs in zip(report, explorer, strict=True):
        shared = ours.keys() & theirs.keys()
        assert shared >= {"text", "quiet", "line", "accent", "card", "page", "frame"}
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_bars_of_the_explorer_have_the_colours_of_pictures() -> None:
    light = colours("explore/static/explore.css")[0]
    assert light["mine"] == figures.LOOKS[0][0].lower()
    assert light["bar"] == figures.REST


@pytest.mark.parametrize("own", [2, 4])
def test_noise_functions_of_ones_own_differ_in_colour_and_without(own: int) -> None:
    """Beside the curves of a comparison, which leave fewer colours than there are names."""
    shown = ["gamma_opt", "monotone", "double subsampling of 5 votes", "subsampling of 3 votes"]
    shown += ["randomized response (largest)", "randomized response (A.1)"]
    mine = [f"mine {i}" for i in range(own)]
    for names in ([*shown, *mine], [*shown, "plain majority", *mine]):
        colours, *shapes = zip(*figures.looks(names).values(), strict=True)
        assert len(set(colours)) == len(set(zip(*shapes, strict=True))) == len(names)
