"""Import an estimator, ``estimator.py darrm.ensemble DPLogisticRegression``, and fit it if its privacy follows.

    estimator.py darrm.ensemble DPLogisticRegression 1.0 1e-5

What is missing is one line, as the command says it, and status 5.
"""

import importlib
import sys

import darrm

_, module, name, *privacy = sys.argv
try:
    estimator = getattr(importlib.import_module(module), name)
    if privacy:
        estimator(*map(float, privacy), classes=(0, 1)).fit([[0.0], [1.0], [0.5], [0.2]], [0, 1, 0, 1])
except darrm.MissingExtraError as error:
    print(f"darrm: {error}", file=sys.stderr)
    sys.exit(5)
