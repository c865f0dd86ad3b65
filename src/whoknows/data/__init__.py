"""Annotations of items by annotators as sorted triples, and the tables they come from."""

from whoknows.data.annotations import Annotations

__all__ = ["Annotations"]
