"""Files: labels, features and results, read and written."""
