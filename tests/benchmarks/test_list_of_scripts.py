"""``python -m benchmarks`` lists every script, with its time and a page that names it, and every script imports."""

import runpy
from pathlib import Path

import pytest
from scripts import BENCHMARKS, TOOLS, load

STARTED_BY_OTHERS = {"tests/tools/fuzz/worker.py", "benchmarks/__main__.py"}
MAIN = str(BENCHMARKS / "__main__.py")
scripts = {script.path: script for script in runpy.run_path(MAIN, run_name="list")["scripts"]()}


@pytest.mark.thorough
def test_every_script_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    runnable = {
        path.relative_to(BENCHMARKS.parent).as_posix()
        for path in (*BENCHMARKS.rglob("*.py"), *TOOLS.rglob("*.py"))
        if 'if __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }
    assert scripts.keys() == runnable - STARTED_BY_OTHERS
    runpy.run_path(MAIN, run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[::3] == sorted(scripts)
    assert all(line.startswith("    Takes ") for line in lines[2::3])


@pytest.mark.every
@pytest.mark.parametrize("path", scripts)
def test_the_page_of_a_script_names_it(path: str) -> None:
    source = (BENCHMARKS.parent / path).read_text(encoding="utf-8")
    assert (scripts[path].page is not None) == ('"--docs"' in source)
    if page := scripts[path].page:
        assert path in (BENCHMARKS.parent / page).read_text(encoding="utf-8")


@pytest.mark.every
@pytest.mark.parametrize("path", [path for path in scripts if "/fuzz/" not in path])
def test_every_script_imports(path: str) -> None:
    """Those of fuzzing start processes: test_fuzz runs them."""
    assert callable(load(Path(path).stem).main)
