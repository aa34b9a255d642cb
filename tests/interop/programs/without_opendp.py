"""Ask for an OpenDP measurement where OpenDP is missing, and print what is said about that."""

import sys

import darrm

assert darrm.interop.__all__ == sorted(darrm.interop.__all__)
assert not {"numpy", "opendp"} & set(sys.modules)
sys.modules["opendp"] = None  # type: ignore[assignment]
design = darrm.solve(K=3, m=1, epsilon=0.5)
try:
    darrm.interop.opendp_measurement(design, n_labels=1, votes=None)
except darrm.MissingExtraError as error:
    print(error)
