"""The paper: every equation, nothing else. Numpy and SciPy only."""
