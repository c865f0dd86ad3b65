"""Model files that were damaged or forged are refused, or are models with finite answers; nothing is run."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tests.estimators.store_models import MODELS, NEW_X, X, fitted
from tests.fuzz.mutations import change_entry, mutate_bytes, mutate_zip, odd_value
from whoknows import CrowdRegressor, load

NAMES = ("id, linear", "lgp, rbf", "gp, linear", "three classes", "ordered", "auto", "real", "id, spectral")
CANARY = "canary"
FIELDS = ("__dict__", "__class__", "__setstate__", "fit", "engine", "device", "n_jobs", "x")
VALUES = (None, 0, -1, 2**40, "x", [], True, {"float": "inf"}, {"tuple": []}, {"object": 0}, {"ids": [1, "a"]})


class Evil:
    """Leaves a file behind if it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {CANARY}",)


@cache
def saved(name: str) -> bytes:
    """Return the file of a fitted model."""
    path = Path(f"{name}.whoknows")
    fitted(name).save(path)
    return path.read_bytes()


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the members of a model file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(members: dict[str, bytes], content: Any, arrays: dict[int, bytes]) -> bytes:
    """Return a model file with other content and arrays, whose checksums are right."""
    members = members | {f"arrays/{number}.npy": data for number, data in arrays.items()}
    for number, data in arrays.items():
        content["arrays"][number] = sha256(data).hexdigest()
    text = json.dumps(content).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in (members | {"model.json": text}).items():
            archive.writestr(name, sha256(text).hexdigest() if name == "model.sha256" else data)
    return file.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    """Return the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def other_array(array: Any, rng: random.Random) -> bytes:
    """Return an array that is not the one that was saved."""
    odd = rng.choice([-1, 2**31 - 1, 2**62])
    spoilt = array.astype(float) if array.dtype.kind in "biuf" else array.copy()
    if spoilt.size and spoilt.dtype.kind == "f":
        spoilt.flat[rng.randrange(spoilt.size)] = rng.choice([np.nan, np.inf, -1.0, 1e308])
    return rng.choice(
        [
            lambda: npy(array.reshape(-1) if array.ndim > 1 else array[None]),
            lambda: npy(array[: max(len(array) - 1, 0)]),
            lambda: npy(array[:0]),
            lambda: npy(np.ascontiguousarray(array.T)),
            lambda: npy(spoilt),
            lambda: npy(np.full(array.shape, odd)),
            lambda: npy(array.astype(rng.choice(["f2", "f4", "i8", "?"] if array.dtype.kind != "U" else ["U5"]))),
            lambda: npy(array).replace(b"'shape': (", b"'shape': (-"),
            lambda: npy(np.array([Evil()], dtype=object), allow_pickle=True),
            lambda: npy(np.zeros(10**7)),
        ]
    )()


def array(rng: random.Random, folder: Path) -> None:
    """Put another array in the place of one, or swap two."""
    name, members, content = _parts(rng)
    first, second = (rng.randrange(len(content["arrays"])) for _ in range(2))
    data = [members[f"arrays/{number}.npy"] for number in (first, second)]
    if rng.random() < 0.3:
        _use(pack(members, content, {first: data[1], second: data[0]}), name, folder)
    else:
        whole = np.load(io.BytesIO(data[0]), allow_pickle=False)
        with np.errstate(all="ignore"):
            _use(pack(members, content, {first: other_array(whole, rng)}), name, folder)


def content(rng: random.Random, folder: Path) -> None:
    """Change fields, classes and references of model.json."""
    name, members, content = _parts(rng)
    some = rng.choice(content["objects"])
    chance = rng.random()
    if chance < 0.3:
        some["fields"][rng.choice([*some["fields"], *FIELDS])] = rng.choice([*VALUES, odd_value(rng)])
    elif chance < 0.4 and some["fields"]:
        some["fields"].pop(rng.choice(list(some["fields"])))
    elif chance < 0.5:
        some["class"] = rng.choice([other["class"] for other in content["objects"]])
    elif chance < 0.6:
        content["version"] = rng.choice([99, 0, -1, "1", 1.0, True, None, 10**30])
    else:
        change_entry(content, rng)
    if isinstance(content.get("arrays"), list):
        _use(pack(members, content, {}), name, folder)


def damage(rng: random.Random, folder: Path) -> None:
    """Flip bits, cut, and change the archive."""
    name = rng.choice(NAMES)
    _use(rng.choice([mutate_bytes, mutate_zip])(saved(name), rng), name, folder)


def _parts(rng: random.Random) -> tuple[str, dict[str, bytes], Any]:
    name = rng.choice(NAMES)
    members = unpack(saved(name))
    return name, members, json.loads(members["model.json"])


def _use(data: bytes, name: str, folder: Path) -> None:
    """Load a file, and ask the model everything: no answer is NaN, and nothing was run."""
    path = folder / "model.whoknows"
    path.write_bytes(data)
    try:
        model = load(path)
    finally:
        assert not Path(CANARY).exists(), "a model file ran code"
    labels = MODELS[name][1]
    answers = [model.predict(NEW_X), *np.atleast_1d(model.posterior(X, labels))]
    if not isinstance(model, CrowdRegressor):
        answers += [model.predict_proba(NEW_X), model.expertise(NEW_X), model.ranking().expertise]
    for answer in map(np.asarray, answers):
        assert answer.dtype.kind != "f" or np.isfinite(answer).all(), "an answer that is not finite"
    model.save(path)


TARGETS = {run.__name__: run for run in (array, content, damage)}
