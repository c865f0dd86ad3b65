"""Model files: a zip of model.json and arrays. Never pickle: no file can do more than be wrong.

model.json is the model as JSON, see `writing`: objects of known classes, and numbers for the arrays. It has
the SHA-256 of every array; model.sha256 has that of model.json. `VERSION` goes up when older code could
not make sense of a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

import whoknows
from whoknows.estimators.persistence.archive import Archive, digest, opened, pack
from whoknows.estimators.persistence.checks import check_model
from whoknows.estimators.persistence.classes import ESTIMATORS, CheckpointStep
from whoknows.estimators.persistence.reading import NOT_A_MODEL, read_array, read_model
from whoknows.estimators.persistence.writing import Written, array_bytes
from whoknows.io.atomic import replace
from whoknows.io.encoding import refuse_large_json
from whoknows.io.errors import Path
from whoknows.io.labels import FileError

FORMAT = "whoknows model"
VERSION = 2


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file, whole or not at all; the same model gives the same bytes.

    Where it was fitted (engine, device) and attributes that were added to it are not saved.

    Parameters
    ----------
    model : CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        Solution.
    path : str or path
        By custom with the suffix ``.whoknows``.
    """
    if type(model) not in ESTIMATORS:
        known = ", ".join(cls.__name__ for cls in ESTIMATORS)
        raise TypeError(f"A model file holds one of {known}; got {type(model).__name__}.")
    check_is_fitted(
        model, msg="This %(name)s is not fitted yet, so there is nothing to save. Call fit first."
    )
    _write(model, path)


def load(path: Path, limit: int | None = None) -> Any:
    """Read a model that ``model.save(path)`` wrote; it predicts as the saved one did, bit for bit.

    Nothing in a file is ever run, and nothing is read from it that would reach out later (engine, device): a
    file from anyone is safe to load. One that is no model file, is damaged or changed, is of a newer version,
    decompresses to too much, or holds parts that do not agree with each other is refused with `FileError`.
    (Whether to *trust* the predictions of someone else's model is another question.)

    Parameters
    ----------
    path : str or path
    limit : int, optional
        Number of bytes that the file may decompress to. Default: see `whoknows.io.labels.size_limit`.

    Returns
    -------
    CrowdClassifier, CrowdRegressor or AutoCrowdClassifier
        Solution. Its arrays cannot be written to.

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
    return _read(path, limit, check_model)


def save_step(result: Any, path: Path) -> None:
    """Write the result of one step of a fit, for a checkpoint."""
    _write(CheckpointStep(result), path)


def load_step(path: Path) -> Any:
    """Read what `save_step` wrote."""
    return _read(path, None, _check_step).result


def _write(thing: Any, path: Path) -> None:
    written = Written.of(thing, path)
    text = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "whoknows": whoknows.__version__,
            "arrays": written.digests,
            "objects": written.objects,
        },
        allow_nan=False,
    )
    replace(path, lambda temporary: pack(temporary, _members(text.encode(), written), path))


def _check_step(thing: Any) -> None:
    if not isinstance(thing, CheckpointStep):
        raise ValueError(f"a {type(thing).__name__} is no step of a checkpoint")


def _read(path: Path, limit: int | None, check: Callable[[Any], None]) -> Any:
    with opened(path, limit) as archive:
        content = _content(archive)
        names = [_name(number) for number in range(len(content["arrays"]))]
        surplus = archive.members.keys() - {"model.json", "model.sha256", *names}
        if surplus:
            raise FileError(path, f"holds {min(surplus)}, which its model.json does not name.")
        arrays = [
            read_array(archive.read(name, str(expected)), path, name)
            for name, expected in zip(names, content["arrays"], strict=True)
        ]
    try:
        model = read_model(content["objects"], arrays)
        check(model)
    except NOT_A_MODEL as error:
        raise FileError(
            path,
            f"does not make sense: {error}. It says that whoknows {content.get('whoknows')} wrote it; this "
            f"is whoknows {whoknows.__version__}.",
        ) from None
    return model


def _members(text: bytes, written: Written) -> Iterator[tuple[str, bytes]]:
    yield "model.json", text
    yield "model.sha256", digest(text).encode()
    for number, array in enumerate(written.arrays):
        yield _name(number), array_bytes(array)


def _name(number: int) -> str:
    return f"arrays/{number}.npy"


def _content(archive: Archive) -> dict[str, Any]:
    """What model.json says, once it is known to be whole and of a version that can be read."""
    text = archive.read("model.json", archive.read("model.sha256").decode("latin-1"))
    content = _parsed(text, archive.path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(archive.path, f"is not a model file: its model.json does not say {FORMAT!r}.")
    version, writer = content.get("version"), content.get("whoknows")
    if type(version) is not int or version < 1:
        raise FileError(archive.path, f"has version {version!r}; expected a whole number of 1 or more.")
    if version > VERSION:
        raise FileError(
            archive.path,
            f"was written by whoknows {writer} as version {version} of model files; this whoknows, "
            f"{whoknows.__version__}, reads version {VERSION}. Upgrade: pip install --upgrade whoknows",
        )
    surplus = content.keys() - {"format", "version", "whoknows", "arrays", "objects"}
    if surplus:
        raise FileError(
            archive.path, f"has a model.json with {min(surplus)[:80]!r}, which has no place there."
        )
    if not all(isinstance(content.get(key), list) for key in ("arrays", "objects")):
        raise FileError(archive.path, "has a model.json without its arrays or objects.")
    return content


def _parsed(text: bytes, path: Path) -> Any:
    refuse_large_json(text, path)
    try:
        return json.loads(text)
    except RecursionError:
        raise FileError(path, "has a model.json nested deeper than any model is.") from None
    except ValueError as error:
        raise FileError(path, f"has a model.json that cannot be read ({error}).") from None
