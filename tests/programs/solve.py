"""Print whether a new design satisfies its guarantee."""

import darrm

print(darrm.solve(K=3, m=2, epsilon=0.1).certificate.holds)
