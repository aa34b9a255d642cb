"""Release a column of an Arrow table and print it."""

import pyarrow as pa

import darrm

mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=1, max_affected=1))
print(darrm.columns.release(mechanism, pa.table({"a": [1, 0], "b": [1, 0], "c": [0, 0]})).to_pylist())
