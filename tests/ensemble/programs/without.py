"""Fit a private classifier where a library is missing, and print what is said about that.

without.py LIBRARY
"""

import sys

import darrm

assert darrm.ensemble.__all__ == sorted(darrm.ensemble.__all__)
assert not {"numpy", "sklearn"} & set(sys.modules)
sys.modules[sys.argv[1]] = None  # type: ignore[assignment]
try:
    darrm.ensemble.DPLogisticRegression(1.0, 1e-5).fit([[0.0], [1.0]], [0, 1])
except darrm.MissingExtraError as error:
    print(error)
