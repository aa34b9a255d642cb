"""Numbers that everything rests on: directed rounding, the Poisson-binomial distribution, one vote left out."""
