"""Randomness of the operating system, and exact samplers: Bernoulli, discrete noise, continuous noise by its digits."""

from darrm._lazy import modules

__getattr__ = modules(__name__)
