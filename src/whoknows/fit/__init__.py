"""Solvers: Algorithm 1 of the paper and alternatives to it."""
