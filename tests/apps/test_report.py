"""The report: one file, readable without script, safe with any text."""

import base64
import gzip
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.insight.summary_worlds import KINDS, fitted, split_crowd, summary_of
from whoknows import BernoulliAnnotators, CrowdClassifier
from whoknows.apps.report import page, report, write
from whoknows.insight.summary import Summary, summarize
from whoknows.insight.summary.text import percent
from whoknows.io import FileError

STORED = Path(__file__).parents[1] / "insight" / "summaries_format_1.json.gz"
HOSTILE = "<script>window.pwned = 1</script><img src=x onerror=alert(1)>\"'&"
SECTIONS = [
    "Data and model",
    "Consensus",
    "Who knows what",
    "Agreement",
    "Items to review",
    "Whom to ask next",
    "Method and citation",
]


class Reader(HTMLParser):
    """What a browser without script would find: elements, and the text of tables and headings."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.tables, self.headings = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "table":
            self.tables.append("")
        if tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert tag == self.open.pop(), f"</{tag}> closes another element"

    def handle_data(self, data):
        if "table" in self.open:
            self.tables[-1] += f"{data}|"
        if self.open and self.open[-1] == "h2":
            self.headings[-1] += data


@pytest.mark.parametrize("kind", KINDS)
def test_sections_come_in_order(kind):
    found = Reader(page(summary_of(kind)))
    assert found.headings == SECTIONS
    assert found.open == []


@pytest.mark.parametrize("kind", KINDS)
def test_tables_need_no_script(kind):
    summary = summary_of(kind)
    tables = Reader(page(summary)).tables
    assert any(all(str(name) in table for name in summary.annotators["annotator"]) for table in tables)
    assert any(str(summary.ask["questions"][0]["item"]) in table for table in tables)
    assert any(str(summary.adjudicate["least_sure"][0]["item"]) in table for table in tables)
    assert any(
        str(summary.consensus["item"][-1 if len(summary.consensus["item"]) <= 200 else 199]) in t for t in tables
    )


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_comes_from_elsewhere(kind):
    found = Reader(page(summary_of(kind)))
    for tag, attrs in found.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "action", "data"):
            assert re.match(r"#|data:image/|$", attrs.get(name) or ""), (tag, attrs)
        assert not any(name.startswith("on") for name in attrs), (tag, attrs)


def test_policy_allows_the_one_script_and_no_network():
    text = page(summary_of("classes"))
    policy = next(a["content"] for t, a in Reader(text).elements if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def hostile_summary():
    model, X, said = fitted("classes")
    n = len(X)
    said = replace(said, annotators=np.array([HOSTILE, "bruno", "chloe"]), labels=np.array(["no", HOSTILE]))
    model = CrowdClassifier().fit(X, said)
    return summarize(
        model,
        X,
        said,
        ids=[f"{HOSTILE}{i}" for i in range(n)],
        features=[HOSTILE, "</style>"],
        text=[HOSTILE] * n,
        images=["javascript:alert(1)", "data:image/svg+xml,<svg onload=alert(1)>", f"data:image/png;base64,{HOSTILE}"]
        * (n // 3),
        notes=[HOSTILE],
    )


def test_hostile_text_is_only_text():
    text = page(hostile_summary(), title=f"{HOSTILE}</title>")
    found = Reader(text)
    assert [tag for tag, _ in found.elements].count("script") == 2  # the data and ours
    assert not any(tag == "img" for tag, _ in found.elements)
    assert found.headings == SECTIONS
    assert "<script>window" not in text
    assert "&lt;script&gt;window.pwned" in text


def test_pictures_are_shown_where_they_are_pictures():
    model, X, said = fitted("classes")
    picture = "data:image/png;base64,iVBORw0KGgo="
    text = page(summarize(model, X, said, images=[picture, "far/away.jpg"] * (len(X) // 2)))
    assert any(tag == "img" and attrs["src"] == picture for tag, attrs in Reader(text).elements)
    assert "<code>far/away.jpg</code>" in text


def test_a_report_of_20_000_items_stays_small(tmp_path):
    X, said = split_crowd(20_000)
    model = CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), "linear", tol=1e-3).fit(X, said)
    text = ["A sentence of about the length that people write about an item they were shown." * 3] * len(X)
    write(summarize(model, X, said, text=text), tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
    assert "2\u202f500 of 20\u202f000 items, drawn at random" in (tmp_path / "report.html").read_text("utf-8")


def test_a_large_crowd_is_shown_page_by_page():
    summary = summary_of("classes")
    n = 2000
    columns = {key: (column * n)[:n] for key, column in summary.annotators.items()}
    columns["annotator"] = [f"worker-{i}" for i in range(n)]
    text = page(replace(summary, annotators=columns))
    assert '<table class="ranking" data-page="25">' in text
    assert all(f"worker-{i}<" in text for i in range(n))
    assert len(text) < 3_000_000


def test_a_summary_from_a_file_gives_the_same_report():
    summary = summary_of("auto")
    assert page(Summary.from_json(summary.to_json())) == page(summary)


@pytest.mark.parametrize("kind", ["alone", "levels", "numbers"])
def test_summaries_of_earlier_versions_still_give_a_report(kind):
    """Stored by the version before the modules of summary and report were renamed."""
    stored = json.loads(gzip.decompress(STORED.read_bytes()))[kind]
    summary = Summary.from_json(json.dumps(stored))
    assert Reader(page(summary)).headings == SECTIONS
    assert summary.lines()[0] == summary_of(kind).lines()[0]
    # Since 0.2 std includes that of the biases, ordered fits approximate leave-one-out in another way, and with two
    # classes the labels of an item count once in its posterior.
    of_posterior = summary.consensus.keys() - {"item", "n_labels"}
    new = {"numbers": {"std", "overruled"}, "levels": of_posterior, "alone": of_posterior}
    for name in summary.consensus.keys() - new[kind]:
        # Of numbers, fits on two machines agree as far as the bound does.
        column = summary_of(kind).consensus[name]
        assert summary.consensus[name] == (pytest.approx(column, rel=1e-4) if name == "consensus" else column)


def test_words_fit_the_kind():
    assert "typical error" in page(summary_of("numbers"))
    assert "levels higher than the crowd" in page(summary_of("levels"))
    assert "Most frequent mistakes" in page(summary_of("many classes"))
    assert "nothing to compare" in page(summary_of("alone"))
    assert "Models that were averaged" in page(summary_of("auto"))


def test_the_map_is_described_for_expertise_too():
    summary = summary_of("alone")
    both = "Truth and expertise may be any smooth function of the features."
    for own, is_said in (("None", True), ("clusters", False)):
        settings = summary.given["settings"] | {"map": "rbf", "annotator_map": own}
        given = summary.given | {"settings": settings, "chosen": []}
        assert (both in page(replace(summary, given=given))) == is_said


def test_warnings_stand_out_and_notes_do_not():
    summary = summary_of("classes")
    given = summary.given | {"warnings": [], "notes": ["labels.csv: 3 rows were left out"]}
    text = page(replace(summary, given=given))
    assert '<aside class="warn">' not in text
    assert re.search("<summary>How the files were read</summary><ul><li>labels.csv: 3 rows", text)
    text = page(replace(summary, given=given | {"warnings": ["mind the gap"], "notes": []}))
    assert re.search('<aside class="warn">(?:(?!</aside>).)*mind the gap', text)
    assert "How the files were read" not in text


def test_members_are_distinguished_by_their_accuracies():
    (table,) = (table for table in Reader(page(summary_of("auto"))).tables if "prior variance" in table)
    assert "varies with x|one|" in table
    assert "varies with x|one for each class|" in table


def test_accuracies_that_are_alike_are_not_shown():
    summary = summary_of("auto")
    members = summary.given["members"]
    alike = members | {"coins": ["one for each class"] * len(members["coins"])}
    text = page(replace(summary, given=summary.given | {"members": alike}))
    assert "one for each class" in page(summary)
    assert "one for each class" not in text
    assert re.search('<th class="num" scope="col">held-out score</th>', text)


def test_features_made_of_texts_are_not_named():
    model, X, said = fitted("classes")
    text = page(summarize(model, X, said, features=["text_0", "text_7"], text=["no word"] * len(X)))
    assert not re.search(r"text_\d", text)
    assert "Left to right: the main difference between the items (" in text
    assert re.search(r"<b>Strong</b> on items such as \d+, \d+, \d+: ", text)
    assert "<summary>Examples</summary>" in text


# --- the file --------------------------------------------------------------------------------------


def test_half_characters_do_no_harm(tmp_path):
    write(summary_of("alone"), tmp_path / "r.html", title="half \ud800 a character")
    assert "half ? a character" in (tmp_path / "r.html").read_text("utf-8")


def test_the_old_report_stays_if_the_new_one_fails(tmp_path):
    write(summary_of("alone"), tmp_path / "r.html", title="old")
    broken = replace(summary_of("alone"), annotators={})
    with pytest.raises(KeyError):
        write(broken, tmp_path / "r.html")
    assert "<h1>old</h1>" in (tmp_path / "r.html").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        write(summary_of("alone"), tmp_path / "nowhere" / "r.html")


# --- names and numbers -----------------------------------------------------------------------------


def test_the_page_has_a_title_and_the_day_of_the_fit():
    summary = summary_of("classes")
    text = page(replace(summary, method=summary.method | {"date": "2026-11-07"}), title="Round 2")
    assert "<title>Round 2</title>" in text
    assert '<h1>Round 2</h1><p class="note">7 November 2026</p>' in text


def test_characters_that_reverse_text_are_shown_by_their_codes():
    summary = summary_of("classes")
    columns = summary.annotators | {"annotator": ["anna", "\u202egpj.exe", "\u2067chloe"]}
    text = page(replace(summary, annotators=columns), title="\u202edetrevni")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
    assert "<bdi" in text
    assert "\\u202egpj.exe</bdi>" in text
    assert "<h1>\\u202edetrevni</h1>" in text


@pytest.mark.parametrize("share", [0.705, 0.70496, 0.5, 0.005, 0.995, 0.00499, 1 / 3, 1.0, 0.0])
def test_a_percentage_is_the_same_from_four_decimals_as_from_all(share):
    """The script of the page knows four decimals; Python knows all of them."""
    assert percent(share) == percent(round(share, 4)) == f"{math.floor(100 * round(share, 4) + 0.5)}%"


def test_data_of_the_script_hold_every_item_and_label():
    (model, X, said), summary = fitted("classes"), summary_of("classes")
    text = re.search(r'id="data">(.*?)</script>', page(summary), re.DOTALL)[1]
    items = json.loads(text)["items"]
    assert items["id"] == summary.consensus["item"]
    starts = np.cumsum([0, *items["n_labels"]])
    for i in range(len(X)):
        mine = slice(starts[i], starts[i + 1])
        shown = {
            (items["annotators"][t], items["labels"][k])
            for t, k in zip(items["annotator"][mine], items["label"][mine], strict=True)
        }
        at = np.flatnonzero(said.item == i)
        assert shown == {(said.annotators[said.annotator[a]], said.labels[said.label[a]]) for a in at}
    skill = model.expertise(X)
    first = items["annotator"][0]
    assert items["skill"][0] == pytest.approx(skill[int(np.flatnonzero(said.labelled)[0]), first], rel=1e-3)


def test_a_report_takes_one_line(tmp_path):
    model, X, said = fitted("classes")
    report(model, X, said, tmp_path / "r.html", title="Mine", features=["depth", "width"])
    assert "<h1>Mine</h1>" in (tmp_path / "r.html").read_text("utf-8")


def test_items_without_features_have_no_map():
    summary = summary_of("classes")
    text = page(replace(summary, given=summary.given | {"n_features": 0}))
    assert "Map of expertise" not in text
    assert not any("data-who" in attrs or attrs.get("class") == "smallmap" for _, attrs in Reader(text).elements)


def test_calibration_shows_expected_and_observed_agreement():
    summary = summary_of("classes")
    bins = {"from": [0.0, 0.9], "stated": [0.5, 0.97], "expected": [0.6, 0.9], "observed": [0.55, 0.71]}
    calibration = {"possible": True, "finding": "Labels agree less often.", "explanation": "Each label …"}
    answer = summary.answer | {"calibration": calibration | {"bins": bins | {"n_labels": [40, 1200]}}}
    text = page(replace(summary, answer=answer))
    (table,) = (table for table in Reader(text).tables if "labels that agree" in table)
    assert "lower|55%|60%|40|" in table
    assert "from 90%|71%|90%|1\u202f200|" in table
    assert "Labels agree less often." in text
    assert "Can the probabilities be trusted?" not in page(
        replace(summary, answer=summary.answer | {"calibration": {}})
    )


def test_gold_items_are_marked():
    summary = summary_of("classes")
    gold = [i == 3 for i in range(len(summary.consensus["item"]))]
    text = page(replace(summary, consensus=summary.consensus | {"gold": gold}))
    assert "3<small> gold</small>" in text
    assert json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["items"]["gold"] == [3]
