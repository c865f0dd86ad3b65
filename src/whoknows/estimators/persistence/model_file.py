"""Model files: a zip of model.json and arrays. Never pickle: no file can do more than be wrong.

model.json is the model as JSON, see `writing`: objects of known classes, and numbers for the arrays. It has
the SHA-256 of every array; model.sha256 has that of model.json. `VERSION` goes up when older code could
not make sense of a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

import whoknows
from whoknows.estimators.persistence.archive import LIMIT, Archive, digest, opened, pack
from whoknows.estimators.persistence.classes import ESTIMATORS
from whoknows.estimators.persistence.reading import NOT_A_MODEL, read_array, read_model
from whoknows.estimators.persistence.writing import Written, array_bytes
from whoknows.io.atomic import replace
from whoknows.io.errors import Path
from whoknows.io.labels import FileError

FORMAT = "whoknows model"
VERSION = 1


def save(model: Any, path: Path) -> None:
    """Write a fitted model to a file, whole or not at all; the same model gives the same bytes.

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
    written = Written.of(model, path)
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


def load(path: Path, limit: int = LIMIT) -> Any:
    """Read a model that ``model.save(path)`` wrote: it answers as the one that was saved, bit for bit.

    Nothing in a file is ever run, so that a stranger's file is safe to load. One that is no model file, is
    damaged, was changed, is of a newer version or unpacks to too much is refused with `FileError`. (Whether
    to *believe* a stranger's model is another question.)

    Parameters
    ----------
    path : str or path
    limit : int
        Bytes the file may unpack to.

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
        return read_model(content["objects"], arrays)
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
    if not all(isinstance(content.get(key), list) for key in ("arrays", "objects")):
        raise FileError(archive.path, "has a model.json without its arrays or objects.")
    return content


def _parsed(text: bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise FileError(path, "has a model.json nested deeper than any model is.") from None
    except ValueError as error:
        raise FileError(path, f"has a model.json that cannot be read ({error}).") from None
