"""Features made of texts, and made alike of other texts."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from whoknows.io import FileError
from whoknows.io.texts import TextFeatures, read_texts

TEXTS = {f"t{i}": " ".join((["cat", "dog", "fish"][i % 3], ["red", "blue"][i % 2], f"word{i % 7}")) for i in range(40)}


# --- reading --------------------------------------------------------------------------------------------


def test_texts_are_read_from_a_table(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('item,text,words\n1,"a, b",x\n2,,y\n', "utf-8")
    assert read_texts(path) == {1: "a, b", 2: ""}
    assert read_texts(path, "words") == {1: "x", 2: "y"}
    assert read_texts(path, "item", "words") == {"x": "1", "y": "2"}
    with pytest.raises(FileError, match=r"no column for the text 'txt'. Did you mean 'text'\?"):
        read_texts(path, "txt")


def test_a_table_without_items_is_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("item,text\n,hello\n", "utf-8")
    with pytest.raises(FileError, match=r"holds no texts"):
        read_texts(path)


# --- making ---------------------------------------------------------------------------------------------


def test_texts_become_features_the_same_each_time():
    found = TextFeatures.of(TEXTS, n=5).transform(TEXTS)
    assert (found.X.shape, found.ids.tolist(), found.notes) == ((40, 5), list(TEXTS), ())
    assert found.names == ("text_0", "text_1", "text_2", "text_3", "text_4")
    np.testing.assert_array_equal(found.X, TextFeatures.of(TEXTS, n=5).transform(TEXTS).X)
    similar, other = np.linalg.norm(found.X[0] - found.X[6]), np.linalg.norm(found.X[0] - found.X[1])
    assert similar < other


def test_features_are_tf_idf_and_its_largest_directions():
    texts = {i: text for i, text in enumerate([*TEXTS.values()] * 3)}
    texts[120] = "unique red cat"
    weights = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts.values())
    expected = TruncatedSVD(7, random_state=0).fit_transform(weights)
    made = TextFeatures.of(texts, n=7)
    assert "unique" not in made.terms
    np.testing.assert_allclose(made.transform(texts).X, expected, atol=1e-6)


def test_a_text_has_the_same_features_whichever_others_come_with_it():
    made = TextFeatures.of(TEXTS)
    together = made.transform(TEXTS).X
    alone = [made.transform({item: text}).X[0] for item, text in TEXTS.items()]
    np.testing.assert_array_equal(together, alone)


def test_texts_without_a_known_word_are_zeros_and_counted():
    found = TextFeatures.of(TEXTS).transform({"a": "a bird", "b": "a red bird", "c": "", "d": "¿?"})
    assert found.notes == ("3 of 4 texts hold no known word, so their features are 0: 'a', 'c', 'd'",)
    np.testing.assert_array_equal(np.any(found.X, axis=1), [False, True, False, False])


@pytest.mark.parametrize("texts", [
    {1: "one word", 2: "two words"}, {1: "same", 2: "same"}, {1: "alone"},
    {1: "", 2: "not empty", 3: "日本語のテキスト"},
    {i: "same text" for i in range(120)},
], ids=len)  # fmt: skip
def test_few_and_equal_texts_work(texts):
    found = TextFeatures.of(texts).transform(texts)
    assert len(found.X) == len(texts)
    assert found.X.shape[1] >= 1
    assert np.isfinite(found.X).all()
    assert np.any(found.X)


def test_of_too_many_words_the_most_frequent_are_kept(monkeypatch):
    monkeypatch.setattr("whoknows.io.texts.MOST_TERMS", 2)
    assert TextFeatures.of(TEXTS).terms == ("blue", "red")


def test_there_are_no_more_features_than_texts_vary_in():
    """A direction of rounding errors alone would make a new text enormous once columns are standardised."""
    texts = {i: "a small cat purrs" if i % 2 else "a fast engine" for i in range(20)}
    made = TextFeatures.of(texts)
    assert made.transform(texts).X.shape == (20, 2)
    assert np.abs(made.transform({1: "a new engine for a big cat"}).X).max() < 1


def test_texts_without_words_are_refused():
    with pytest.raises(ValueError, match=r"Expected texts with words in them, got '', '\?'"):
        TextFeatures.of({1: "", 2: "?"})
    with pytest.raises(ValueError, match=r"Expected texts of one item or more, got none"):
        TextFeatures.of(TEXTS).transform({})


# --- files ----------------------------------------------------------------------------------------------


def test_features_are_the_same_after_the_round_trip_and_in_another_process(tmp_path):
    texts = {**TEXTS, "more": "日本語 façade"}
    path = tmp_path / "text.npz"
    made = TextFeatures.of(texts)
    made.save(path)
    again = TextFeatures.load(path)
    assert again.terms == made.terms
    np.testing.assert_array_equal(again.transform(texts).X, made.transform(texts).X)
    code = (
        "import sys\nfrom whoknows.io.texts import TextFeatures\n"
        "X = TextFeatures.load(sys.argv[1]).transform({1: 'a red cat'}).X\nprint(X.tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == made.transform({1: "a red cat"}).X.tobytes().hex()
    assert os.listdir(tmp_path) == ["text.npz"]


def arrays_of(made):
    lines = np.frombuffer("\n".join(made.terms).encode(), dtype=np.uint8)
    return {"terms": lines, "idf": made.idf, "components": made.components}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: {"components": a["components"][:, 1:]}, "is not valid: .* components of shape"),
        (lambda a: {"components": a["components"][:0]}, "is not valid"),
        (lambda a: {"components": np.float32(1)}, "is not valid"),
        (lambda a: {"components": a["components"] * np.nan}, "is not valid"),
        (lambda a: {"components": a["components"].astype(str)}, "is not valid"),
        (lambda a: {"components": a["components"].astype(object)}, "Python objects, which are not loaded"),
        (lambda a: {"idf": a["idf"][:-1]}, "is not valid: .* idf of shape"),
        (lambda a: {"idf": np.full_like(a["idf"], np.inf)}, "is not valid"),
        (lambda a: {"terms": np.array(["cat", "dog"])}, "terms are not distinct lines of UTF-8"),
        (lambda a: {"terms": np.frombuffer(b"\xff\xfe", np.uint8)}, "not distinct lines of UTF-8"),
        (lambda a: {"terms": np.frombuffer(b"cat\ncat", np.uint8)}, "not distinct lines of UTF-8"),
    ],
    ids=[f"{array}-{n}" for array, n in (("components", 6), ("idf", 2), ("terms", 3)) for n in range(n)],
)
def test_files_that_make_no_sense_are_refused(change, words, tmp_path):
    path = tmp_path / "text.npz"
    arrays = arrays_of(TextFeatures.of(TEXTS))
    np.savez(path, **(arrays | change(arrays)), allow_pickle=True)
    with pytest.raises(FileError, match=f"text.npz: .*{words}"):
        TextFeatures.load(path)


def test_files_that_are_something_else_are_refused(tmp_path):
    path = tmp_path / "text.npz"
    TextFeatures.of(TEXTS).save(path)
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    for data, words in (
        (b"", "is empty"),
        (b"item,text\n", "is not a file of text features"),
        (whole[: len(whole) // 2], "cannot be unpacked"),
        (bytes(changed), "cannot be unpacked"),
    ):
        path.write_bytes(data)
        with pytest.raises(FileError, match=words):
            TextFeatures.load(path)
    np.savez(path, X=np.ones((2, 2)))
    with pytest.raises(FileError, match=r"has no array 'terms'\. There are 'X'"):
        TextFeatures.load(path)
    with pytest.raises(FileError, match="there is no such file"):
        TextFeatures.load(tmp_path / "none.npz")
