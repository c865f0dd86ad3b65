"""Models and checkpoints as files: JSON and arrays, never pickles."""
