"""Draw a picture at a path; exit status 0 if that left pyplot alone."""

import sys

import darrm
from darrm.show import figures, plots

problem = darrm.MajorityProblem(K=3, m=1, epsilon=1)
figures.save(sys.argv[1], plots.plot_gamma(problem, {"a": darrm.baselines.subsampling(3, 1)}))
sys.exit("matplotlib.pyplot" in sys.modules)
