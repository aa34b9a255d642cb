"""Randomness of the operating system, and exact samplers made of it: coins, discrete Laplace and Gaussian noise."""
