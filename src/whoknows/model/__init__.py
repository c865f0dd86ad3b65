"""Truth models, annotator models, maps and graphs: the equations of the paper. NumPy and SciPy only."""
