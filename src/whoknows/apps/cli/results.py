"""MODEL on the command line: the folder of a fit, or the model file in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli.errors import CommandError
from whoknows.apps.cli.inputs import Recipe
from whoknows.apps.cli.output import FOUND, SETTINGS, read_toml
from whoknows.apps.cli.source import Source

MODEL, SUMMARY, REPORT = "model.whoknows", "summary.json", "report.html"
CONSENSUS, ANNOTATORS = "consensus.csv", "annotators.csv"
CONSENSUS_OF_MANY = "consensus.parquet"  # instead of the other for features out of core
KINDS = "kinds.csv"  # exists only with --by
TEXT = "text.npz"  # exists only if features were computed from texts
FILES = {
    REPORT: "the report, for a browser",
    CONSENSUS: "the estimated label of every item, with its probability",
    CONSENSUS_OF_MANY: "the estimated label of every item, with its probability",
    ANNOTATORS: "the accuracy of each annotator",
    KINDS: "how often each annotator is right on each kind of item",
    MODEL: "the model, for other commands of whoknows",
    TEXT: "how features are computed from texts; belongs to the model",
    SUMMARY: "all numbers of the report",
    SETTINGS: "the settings, for whoknows fit --config",
}
# What a summary that was changed leads to: lacking keys, other types, columns of unequal length.
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that a fit has written, or the model file in it.")
]


@dataclass(frozen=True)
class FitFolder:
    """A fit on disk.

    Parameters
    ----------
    path : Path
        As the user gave it.
    """

    path: Path

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise CommandError(f"{self.path}: there is no such folder or file. Fit a model first: whoknows fit --help")
        lacking = [name for name in (MODEL, SETTINGS) if not (self.path / name).is_file()]
        if self.path.is_dir() and lacking:
            raise CommandError(f"{self.path}: is not the folder of a complete fit; it has no {lacking[0]}.")

    @property
    def folder(self) -> Path:
        """Folder of the fit."""
        return self.path if self.path.is_dir() else self.path.parent

    def model(self) -> Any:
        """Load the model."""
        from whoknows.estimators.persistence.model_file import load

        return load(self.path / MODEL if self.path.is_dir() else self.path)

    def summary(self) -> Any:
        """Read the summary of the fit."""
        from whoknows.insight.summary import Summary

        with self.as_written():
            return Summary.from_json(self._beside(SUMMARY).read_text("utf-8"))

    @contextmanager
    def as_written(self) -> Iterator[None]:
        """Turn errors inside into one about the summary: as a fit writes it, it causes none."""
        from whoknows.data.errors import InputError

        path = self.folder / SUMMARY
        try:
            yield
        except (InputError, OSError, UnicodeDecodeError, RecursionError) as error:
            raise CommandError(f"{path}: cannot be read ({error}).") from None
        except DAMAGED as error:
            raise CommandError(f"{path}: is not as whoknows fit wrote it. Fit again.") from error

    def gold_items(self) -> set[str]:
        """Return the names of items whose truth was known in the fit; none without a summary."""
        if not (self.folder / SUMMARY).is_file():
            return set()
        table = self.summary().consensus
        with self.as_written():
            known = zip(table["item"], table.get("gold", []), strict=False)
            return {str(item) for item, is_gold in known if is_gold}

    @property
    def consensus_of_many(self) -> Path | None:
        """Table of the consensus of all items, for features out of core: the summary has a sample."""
        path = self.folder / CONSENSUS_OF_MANY
        return path if path.is_file() else None

    def consensus(self) -> Mapping[str, Any]:
        """Read the consensus of all items, as columns."""
        from whoknows.io.binary import read_arrow

        path = self.consensus_of_many
        if path is not None:
            return dict(read_arrow(path.read_bytes(), path).to_pydict())
        consensus = self.summary().consensus
        with self.as_written():
            list(zip(*(consensus[name] for name in ("item", "consensus", "confidence")), strict=True))
        return dict(consensus)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings of the fit."""
        return read_toml(self._beside(SETTINGS), CommandError)

    @property
    def found(self) -> dict[str, Any]:
        """Facts about the data of the fit, stored with the settings."""
        return dict(self.settings.get(FOUND, {}))

    @property
    def has_settings(self) -> bool:
        """Whether there are settings besides the model file."""
        return (self.folder / SETTINGS).is_file()

    @cached_property
    def recipe(self) -> Recipe:
        """How the features of the fit were computed, as far as it is known."""
        from whoknows.io import TextFeatures

        found = self.found if self.has_settings else {}
        of_texts = "texts" in found or (not found and (self.folder / TEXT).is_file())
        words = TextFeatures.load(self._beside(TEXT)) if of_texts else None
        medians, names = dict(found.get("medians", {})), tuple(found.get("features", ()))
        return Recipe(medians, words, names, dict(found.get("categories", {})))

    @property
    def source(self) -> Source:
        """Files of the fit, and how they were read."""
        if "labels" not in self.settings:
            raise CommandError(f"{self.folder / SETTINGS}: does not name the file of the labels.")
        source = Source.of(self.settings)
        return replace(source, **{name: Path(path) for name, path in source.files.items()})

    def _beside(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise CommandError(f"{path}: there is no such file. A fit writes it to this folder.")
        return path
