"""Data sets: rules on hand-made originals, folders of made-up numbers, downloads from a server of our own."""

import hashlib
import io
import struct
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks.common import sets
from benchmarks.common.sets import CROWDS, PAPER, class_in_last_cell, housing, load, numbers_checksum, wpbc
from whoknows.io import FileError

SET_FOLDER = r"Set WHOKNOWS_DATA to a folder that holds uci/ionosphere\.csv\."


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No folder of data, an empty cache, no proxy."""
    monkeypatch.delenv("WHOKNOWS_DATA", raising=False)
    monkeypatch.setenv("WHOKNOWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WHOKNOWS_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "uci").mkdir(parents=True)
    return tmp_path / "data"


def made_up(name):
    """X and z of the set's shape and class counts."""
    (n_items, n_features), counts, _ = sets.EXPECTED[name]
    rng = np.random.default_rng(0)
    z = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rng.normal(size=(n_items, n_features)).round(5), z


def write_csv(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_paper(folder, name, X, z):
    write_csv(folder / "uci" / f"{name}.csv", {**{f"x{i}": column for i, column in enumerate(X.T)}, "target": z})


def said_by(name, **more):
    """Columns of annotations.csv: every annotator has a label, no pair twice, as many as expected."""
    (n_items, _), _, (n_annotators, n_labels) = sets.EXPECTED[name]
    everyone = np.arange(n_annotators) % n_items * n_annotators + np.arange(n_annotators)
    others = np.setdiff1d(np.arange(n_items * n_annotators), everyone)[: n_labels - n_annotators]
    item, annotator = np.divmod(np.sort([*everyone, *others]), n_annotators)
    columns = {"item": [f"i{n}" for n in item], "annotator": [f"w{n}" for n in annotator]}
    return {**columns, "label": (item + annotator) % 2, **{name: value(item) for name, value in more.items()}}


def ids(name):
    return [f"i{n}" for n in range(sets.EXPECTED[name][0][0])]


# --- the paper's sets -----------------------------------------------------------------------------------


def test_seven_sets_of_the_paper_and_nine_crowds():
    assert {name: sets.EXPECTED[name][0] for name in PAPER} == {
        "ionosphere": (351, 34), "dim": (4192, 14), "housing": (506, 13), "pima": (768, 8), "bupa": (345, 6),
        "wpbc24": (155, 32), "wpbc60": (110, 32),
    }  # fmt: skip
    assert all(sum(sets.EXPECTED[name][1]) == sets.EXPECTED[name][0][0] for name in PAPER)
    assert len(CROWDS) == 9
    assert sets._SHA256.keys() == sets.EXPECTED.keys() == {*PAPER, *CROWDS}
    for name, (_, _, features) in sets._SOURCES.items():
        assert len(features) == sets.EXPECTED[name][0][1]


@pytest.mark.parametrize("name", PAPER)
def test_a_table_of_the_right_shape_and_counts_is_read(name, folder):
    X, z = made_up(name)
    write_paper(folder, name, X, z)
    data = load(name, checksum=False)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.z, z)
    assert data.z.dtype.kind == "i"
    assert data.features == tuple(f"x{i}" for i in range(X.shape[1]))
    assert data.annotations is data.text is None
    assert repr(data) == f"DataSet({name!r}, {len(X)} items, {X.shape[1]} features, 2 classes, no annotations)"


def test_other_numbers_are_refused_by_their_checksum(folder):
    X, z = made_up("bupa")
    write_paper(folder, "bupa", X, z)
    with pytest.raises(ValueError, match="as checksum of its numbers, got ") as refused:
        load("bupa")
    for part in (str(folder / "uci" / "bupa.csv"), sets._SHA256["bupa"], numbers_checksum([X, z])):
        assert part in str(refused.value)


def test_the_checksum_of_the_right_numbers_is_accepted(folder, monkeypatch):
    X, z = made_up("bupa")
    write_paper(folder, "bupa", X, z)
    monkeypatch.setitem(sets._SHA256, "bupa", numbers_checksum([X, z]))
    assert np.array_equal(load("bupa").X, X)


@pytest.mark.parametrize(("change", "message"), [
    (lambda X, z: (X[1:], z[1:]), r"expected \(345, 6\) items and features, got \(344, 6\)\. This is not"),
    (lambda X, z: (X[:, 1:], z), r"expected \(345, 6\) items and features, got \(345, 5\)"),
    (lambda X, z: (X, 1 - z), r"expected \(200, 145\) items of each class, got \(145, 200\)"),
    (lambda X, z: (X, z * 0), r"expected \(200, 145\) items of each class, got \(345,\)"),
    (lambda X, z: (np.where(np.isin(X, X[3, 1]), "?", X), z), "expected numbers in the column 'x1', got"),
])  # fmt: skip
def test_what_is_wrong_with_a_table_is_said_with_its_name(change, message, folder):
    write_paper(folder, "bupa", *change(*made_up("bupa")))
    with pytest.raises(ValueError, match=rf"bupa\.csv: {message}"):
        load("bupa", checksum=False)


@pytest.mark.parametrize(("text", "message"), [
    ("a,b,target\n1,2,0\n1,2\n", "expected 3 cells in row 2, got 2"),
    ("a,b,c\n1,2,0\n", "expected the columns 'target', got 'a', 'b', 'c'"),
    ("", "expected the columns 'target', got none"),
    ("target\n0\n1\n", "expected columns of features besides 'target', got none"),
])  # fmt: skip
def test_a_table_that_is_none_is_named(text, message, folder):
    (folder / "uci" / "pima.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"pima\.csv: .*{message}"):
        load("pima")


def test_names_and_folders_that_do_not_exist_are_said(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"one of the data sets 'ionosphere', 'dim', .*; got 'iris'"):
        load("iris")
    monkeypatch.setenv("WHOKNOWS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"WHOKNOWS_DATA must name a folder; there is none at .*nowhere"):
        load("pima")


@pytest.mark.parametrize(("name", "file"), [("dim", r"uci/dim\.csv"), ("labelme", "crowd/labelme")])
def test_a_set_without_a_source_says_in_one_line_what_to_set(name, file, folder):
    with pytest.raises(FileNotFoundError, match=f"Set WHOKNOWS_DATA to a folder that holds {file}") as refused:
        load(name)
    assert "\n" not in str(refused.value)


# --- crowds ---------------------------------------------------------------------------------------------


def test_a_crowd_without_features(folder):
    where = folder / "crowd" / "bluebirds"
    _, z = made_up("bluebirds")
    write_csv(where / "annotations.csv", said_by("bluebirds"))
    write_csv(where / "items.csv", {"item": ids("bluebirds")})
    write_csv(where / "truth.csv", {"item": ids("bluebirds")[::-1], "label": z[::-1]})
    data = load("bluebirds", checksum=False)
    assert data.X is None
    assert data.shape == (108, 0)
    assert np.array_equal(data.z, z)
    assert data.annotations.shape == (108, 39)
    assert data.annotations.items.tolist() == ids("bluebirds")
    assert data.annotations.to_matrix()[3, 2] == 1
    with pytest.raises(ValueError, match=r"crowd/bluebirds: expected 64b5\w+ as checksum of its numbers, got"):
        load("bluebirds")


def test_truth_may_be_known_of_some_items_only(folder, monkeypatch):
    where = folder / "crowd" / "bluebirds"
    monkeypatch.setitem(sets.EXPECTED, "bluebirds", ((108, 0), (1, 2), (39, 4212)))
    write_csv(where / "annotations.csv", said_by("bluebirds"))
    write_csv(where / "items.csv", {"item": ids("bluebirds")})
    write_csv(where / "truth.csv", {"item": ["i7", "i2", "i5"], "label": [1, 0, 1]})
    data = load("bluebirds", checksum=False)
    assert np.flatnonzero(~np.isnan(data.z)).tolist() == [2, 5, 7]
    assert data.z[[2, 5, 7]].tolist() == [0, 1, 1]
    assert "2 classes" in repr(data)


def test_a_crowd_with_embeddings_several_labels_and_text_in_two_columns(folder):
    where = folder / "crowd" / "convabuse"
    X, _ = made_up("convabuse")
    turns = {"split": ["train"] * 4050, "text": ["so, you"] * 4050, "agent": ["hello\nthere"] * 4050}
    write_csv(where / "annotations.csv", said_by("convabuse", severity=lambda item: item % 5 - 3))
    write_csv(where / "items.csv", {"item": ids("convabuse"), **turns})
    np.save(where / "embeddings.npy", X.astype(np.float32))
    data = load("convabuse", checksum=False)
    assert np.array_equal(data.X, X.astype(np.float32))
    assert data.X.dtype == float
    assert data.z is None
    assert data.features[:2] == ("e0", "e1")
    assert data.text[0] == "hello\nthere\nso, you"
    assert {name: column[-1] for name, column in data.columns.items()} == {k: v[0] for k, v in turns.items()}
    assert data.annotations.labels.tolist() == [0, 1]
    assert load("convabuse", label="severity", checksum=False).annotations.labels.tolist() == [-3, -2, -1, 0, 1]
    with pytest.raises(ValueError, match="label= must be one of the columns 'label', 'severity'; got 'rating'"):
        load("convabuse", label="rating", checksum=False)
    np.save(where / "embeddings.npy", X[1:])
    with pytest.raises(ValueError, match=r"embeddings\.npy: expected 4050 rows, one per item, got shape \(4049, 384\)"):
        load("convabuse", checksum=False)


def test_columns_of_numbers_are_features_and_others_are_not(folder):
    where = folder / "crowd" / "colposcopy_green"
    X, z = made_up("colposcopy_green")
    write_csv(where / "annotations.csv", said_by("colposcopy_green"))
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    write_csv(where / "items.csv", {"item": ids("colposcopy_green"), "note": ["7"] * 97 + [""], **columns})
    write_csv(where / "truth.csv", {"item": ids("colposcopy_green"), "label": z})
    data = load("colposcopy_green", checksum=False)
    assert np.array_equal(data.X, X)
    assert data.features == tuple(columns)
    assert list(data.columns) == ["note"]
    assert data.text is None


def test_a_crowd_without_its_annotations_is_not_complete(folder):
    write_csv(folder / "crowd" / "bluebirds" / "items.csv", {"item": ids("bluebirds")})
    with pytest.raises(FileNotFoundError, match=r"Expected the file .*annotations\.csv, .* not complete"):
        load("bluebirds")


def test_items_in_parquet_and_what_to_install_for_it(folder, monkeypatch):
    where = folder / "crowd" / "labelme"
    X, z = made_up("labelme")
    write_csv(where / "annotations.csv", said_by("labelme"))
    write_csv(where / "truth.csv", {"item": ids("labelme"), "label": z})
    with pytest.raises(FileNotFoundError, match=r"Expected items\.csv or items\.parquet in .*labelme; found neither"):
        load("labelme")
    columns = {f"vgg{place}": column for place, column in enumerate(X.T)}
    table = pa.table({"item": ids("labelme"), "split": ["train"] * 2688, **columns})
    parquet.write_table(table, where / "items.parquet")
    data = load("labelme", checksum=False)
    assert np.array_equal(data.X, X)
    assert set(data.columns["split"]) == {"train"}
    assert data.annotations.shape == (2688, 59)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"items\.parquet needs pyarrow\. Run: pip install 'whoknows\[io\]'"):
        load("labelme")


def test_an_annotation_of_no_item_is_named(folder):
    where = folder / "crowd" / "bluebirds"
    write_csv(where / "annotations.csv", {"item": ["ghost"], "annotator": ["w"], "label": [1]})
    write_csv(where / "items.csv", {"item": ids("bluebirds")})
    with pytest.raises(ValueError, match="crowd/bluebirds: One item is not among the known items: 'ghost'"):
        load("bluebirds")
    write_csv(where / "annotations.csv", {"item": ["i1"], "annotator": ["w"], "label": [1]})
    with pytest.raises(ValueError, match=r"expected \(60, 48\) items of each class, got \(\)"):
        load("bluebirds")


# --- checksum -------------------------------------------------------------------------------------------


def test_checksum_is_sha256_of_shape_and_rounded_doubles():
    expected = hashlib.sha256(b"(2, 1)" + struct.pack("<2d", 0.25, 0.0) + b"(1,)" + struct.pack("<d", 3))
    for zero in (0.0, -0.0, 4e-10, -4e-10):
        assert numbers_checksum([np.array([[0.25], [zero]]), np.array([3])]) == expected.hexdigest()
    assert numbers_checksum([np.array([[0.25], [1e-8]]), np.array([3])]) != expected.hexdigest()
    assert numbers_checksum([np.array([[0.25, 0]]), np.array([3])]) != expected.hexdigest()


# --- the rules ------------------------------------------------------------------------------------------


def test_the_class_in_the_last_cell():
    X, z = class_in_last_cell("1,0,0.99539,g\r\n0, 0,-0.5,b\r\n\r\n", width=4, positive="g")
    assert X.tolist() == [[1, 0, 0.99539], [0, 0, -0.5]]
    assert z.tolist() == [1, 0]
    bupa = class_in_last_cell("85,92,45,27,31,0.0,1\n85,64,59,32,23,0.0,2\n", width=7, positive="1")
    assert bupa[0].tolist() == [[85, 92, 45, 27, 31, 0], [85, 64, 59, 32, 23, 0]]
    assert bupa[1].tolist() == [1, 0]


def test_housing_spreads_an_item_over_two_lines_after_some_prose():
    prose = " The Boston house-price data of 1978.\n\n Variables in order:\n CRIM     per capita crime rate\n\n"
    items = [[0.1 * k, 18, 2.3, 0, 0.5, 6.6, 65.2, 4.1, 1, 296, 15.3, 396.9, 5] for k in range(3)]
    medv = [21.4, 21.5, 50]
    lines = [f" {' '.join(map(str, x[:11]))}\n  {x[11]:.2f}   {x[12]}  {m}\n" for x, m in zip(items, medv, strict=True)]
    X, z = housing(prose + "".join(lines))
    assert X.tolist() == items
    assert z.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="expected 14 numbers per item, got 39 in total"):
        housing(prose + "".join(lines)[: -len("  396.90   5  50\n")] + "\n")
    with pytest.raises(ValueError, match="expected 14 numbers per item, got 0 in total"):
        housing("<html>not found</html>")


@pytest.mark.parametrize(("months", "kept"), [
    (24, {1: 1, 2: 1, 3: 0, 4: 0, 6: 0, 7: 0}),  # 24 counts as «at or before»; 5 was lost at 24, 8 is unknown
    (60, {1: 1, 2: 1, 3: 1, 4: 0, 7: 0}),  # 4 recurred at 70: free of it at 60; 6 was lost at 60
])  # fmt: skip
def test_wpbc_recurrence_within_so_many_months(months, kept):
    cases = [(1, "R", 5), (2, "R", 24), (3, "R", 25), (4, "R", 70), (5, "N", 24), (6, "N", 60), (7, "N", 61)]
    lines = [f"{90 + case},{outcome},{time},{case}{',0.5' * 30},2" for case, outcome, time in cases]
    lines.append("98,R,5,8" + ",0.5" * 30 + ",?")
    X, z = wpbc("\n".join(lines), months)
    assert X.shape == (len(kept), 32)
    assert dict(zip(X[:, 0].tolist(), z.tolist(), strict=True)) == kept
    assert X[0].tolist() == [1, *[0.5] * 30, 2]


@pytest.mark.parametrize("rule", [
    lambda text: class_in_last_cell(text, 35, "g"), lambda text: wpbc(text, 24)
])  # fmt: skip
def test_lines_of_another_width_are_counted(rule):
    with pytest.raises(ValueError, match="expected 35 cells in line 2, got 1"):
        rule(",".join(["1"] * 35) + "\n<html>")
    with pytest.raises(ValueError, match="expected lines of data, got none"):
        rule("\n")


# --- downloads ------------------------------------------------------------------------------------------


@contextmanager
def serving(content, *, status=200, promised=None):
    """A server that gives the content to whoever asks; yields its URL and the paths asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(promised or len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/file", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def ionosphere(monkeypatch):
    """An original of made-up numbers, taken for the true one: its content, and a way to say where it is."""
    X, z = made_up("ionosphere")
    monkeypatch.setitem(sets._SHA256, "ionosphere", numbers_checksum([X, z]))
    lines = [",".join([*map(str, row), "bg"[label]]) for row, label in zip(X, z, strict=True)]

    def at(url):
        monkeypatch.setitem(sets._SOURCES, "ionosphere", (url, *sets._SOURCES["ionosphere"][1:]))

    return "\n".join(lines).encode(), at


def kept(tmp_path):
    return [path.relative_to(tmp_path).as_posix() for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_download_is_made_once_and_then_read_from_the_cache(ionosphere, tmp_path, capsys):
    content, at = ionosphere
    with serving(content) as (url, asked):
        at(url)
        first, second = load("ionosphere"), load("ionosphere")
    third = load("ionosphere")  # the server is gone
    X, z = made_up("ionosphere")
    for data in (first, second, third):
        assert np.array_equal(data.X, X)
        assert np.array_equal(data.z, z)
        assert data.features[-1] == "x34"
    assert asked == ["/file"]
    assert kept(tmp_path) == ["cache/uci/ionosphere.csv"]
    assert capsys.readouterr() == ("", "")  # no terminal, no progress


def test_the_folder_goes_before_the_cache(ionosphere, folder):
    content, at = ionosphere
    with serving(content) as (url, _):
        at(url)
        assert load("ionosphere").features[0] == "x1"
    write_paper(folder, "ionosphere", *made_up("ionosphere"))
    assert load("ionosphere").features[0] == "x0"


def test_a_folder_without_the_set_does_not_hinder_the_download(ionosphere, folder):
    content, at = ionosphere
    with serving(content) as (url, asked):
        at(url)
        assert load("ionosphere").shape == (351, 34)
    assert asked == ["/file"]


def test_progress_is_shown_on_a_terminal(ionosphere, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    content, at = ionosphere
    with serving(content) as (url, _):
        at(url)
        load("ionosphere")
    size = f"{len(content) / 1000:.0f}"
    steps = sys.stderr.getvalue().split("\r")
    assert steps[0] == ""
    assert steps[1].startswith("ionosphere: ")
    assert steps[-1] == f"ionosphere: {size} of {size} kB\n"


def test_a_download_of_other_numbers_is_not_kept(ionosphere, tmp_path):
    content, at = ionosphere
    first = content.split(b",", 1)[0]
    with serving(content.replace(first, b"9.87654", 1)) as (url, _):
        at(url)
        with pytest.raises(ValueError, match=rf"^{url}: expected \w+ as checksum .* Nothing was kept\. Set WHOKNOWS"):
            load("ionosphere")
        assert kept(tmp_path) == []
        assert load("ionosphere", checksum=False).X[0, 0] == 9.87654


@pytest.mark.parametrize(("answer", "why"), [
    ({"content": b"1,2\n", "promised": 76467}, "cut off after 4 of 76467 bytes|IncompleteRead"),
    ({"content": b"gone", "status": 404}, "HTTP Error 404: Not Found"),
])  # fmt: skip
def test_a_download_that_fails_says_in_one_line_why_and_what_to_set(answer, why, ionosphere, tmp_path):
    _, at = ionosphere
    with serving(**answer) as (url, _):
        at(url)
        line = rf"^Could not download ionosphere from {url} \(.*({why}).*\)\. {SET_FOLDER}$"
        with pytest.raises(ConnectionError, match=line):
            load("ionosphere")
    assert kept(tmp_path) == []


def test_without_a_network_one_line_says_what_to_set(ionosphere, tmp_path):
    _, at = ionosphere
    with serving(b"") as (url, _):
        at(url)
    with pytest.raises(ConnectionError, match=rf"^Could not download ionosphere from {url} \(.*\)\. {SET_FOLDER}$"):
        load("ionosphere")
    assert kept(tmp_path) == []


def test_a_page_instead_of_the_file_is_not_kept(ionosphere, tmp_path):
    _, at = ionosphere
    with serving(b"<html>Please log in</html>") as (url, _):
        at(url)
        with pytest.raises(ValueError, match=rf"{url}: expected 35 cells in line 1, got 1\. Nothing was kept\. Set"):
            load("ionosphere")
    assert kept(tmp_path) == []


def test_a_cached_table_that_was_changed_is_named(ionosphere, tmp_path):
    content, at = ionosphere
    with serving(content) as (url, _):
        at(url)
        load("ionosphere")
    path = tmp_path / "cache" / "uci" / "ionosphere.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(ValueError, match=r"ionosphere\.csv: expected \(351, 34\) items and features, got \(350, 34\)"):
        load("ionosphere")


def test_a_write_that_breaks_off_leaves_nothing(ionosphere, tmp_path, monkeypatch):
    def half(path, X, **options):
        Path(path).write_text("x1,x2")
        raise OSError("disk full")

    content, at = ionosphere
    monkeypatch.setattr(np, "savetxt", half)
    with serving(content) as (url, _):
        at(url)
        with pytest.raises(FileError, match="disk full"):
            load("ionosphere")
    assert kept(tmp_path) == []


@pytest.mark.parametrize("name", sets._SOURCES)
def test_every_original_becomes_a_table_of_its_shape(name, tmp_path, monkeypatch):
    X, z = made_up(name)
    months = 60 if name == "wpbc60" else 24
    cells = {
        "ionosphere": lambda x, c: ",".join([*x, "bg"[c]]),
        "housing": lambda x, c: " ".join(x[:11]) + "\n" + " ".join([*x[11:], "21.5" if c else "21.4"]),
        "pima": lambda x, c: ",".join([*x, str(c)]),
        "bupa": lambda x, c: ",".join([*x, "21"[c]]),
    }.get(name, lambda x, c: ",".join(["842", "NR"[c], str(months + 1 - c), *x]))
    text = "\n".join(cells(list(map(str, x)), c) for x, c in zip(X, z, strict=True))
    with serving(text.encode()) as (url, _):
        monkeypatch.setitem(sets._SOURCES, name, (url, *sets._SOURCES[name][1:]))
        data = load(name, checksum=False)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.z, z)
    assert data.features == tuple(sets._SOURCES[name][2])


@pytest.mark.parametrize(("system", "place"), [
    ("Linux", "home/.cache/whoknows"),
    ("Darwin", "home/Library/Caches/whoknows"),
    ("Windows", "local/whoknows"),
])  # fmt: skip
def test_downloads_lie_where_the_system_keeps_caches(system, place, tmp_path, monkeypatch):
    for name in ("WHOKNOWS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr("platform.system", lambda: system)
    assert sets._cache() == tmp_path / place
    monkeypatch.setenv("WHOKNOWS_CACHE", "~/mine")
    assert sets._cache() == tmp_path / "home" / "mine"
