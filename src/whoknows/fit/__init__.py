"""Algorithm 1 and its siblings: how the pieces of a model are fitted."""
