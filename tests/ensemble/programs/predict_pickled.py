"""Predict labels by a pickled ensemble in another process: ``predict_pickled.py model.pickle rows.npy``."""

import pickle
import sys
from pathlib import Path

import numpy as np

model = pickle.loads(Path(sys.argv[1]).read_bytes())
print(*model.predict(np.load(sys.argv[2])))
