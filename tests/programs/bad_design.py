"""Make a design that breaks its guarantee, and print whether it was refused."""

import numpy as np

import darrm

try:
    darrm.Design(darrm.MajorityProblem(K=5, m=2, epsilon=0.1), np.ones(6), darrm.priors.independent())
except darrm.CertificateError:
    print("refused")
