"""Pictures of the documentation: all described, and readable at the size that a page gives them."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from darrm.show import figures

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
PAGES.append(DOCS.parent / "CONTRIBUTING.md")


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.svg")), ids=lambda path: path.name)
def test_letters_are_not_tiny(path: Path) -> None:
    """Superscripts are parts of a text, and smaller."""
    picture = path.read_text(encoding="utf-8")
    width = re.search(r'<svg [^>]*width="([\d.]+)pt"', picture)
    assert width is not None
    assert float(width[1]) <= 72 * figures.WIDTH + 1e-6  # else the page shrinks it
    sizes = re.findall(r'<text style="font-size: ([\d.]+)px', picture)
    assert sizes
    assert min(map(float, sizes)) >= figures.TEXT


def test_every_picture_is_described() -> None:
    shown = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        images = re.findall(r"^```\{image\} (\S+)\n((?::\w+:.*\n)*)```", text, re.MULTILINE)
        shown |= {Path(path).name: said for path, said in images}
        shown |= {Path(path).name: f":alt: {said}" for said, path in re.findall(r"!\[(.*?)\]\((\S+)\)", text)}
    assert {path.name for path in DOCS.iterdir() if path.suffix in {".svg", ".png"}} == shown.keys()
    for path, said in shown.items():
        assert re.search(r":alt: .{30,}", said), path
