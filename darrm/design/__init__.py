"""From a problem to a certified noise function: corners, constraints, linear program, certificate."""
