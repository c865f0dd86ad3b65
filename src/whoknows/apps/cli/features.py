"""Features as a model wants them: no gaps, the columns of the fit in its order, texts as it saw them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import BAD_INPUT, CommandError
from whoknows.apps.cli.large import in_columns, stays_in_files
from whoknows.apps.cli.words import count

if TYPE_CHECKING:
    from whoknows.io.features import Features
    from whoknows.io.texts import TextFeatures

BY_PLACE = "Only .npy, .npz and a column of lists that --vector names are taken by place."


@dataclass(frozen=True, eq=False)
class Recipe:
    """How the features of a fit were made: those of other items are made alike.

    Parameters
    ----------
    medians : mapping from feature to number
        What stands where a number is missing; nothing if features did not come as numbers.
    words : TextFeatures, optional
        What makes features of texts.
    names : tuple of str
        Features in their order, where nothing but that is known.
    """

    medians: Mapping[str, float] = field(default_factory=dict)
    words: TextFeatures | None = None
    names: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Features in their order, none if they are not known."""
        return list(self.medians or self.names)


def of_nothing(items: Any, path: Path) -> Features:
    """Features of items of which nothing is known: one that is the same for all."""
    import numpy as np

    from whoknows.io.features import Features

    return Features(items, np.zeros((len(items), 1)), ("nothing",), path=path)


def of_numbers(features: Features, recipe: Recipe, named: bool, say: Say) -> tuple[Features, Recipe]:
    """Features of a file without gaps, in the order of the recipe; if it has none, as they come.

    ``named`` says whether the file itself gave the features their names.
    """
    from whoknows.io.features import fill_gaps

    if stays_in_files(features.X):  # gaps are refused where they are read
        features = in_order(features, recipe.features or list(features.names), named)
        say.all(features.notes)
        return features, Recipe(names=features.names)
    features_of = f"{count(features.X.shape[1], 'feature')} of {count(len(features.X), 'item')}"
    say.note(f"{features.path}: {features_of}.")
    if recipe.features:
        features = in_order(features, recipe.features, named)
    features, medians = fill_gaps(features, recipe.medians or None)
    say.all(features.notes)
    return features, Recipe(medians)


def of_texts(texts: Mapping[Hashable, str], path: Path, recipe: Recipe, say: Say) -> tuple[Features, Recipe]:
    """Features made of texts by the words of the recipe; if it has none, by their own."""
    from whoknows.io.texts import TextFeatures

    with say.progress("Making features of the texts"):
        words = TextFeatures.of(texts) if recipe.words is None else recipe.words
        made = replace(words.transform(texts), path=path)
    features, items = count(made.X.shape[1], "feature"), count(len(texts), "item")
    say.note(f"{path}: {features} made of the texts of {items}.")
    say.all(made.notes)
    return made, Recipe(words=words)


def in_order(features: Features, wanted: list[str], named: bool) -> Features:
    """Columns of the fit in its order; others are left out, missing ones refused.

    Arrays have no names of their own: where no name is shared, as many columns are taken by place.
    """
    from whoknows.data.vocabulary import show

    names = list(features.names)
    if names == wanted:
        return features
    lacking = [name for name in wanted if name not in names]
    if not named and len(lacking) == len(wanted) == len(names):
        note = f"columns have other names than in the fit, {show(names, 3)}, and are taken by their place"
        return replace(features, names=tuple(wanted), notes=(*features.notes, note))
    if lacking:
        hint = f" {BY_PLACE}" if named and len(lacking) == len(wanted) else ""
        raise CommandError(
            f"{features.path}: lacks {len(lacking)} of the {len(wanted)} features of the fit: "
            f"{show(lacking, 3)}. There are {show(names, 10)}.{hint}",
            BAD_INPUT,
        )
    more = [name for name in names if name not in wanted]
    notes = [f"columns the fit did not have are left out: {show(more)}"] if more else []
    features = replace(features, notes=(*features.notes, *notes))
    if stays_in_files(features.X):
        return in_columns(features, wanted)
    X = features.X[:, [names.index(name) for name in wanted]]
    return replace(features, X=X, names=tuple(wanted))
