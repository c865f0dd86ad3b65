"""Shared by the benchmarks: tables of cells in CSV files, the machine, and the style of charts."""
