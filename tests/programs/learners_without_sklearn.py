"""Print what each learner says where scikit-learn is missing; the names alone need neither it nor NumPy."""

import sys

import darrm

assert darrm.labels.learners.__all__ == sorted(darrm.labels.learners.__all__)
assert not {"numpy", "sklearn"} & set(sys.modules)
sys.modules["sklearn"] = None  # type: ignore[assignment]
for name in darrm.labels.learners.__all__:
    try:
        getattr(darrm.labels.learners, name)
    except darrm.MissingExtraError as error:
        print(error)
