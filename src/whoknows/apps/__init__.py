"""Faces without maths: the report and the command line."""
