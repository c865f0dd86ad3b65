"""What the benchmarks share: cells kept in CSV files, the machine they ran on, charts that look alike."""
