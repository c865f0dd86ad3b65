"""Model files: a zip archive of model.json and arrays, never a pickle.

model.json holds the model, see `objects`, and the SHA-256 of every array; model.sha256 that of model.json.
`VERSION` is raised when older code cannot read a file. Nothing is decompressed before the table of contents
is checked.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

import whoknows
from whoknows.data.errors import Advice
from whoknows.estimators.persistence.checks import check_model
from whoknows.estimators.persistence.classes import ESTIMATORS, CheckpointStep
from whoknows.estimators.persistence.classifiers import read_classifier
from whoknows.estimators.persistence.objects import NOT_A_MODEL, Written, array_bytes, digest, read_array, read_model
from whoknows.io.encoding import MAX_FEATURES, ZIP, allowed_size, read_bytes, refuse_large_json, unzip
from whoknows.io.errors import FileError, Path
from whoknows.io.writing import replace_file

LIMIT = 1 << 34  # bytes of a model that may be saved
MOST_JSON = 1 << 26  # bytes of model.json
MOST_PACKED = 100  # times smaller than its content a member may be; what packs better is stored as it is
LEAST_PACKED = 1.1  # and at least, or packing does not pay
SAMPLE = 1 << 20  # bytes that tell whether packing may pay

_NUMBER = "(0|[1-9][0-9]{0,5})"
_NAMES = re.compile(rf"model\.json|model\.sha256|arrays/{_NUMBER}\.npy|classifiers/{_NUMBER}\.skops")
_DAMAGED = "is cut off or damaged ({}). Get the file again, or save the model again."


# --- writing ---------------------------------------------------------------------------------------


def pack(temporary: str, members: Iterable[tuple[str, bytes]], path: Path) -> None:
    """Write a new archive of named members, on the disk when this returns; ``path`` is for messages."""
    total = 0
    with open(temporary, "xb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in members:
                total += len(data)
                if total > LIMIT or (name == "model.json" and len(data) > MOST_JSON):
                    raise FileError(path, "cannot hold a model of this size, which could not be loaded.")
                info = zipfile.ZipInfo(name)  # its time is that of no clock: same content, same bytes
                info.create_system, info.external_attr = 3, 0o644 << 16
                info.compress_type = _way(data)
                archive.writestr(info, data)
        file.flush()
        os.fsync(file.fileno())


def _way(data: bytes) -> int:
    """Deflate what gets smaller by it, though not suspiciously so."""
    for part in (data[:SAMPLE], data) if len(data) > SAMPLE else (data,):
        if not LEAST_PACKED <= len(part) / len(zlib.compress(part)) <= MOST_PACKED:
            return zipfile.ZIP_STORED
    return zipfile.ZIP_DEFLATED


# --- reading ---------------------------------------------------------------------------------------


def read_members(path: Path, limit: int | None) -> dict[str, bytes]:
    """Return the members of a model file by name; nothing is decompressed before names and sizes are checked.

    No member of a model file is packed more than `MOST_PACKED` times, so all of it is not either.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would keep us waiting
        raise FileError(path, "is not a file; expected one that model.save(path) wrote.")
    data = read_bytes(path, MAX_FEATURES)
    if not data.startswith(ZIP[0]):
        raise FileError(
            path, "is not a model file. Model files are written by ", Advice("save", "model.save(path)"), "."
        )
    limit = limit or min(allowed_size(len(data)), MOST_PACKED * len(data))
    return unzip(data, path, limit, partial(_check_name, path, set()), _DAMAGED)


def _check_name(path: Path, seen: set[str], name: str) -> bool:
    """Refuse a name that a model file does not have, such as one that leads elsewhere, or a second time."""
    if not _NAMES.fullmatch(name):
        raise FileError(
            path,
            f"holds {name[:80]!r}, which has no place in a model file: only model.json, model.sha256, "
            "arrays/<number>.npy and classifiers/<number>.skops have. It was not written by whoknows.",
        )
    if name in seen:
        raise FileError(path, f"holds {name} twice. It was not written by whoknows.")
    seen.add(name)
    return True


def _take(members: dict[str, bytes], name: str, expected: str | None, path: Path) -> bytes:
    """Return a member and forget it; one that is not there or has another SHA-256 is refused."""
    if name not in members:
        raise FileError(path, f"lacks {name}. Get the file again, or save the model again.")
    data = members.pop(name)
    if expected is not None and digest(data) != expected:
        raise FileError(path, f"was damaged or changed: {name} is not what was saved. Get the file again.")
    return data


FORMAT = "whoknows model"
VERSION = 2
_LISTS: dict[str, Any] = {"arrays": None, "objects": None, "classifiers": []}  # the last may be missing


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file, atomically; the same model gives the same bytes.

    Where it was fitted (engine, device) and attributes that were added to it are not saved. A classifier as
    truth is written by skops (extra ``skops``), whose bytes may differ.

    Parameters
    ----------
    model : CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        Fitted.
    path : str or path
        By convention with the suffix ``.whoknows``.
    """
    if type(model) not in ESTIMATORS:
        known = ", ".join(cls.__name__ for cls in ESTIMATORS)
        raise TypeError(f"A model file holds one of {known}; got {type(model).__name__}.")
    check_is_fitted(model, msg="This %(name)s is not fitted yet, so there is nothing to save. Call fit first.")
    _write(model, path)


def load(path: Path, limit: int | None = None, trusted: Sequence[str] = ()) -> Any:
    """Read a model that ``model.save(path)`` wrote; it predicts as the saved one did, bit for bit.

    Nothing in a file is ever run, and nothing is read from it that would reach out later (engine, device): a
    file from anyone is safe to load. One that is no model file, is damaged or changed, is of a newer version,
    decompresses to too much, or holds parts that do not agree with each other is refused with `FileError`.
    (Whether to *trust* the predictions of someone else's model is another question.)

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Number of bytes that the file may decompress to. Default: see `whoknows.io.size_limit`.
    trusted : sequence of str
        For a file with a classifier as truth: types that may be built from the file, beyond those that skops
        trusts by itself. If some are missing, the error names them. A forged tree can crash the process, so
        name them only for files of your own, or of people you trust.

    Returns
    -------
    CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        The fitted estimator. Its arrays are read-only.

    Examples
    --------
    >>> import os, tempfile
    >>> import whoknows
    >>> model = whoknows.CrowdClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.whoknows")
    ...     model.save(path)
    ...     again = whoknows.load(path)
    >>> again.predict([[0.5], [2.5]])
    array([0, 1])
    """
    return _read(path, limit, check_model, trusted)


def save_step(result: Any, path: Path) -> None:
    """Write the result of one step of a fit, for a checkpoint."""
    _write(CheckpointStep(result), path)


def load_step(path: Path) -> Any:
    """Read what `save_step` wrote."""
    return _read(path, None, lambda step: step.result)


def _write(thing: Any, path: Path) -> None:
    written = Written.of(thing, path)
    text = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "whoknows": whoknows.__version__,
            "arrays": written.digests,
            "objects": written.objects,
            **({"classifiers": list(map(digest, written.classifiers))} if written.classifiers else {}),
        },
        allow_nan=False,
    )
    replace_file(path, lambda temporary: pack(temporary, _members(text.encode(), written), path))


def _read(path: Path, limit: int | None, finish: Callable[[Any], Any], trusted: Sequence[str] = ()) -> Any:
    members = read_members(path, limit)
    content = _content(members, path)
    arrays = [
        read_array(_take(members, _array_name(number), str(expected), path), path, _array_name(number))
        for number, expected in enumerate(content["arrays"])
    ]
    classifiers = [
        read_classifier(_take(members, _classifier_name(number), str(expected), path), path, trusted)
        for number, expected in enumerate(content.get("classifiers", []))
    ]
    if members:
        raise FileError(path, f"holds {min(members)}, which its model.json does not name.")
    try:
        return finish(read_model(content["objects"], arrays, classifiers))
    except NOT_A_MODEL as error:
        raise FileError(
            path,
            f"does not make sense: {error}. It says that whoknows {content.get('whoknows')} wrote it; this "
            f"is whoknows {whoknows.__version__}.",
        ) from None


def _members(text: bytes, written: Written) -> Iterator[tuple[str, bytes]]:
    yield "model.json", text
    yield "model.sha256", digest(text).encode()
    for number, array in enumerate(written.arrays):
        yield _array_name(number), array_bytes(array)
    for number, classifier in enumerate(written.classifiers):
        yield _classifier_name(number), classifier


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _classifier_name(number: int) -> str:
    return f"classifiers/{number}.skops"


def _content(members: dict[str, bytes], path: Path) -> dict[str, Any]:
    """Return the content of model.json, if it is undamaged and of a version that can be read."""
    expected = _take(members, "model.sha256", None, path).decode("latin-1")
    content = _parsed(_take(members, "model.json", expected, path), path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(path, f"is not a model file: its model.json does not say {FORMAT!r}.")
    version, writer = content.get("version"), content.get("whoknows")
    if type(version) is not int or version < 1:
        raise FileError(path, f"has version {version!r}; expected an integer of at least 1.")
    if version > VERSION:
        raise FileError(
            path,
            f"was written by whoknows {writer} as version {version} of model files; this whoknows, "
            f"{whoknows.__version__}, reads version {VERSION}. Upgrade: pip install --upgrade whoknows",
        )
    surplus = content.keys() - {"format", "version", "whoknows", "arrays", "objects", "classifiers"}
    if surplus:
        raise FileError(path, f"has a model.json with {min(surplus)[:80]!r}, which has no place there.")
    if not all(isinstance(content.get(key, default), list) for key, default in _LISTS.items()):
        raise FileError(path, "has a model.json without its arrays or objects.")
    return content


def _parsed(text: bytes, path: Path) -> Any:
    if len(text) > MOST_JSON:
        raise FileError(path, f"has a model.json of more than {MOST_JSON >> 20} MiB.")
    refuse_large_json(text, path)
    try:
        return json.loads(text)
    except RecursionError:
        raise FileError(path, "has a model.json nested deeper than any model is.") from None
    except ValueError as error:
        raise FileError(path, f"has a model.json that cannot be read ({error}).") from None
