"""Features of texts by TF-IDF and truncated SVD, for the texts of a fit and later ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show, tight_array
from whoknows.io.binary import read_npz
from whoknows.io.containers import by_row, find_id, must_have, open_content
from whoknows.io.encoding import MAX_FEATURES, read_bytes
from whoknows.io.errors import FileError, Path
from whoknows.io.features import Features
from whoknows.io.writing import replace_file

MANY = 100  # texts from which a word that occurs in only one of them is ignored
MOST_TERMS = 100_000  # words and word pairs to keep, the most frequent ones; 40 MB in a file
FLAT = 1e-3  # singular values below this share of the first are negligible


def read_texts(
    path: Path, column: str = "text", id_column: str | None = None, encoding: str | None = None
) -> dict[Hashable, str]:
    """Read the texts of items from a table (CSV, Excel, Parquet, JSON or JSONL) with an id column."""
    content = open_content(path, encoding)
    table = content.table_of("a table of items and texts")
    names = content.names
    name = find_id(names, id_column, path) or "item"
    ids = table.ids(must_have(names, name, "column for the item", path))
    words = table.values(must_have(names, column, "column for the text", path))
    texts: dict[Hashable, str] = {}
    for item, text in zip(by_row(ids), words, strict=True):
        if item is not None:
            texts.setdefault(item, "" if text is None else str(text))
    if not texts:
        raise FileError(path, "holds no texts.")
    return texts


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Features of texts: TF-IDF of words and word pairs, projected onto a few directions.

    Fitted by `TextFeatures.of`. The features of a text do not depend on the texts transformed with it.

    Parameters
    ----------
    terms : tuple of n_terms str
        Words, and pairs of words separated by a space, in lower case.
    idf : (n_terms,)
        Inverse document frequency: log((1 + texts) / (1 + texts with the term)) + 1.
    components : float32 array of shape (n_features, n_terms)
        Leading right singular vectors of the TF-IDF of the fitted texts.
    """

    terms: tuple[str, ...]
    idf: NDArray[Any]
    components: NDArray[Any]

    @classmethod
    def of(cls, texts: Mapping[Hashable, str], n: int = 100) -> TextFeatures:
        """Fit to texts: their terms, and the n leading directions of their TF-IDF; deterministic.

        Parameters
        ----------
        texts : mapping from item to text
        n : int
            Maximum number of features.
        """
        words = _vectorizer(min_df=2 if len(texts) >= MANY else 1, max_features=MOST_TERMS)
        try:
            weights = words.fit_transform(texts.values())
        except ValueError:
            raise InputError(f"Expected texts with words in them, got {show(texts.values(), 3)}.") from None
        terms = tuple(words.get_feature_names_out().tolist())
        return cls(terms, words.idf_, leading_directions(weights, n).astype(np.float32))

    def transform(self, texts: Mapping[Hashable, str]) -> Features:
        """Return features of texts; those without a known word are 0, and a note counts them."""
        if not texts:
            raise InputError("Expected texts of one item or more, got none.")
        words = _vectorizer(vocabulary=self.terms)
        words.idf_ = self.idf
        weights = words.transform(texts.values())
        ids = tight_array(list(texts))
        unknown = ids[np.diff(weights.indptr) == 0].tolist()
        notes: tuple[str, ...] = ()
        if unknown:
            how_many = f"{len(unknown)} of {len(ids)} texts hold no known word"
            notes = (f"{how_many}, so their features are 0: {show(unknown, 3)}",)
        names = tuple(f"text_{place}" for place in range(len(self.components)))
        return Features(ids, weights @ self.components.T, names, notes, "texts")

    def save(self, path: Path) -> None:
        """Write a .npz file, whole or not at all; terms are UTF-8, one per line."""
        lines = np.frombuffer("\n".join(self.terms).encode(), dtype=np.uint8)

        def write(temporary: str) -> None:
            with open(temporary, "xb") as file:
                np.savez(file, terms=lines, idf=self.idf, components=self.components)

        replace_file(path, write)

    @classmethod
    def load(cls, path: Path) -> TextFeatures:
        """Read a file written by ``save``; features are the same, bit for bit."""
        data = read_bytes(path, MAX_FEATURES)
        if not data.startswith(b"PK"):
            raise FileError(path, "is not a file of text features. Save it again.")
        arrays = read_npz(data, path)
        for name in ("terms", "idf", "components"):
            must_have(list(arrays), name, "array", path)
        terms = _terms(arrays["terms"], path)
        idf, components = arrays["idf"], arrays["components"]
        n_features = components.shape[0] if components.ndim else 0
        if not (_are_numbers(idf, (len(terms),)) and _are_numbers(components, (n_features, len(terms)))):
            raise FileError(
                path,
                f"is not valid: {len(terms)} terms, idf of shape {idf.shape} and type {idf.dtype}, "
                f"components of shape {components.shape} and type {components.dtype}.",
            )
        return cls(terms, idf, components)


def _terms(lines: NDArray[Any], path: Path) -> tuple[str, ...]:
    """Return the terms of a file, which must be distinct."""
    try:
        terms = tuple(lines.tobytes().decode("utf-8").split("\n"))
    except UnicodeDecodeError:
        terms = ()
    if lines.dtype != np.uint8 or not 0 < len(set(terms)) == len(terms):
        raise FileError(path, "is not valid: its terms are not distinct lines of UTF-8.")
    return terms


def _are_numbers(array: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Whether an array has this shape, is not empty and holds finite numbers."""
    return array.shape == shape and 0 not in shape and array.dtype.kind == "f" and bool(np.isfinite(array).all())


def leading_directions(weights: Any, n: int) -> NDArray[Any]:
    """Return at most n leading right singular vectors, (n_features, n_terms).

    Directions with a negligible singular value are left out: scaled by it, other texts would be huge.
    """
    from sklearn.decomposition import TruncatedSVD

    if weights.shape[1] == 1:
        return np.ones((1, 1))
    svd = TruncatedSVD(min(n, *weights.shape), random_state=0)
    with np.errstate(invalid="ignore"):  # the share of explained variance, which is not used
        svd.fit(weights)
    size = svd.singular_values_
    components: NDArray[Any] = svd.components_[size > FLAT * size.max()]
    return components


def _vectorizer(**options: Any) -> Any:
    """Return a vectorizer of words of two letters or more and pairs of them, with sublinear counts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **options)
