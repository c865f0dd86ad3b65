"""Benchmark data sets: the seven of Sec. 4.1 of the paper, and nine with real annotators.

A data set is read from the folder in the environment variable ``WHOKNOWS_DATA``: ``uci/NAME.csv``, or
``crowd/NAME/`` with annotations.csv, items.csv or items.parquet, and optionally truth.csv and embeddings.npy.
If it is not there but has a public source, it is downloaded, converted to ``uci/NAME.csv``, and kept in
``WHOKNOWS_CACHE`` (default: the user's cache folder).

Shape, class counts and a SHA-256 checksum of the numbers are checked, whatever their source. The downloaded
file itself has no checksum, as copies differ in line ends and spaces.
"""

from __future__ import annotations

import csv
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import first_not_a_number
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, show
from whoknows.io.writing import replace_file

Floats = NDArray[np.float64]
Numbers = tuple[Floats, Floats]  # X and z
Table = dict[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Items with features, true labels and annotations.

    Parameters
    ----------
    name : str
    X : (n_items, n_features) or None
        Features, or embeddings of the text.
    z : (n_items,) or None
        The true labels, or a substitute; NaN where unknown.
    annotations : Annotations or None
        Labels by real annotators. None for the paper's sets: see `whoknows.data.simulate`.
    features : tuple of n_features str
    text : (n_items,) or None
        Text of each item.
    columns : mapping from name to (n_items,)
        Other columns of the table of items, such as ``split``.
    """

    name: str
    X: Floats | None
    z: NDArray[Any] | None
    annotations: Annotations | None = None
    features: tuple[str, ...] = ()
    text: Ids | None = None
    columns: Mapping[str, Ids] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_features); no features is 0."""
        if self.X is not None:
            return self.X.shape[0], self.X.shape[1]
        return (0 if self.annotations is None else len(self.annotations)), 0

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        truth = "no truth" if self.z is None else f"{len(np.unique(self.z[self.z == self.z]))} classes"
        said = "no annotations" if self.annotations is None else repr(self.annotations)
        return f"DataSet({self.name!r}, {self.shape[0]} items, {self.shape[1]} features, {truth}, {said})"


def load(name: str, *, label: str = "label", checksum: bool = True) -> DataSet:
    """Read a data set, or download it.

    Parameters
    ----------
    name : str
        One of `PAPER` or `CROWDS`.
    label : str
        Column of annotations.csv with the labels; some sets have several, such as ``rating``.
    checksum : bool
        Whether to check the numbers besides shape and class counts.
    """
    if name not in EXPECTED:
        raise InputError(f"Expected one of the data sets {show(EXPECTED, 16)}; got {name!r}.")
    path = _find(name) or _download(name, checksum)
    try:
        data, numbers = _read_paper(name, path) if name in PAPER else _read_crowd(name, path, label)
        _check(data, numbers, checksum)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return data


# --- reading --------------------------------------------------------------------------------------------


def _find(name: str) -> Path | None:
    """Return the place of a set: in the user's folder, else in the cache."""
    given = os.environ.get("WHOKNOWS_DATA")
    if given and not Path(given).is_dir():
        raise FileNotFoundError(f"WHOKNOWS_DATA must name a folder; there is none at {given!r}.")
    folders = [Path(given), _cache()] if given else [_cache()]
    return next((folder / _file(name) for folder in folders if (folder / _file(name)).exists()), None)


def _file(name: str) -> str:
    """Return the path of a set in its folder: a table, or a folder of tables."""
    return f"uci/{name}.csv" if name in PAPER else f"crowd/{name}"


def _read_paper(name: str, path: Path) -> tuple[DataSet, Iterable[Floats]]:
    """Read a numeric table with the true label in the last column; return it with the numbers to check."""
    table = read_csv(path, "target")
    features = [column for column in table if column != "target"]
    if not features:
        raise InputError(f"{path.name}: expected columns of features besides 'target', got none.")
    X, z = np.column_stack([_floats(table, feature) for feature in features]), _floats(table, "target")
    return DataSet(name, X, z.astype(int), features=tuple(features)), (X, z)


def _read_crowd(name: str, folder: Path, label: str) -> tuple[DataSet, Iterable[Floats]]:
    """Read a folder of items, annotations, true labels and embeddings, and the numbers to check."""
    items, said = _read_items(folder), read_csv(folder / "annotations.csv", "item", "annotator")
    ids = list(items.pop("item"))
    X, features = _read_features(folder, items, len(ids))
    z = _read_truth(folder / "truth.csv", ids)
    given = {column: _floats(said, column) for column in said if column not in ("item", "annotator")}
    if label not in given:
        raise InputError(f"label= must be one of the columns {show(given)}; got {label!r}.")
    annotations = Annotations.from_arrays(said["item"], said["annotator"], given[label], items=ids)
    columns = {column: np.array(items[column], dtype=object) for column in items if column not in features}
    parts = [columns[column] for column in _TEXT.get(name, ("text",)) if column in columns]
    text = np.array(["\n".join(words) for words in zip(*parts, strict=True)], dtype=object)
    who = [np.unique(said[column], return_inverse=True)[1].astype(float) for column in ("item", "annotator")]
    known = [array for array in (X, z) if array is not None]
    data = DataSet(name, X, z, annotations, features, text if parts else None, columns)
    return data, [*known, *who, *given.values()]


def _read_items(folder: Path) -> Table:
    """Read the table of items from items.csv or items.parquet."""
    if (folder / "items.csv").exists():
        return read_csv(folder / "items.csv", "item")
    if not (folder / "items.parquet").exists():
        raise FileNotFoundError(f"Expected items.csv or items.parquet in {folder}; found neither.")
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(f"{folder / 'items.parquet'} needs pyarrow. Run: pip install 'whoknows[io]'") from None
    table = parquet.read_table(folder / "items.parquet")
    return {column: table[column].to_pylist() for column in table.column_names}


def _read_features(folder: Path, items: Table, n_items: int) -> tuple[Floats | None, tuple[str, ...]]:
    """Read embeddings if there are any, else the numeric columns."""
    if (folder / "embeddings.npy").exists():
        X = np.load(folder / "embeddings.npy", allow_pickle=False).astype(float)
        if X.ndim != 2 or len(X) != n_items:
            raise InputError(f"embeddings.npy: expected {n_items} rows, one per item, got shape {X.shape}.")
        return X, tuple(f"e{place}" for place in range(X.shape[1]))
    features = tuple(column for column in items if first_not_a_number(items[column]) is None)
    return np.column_stack([_floats(items, each) for each in features]) if features else None, features


def _read_truth(path: Path, ids: Sequence[str]) -> NDArray[Any] | None:
    """Read true labels in the order of the items; integers if there are no gaps."""
    if not path.exists():
        return None
    table = read_csv(path, "item", "label")
    truth = dict(zip(table["item"], _floats(table, "label"), strict=True))
    z = np.array([truth.get(item, np.nan) for item in ids])
    return z if np.isnan(z).any() else z.astype(int)


def read_csv(path: Path, *needed: str) -> Table:
    """Read the columns of a table by name."""
    if not path.exists():
        raise FileNotFoundError(f"Expected the file {path}, which does not exist: the set is not complete.")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if not set(needed) <= set(header):
        raise InputError(f"{path.name}: expected the columns {show(needed)}, got {show(header) or 'none'}.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputError(f"{path.name}: expected {len(header)} cells in row {number}, got {len(row)}.")
    return {column: [row[place] for row in rows] for place, column in enumerate(header)}


def _floats(table: Table, column: str) -> Floats:
    """Return a column as numbers."""
    other = first_not_a_number(table[column])
    if other is not None:
        raise InputError(f"expected numbers in the column {column!r}, got {other!r}.")
    return np.array(table[column], dtype=float)


# --- checking -------------------------------------------------------------------------------------------


def numbers_checksum(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of numbers as float64, rounded to nine decimals."""
    digest = hashlib.sha256()
    for array in arrays:
        rounded = np.round(np.asarray(array, dtype="<f8"), 9) + 0.0  # + 0.0: no negative zero
        digest.update(f"{rounded.shape}".encode() + rounded.astype("<f8").tobytes())
    return digest.hexdigest()


def _check(data: DataSet, numbers: Iterable[Floats], checksum: bool) -> None:
    """Compare with the expected properties of the set."""
    shape, truth, said = EXPECTED[data.name]
    z, y = data.z, data.annotations
    counts = () if z is None else tuple(np.unique(z[z == z], return_counts=True)[1].tolist())
    facts: list[tuple[str, Any, Any]] = [
        ("items and features", shape, data.shape),
        ("items of each class", truth, counts),
        ("annotators and labels", said, () if y is None else (y.n_annotators, y.n_annotations)),
    ]
    if checksum:
        facts.append(("as checksum of its numbers", _SHA256[data.name], numbers_checksum(numbers)))
    for what, expected, got in facts:
        if expected != got:
            raise InputError(f"expected {expected} {what}, got {got}. This is not the original, or it is incomplete.")


# --- downloading ----------------------------------------------------------------------------------------


def _cache() -> Path:
    """Return the folder for downloads: WHOKNOWS_CACHE, or the user's cache folder."""
    homes = {"Windows": os.environ.get("LOCALAPPDATA"), "Darwin": "~/Library/Caches"}
    home = homes.get(platform.system()) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("WHOKNOWS_CACHE") or f"{home}/whoknows").expanduser()


def _download(name: str, checksum: bool) -> Path:
    """Download the original, convert, check and store it; return the table in the cache."""
    advice = f"Set WHOKNOWS_DATA to a folder that holds {_file(name)}."
    if name not in _SOURCES:
        raise FileNotFoundError(f"{name} has no public source to download it from. {advice}")
    url, rule, features = _SOURCES[name]
    try:
        X, z = rule(_fetch(name, url).decode("utf-8", errors="replace"))
        _check(DataSet(name, X, z), (X, z), checksum)
    except (OSError, HTTPException) as error:
        raise ConnectionError(f"Could not download {name} from {url} ({error}). {advice}") from error
    except ValueError as error:
        raise InputError(f"{url}: {error} Nothing was kept. {advice}") from error
    return _keep(_cache() / _file(name), np.column_stack([X, z]), ",".join([*features, "target"]))


def _fetch(name: str, url: str) -> bytes:
    """Download a file, with progress on stderr if it is a terminal."""
    content = bytearray()
    with urlopen(Request(url, headers={"User-Agent": "whoknows"}), timeout=30) as answer:
        size = int(answer.headers.get("Content-Length") or 0)
        while part := answer.read(2**14):
            content += part
            if sys.stderr.isatty():
                of = f" of {size / 1000:.0f}" if size else ""
                print(f"\r{name}: {len(content) / 1000:.0f}{of} kB", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if len(content) < size:
        raise ConnectionError(f"cut off after {len(content)} of {size} bytes")
    return bytes(content)


def _keep(path: Path, table: Floats, header: str) -> Path:
    """Write a table atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write = partial(np.savetxt, X=table, fmt="%.17g", delimiter=",", header=header, comments="")
    replace_file(path, partial(write, encoding="utf-8"))
    return path


# --- conversion: text of an original to X and z ----------------------------------------------------------


def class_in_last_cell(text: str, width: int, positive: str) -> Numbers:
    """Convert one item per line, with the class in the last cell (Ionosphere, Pima, BUPA)."""
    rows = _cells(text, width)
    return rows[:, :-1].astype(float), (rows[:, -1] == positive).astype(float)


def housing(text: str) -> Numbers:
    """Convert StatLib's Boston housing: after an introduction, 14 numbers per item; 1 is MEDV ≥ 21.5."""
    lines = [line.split() for line in text.splitlines()]
    numbers = [cell for line in lines if first_not_a_number(line) is None for cell in line]
    if not numbers or len(numbers) % 14:
        raise InputError(f"expected 14 numbers per item, got {len(numbers)} in total.")
    table = np.array(numbers, dtype=float).reshape(-1, 14)
    return table[:, :13], (table[:, 13] >= 21.5).astype(float)


def wpbc(text: str, months: int) -> Numbers:
    """Convert Wisconsin prognostic breast cancer: id, outcome (R, N), time, 32 features.

    1 is a recurrence within this many months; 0 is any case that was followed for longer. Cases without
    recurrence that were followed for less, or with unknown lymph node status ("?"), are left out.
    """
    rows = _cells(text, 35)
    rows = rows[~(rows == "?").any(axis=1)]
    later = rows[:, 2].astype(float) > months
    decided = later | (rows[:, 1] == "R")
    return rows[decided, 3:].astype(float), (~later[decided]).astype(float)


def _cells(text: str, width: int) -> NDArray[np.str_]:
    """Return the cells between commas, one row per line that is not blank."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise InputError(f"expected {width} cells in line {number}, got {len(row)}.")
    if not rows:
        raise InputError("expected lines of data, got none.")
    return np.array(rows)


# --- expected properties --------------------------------------------------------------------------

# (items, features), items of each class, (annotators, labels); () without true labels or annotators.
EXPECTED: dict[str, tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]] = {
    "ionosphere": ((351, 34), (126, 225), ()),
    "dim": ((4192, 14), (2110, 2082), ()),
    "housing": ((506, 13), (261, 245), ()),
    "pima": ((768, 8), (500, 268), ()),
    "bupa": ((345, 6), (200, 145), ()),
    "wpbc24": ((155, 32), (127, 28), ()),
    "wpbc60": ((110, 32), (69, 41), ()),
    "sentiment_polarity": ((4999, 384), (2497, 2502), (203, 27746)),
    "product_matching": ((8315, 12), (7304, 1011), (176, 24945)),
    "labelme": ((2688, 512), (260, 308, 356, 292, 328, 360, 374, 410), (59, 2547)),
    "colposcopy_green": ((98, 62), (31, 67), (6, 588)),
    "bluebirds": ((108, 0), (60, 48), (39, 4212)),
    "hs_brexit": ((1120, 384), (), (6, 6720)),
    "convabuse": ((4050, 384), (), (8, 12168)),
    "md_agreement": ((10753, 0), (), (819, 53764)),
    "popquorn_offensiveness": ((1500, 384), (), (262, 13036)),
}
PAPER = tuple(EXPECTED)[:7]
CROWDS = tuple(EXPECTED)[7:]

_SHA256 = {
    "ionosphere": "3af9b141ce806e273d1ca75dcd0179efc7182be69d305760077c1f988f9e8ecd",
    "dim": "7ca17ce33455d5df8331325797ddcc0eedbb4fb9d174985455d44bf0d1adee64",
    "housing": "60089559d6d89a2073be9c72dd71ec9d1f214ba4fcb2968c9ee88427bb78fe3f",
    "pima": "e39c0661375a3d76535c10815044ab9db884252f81d04dae46d75386504eee66",
    "bupa": "9bbead59d7d0173b1a13c82bd6978f0654792209d463e814c0b9ea74da61d348",
    "wpbc24": "ddc8eef41cf943c8a27ac86e416e74352424d2024a8fbc0f9dfb928517b8fe27",
    "wpbc60": "bee44d11e2815702ae08a155871b84555a8d40647887920dd8d9e4802de9de6c",
    "sentiment_polarity": "096c0be02769cc6302927a415b31fd962eb8337fdc4a36a3649f5e2b00859fc0",
    "product_matching": "64edc004c8b824aa48402f3baf81f86729ef284c4444b73122199e434bf35ed6",
    "labelme": "e4a12576f8f7592447e752b8d8c76a488d058346b4cdb3dc0ab348a8ac56bd61",
    "colposcopy_green": "63eca3bcc7de4a707221f9d62b9bd6c821b46f658030181b22832f1ea66728ac",
    "bluebirds": "64b5957f82992bef3a516931174677384cc16c94906ed9d3a836d4697141e694",
    "hs_brexit": "35a87e81b98e5be4740f7ff8f83e9b58b9740400d03085af1c1f03854c0c517e",
    "convabuse": "97cf5ecea077df515a9c852cb9f8233bc5e4d0f32a98fddf14d59b9c1794098f",
    "md_agreement": "8ef401c1ec5c2a3093ffaf78b6ea2d80d778c3827bdaadd3460b9ebef4bcc469",
    "popquorn_offensiveness": "2f75e3c5a106b5fd7dd263bc0a1c4b2fe7f0af6c48b18339a200893ca461d1ed",
}

# Columns of the text of an item, if not ``text`` alone.
_TEXT = {"product_matching": ("name1", "name2"), "convabuse": ("agent", "text")}

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_WPBC = f"{_UCI}/breast-cancer-wisconsin/wpbc.data"
_NUCLEUS = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave_points", "symmetry", "fractal_dimension"),
)
_WPBC_FEATURES = [f"{what}_{how}" for how in ("mean", "se", "worst") for what in _NUCLEUS]
_WPBC_FEATURES += ["tumor_size", "lymph_node_status"]

# URL, conversion and names of features of the sets that can be downloaded.
_SOURCES: dict[str, tuple[str, Callable[[str], Numbers], Sequence[str]]] = {
    "ionosphere": (
        f"{_UCI}/ionosphere/ionosphere.data",
        partial(class_in_last_cell, width=35, positive="g"),
        [f"x{place}" for place in range(1, 35)],
    ),
    "housing": (
        "http://lib.stat.cmu.edu/datasets/boston",
        housing,
        ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"],
    ),
    "pima": (  # no longer available from UCI
        "https://raw.githubusercontent.com/jbrownlee/Datasets/master/pima-indians-diabetes.data.csv",
        partial(class_in_last_cell, width=9, positive="1"),
        ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"],
    ),
    "bupa": (
        f"{_UCI}/liver-disorders/bupa.data",
        partial(class_in_last_cell, width=7, positive="1"),
        ["mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"],
    ),
    "wpbc24": (_WPBC, partial(wpbc, months=24), _WPBC_FEATURES),
    "wpbc60": (_WPBC, partial(wpbc, months=60), _WPBC_FEATURES),
}
