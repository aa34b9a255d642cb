"""The IDX files of MNIST and Fashion-MNIST: two zero bytes, a type, the number of axes, their lengths, the values.

https://yann.lecun.com/exdb/mnist/          lengths are four bytes each, the largest first; types other than
                                            unsigned bytes (8) do not occur in these data sets and are refused
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError

Bytes = NDArray[np.uint8]
UNSIGNED_BYTE = 8
MAX_BYTES = 1 << 30


class Images(NamedTuple):
    """Images, shape (n, height, width), and their labels, shape (n,), both uint8."""

    pixels: Bytes
    labels: Bytes


def read(path: Path, axes: int) -> Bytes:
    """One IDX file of unsigned bytes, packed by gzip or not (its first bytes tell), as an array of so many axes.

    Raises
    ------
    InputError
        If the file cannot be read, is no such IDX file, claims more than 2^30 values, or has fewer or more than it
        claims. No more than what it claims is read.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if not packed:
                return _parsed(raw, path, axes)
            with gzip.GzipFile(fileobj=raw) as unpacked:
                return _parsed(unpacked, path, axes)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error or type(error).__name__}). Fetch it again.") from None


def _parsed(file: BinaryIO | gzip.GzipFile, path: Path, axes: int) -> Bytes:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0":
        raise InputError(f"{path} is no IDX file: it must begin with two zero bytes, a type and the number of axes.")
    if head[2] != UNSIGNED_BYTE or head[3] != axes:
        raise InputError(
            f"{path} must hold unsigned bytes (type {UNSIGNED_BYTE}), {axes} axes. Got type {head[2]}, {head[3]} axes."
        )
    lengths = file.read(4 * axes)
    if len(lengths) < 4 * axes:
        raise InputError(f"{path} ends within its header. Fetch it again.")
    shape = tuple(int(one) for one in np.frombuffer(lengths, dtype=">u4"))
    size = math.prod(shape)
    if not 1 <= size <= MAX_BYTES:
        raise InputError(f"{path} must hold from 1 to {MAX_BYTES} values. Its header says {shape}.")
    # GzipFile.read(n) can return less before the end of the file.
    values = bytearray()
    while len(values) <= size and (more := file.read(min(size + 1 - len(values), 1 << 20))):
        values += more
    if len(values) != size:
        found = "more" if len(values) > size else len(values)
        raise InputError(f"{path} must hold {size} values, as its header {shape} says. Got {found}. Fetch it again.")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def images(folder: Path, part: str) -> Images:
    """Images and labels of ``part``, "train" or "t10k", from a folder with the four files under their usual names."""
    pixels = read(_file(folder, f"{part}-images", 3), 3)
    labels = read(_file(folder, f"{part}-labels", 1), 1)
    if len(pixels) != len(labels):
        raise InputError(f"{folder}: {part} has {len(pixels)} images and {len(labels)} labels. There must be as many.")
    return Images(pixels, labels)


def _file(folder: Path, stem: str, axes: int) -> Path:
    names = [f"{stem}{joint}idx{axes}-ubyte{end}" for joint in "-." for end in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} must hold one of {', '.join(names)}. None is there.")
