"""Priors: distributions of the votes over which the error of a noise function is averaged.

Each prior is a distribution of the vote probabilities p_1, ..., p_K, and the objective depends only on
E[alpha_l], the mean probability of l ones. It is exact here for every prior: alpha_l is affine in each p_i.
"""

from darrm._lazy import face

__getattr__, __dir__ = face(__name__, __file__)
