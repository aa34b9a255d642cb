"""Two-class data sets for the experiment on private ensembles, with features scaled by public constants.

    digits   is a handwritten digit odd?                1797 images of 8 x 8 pixels (scikit-learn's load_digits)
    hard     1 or 8? of all pairs of these digits the hardest to tell apart (`hardest_pairs`); 356 images
    cancer   is a tumour benign? Wisconsin, 30 measurements of 569 patients (load_breast_cancer)
    drawn    a logistic model of 20 features, 11,272 + 1866 rows: the size of the paper's MNIST, with no file
    mnist, fashion       classes 5 and 8, as in the paper, from a folder of IDX files

Pixels are divided by their largest possible value, and for 28 x 28 pixels by a further 3, which brings rows to the
length of the small images. Measurements have the constants below taken away and are divided by others: round numbers
of the size that cell nuclei have, written down here and not computed when the script runs, so that scaling does not
depend on which patients are in the training set. All of them are divided by 3. (Who wrote them knew the order of
magnitude of these published data; for private data they must come from elsewhere.)
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from idx import images
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

DELTA = 1e-4
CLASSES = (5, 8)  # of the paper
DRAWN = (11_272, 1866, 20)  # records, queries, features
HELD_OUT = {"digits": 600, "hard": 150, "cancer": 200}
# Epsilons of one teacher for the paper's tables.
TEACHERS = {
    "digits": (0.25, 0.5, 1.0),
    "hard": (0.25, 0.5, 1.0),
    "cancer": (0.25, 0.5, 1.0),
    "drawn": (0.0892,),
    "mnist": (0.0892,),
    "fashion": (0.0852,),
}
# Radius, texture, perimeter, area, smoothness, compactness, concavity, concave points, symmetry, fractal dimension:
# of the mean nucleus, its standard error, and the worst nucleus.
CENTRES = (
    *[15, 20, 100, 650, 0.1, 0.1, 0.1, 0.05, 0.2, 0.06],
    *[0.4, 1.2, 3, 40, 0.007, 0.025, 0.03, 0.01, 0.02, 0.004],
    *[15, 25, 100, 900, 0.15, 0.25, 0.25, 0.1, 0.3, 0.1],
)
SIZES = (
    *[4, 4, 25, 350, 0.02, 0.05, 0.1, 0.04, 0.03, 0.01],
    *[0.3, 0.6, 2, 40, 0.003, 0.02, 0.03, 0.006, 0.01, 0.003],
    *[5, 6, 35, 600, 0.02, 0.15, 0.2, 0.07, 0.06, 0.02],
)


class Data(NamedTuple):
    """Private records and public queries: features, shapes (n, d) and (queries, d), and classes 0 and 1."""

    name: str
    X: Array
    y: Codes
    asked: Array
    truth: Codes


def digits() -> tuple[Array, Codes]:
    """All handwritten digits: pixels in [0, 1], shape (1797, 64), and which digit."""
    from sklearn.datasets import load_digits

    pixels, digit = load_digits(return_X_y=True)
    return pixels / 16, digit.astype(np.intp)


def load(name: str, rng: np.random.Generator, folder: Path | None = None) -> Data:
    """A data set, split and shuffled by ``rng``: shards go by position."""
    if name in ("mnist", "fashion"):
        if folder is None:
            raise ValueError(f"{name} needs a folder.")
        return _idx(name, folder, rng)
    if name == "drawn":
        n, queries, features = DRAWN
        direction = rng.normal(size=features)
        X = rng.normal(size=(n + queries, features)) / 2
        y = (X @ direction / np.linalg.norm(direction) + rng.logistic(size=len(X)) / 20 > 0).astype(np.intp)
        return Data(name, X[:n], y[:n], X[n:], y[n:])
    if name == "cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        X, y = (X - np.array(CENTRES)) / np.array(SIZES) / 3, y.astype(np.intp)
    else:
        X, digit = digits()
        if name == "hard":
            chosen = (digit == 1) | (digit == 8)
            X, y = X[chosen], (digit[chosen] == 8).astype(np.intp)
        else:
            y = digit % 2
    order = rng.permutation(len(y))
    asked, records = order[: HELD_OUT[name]], order[HELD_OUT[name] :]
    return Data(name, X[records], y[records], X[asked], y[asked])


def _idx(name: str, folder: Path, rng: np.random.Generator) -> Data:
    parts = []
    for part in ("train", "t10k"):
        pixels, labels = images(folder, part)
        chosen = rng.permutation(np.flatnonzero(np.isin(labels, CLASSES)))
        parts += [pixels[chosen].reshape(len(chosen), -1) / 255 / 3, (labels[chosen] == CLASSES[1]).astype(np.intp)]
    return Data(name, *parts)


def hardest_pairs(rng: np.random.Generator, splits: int = 10, records: int = 30) -> list[tuple[float, int, int]]:
    """Accuracy of logistic regressions on few images for each pair of digits, the hardest pair first."""
    from sklearn.linear_model import LogisticRegression

    X, digit = digits()
    found = []
    for one, other in combinations(range(10), 2):
        pair, right = np.flatnonzero((digit == one) | (digit == other)), []
        for _ in range(splits):
            order = rng.permutation(pair)
            model = LogisticRegression().fit(X[order[:records]], digit[order[:records]])
            right.append(model.score(X[order[records:]], digit[order[records:]]))
        found.append((float(np.mean(right)), one, other))
    return sorted(found)
