"""Run the notebooks anew and compare what they show with the outputs that are stored in them.

    python tests/tools/notebooks.py [NAME ...] [--write]

Takes: two minutes.

A notebook is one file, `notebooks/NAME.ipynb`, and holds its outputs. Text must be the stored text, but for the
tenth and later digits of a number. Pictures must be the stored ones where the same version of matplotlib drew them.
A cell whose tag is `varies` draws fresh randomness: of its outputs the words and the kinds are compared, not numbers
and pictures. A cell that warns or fails is a fault. The file holds no times, versions or names of machines.

After a change, in Jupyter or by hand, `--write` stores the new outputs of every notebook in which one differs. The
exit status is 1 if a fault is left.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import difflib
import io
import math
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
VARIES = "varies"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
DIGITS = 9  # of a number that must be the same
SHADE, SHARE = 25, 1e-3  # of 255: a pixel that differs; of the pixels: a picture that differs
SECONDS = 300  # for a cell


def tidied(notebook: Any) -> Any:
    """The notebook without times, versions and what Jupyter notes of its windows; cells are counted anew."""
    notebook.metadata = nbformat.from_dict(METADATA)
    count = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({"tags": [VARIES]} if VARIES in cell.metadata.get("tags", ()) else {})
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
            if output.output_type == "execute_result":
                output.execution_count = count
    return notebook


def executed(path: Path) -> Any:
    """The notebook with the outputs that it has now."""
    client = NotebookClient(
        nbformat.read(path, as_version=4),
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],
    )
    return tidied(asyncio.run(client.async_execute()))


def shown(cell: Any) -> list[tuple[str, str]]:
    """What a cell shows: kinds, such as stdout or image/png, and contents."""
    found: list[tuple[str, str]] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append((output.name, output.text))
        elif output.output_type == "error":
            found.append(("error", output.evalue))
        else:
            found += sorted(output.data.items())
    return found


def same_text(then: str, now: str, *, varies: bool) -> bool:
    """Whether the words are the same, and the numbers unless they vary."""
    words = [NUMBER.sub("#", text) for text in (then, now)]
    if varies:
        words = [" ".join(text.split()) for text in words]  # figures of other widths are filled up otherwise
    if words[0] != words[1]:
        return False
    return varies or all(map(same_number, NUMBER.findall(then), NUMBER.findall(now)))


def same_number(then: str, now: str) -> bool:
    """Whether the digits are the same, but for those that other machines round otherwise: the tenth and later ones."""
    a, b = float(then), float(now)
    long = min(len(then), len(now)) > DIGITS or max(abs(a), abs(b)) < 10**-DIGITS
    return then == now or (long and math.isclose(a, b, rel_tol=10**-DIGITS, abs_tol=10**-DIGITS))


def same_picture(then: str, now: str) -> bool:
    """Whether two PNG show the same. Those of two versions of matplotlib cannot be compared, and pass."""
    first, second = (Image.open(io.BytesIO(base64.b64decode(content))) for content in (then, now))
    if first.info.get("Software") != second.info.get("Software"):
        return True
    if first.size != second.size:
        return False
    pixels = [np.asarray(one.convert("RGB"), dtype=float) for one in (first, second)]
    return bool(np.mean(np.abs(pixels[0] - pixels[1]).max(axis=-1) > SHADE) < SHARE)


def differences(stored: Any, fresh: Any) -> Iterator[str]:
    """What each cell shows otherwise than is stored."""
    for number, (then, now) in enumerate(zip(stored.cells, fresh.cells, strict=True), 1):
        if then.cell_type != "code":
            continue
        before, after, varies = shown(then), shown(now), VARIES in then.metadata.get("tags", ())
        kinds = [[kind for kind, _ in one] for one in (before, after)]
        if kinds[0] != kinds[1]:
            yield f"cell {number}: shows {kinds[1]}, stored are {kinds[0]}"
            continue
        for (kind, old), (_, new) in zip(before, after, strict=True):
            if kind.startswith("image/"):
                if not varies and not same_picture(old, new):
                    yield f"cell {number}: the picture differs"
            elif not same_text(old, new, varies=varies):
                lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "stored", "now", lineterm="", n=0)
                yield "\n".join([f"cell {number}: {kind} differs", *lines])


def examine(path: Path, *, write: bool = False) -> list[str]:
    """The faults of a notebook, of which ``write`` removes those of the stored outputs."""
    text = path.read_text(encoding="utf-8")
    stored = tidied(nbformat.reads(text, as_version=4))
    try:
        fresh = executed(path)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return [re.sub(r"\x1b\[[\d;]*m", "", str(error))]
    warned = [
        f"cell {number}: writes to stderr: {content}"
        for number, cell in enumerate(fresh.cells, 1)
        if cell.cell_type == "code"
        for kind, content in shown(cell)
        if kind == "stderr"
    ]
    if warned:
        return warned
    found = list(differences(stored, fresh))
    tidy = nbformat.writes(fresh if found else stored) + "\n"
    if tidy == text:
        return found
    if write:
        path.write_text(tidy, encoding="utf-8")
        return []
    return found or ["holds times, versions or counts that --write leaves out"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="notebooks, such as hospitals [all]")
    parser.add_argument("--write", action="store_true", help="store the outputs where one differs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    known = {path.stem: path for path in sorted(chosen.folder.glob("*.ipynb"))}
    if unknown := set(chosen.names) - known.keys():
        parser.error(f"there is no notebook {', '.join(sorted(unknown))}. There are: {', '.join(known)}.")
    paths = [known[name] for name in chosen.names] or list(known.values())
    left = 0
    with ThreadPoolExecutor(2) as pool:  # threads wait: each notebook has a process of its own
        for path, faults in zip(paths, pool.map(partial(examine, write=chosen.write), paths), strict=True):
            for fault in faults:
                print(f"{path.name}: {fault}")
            left += len(faults)
    print(f"{len(paths)} notebooks, {left} faults" + "; --write stores new outputs" * (left > 0 and not chosen.write))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
