"""The array of most functions."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
