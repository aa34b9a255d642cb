"""Randomness of the operating system, and exact samplers made of it: coins, discrete Laplace and Gaussian noise."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
