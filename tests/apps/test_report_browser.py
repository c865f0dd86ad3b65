"""The report in a real Chromium: silent, offline, and its map answers."""

import shutil

import pytest

from tests.apps.test_report import hostile_summary
from tests.insight.summary_worlds import KINDS, summary_of
from whoknows.apps.report import write

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
WIDTHS = (1400, 420)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def see(browser, tmp_path):
    """Open a report; whatever it complains of or asks the network for is in ``heard``."""
    contexts = []

    def see(summary, **settings):
        write(summary, tmp_path / "report.html")
        context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.heard = []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("dialog", lambda dialog: page.heard.append(dialog.message))
        page.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "data:")) else page.heard.append(asked.url)
        )
        page.goto((tmp_path / "report.html").as_uri())
        return page

    yield see
    for context in contexts:
        context.close()


def drag(page, left, top, right, bottom):
    """Brush over the map; shares of its width and height."""
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"], box["y"] + bottom * box["height"], steps=4)
    page.mouse.up()


def pixels(page):
    return page.evaluate("document.getElementById('map').toDataURL()")


@pytest.mark.parametrize("kind", KINDS)
def test_no_complaint_no_request_no_overflow(see, kind):
    page = see(summary_of(kind))
    assert page.locator("#map-ranking tbody tr").count() == len(summary_of(kind).map["annotators"])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.heard == []


def test_brushing_the_map_changes_the_lists(see):
    page = see(summary_of("classes"))
    everybody, items = page.inner_text("#map-ranking"), page.inner_text("#map-items")
    assert page.inner_text("#map-count") == "All items"
    drag(page, 0.02, 0.02, 0.45, 0.98)
    assert page.inner_text("#map-count").startswith("In this region: ")
    left = page.inner_text("#map-ranking")
    assert left != everybody
    assert page.inner_text("#map-items") != items
    drag(page, 0.55, 0.02, 0.98, 0.98)
    assert page.inner_text("#map-ranking") != left
    page.click("#map-clear")
    assert (page.inner_text("#map-ranking"), page.inner_text("#map-items")) == (everybody, items)
    assert page.heard == []


def test_a_region_ranks_annotators_by_their_skill_there(see):
    summary = summary_of("classes")
    page = see(summary)
    drag(page, 0.5, 0.0, 1.0, 1.0)
    rows = [i for i, x in enumerate(summary.map["x"]) if x > 0.5]
    expected = {
        name: sum(skill[i] for i in rows) / len(rows)
        for name, skill in zip(summary.map["annotators"], summary.map["skill"], strict=True)
    }
    shown = [row.locator("td").all_inner_texts() for row in page.locator("#map-ranking tbody tr").all()]
    assert [name for name, *_ in shown] == sorted(expected, key=lambda name: -expected[name])
    for name, _, right, _ in shown:
        assert abs(int(right.strip("%")) / 100 - expected[name]) < 0.03


def test_an_empty_region_says_so(see):
    page = see(summary_of("classes"))
    drag(page, 0.02, 0.03, 0.05, 0.07)
    assert "No item lies here" in page.inner_text("#map-ranking")


def test_another_annotator_recolours(see):
    page = see(summary_of("classes"))
    seen = set()
    for choice in ("0", "1", "2", "sure"):
        page.select_option("#map-who", choice)
        seen.add(pixels(page))
    assert len(seen) == 4
    assert page.heard == []


def test_hostile_text_stays_text(see):
    page = see(hostile_summary())
    drag(page, 0.0, 0.0, 1.0, 1.0)
    page.locator("#map").hover()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.heard == []


def test_tables_are_there_without_script(see):
    page = see(summary_of("classes"), java_script_enabled=False)
    assert page.locator("table.ranking").is_visible()
    assert "anna" in page.inner_text("table.ranking")
    assert not page.locator("#map").is_visible()
    assert page.locator("svg.smallmap").first.is_visible()
    assert page.get_by_text("The map needs JavaScript").is_visible()


def test_dark_and_light_differ_and_paper_is_white(see):
    grounds = []
    for scheme in ("light", "dark"):
        page = see(summary_of("classes"), color_scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    page.emulate_media(media="print")
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")
