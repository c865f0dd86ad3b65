"""Reading of labels, features, texts, images and true labels, with a note on everything that is read."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli.console import OPTIONS, Console, count, in_flags
from whoknows.apps.cli.errors import CommandError, UsageError
from whoknows.apps.cli.models import watch
from whoknows.apps.cli.source import Source, bytes_of, is_array, names_in

if TYPE_CHECKING:
    from whoknows.io import Dataset, Features, LabelFile, TextFeatures

MANY_LOST = 0.05  # share of labelled items without features that deserves a warning
N_LABELLED, N_UNLABELLED = 200_000, 20_000  # items of the sample that stands for features out of core
BY_POSITION = "Only .npy, .npz and the column of lists that --vector names are used by position."


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
    categories : mapping from column to texts
        Columns of texts that are encoded with one feature per text.
    """

    medians: Mapping[str, float] = field(default_factory=dict)
    words: TextFeatures | None = None
    names: tuple[str, ...] = ()
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def features(self) -> list[str]:
        """Names of the features in order; empty if unknown."""
        return list(self.medians or self.names)


@dataclass(frozen=True, eq=False)
class LoadedData:
    """Everything that was read.

    Parameters
    ----------
    source : Source
        Where it was read from.
    labels : LabelFile
    dataset : Dataset
        Labels and features of the same items.
    texts : mapping from item to text, or None
        What features were computed from.
    recipe : Recipe
        How features were computed.
    """

    source: Source
    labels: LabelFile
    dataset: Dataset
    texts: Mapping[Hashable, str] | None
    recipe: Recipe

    @property
    def out_of_core(self) -> bool:
        """Whether features are read when they are used, as they may not fit into memory."""
        return not self.dataset.features.in_memory

    @property
    def labels_alone(self) -> bool:
        """Whether there are no features or texts of the items."""
        return self.source.features is None and self.texts is None


def load(
    source: Source,
    console: Console,
    recipe: Recipe | None = None,
    sampled: bool = True,
    *,
    columns: Sequence[str] = (),
    guess_texts: bool = True,
) -> LoadedData:
    """Read labels and features, and join them by item.

    ``recipe`` is that of an earlier fit, if features must be computed in the same way. Features out of core
    are replaced by those of a sample of the items if ``sampled``. ``columns`` are to be read too, for
    `column_of_items` and `column_of_annotators`. With ``guess_texts``, features are also computed from texts that
    --text does not name.
    """
    from whoknows.io import join

    kept = [name for name in columns if table_with(name, source) is None]
    labels, texts, recipe = read_annotations(source, console, kept), None, recipe or Recipe()
    if source.features is not None:
        features, recipe = read_numbers(source, recipe, console)
    elif source.text is not None or (guess_texts and (source.items is not None or labels.text)):
        texts, path = _read_texts(source, labels)
        features, recipe = of_texts(texts, path, recipe, console)
    else:
        features = _no_features(labels.annotations.items, source.labels)
    allow_missing = source.allow_missing or (features.in_memory and not features.numbered)
    dataset = join(labels, features, allow_missing=allow_missing)
    for note in dataset.notes[: int(dataset.lost > MANY_LOST)]:
        console.warn(note)
    console.all(dataset.notes[int(dataset.lost > MANY_LOST) :])
    if sampled and not features.in_memory:
        _, dataset, note = sample(dataset, console)
        console.note(f"  {note}")
    return LoadedData(source, labels, dataset, texts, recipe)


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


def read_annotations(source: Source, console: Console, columns: Sequence[str] = ()) -> LabelFile:
    """Read labels, with a note on what was found, and further columns of their file."""
    from whoknows.data.vocabulary import show
    from whoknows.io import FORMATS, read_labels

    if source.format is not None and source.format not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}; got {source.format!r}.")
    with console.progress(f"Reading {source.labels.name}"):
        read = read_labels(
            source.labels,
            source.format,
            source.columns,
            source.duplicates,
            missing_label=source.missing,
            predictions=source.predictions,
            strict=source.strict,
            encoding=source.encoding,
            annotators=names_in(source.annotators),
            ignore=_ignored(source, source.labels, other=source.features),
            keep=columns,
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
            features = read_features(
                source.features,
                id_column,
                vector=source.vector,
                memory=memory,
                encoding=source.encoding,
                categories=recipe.categories if recipe.features else None,
                ignore=_ignored(source, source.features),
            )
        except FileError as error:
            if not recipe.features:
                raise
            wording = f"Expected the features of the fit: {show(recipe.features, 3)}."
            wording = wording.replace("{", "{{").replace("}", "}}")
            raise CommandError(error.message.reworded({**OPTIONS, "text": wording})) from None
        if source.items is not None and features.numbered:
            features = _with_ids(features, source)
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
    return features, Recipe(medians, categories=features.categories)


def _ignored(source: Source, path: Path, other: Path | None = None) -> list[str]:
    """Return the columns of --ignore that a file has, or that ``other`` lacks: it refuses what is in neither."""
    return [
        name
        for name in names_in(source.ignore)
        if has_column(path, name, source.encoding)
        or (path == source.labels and (other is None or not has_column(other, name, source.encoding)))
    ]


def _with_ids(features: Features, source: Source) -> Features:
    """Return features with the ids in the table of items."""
    from whoknows.io import FileError

    assert source.items is not None
    try:
        return features.with_ids(source.items, source.id_column, source.encoding)
    except FileError as error:
        raise CommandError(f"--items {in_flags(error.message)}") from None


def of_texts(texts: Mapping[Hashable, str], path: Path, recipe: Recipe, console: Console) -> tuple[Features, Recipe]:
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
            f"{show(lacking, 3)}. There are {show(names, 10)}.{hint}"
        )
    more = [name for name in names if name not in wanted]
    notes = [f"columns that the fit did not have are left out: {show(more)}"] if more else []
    return replace(features.select(wanted), notes=(*features.notes, *notes))


def _column_of_items(source: Source, path: Path) -> str | None:
    """Return the column of the items in the labels, as --column names it, if another table has it too."""
    name = source.columns.get("item")
    return name if name is not None and has_column(path, name, source.encoding) else None


def _read_texts(source: Source, labels: LabelFile) -> tuple[Mapping[Hashable, str], Path]:
    """Return texts to compute features of, and their file."""
    from whoknows.io import read_texts

    if source.items is not None:
        texts = read_texts(source.items, source.text_column, source.id_column, source.encoding)
        return texts, source.items
    if labels.text:
        return labels.text, source.labels
    raise CommandError(f"{source.labels}: holds no texts in {source.text!r}.")


# --- true labels ------------------------------------------------------------------------------------


def read_truth(data: LoadedData, console: Console) -> dict[Hashable, Hashable] | None:
    """Return true labels by item id, from their own file or from that of the labels, with a note."""
    from whoknows.data.vocabulary import show
    from whoknows.io import read_gold
    from whoknows.io.labels.format import match_labels

    source, known = data.source, data.labels.gold
    path = source.gold or source.labels
    if source.gold is not None:
        name = _column_of_items(source, source.gold)
        columns = {} if name is None else {"item": name}
        known = read_gold(source.gold, columns, data.labels.annotations, encoding=source.encoding)
    if not known:
        return None
    n_used = len(data.dataset.by_item(known))
    if not n_used:
        ids = show(data.dataset.features.ids_at(slice(4)), 3)
        raise CommandError(
            f"{path}: holds no true label of any item; it is about {show(known, 3)}, the items are {ids}."
        )
    others = data.dataset.others(known)
    unused = f"; {len(others)} more are of other items: {show(others, 3)}" if others else ""
    console.note(f"{path}: the true labels of {count(n_used, 'item')} are used{unused}.")
    return match_labels(known, data.dataset.annotations)


# --- texts and images for the report -------------------------------------------------------------------


def texts_of(data: LoadedData) -> list[str | None] | None:
    """Return the text of each item: that of its features, or a column named by the user or "text"."""
    from whoknows.io import read_texts

    if data.texts is not None:
        return data.dataset.in_order(data.texts)
    source = data.source
    column = source.text or "text"
    table = table_with(column, source)
    if table is None and source.text is not None:
        table = source.items or source.features  # the error lists its columns
    if table is None:
        return data.dataset.in_order(data.labels.text)
    return data.dataset.in_order(read_texts(table, column, source.id_column, source.encoding))


def images_of(data: LoadedData, console: Console) -> list[str | Path | None] | None:
    """Return the image of each item, from a column named by the user or "image".

    Files that may be read are paths; names that are only shown are strings.
    """
    from whoknows.io import read_texts

    source, labels = data.source, data.labels
    column = source.image or "image"
    table = table_with(column, source)
    if table is not None:
        found = read_texts(table, column, source.id_column, source.encoding)
    elif source.image is None and (labels.text or labels.format in ("long", "wide", "crowdkit")):
        return None
    else:
        table, found = source.labels, _of_labels(source, labels)
    return data.dataset.in_order(_readable(found, table, source.image_folder or [], console))


def _of_labels(source: Source, labels: LabelFile) -> Mapping[Hashable, str]:
    """Read the names of images from the file of labels, as if they were texts."""
    from whoknows.data.errors import InputError
    from whoknows.io import read_labels

    columns = {**source.columns, "text": source.image or "image"}
    try:
        how = source.duplicates or "last"
        found = read_labels(source.labels, labels.format, columns, how, encoding=source.encoding).text
    except InputError:
        found = None
    if not found and source.image is not None:
        raise CommandError(f"There is no column {source.image!r} for the image in any file.")
    return found or {}


def _readable(
    found: Mapping[Hashable, str], table: Path, folders: list[Path], console: Console
) -> Mapping[Hashable, str | Path]:
    """Replace names of images by paths, if the files are in a folder that the user named.

    A file from someone else must not choose which files of this machine go into the report.
    """
    allowed = [Path(folder).resolve() for folder in folders]
    shown: dict[Hashable, str | Path] = {}
    refused = []
    for item, name in found.items():
        paths = _files_called(name, [table.parent, *folders])
        inside = [path for path in paths if any(map(path.resolve().is_relative_to, allowed))]
        shown[item] = inside[0] if inside else name
        refused += [name] if paths and not inside else []
    if refused:
        console.warn(
            f"{table}: refers to {count(len(refused), 'image file')} outside the folders given with "
            f"--image-folder, such as {refused[0]!r}. The report shows names instead. If you trust this "
            "file, name the folder that holds the images: --image-folder FOLDER."
        )
    return shown


def _files_called(name: str, folders: list[Path]) -> list[Path]:
    """Return the existing files of this name, relative to each of the folders."""
    paths = [os.path.join(folder, name) for folder in folders]
    return [Path(path) for path in paths if os.path.isfile(path)]


def table_with(column: str, source: Source) -> Path | None:
    """Return the table of items, or of features, that has a column of this name.

    A file is read only if its beginning or end contains the name, as features can be large.
    """
    tables = [path for path in (source.items, source.features) if path is not None]
    return next((path for path in tables if has_column(path, column, source.encoding)), None)


def has_column(path: Path, name: str, encoding: str | None) -> bool:
    """Whether a regular file is a table with a column of this name."""
    from whoknows.io.containers import open_content

    is_table = path.is_file() and not is_array(path)
    return is_table and _mentions(path, name) and name in open_content(path, encoding).names


def _mentions(path: Path, word: str, size: int = 1 << 16) -> bool:
    """Whether a word occurs where a table has its names: at the beginning or, in Parquet, at the end."""
    with open(path, "rb") as file:
        head = file.read(size)
        file.seek(max(os.path.getsize(path) - size, 0))
        ends = head + file.read(size)
    packed = head.startswith(b"PK")  # a workbook
    return packed or any(word.encode(encoding, "replace") in ends for encoding in ("utf-8", "cp1252"))
