"""The notebooks are stored as the tool stores them, and the tool finds outputs that are stale."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("PIL")

import nbformat
import numpy as np
from PIL import Image, PngImagePlugin
from scripts import load

tool = load("notebooks")
NOTEBOOKS = sorted(tool.FOLDER.glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_a_notebook_is_stored_whole_and_without_noise(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    shown = [kind for cell in notebook.cells if cell.cell_type == "code" for kind, _ in tool.shown(cell)]
    assert shown.count("image/png") > 1
    assert not {"stderr", "error"} & set(shown)
    assert nbformat.writes(tool.tidied(notebook)) + "\n" == text
    assert len(text) < 500_000
    assert all(character not in text for character in ("/home/", "/tmp/", "/root/"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_links_lead_to_files(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    links = [
        link for cell in cells for link in re.findall(r"\]\(([^)]+)\)", cell.source) if cell.cell_type == "markdown"
    ]
    assert {link for link in links if not (path.parent / link.split("#")[0]).is_file()} == set()


def written(folder: Path, *sources: str, tags: tuple[str, ...] = ()) -> Path:
    """A notebook of these cells of code, with no outputs stored."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({"tags": list(tags), "execution": {"shell.execute_reply": "now"}})
    path = folder / "one.ipynb"
    nbformat.write(notebook, path)
    return path


def rewritten(path: Path, then: str, now: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert then in text
    path.write_text(text.replace(then, now), encoding="utf-8")


@pytest.mark.thorough
def test_stale_outputs_are_found_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, run = written(tmp_path, "print('a', 1.5)", "2"), ["--folder", str(tmp_path)]
    assert tool.main(run) == 1
    assert "cell 1: shows ['stdout'], stored are []" in capsys.readouterr().out
    assert tool.main([*run, "--write"]) == 0
    text = path.read_text(encoding="utf-8")
    assert "execute_reply" not in text
    assert '"a 1.5\\n"' in text
    assert tool.main([*run, "one"]) == 0
    rewritten(path, '"a 1.5\\n"', '"a 1.6\\n"')
    capsys.readouterr()
    assert tool.main(run) == 1
    assert "one.ipynb: cell 1: stdout differs" in capsys.readouterr().out
    assert tool.main([*run, "--write"]) == 0
    assert path.read_text(encoding="utf-8") == text
    rewritten(path, '"execution_count": 1', '"execution_count": 7')
    assert tool.main(run) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("source", "fault"),
    [("1 / 0", "ZeroDivisionError"), ("import warnings; warnings.warn('old')", "cell 1: writes to stderr")],
)
def test_cells_that_fail_or_warn_are_faults_that_no_writing_removes(
    source: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, source)
    before = path.read_bytes()
    assert tool.main(["--folder", str(tmp_path), "--write"]) == 1
    assert fault in capsys.readouterr().out
    assert path.read_bytes() == before


def test_a_name_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "1")
    with pytest.raises(SystemExit):
        tool.main(["--folder", str(tmp_path), "two"])
    assert "there is no notebook two. There are: one." in capsys.readouterr().err


def png(pixels: Any, version: str = "Matplotlib version3.11.0") -> str:
    note, file = PngImagePlugin.PngInfo(), io.BytesIO()
    note.add_text("Software", version)
    Image.fromarray(pixels).save(file, "png", pnginfo=note)
    return base64.b64encode(file.getvalue()).decode()


def notebook(*outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    cell = nbformat.v4.new_code_cell("", outputs=list(outputs), metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.mark.parametrize(
    ("then", "now", "same", "same_if_it_varies"),
    [
        ("error .1234", "error .1234", True, True),
        ("gap 6e-14 of 0.79467813", "gap 1e-13 of 0.79467813000001", True, True),
        ("error 0.1234", "error 0.1235", False, True),
        ("error 0.454", "error 0.4540", False, True),
        ("right:  9 %", "right: 10 %", False, True),
        ("right: 9 %", "wrong: 9 %", False, False),
        ("[0 1 1]", "[0 1]", False, False),
    ],
)
def test_texts_are_compared(then: str, now: str, same: bool, same_if_it_varies: bool) -> None:
    for tags, expected in (((), same), (("varies",), same_if_it_varies)):
        stored, fresh = (notebook(nbformat.v4.new_output("stream", text=text), tags=tags) for text in (then, now))
        assert (list(tool.differences(stored, fresh)) == []) is expected


def test_pictures_are_compared_where_one_version_drew_them() -> None:
    white = np.full((50, 80, 3), 255, dtype=np.uint8)
    line, faint = white.copy(), white.copy()
    line[20] = 0
    faint[20] = 250

    def found(then: str, now: str, *tags: str) -> list[str]:
        outputs = [nbformat.v4.new_output("display_data", {"image/png": content}) for content in (then, now)]
        return list(tool.differences(*(notebook(one, tags=tags) for one in outputs)))

    assert found(png(white), png(faint)) == []
    for other in (line, white[:40]):
        assert found(png(white), png(other)) == ["cell 1: the picture differs"]
        assert found(png(white), png(other, "Matplotlib version3.12.0")) == []
        assert found(png(white), png(other), "varies") == []
