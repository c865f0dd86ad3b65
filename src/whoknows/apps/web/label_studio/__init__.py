"""Label Studio: sync through its API, and a machine learning backend that it calls."""
