"""The reading of files; what was found in them is said aloud."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError
from whoknows.apps.cli.features import Recipe, of_nothing, of_numbers, of_texts
from whoknows.apps.cli.large import Some, by_row, is_large, join_large, open_large, stays_in_files
from whoknows.apps.cli.words import TEXTS_NEED, count

if TYPE_CHECKING:
    from whoknows.io.features import Dataset, Features
    from whoknows.io.labels import LabelFile

MANY_LOST = 0.05  # of the labelled items left out: worth a warning


@dataclass(frozen=True)
class Source:
    """Which files to read, and how; each field is the option of that name."""

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
        """Take what concerns the reading from all settings of a command."""
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
        """Column of the texts that features are made of."""
        named = self.columns.get("text") if self.items is None else None
        return self.text or named or "text"

    def is_labels_alone(self, labels: LabelFile) -> bool:
        """Whether nothing is known about the items but what was said of them."""
        return self.features is None and self.text is None and self.items is None and not labels.text

    @property
    def has_names(self) -> bool:
        """Whether the features have names, as columns of a table do; in arrays and lists they have places."""
        assert self.features is not None
        if self.vector is not None:
            return False
        if not self.features.is_file():  # a pipe is read once; a folder is one of tables
            return True
        with open(self.features, "rb") as file:
            return not file.read(6).startswith((b"\x93NUMPY", b"PK"))

    @property
    def files(self) -> dict[str, Path]:
        """Files that are read, by option."""
        named = {name: getattr(self, name) for name in ("labels", "features", "items", "gold")}
        return {name: path for name, path in named.items() if path is not None}


@dataclass(frozen=True, eq=False)
class Crowd:
    """Everything that was read, row by row of the items.

    Parameters
    ----------
    labels : LabelFile
    joined : Dataset
        Labels and features of the same items.
    texts : mapping from item to text, or None
        What features were made of.
    recipe : Recipe
        How features were made.
    ids : (n_items,), optional
        Ids of the items where features stay in their files: there the annotations call items by their row.
    """

    labels: LabelFile
    joined: Dataset
    texts: Mapping[Hashable, str] | None
    recipe: Recipe
    ids: Any = None

    @property
    def in_files(self) -> bool:
        """Whether features stay in their files."""
        return self.ids is not None


def read_crowd(source: Source, say: Say, recipe: Recipe | None = None, whole: bool = False) -> Crowd:
    """Read labels and features, and bring them together by item.

    ``recipe`` is that of an earlier fit: features are made as it made them. Of features larger than memory
    some items are read that stand for all, unless the ``whole`` crowd is wanted: then they stay in files.
    """
    from whoknows.io.features import join

    labels, texts, recipe = read_who_said_what(source, say), None, recipe or Recipe()
    if source.features is not None:
        features, recipe = read_numbers(source, recipe, say)
    elif source.is_labels_alone(labels):
        features = of_nothing(labels.annotations.items, source.labels)
    else:
        texts, where = _read_texts(source, labels)
        features, recipe = of_texts(texts, where, recipe, say)
    if stays_in_files(features.X):
        joined = join_large(labels, features, source.allow_missing)
        say.all(joined.notes)
        if whole:
            return Crowd(labels, joined, None, recipe, features.ids)
        some = Some.of(joined, features.ids, say)
        say.note(f"  {some.note}")
        return Crowd(labels, some.joined, None, recipe)
    joined = join(labels, features)
    if joined.lost and _counts_rows(features.notes) and not source.allow_missing:
        raise CommandError(
            f"{source.features}: names no items, so its rows are items 0 to {len(joined.X) - 1}; but then "
            f"{joined.notes[0].strip()}. Name the column of its ids with --id-column, or with --items a file "
            "that has them row by row; --allow-missing leaves such labels out.",
            BAD_INPUT,
        )
    if joined.lost > MANY_LOST:
        say.warn(joined.notes[0])
        say.all(joined.notes[1:])
    else:
        say.all(joined.notes)
    return Crowd(labels, joined, texts, recipe)


def read_who_said_what(source: Source, say: Say) -> LabelFile:
    """Read labels and say what was found."""
    from whoknows.data.vocabulary import show
    from whoknows.io.labels import FORMATS, read_labels

    if source.format is not None and source.format not in FORMATS:
        raise CommandError(f"--format must be one of {', '.join(FORMATS)}; got {source.format!r}.", USAGE)
    with say.progress(f"Reading {source.labels.name}"):
        found = read_labels(
            source.labels,
            source.format,
            source.columns,
            source.duplicates,
            missing_label=source.missing,
            predictions=source.predictions,
        )
    said = found.annotations
    how = "as you said" if source.format else "by its looks"
    say.note(
        f"{source.labels}: {found.format} format, {how}; {count(said.n_annotations, 'label')} of "
        f"{count(said.n_annotators, 'annotator')} on {count(int(said.labelled.sum()), 'item')}. "
        f"Labels are {show(said.labels.tolist(), 8)}."
    )
    say.all(found.notes)
    return found


def read_numbers(source: Source, recipe: Recipe, say: Say) -> tuple[Features, Recipe]:
    """Read a file of features and say what was found."""
    from whoknows.data.vocabulary import show
    from whoknows.io.features import read_features
    from whoknows.io.labels import FileError

    assert source.features is not None
    if is_large(source.features, source.memory):
        how = source.id_column, source.vector, source.items, source.memory
        return of_numbers(open_large(source.features, *how, say), recipe, source.has_names, say)
    id_column = source.id_column or _column_of_items(source, source.features)
    with say.progress(f"Reading {source.features.name}"):
        try:
            read = read_features(source.features, id_column, vector=source.vector)
        except FileError as error:
            if not recipe.features:
                raise
            wanted = f"Expected the features of the fit: {show(recipe.features, 3)}."
            raise CommandError(str(error).replace(TEXTS_NEED, wanted), BAD_INPUT) from None
        if source.items is not None and _counts_rows(read.notes):
            read = read_features(source.features, id_column, ids=source.items, vector=source.vector)
    return of_numbers(read, recipe, source.has_names, say)


def _column_of_items(source: Source, path: Path) -> str | None:
    """Column of the items in the labels, as --column names it, if another table has one of that name."""
    from whoknows.apps.cli.about import has_column

    name = source.columns.get("item")
    return name if name is not None and has_column(path, name) else None


def _counts_rows(notes: tuple[str, ...]) -> bool:
    """Whether a file of features names no items."""
    return any(note.startswith("the file names no items") for note in notes)


def _read_texts(source: Source, labels: LabelFile) -> tuple[Mapping[Hashable, str], Path]:
    """Texts to make features of, and the file they came from."""
    from whoknows.io.texts import read_texts

    if source.items is not None:
        return read_texts(source.items, source.text_column, source.id_column), source.items
    if labels.text:
        return labels.text, source.labels
    raise CommandError(f"{source.labels}: holds no text of the items in {source.text!r}.", BAD_INPUT)


def read_truth(source: Source, crowd: Crowd, say: Say) -> dict[Hashable, Hashable] | None:
    """Truth of items that take part, from a file of its own or from that of the labels."""
    from whoknows.data.vocabulary import show
    from whoknows.io.id_matching import match_ids
    from whoknows.io.labels import read_gold

    said, own = crowd.joined.annotations, crowd.labels.gold
    if crowd.in_files:
        read = own if source.gold is None else read_gold(source.gold, _gold_columns(source, source.gold))
        return _truth_by_row(read, crowd, source.gold or source.labels, say) if read else None
    items = said.items.tolist()
    if source.gold is not None:
        known: Mapping[Hashable, Hashable] = read_gold(source.gold, _gold_columns(source, source.gold), said)
    elif own:
        match, _ = match_ids(own, items)
        known = {match.get(item, item): label for item, label in own.items()}
    else:
        return None
    taking_part = set(items)
    gold = {item: label for item, label in known.items() if item in taking_part}
    where = source.gold or source.labels
    if not gold:
        here, there = show(known, 3), show(items, 3)
        raise CommandError(
            f"{where}: knows the truth of none of the items ({here}; items are {there}).", BAD_INPUT
        )
    _tell_of_truth(len(gold), len(known), where, say)
    return gold


def _gold_columns(source: Source, path: Path) -> dict[str, str]:
    """Columns of a file of gold that go by another name than usual."""
    name = _column_of_items(source, path)
    return {} if name is None else {"item": name}


def _truth_by_row(
    known: Mapping[Hashable, Hashable], crowd: Crowd, where: Path, say: Say
) -> dict[Hashable, Hashable]:
    """Truth of items that take part, by their row."""
    from whoknows.data.vocabulary import show
    from whoknows.io.labels.label_file import match_labels

    gold = match_labels(by_row(known, crowd.ids), crowd.joined.annotations)
    if not gold:
        raise CommandError(f"{where}: knows the truth of none of the items ({show(known, 3)}).", BAD_INPUT)
    _tell_of_truth(len(gold), len(known), where, say)
    return gold


def _tell_of_truth(n_gold: int, n_known: int, where: Path, say: Say) -> None:
    lost = f"; {n_known - n_gold} more take no part" if n_gold < n_known else ""
    say.note(f"{where}: the truth of {count(n_gold, 'item')} is known and taken as such{lost}.")
