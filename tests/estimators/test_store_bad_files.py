"""Model files from anyone: refused with a reason, or the model that was saved; never anything else."""

import copy
import io
import json
import pickle
import re
import zipfile
from contextlib import suppress
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whoknows
from tests.estimators.store_models import X, answers, assert_same, expected, fitted
from whoknows import CrowdClassifier, load
from whoknows.estimators.persistence import model_file as archive
from whoknows.io import FileError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.whoknows"
    fitted().save(path)
    return path


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path, members, way=zipfile.ZIP_STORED):
    """Write an archive of whatever members, in pairs or by name."""
    with zipfile.ZipFile(path, "w", way) as file:
        for name, data in members.items() if isinstance(members, dict) else members:
            file.writestr(name, data)
    return path


def forge(path, members, edit=None, arrays=None):
    """Write an archive with another model.json or other arrays, its checksums all right."""
    members, arrays = dict(members), arrays or {}
    content = json.loads(members["model.json"])
    for number, data in arrays.items():
        members[f"arrays/{number}.npy"] = data
        content["arrays"][number] = sha256(data).hexdigest()
    content = content if edit is None else edit(content)
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return write(path, members | {"model.json": text, "model.sha256": sha256(text).hexdigest()})


def npy(array, **kwargs):
    file = io.BytesIO()
    np.save(file, array, **kwargs)
    return file.getvalue()


def refused(path, words, **kwargs):
    with pytest.raises(FileError, match=words) as caught:
        load(path, **kwargs)
    assert str(caught.value).startswith(str(path))


def test_other_files_are_no_model_files(saved, tmp_path):
    refused(tmp_path / "nowhere", "there is no such file")
    refused(tmp_path / "zero\0", "cannot be read|no such file")
    refused(tmp_path, "is not a file; expected one that model.save")
    path = tmp_path / "other"
    path.write_bytes(b"")
    refused(path, "is empty")
    for data in (b"PK", b"item,annotator,label\n", pickle.dumps(fitted()), npy(X), b"PK\x05\x06" + bytes(18)):
        path.write_bytes(data)
        refused(path, r"is not a model file. Model files are written by model.save\(path\)")
    path.write_bytes(b"PK\x03\x04" + bytes(1000))
    refused(path, "is cut off or damaged")
    refused(write(path, {"word/document.xml": b"<w/>"}), "holds 'word/document.xml', which has no place")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_file_cut_off_is_refused(share, saved, tmp_path):
    whole = saved.read_bytes()
    path = tmp_path / "cut.whoknows"
    path.write_bytes(whole[: int(share * len(whole))])
    refused(path, "is cut off or damaged")


def test_a_file_that_was_changed_is_refused(saved, tmp_path):
    members, path = members_of(saved), tmp_path / "changed.whoknows"
    other = npy(np.load(io.BytesIO(members["arrays/2.npy"])) + 1)
    refused(write(path, members | {"arrays/2.npy": other}), "was damaged or changed: arrays/2.npy is not what")
    text = members["model.json"].replace(b'"truth": "id"', b'"truth": "gp"')
    assert text != members["model.json"]
    refused(write(path, members | {"model.json": text}), "was damaged or changed: model.json is not what")
    for lost in ("model.json", "model.sha256", "arrays/0.npy"):
        rest = {name: data for name, data in members.items() if name != lost}
        refused(write(path, rest), f"lacks {lost}")
    refused(write(path, members | {"arrays/999.npy": other}), "arrays/999.npy, which its model.json does not name")
    refused(forge(path, members, lambda content: content | {"arrays": [None] * len(content["arrays"])}), "changed")


def test_a_newer_file_says_who_wrote_it_and_to_upgrade(saved, tmp_path):
    path = tmp_path / "newer.whoknows"
    newer = {"version": 3, "whoknows": "7.1", "objects": {"other": "layout"}}
    ours = re.escape(whoknows.__version__)
    words = rf"whoknows 7.1 as version 3.*this whoknows, {ours}, reads version 2.*--upgrade whoknows"
    refused(forge(path, members_of(saved), lambda content: content | newer), words)
    for version in (0, -1, "1", None, True, 1.0):
        forge(path, members_of(saved), lambda content, version=version: content | {"version": version})
        refused(path, "expected an integer of at least 1")
    refused(forge(path, members_of(saved), lambda content: content | {"format": "zip"}), "is not a model file")


def test_what_an_older_file_does_not_have_is_the_default(saved, tmp_path):
    def without_defaults(content):
        for plain in content["objects"]:
            for name in ("own_mistakes", "two_coin", "stop", "confidence"):
                plain["fields"].pop(name, None)
        return content

    model = load(forge(tmp_path / "older.whoknows", members_of(saved), without_defaults))
    assert_same(expected(), answers(model))
    assert (model.stop, model._training_data.annotations.confidence) == ("bound", None)


@pytest.mark.parametrize(
    "name",
    [
        *("../evil.npy", "/etc/passwd", "arrays/../../evil.npy", "arrays\\0.npy", "C:evil", ""),
        *("arrays/", "arrays/00.npy", "arrays/0.npy\0.json", "arrays/-1.npy", "arrays/٣.npy", "model.JSON"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name, saved, tmp_path):
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    path = write(tmp_path / "model.whoknows", [*members_of(saved).items(), (info, b"x")])
    refused(path, "has no place in a model file")
    assert [file.name for file in tmp_path.iterdir()] == ["model.whoknows"]


def test_a_name_given_twice_is_refused(saved, tmp_path):
    members = [*members_of(saved).items(), ("arrays/0.npy", b"other")]
    with pytest.warns(UserWarning, match="Duplicate name"):
        write(tmp_path / "model.whoknows", members)
    refused(tmp_path / "model.whoknows", "holds arrays/0.npy twice")


def test_zip_bombs_are_refused_before_they_go_off(saved, tmp_path):
    members, path = members_of(saved), tmp_path / "bomb.whoknows"
    write(path, members | {"arrays/0.npy": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 200_000
    refused(path, r"takes more than \d+ MiB once decompressed")
    total = sum(map(len, members.values()))
    refused(saved, "takes more than 1000 bytes once decompressed or parsed, which is the limit", limit=1000)
    assert load(saved, limit=total).n_features_in_ == 3
    refused(write(path, members, zipfile.ZIP_LZMA), "packs 'model.json' in an unusual way")
    refused(forge(path, members, lambda content: b" " * (archive.MOST_JSON + 1)), "a model.json of more than 64 MiB")


def test_members_that_share_their_bytes_are_refused(saved, tmp_path):
    """The bomb whose members lie over each other: each unpacks to a hundred times what they share."""
    path = tmp_path / "bomb.whoknows"
    data = np.random.default_rng(0).bytes(1_000) * 90
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("arrays/0.npy", data)
        for number in range(1, 20):
            twin = copy.copy(file.infolist()[0])
            twin.filename = f"arrays/{number}.npy"
            file.filelist.append(twin)
    refused(path, "takes more than .* once decompressed")


@pytest.mark.parametrize("declared", [5, 100, 2**31])
def test_a_size_that_is_not_true_is_refused(declared, saved, tmp_path):
    path = tmp_path / "model.whoknows"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members_of(saved).items():
            file.writestr(name, data)
        file.infolist()[0].file_size = declared  # what the table of contents will say
    refused(path, "is cut off or damaged|was damaged or changed|takes more than")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (npy(np.array([print], dtype=object), allow_pickle=True), "as Python objects, which are not loaded"),
        (npy(np.zeros(3, dtype=[("a", "f8")])), "expected numbers or text"),
        (npy(np.zeros(3, dtype=complex)), "of complex128; expected numbers or text"),
        (npy(np.zeros(3, dtype="M8[s]")), "expected numbers or text"),
        (npy(np.array([b"a"])), "expected numbers or text"),
        (npy(np.array([2**31 - 1], dtype=np.uint32)).replace(b"<u4", b"<U1"), "characters that do not exist"),
        (npy(np.zeros(3)).replace(b"(3,)", b"(9,)"), "too short for an array"),
        (b"not an array", "is not a NumPy file"),
    ],
)
def test_arrays_are_numbers_or_text(data, words, saved, tmp_path):
    refused(forge(tmp_path / "model.whoknows", members_of(saved), arrays={0: data}), words)


def with_field(place, name, value):
    def edit(content):
        content["objects"][place]["fields"][name] = value
        return content

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda content: b"no json", "a model.json that cannot be read"),
        (lambda content: b"\xff\xfe", "a model.json that cannot be read"),
        (lambda content: b"[" * 100_000, "nested deeper than any model"),
        (lambda content: [], "is not a model file"),
        (lambda content: content | {"objects": None}, "without its arrays or objects"),
        (lambda content: content | {"objects": []}, "no model"),
        (lambda content: content | {"objects": content["objects"][:-1]}, "the last object is .*, no model"),
        (lambda content: content | {"objects": [{"class": "os.system", "fields": {}}]}, "'os.system' is no class"),
        (lambda content: content | {"objects": [{"class": ["x"], "fields": {}}]}, "does not make sense"),
        (lambda content: content | {"objects": [{"class": "CrowdClassifier", "fields": {}}]}, "lacks '_pair'"),
        (lambda content: content | {"objects": [{"class": "Belief", "fields": {}}]}, "Belief.*missing.*'mean'"),
        (lambda content: content | {"objects": [{"class": "Belief", "fields": {"x": 1}}]}, "no place for 'x'"),
        (with_field(-1, "predict", None), "CrowdClassifier has no place for 'predict'"),
        (with_field(-1, "__class__", None), "CrowdClassifier has no place for '__class__'"),
        (with_field(-1, "x", {"object": 10**6}), "1000000 refers to nothing"),
        (with_field(0, "x", {"object": 0}), "0 refers to nothing"),
        (with_field(-1, "x", {"array": -1}), "-1 refers to nothing"),
        (with_field(-1, "x", {"call": "print"}), "'call' is no kind of value"),
        (with_field(-1, "x", {"_class__": []}), "'_class__' is no kind of value"),
        (with_field(-1, "x", {"numpy": ["object", 1]}), "'object' is no kind of number"),
        (with_field(-1, "x", {"numpy": ["int8", 1000]}), "does not make sense"),
        (with_field(-1, "x", {"tuple": 1, "ids": []}), "does not make sense"),
        (with_field(-1, "x", {"turned": [0, [7, 9]]}), "does not make sense"),
    ],
)
def test_json_that_is_no_model_is_refused(edit, words, saved, tmp_path):
    refused(forge(tmp_path / "model.whoknows", members_of(saved), edit), words)


@pytest.mark.parametrize("name", ["engine", "device"])
@pytest.mark.parametrize("value", ["tcp://127.0.0.1:1", None])
def test_a_file_cannot_say_where_to_connect(name, value, saved, tmp_path):
    path = forge(tmp_path / "model.whoknows", members_of(saved), with_field(-1, name, value))
    refused(path, f"CrowdClassifier has no place for '{name}'")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("truth", {"object": 0}, "no place for .* as 'truth'"),
        ("map", 3, "no place for int '3' as 'map'"),
        ("max_iter", "many", "no place for str 'many' as 'max_iter'"),
        ("tol", {"float": "nan"}, "'tol' of CrowdClassifier holds a number that is missing"),
        ("warm_start", 1, "as 'warm_start'"),
        ("random_state", [1], "as 'random_state'"),
        ("bound_history_", ["x"], "no place for 'bound_history_'"),
        ("n_features_in_", 4, "no place for 'n_features_in_'"),
        ("classes_", {"array": 0}, "does not make sense"),
        ("_training_data", None, "as '_training_data'"),
        ("_pair.solution", None, "does not make sense"),
    ],
)
def test_fields_of_a_wrong_type_are_refused(name, value, words, saved, tmp_path):
    refused(forge(tmp_path / "model.whoknows", members_of(saved), with_field(-1, name, value)), words)


def wrong_arrays(array):
    """Arrays that no fit could have in place of this one."""
    yield "of other dimensions", array.reshape(-1) if array.ndim > 1 else array[None]
    yield "empty", array[(slice(0),) * array.ndim]
    if len(array) > 1:
        yield "too short", array[:-1]
    if array.dtype.kind == "f":
        yield "NaN", np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)
    if array.dtype == np.int32:
        yield "out of range", np.full_like(array, 2**31 - 1)


@pytest.mark.parametrize(
    "name", ["id, linear", "three classes", "ordered", "gp, linear", "anchors, gp", "id, spectral", "real"]
)
def test_wrong_arrays_are_refused_when_a_model_is_loaded(name, tmp_path):
    fitted(name).save(path := tmp_path / "model.whoknows")
    members, loaded = members_of(path), []
    for number in range(sum(member.startswith("arrays/") for member in members)):
        array = np.load(io.BytesIO(members[f"arrays/{number}.npy"]))
        for what, wrong in wrong_arrays(array) if array.size else ():
            forge(path, members, arrays={number: npy(wrong)})
            with suppress(FileError):
                load(path)
                loaded.append((number, array.shape, what))
    assert loaded == []


def test_variances_of_zero_and_unknown_solvers_are_refused(tmp_path):
    """They load, and a question that nothing asks at load would have no answer."""
    fitted("gp, linear").save(path := tmp_path / "model.whoknows")
    members = members_of(path)
    objects = json.loads(members["model.json"])["objects"]
    place = next(i for i, plain in enumerate(objects) if plain["class"] == "GaussianPosterior")
    number = objects[place]["fields"]["variance"]["array"]
    refused(forge(path, members, arrays={number: npy(np.zeros(60))}), "'variance' .* not above 0")
    refused(forge(path, members, arrays={number: npy(np.full(60, 2.0**62))}), "a variance that is too large")
    field = next(i for i, plain in enumerate(objects) if plain["class"] == "GraphTruth")
    refused(forge(path, members, with_field(field, "_field", None)), "GraphTruth was not prepared")
    place = next(i for i, plain in enumerate(objects) if plain["class"] == "Solution")
    refused(forge(path, members, with_field(place, "solver", "newton")), "a solver that is not known")


def test_the_state_of_a_real_valued_truth_follows_from_its_items_and_labels(tmp_path):
    """Numbers of the right shape, but of no fit, would make an answer singular or infinite."""
    fitted("real").save(path := tmp_path / "model.whoknows")
    members = members_of(path)
    objects = json.loads(members["model.json"])["objects"]
    of_state = ("LinearBelief", "QuadraticEvidence", "csr_array")
    values = [each for plain in objects if plain["class"] in of_state for each in plain["fields"].items()]
    numbers = {value["array"]: name for name, value in values if isinstance(value, dict) and "array" in value}
    loaded = []
    for number, name in numbers.items():
        array = np.load(io.BytesIO(members[f"arrays/{number}.npy"]))
        forge(path, members, arrays={number: npy(2 * array[::-1] + 1)})
        with suppress(FileError):
            load(path)
            loaded.append(name)
    assert loaded == ["constant"]  # the only one that no answer depends on
    place = next(i for i, plain in enumerate(objects) if plain["class"] == "QuadraticEvidence")
    refused(forge(path, members, with_field(place, "by_annotator", None)), "biases of other annotators")


def test_arrays_that_were_swapped_are_refused(saved, tmp_path):
    members, path = members_of(saved), tmp_path / "model.whoknows"
    arrays = [members[f"arrays/{n}.npy"] for n in range(len(members) - 2)]
    shapes = [np.load(io.BytesIO(data)).shape for data in arrays]
    for first, second in zip(range(len(arrays) - 1), range(1, len(arrays)), strict=True):
        if shapes[first] != shapes[second]:
            refused(forge(path, members, arrays={first: arrays[second], second: arrays[first]}), "make sense")


def test_json_that_would_fill_the_memory_is_refused_before_it_is_parsed(saved, tmp_path):
    members, path = members_of(saved), tmp_path / "model.whoknows"
    inside = members["model.json"][:-1] + b', "x": [' + b"[]," * 3_000_000 + b"0]}"
    refused(forge(path, members, lambda content: inside), "takes more than 512 MiB once decompressed or parsed")
    refused(forge(path, members, lambda content: content | {"x": []}), "model.json with 'x', which has no place")


def test_ids_made_to_share_a_hash_are_refused(saved, tmp_path):
    """Each look-up would compare an id with all others."""
    same = {"ids": [(2**61 - 1) * number for number in range(1, 60_000)]}
    path = forge(tmp_path / "model.whoknows", members_of(saved), with_field(-1, "classes_", same))
    refused(path, "59999 ids share one hash")
    same = {"dict": [[(2**61 - 1) * number, 0] for number in range(1, 9)]}
    refused(forge(path, members_of(saved), with_field(-1, "classes_", same)), "'dict' is no kind of value")


def test_a_sparse_matrix_cannot_reach_outside_of_itself(tmp_path):
    fitted("gp, linear").save(path := tmp_path / "model.whoknows")

    def one_column(content):
        plain = next(plain for plain in content["objects"] if plain["class"] == "csr_array")
        plain["fields"]["shape"] = {"tuple": [60, 1]}
        return content

    refused(forge(path, members_of(path), one_column), "does not make sense: .*indices")

    def too_wide(content):
        plain = next(plain for plain in content["objects"] if plain["class"] == "csr_array")
        plain["fields"]["shape"] = {"tuple": [60, 2**62]}
        return content

    fitted("gp, linear").save(path)
    refused(forge(path, members_of(path), too_wide), "a sparse matrix of 60 × 4611686018427387904")


# --- whatever a file holds ---------------------------------------------------------------------------


def refused_or_the_same(path, whole):
    """Nothing but a `FileError`, or the model that was saved."""
    try:
        model = load(path)
    except FileError:
        return
    model.save(path)
    assert path.read_bytes() == whole


@settings(max_examples=100)
@given(data=st.binary() | st.binary().map(lambda data: b"PK\x03\x04" + data))
def test_any_bytes_are_refused(data, saved):
    path = saved.with_name("any.whoknows")
    path.write_bytes(data)
    refused(path, ".")


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3))
def test_any_change_of_bytes_is_refused_or_harmless(saved, changes):
    whole = saved.read_bytes()
    data = bytearray(whole)
    for place, change in changes:
        data[int(place * len(data))] ^= change
    path = saved.with_name("flipped.whoknows")
    path.write_bytes(data)
    refused_or_the_same(path, whole)


@settings(max_examples=100)
@given(st.floats(0, 1), st.floats(0, 1), st.binary(max_size=30))
def test_any_cut_is_refused_or_harmless(saved, start, stop, between):
    whole = saved.read_bytes()
    path = saved.with_name("cut.whoknows")
    path.write_bytes(whole[: int(start * len(whole))] + between + whole[int(stop * len(whole)) :])
    refused_or_the_same(path, whole)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["object", "array", "turned", "ids", "numpy", "tuple", "dict"]), inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
)


@settings(max_examples=150)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=9), JSON)
def test_any_json_is_refused_or_a_model(saved, way, value):
    """Down some way into model.json, and there anything else."""

    def edit(content):
        inside = content
        for step in way:
            keys = list(inside) if isinstance(inside, dict) else range(len(inside))
            outside, key = inside, keys[step % len(keys)]
            inside = outside[key]
            if not (isinstance(inside, dict | list) and inside):
                break
        outside[key] = value
        return content

    path = forge(saved.with_name("forged.whoknows"), members_of(saved), edit)
    with suppress(FileError):
        assert isinstance(load(path), CrowdClassifier)
