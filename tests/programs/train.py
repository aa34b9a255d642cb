"""Train a private model and let it predict."""

import numpy as np

from darrm.ensemble import DPLogisticRegression

x = np.random.default_rng(0).normal(size=(200, 2))
DPLogisticRegression(epsilon=1, delta=1e-5).fit(x, (x[:, 0] > 0).astype(int)).predict(x)
