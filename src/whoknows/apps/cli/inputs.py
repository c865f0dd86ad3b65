"""Reading of labels, features, texts and true labels, with a note on everything that is read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whoknows.apps.cli.console import Console, Update
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError
from whoknows.apps.cli.memory import bytes_of
from whoknows.apps.cli.words import OPTIONS, count

if TYPE_CHECKING:
    from whoknows.io import Dataset, Features, LabelFile, TextFeatures

MANY_LOST = 0.05  # share of labelled items without features that deserves a warning
N_LABELLED, N_UNLABELLED = 200_000, 20_000  # items of the sample that stands for features out of core
BY_POSITION = "Only .npy, .npz and the column of lists that --vector names are used by position."


@dataclass(frozen=True)
class Source:
    """Which files to read, and how; each field is the option of the same name."""

    labels: Path
    features: Path | None = None
    text: str | None = None
    items: Path | None = None
    gold: Path | None = None
    format: str | None = None
    column: list[str] | None = None
    duplicates: Literal["error", "first", "last", "majority"] | None = None
    missing: str | None = None
    predictions: bool = False
    id_column: str | None = None
    vector: str | None = None
    image: str | None = None
    image_folder: list[Path] | None = None
    memory: str | None = None
    allow_missing: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Source:
        """Select the settings of a command that concern reading."""
        return cls(**{field.name: settings[field.name] for field in fields(cls) if field.name in settings})

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the labels by role."""
        from whoknows.data.vocabulary import show
        from whoknows.io.labels.format import ROLES

        pairs = [given.partition("=") for given in self.column or []]
        wrong = next((role for role, _, name in pairs if not name), None)
        if wrong is not None:
            raise CommandError(f"--column expects ROLE=NAME, such as label=severity; got {wrong!r}.", USAGE)
        named = {role: name for role, _, name in pairs}
        unknown = next((role for role in named if role not in ROLES), None)
        if unknown is not None:
            raise CommandError(f"--column expects the roles {show(ROLES)}; got {unknown!r}.", USAGE)
        if self.text is not None and self.items is None and self.features is None:
            named.setdefault("text", self.text)
        return named

    @property
    def text_column(self) -> str:
        """Column of the texts that features are computed from."""
        named = self.columns.get("text") if self.items is None else None
        return self.text or named or "text"

    def is_labels_alone(self, labels: LabelFile) -> bool:
        """Whether there are only labels, and no features or texts of the items."""
        return self.features is None and self.text is None and self.items is None and not labels.text

    @property
    def has_names(self) -> bool:
        """Whether features have names, as the columns of a table; those of arrays and lists are numbered."""
        assert self.features is not None
        if self.vector is not None:
            return False
        if not self.features.is_file():  # a pipe can be read only once; a folder holds tables
            return True
        with open(self.features, "rb") as file:
            return not file.read(6).startswith((b"\x93NUMPY", b"PK"))

    @property
    def files(self) -> dict[str, Path]:
        """Files that are read, by option."""
        named = {name: getattr(self, name) for name in ("labels", "features", "items", "gold")}
        return {name: path for name, path in named.items() if path is not None}


@dataclass(frozen=True, eq=False)
class Recipe:
    """How the features of a fit were computed, to compute those of other items in the same way.

    Parameters
    ----------
    medians : mapping from feature to number
        Replacements of missing numbers; empty if features were not read as numbers.
    words : TextFeatures, optional
        How features are computed from texts.
    names : tuple of str
        Names of the features in order, if nothing else is known.
    """

    medians: Mapping[str, float] = field(default_factory=dict)
    words: TextFeatures | None = None
    names: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the features in order; empty if unknown."""
        return list(self.medians or self.names)


@dataclass(frozen=True, eq=False)
class LoadedData:
    """Everything that was read.

    Parameters
    ----------
    labels : LabelFile
    dataset : Dataset
        Labels and features of the same items.
    texts : mapping from item to text, or None
        What features were computed from.
    recipe : Recipe
        How features were computed.
    """

    labels: LabelFile
    dataset: Dataset
    texts: Mapping[Hashable, str] | None
    recipe: Recipe

    @property
    def out_of_core(self) -> bool:
        """Whether features are read when they are used, as they may not fit into memory."""
        return not self.dataset.features.in_memory


def load(source: Source, console: Console, recipe: Recipe | None = None, sampled: bool = True) -> LoadedData:
    """Read labels and features, and join them by item.

    ``recipe`` is that of an earlier fit, if features must be computed in the same way. Features out of core
    are replaced by those of a sample of the items if ``sampled``.
    """
    from whoknows.io import join

    labels, texts, recipe = read_annotations(source, console), None, recipe or Recipe()
    if source.features is not None:
        features, recipe = read_numbers(source, recipe, console)
    elif source.is_labels_alone(labels):
        features = _no_features(labels.annotations.items, source.labels)
    else:
        texts, path = _read_texts(source, labels)
        features, recipe = of_texts(texts, path, recipe, console)
    allow_missing = source.allow_missing or (features.in_memory and not features.numbered)
    dataset = join(labels, features, allow_missing=allow_missing)
    for note in dataset.notes[: int(dataset.lost > MANY_LOST)]:
        console.warn(note)
    console.all(dataset.notes[int(dataset.lost > MANY_LOST) :])
    if sampled and not features.in_memory:
        _, dataset, note = sample(dataset, console)
        console.note(f"  {note}")
    return LoadedData(labels, dataset, texts, recipe)


def sample(dataset: Dataset, console: Console) -> tuple[Any, Dataset, str]:
    """Read a sample of the items into memory; return their rows, their data and a note."""
    labelled = dataset.annotations.labelled
    with console.progress("Reading a sample of the items") as update:
        watch(dataset.X, update)
        rows, some = dataset.sample(N_LABELLED, N_UNLABELLED)
    n_labelled = int(labelled[rows].sum())
    note = (
        f"The following is based on a random sample: {n_labelled} of {int(labelled.sum())} labelled and "
        f"{len(rows) - n_labelled} of {int((~labelled).sum())} unlabelled items."
    )
    return rows, some, note


def watch(X: Any, update: Update) -> None:
    """Report progress when features in files are read."""
    if hasattr(X, "progress"):
        X.progress = update


def read_annotations(source: Source, console: Console) -> LabelFile:
    """Read labels, with a note on what was found."""
    from whoknows.data.vocabulary import show
    from whoknows.io import FORMATS, read_labels

    if source.format is not None and source.format not in FORMATS:
        raise CommandError(f"--format must be one of {', '.join(FORMATS)}; got {source.format!r}.", USAGE)
    with console.progress(f"Reading {source.labels.name}"):
        read = read_labels(
            source.labels,
            source.format,
            source.columns,
            source.duplicates,
            missing_label=source.missing,
            predictions=source.predictions,
        )
    Y = read.annotations
    how = "as given" if source.format else "detected"
    console.note(
        f"{source.labels}: {read.format} format ({how}); {count(Y.n_annotations, 'label')} by "
        f"{count(Y.n_annotators, 'annotator')} for {count(int(Y.labelled.sum()), 'item')}. "
        f"Labels are {show(Y.labels.tolist(), 8)}."
    )
    console.all(read.notes)
    return read


# --- features ---------------------------------------------------------------------------------------


def read_numbers(source: Source, recipe: Recipe, console: Console) -> tuple[Features, Recipe]:
    """Read numeric features in the order of the recipe, without missing numbers, with a note."""
    from whoknows.data.vocabulary import show
    from whoknows.io import FileError, impute_median, read_features

    assert source.features is not None
    id_column = source.id_column or _column_of_items(source, source.features)
    with console.progress(f"Reading {source.features.name}"):
        try:
            memory = bytes_of(source.memory)
            features = read_features(source.features, id_column, vector=source.vector, memory=memory)
        except FileError as error:
            if not recipe.features:
                raise
            wording = f"Expected the features of the fit: {show(recipe.features, 3)}."
            wording = wording.replace("{", "{{").replace("}", "}}")
            raise CommandError(error.message.reworded({**OPTIONS, "text": wording}), BAD_INPUT) from None
        if source.items is not None and features.numbered:
            features = features.with_ids(source.items)
    how = "" if features.in_memory else ", used out of core"
    what = f"{count(len(features.names), 'feature')} of {count(len(features), 'item')}"
    console.note(f"{features.path}: {what}{how}.")
    if recipe.features:
        features = in_order(features, recipe.features, source.has_names)
    if not features.in_memory:  # missing numbers are refused when they are read
        console.all(features.notes)
        return features, Recipe(names=features.names)
    features, medians = impute_median(features, recipe.medians or None)
    console.all(features.notes)
    return features, Recipe(medians)


def of_texts(
    texts: Mapping[Hashable, str], path: Path, recipe: Recipe, console: Console
) -> tuple[Features, Recipe]:
    """Compute features of texts, with the terms of the recipe or, if it has none, of these texts."""
    from whoknows.io import TextFeatures

    with console.progress("Computing features of the texts"):
        words = TextFeatures.of(texts) if recipe.words is None else recipe.words
        features = replace(words.transform(texts), path=path)
    n_features, n_items = count(len(features.names), "feature"), count(len(texts), "item")
    console.note(f"{path}: {n_features} of the texts of {n_items}.")
    console.all(features.notes)
    return features, Recipe(words=words)


def _no_features(items: Any, path: Path) -> Features:
    """Return one constant feature, for items without features."""
    import numpy as np

    from whoknows.io import Features

    return Features(items, np.zeros((len(items), 1)), ("nothing",), path=path)


def in_order(features: Features, wanted: list[str], named: bool) -> Features:
    """Select the features of a fit in its order; others are left out, missing ones are an error.

    If the file does not name its features (``named``), and as many have other names, position decides.
    """
    from whoknows.data.vocabulary import show

    names = list(features.names)
    if names == wanted:
        return features
    lacking = [name for name in wanted if name not in names]
    if not named and len(lacking) == len(wanted) == len(names):
        note = f"columns have other names than in the fit, {show(names, 3)}, and are used by position"
        return replace(features, names=tuple(wanted), notes=(*features.notes, note))
    if lacking:
        hint = f" {BY_POSITION}" if named and len(lacking) == len(wanted) else ""
        raise CommandError(
            f"{features.path}: lacks {len(lacking)} of the {len(wanted)} features of the fit: "
            f"{show(lacking, 3)}. There are {show(names, 10)}.{hint}",
            BAD_INPUT,
        )
    more = [name for name in names if name not in wanted]
    notes = [f"columns that the fit did not have are left out: {show(more)}"] if more else []
    return replace(features.select(wanted), notes=(*features.notes, *notes))


def _column_of_items(source: Source, path: Path) -> str | None:
    """Return the column of the items in the labels, as --column names it, if another table has it too."""
    from whoknows.apps.cli.about import has_column

    name = source.columns.get("item")
    return name if name is not None and has_column(path, name) else None


def _read_texts(source: Source, labels: LabelFile) -> tuple[Mapping[Hashable, str], Path]:
    """Return texts to compute features of, and their file."""
    from whoknows.io import read_texts

    if source.items is not None:
        return read_texts(source.items, source.text_column, source.id_column), source.items
    if labels.text:
        return labels.text, source.labels
    raise CommandError(f"{source.labels}: holds no texts in {source.text!r}.", BAD_INPUT)


# --- true labels ------------------------------------------------------------------------------------


def read_truth(source: Source, data: LoadedData, console: Console) -> dict[Hashable, Hashable] | None:
    """Return true labels by item id, from their own file or from that of the labels, with a note."""
    from whoknows.data.vocabulary import show
    from whoknows.io import read_gold
    from whoknows.io.labels.format import match_labels

    path, known = source.labels, data.labels.gold
    if source.gold is not None:
        name = _column_of_items(source, source.gold)
        path, known = source.gold, read_gold(source.gold, {} if name is None else {"item": name})
    if not known:
        return None
    n_used = len(data.dataset.by_item(known))
    if not n_used:
        ids = show(data.dataset.features.ids_at(slice(4)), 3)
        raise CommandError(
            f"{path}: holds no true label of any item; it is about {show(known, 3)}, the items are {ids}.",
            BAD_INPUT,
        )
    unused = f"; {len(known) - n_used} more are of other items" if n_used < len(known) else ""
    console.note(f"{path}: the true labels of {count(n_used, 'item')} are used{unused}.")
    return match_labels(known, data.dataset.annotations)
