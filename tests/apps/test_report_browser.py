"""The report in a real Chromium: silent, offline, and its map answers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.apps.test_report import hostile_summary
from tests.insight.summary_worlds import KINDS, fitted, split_crowd, summary_of
from whoknows import BernoulliAnnotators, CrowdClassifier
from whoknows.apps.report import write
from whoknows.insight.summary import summarize

WIDTHS = (1400, 420)


@pytest.fixture
def see(browser, tmp_path):
    """Open a report; whatever it complains of or asks the network for is in ``heard``."""
    contexts = []

    def see(summary, **settings):
        write(summary, tmp_path / "report.html")
        screen = {"viewport": {"width": WIDTHS[0], "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**screen, **settings)
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


def dot(page, summary, place):
    """Where a dot of the map is in the window, once the map is in view."""
    page.locator("#map").scroll_into_view_if_needed()
    box, pad = page.locator("#map").bounding_box(), 14
    x = box["x"] + pad + summary.map["x"][place] * (box["width"] - 2 * pad)
    return x, box["y"] + box["height"] - pad - summary.map["y"][place] * (box["height"] - 2 * pad)


def lonely(summary):
    """A dot on the map that is far from all others."""
    dots = np.column_stack([summary.map["x"], summary.map["y"]])
    far = np.linalg.norm(dots[:, None] - dots[None], axis=2) + np.eye(len(dots))
    return int(far.min(axis=1).argmax())


def rows(page, table):
    return [row.locator("td, th").all_inner_texts() for row in page.locator(f"{table} tbody tr").all()]


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


# --- tables ----------------------------------------------------------------------------------------


def test_all_of_20_000_items_can_be_searched_sorted_and_turned_over(see):
    X, said = split_crowd(20_000)
    model = CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), "linear", tol=1e-3).fit(X, said)
    summary = summarize(model, X, said, text=[f"text of item {i}" for i in range(20_000)])
    page = see(summary)
    assert "1–20 of 20\u202f000" in page.inner_text("#all-items")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domComplete") < 10_000
    page.fill("#all-items input[type=search]", "item 19999")
    assert [row[0].split("\n")[0] for row in rows(page, "#items")] == ["19999"]
    page.fill("#all-items input[type=search]", "")
    page.click("#items th:has-text('labels') button")
    most = max(summary.consensus["n_labels"])
    assert {row[3] for row in rows(page, "#items")} == {str(most)}
    page.click("#items th:has-text('labels') button")
    assert {row[3] for row in rows(page, "#items")} == {"0"}
    page.click("#all-items >> text=Next")
    assert "21–40 of 20\u202f000" in page.inner_text("#all-items")
    assert page.heard == []


def test_items_are_filtered_by_class_and_by_what_is_known_of_them(see):
    summary = summary_of("classes")
    page, columns = see(summary), summary.consensus
    page.select_option("#all-items select >> nth=0", "overruled")
    assert f"of {sum(columns['overruled'])}" in page.inner_text("#all-items .pager")
    page.select_option("#all-items select >> nth=0", "unlabelled")
    page.select_option("#all-items select >> nth=1", label="yes")
    wanted = [i for i, n in enumerate(columns["n_labels"]) if not n and columns["consensus"][i] == "yes"]
    assert f"of {len(wanted)}" in page.inner_text("#all-items .pager")


def test_an_order_of_numbers_is_not_that_of_their_digits(see):
    summary = summary_of("classes")
    n = 60
    columns = {key: (column * n)[:n] for key, column in summary.annotators.items()}
    columns |= {"annotator": [f"w{i}" for i in range(n)], "n_labels": [i * 40 for i in range(n)]}
    page = see(replace(summary, annotators=columns))
    page.click("table.ranking th:has-text('labels') button")
    assert [row[5] for row in rows(page, "table.ranking")][:2] == ["2\u202f360", "2\u202f320"]
    page.click("table.ranking th:has-text('annotator') button")
    assert [row[1] for row in rows(page, "table.ranking")][:3] == ["w0", "w1", "w2"]


def test_wide_tables_can_be_scrolled_and_the_page_cannot(see):
    page = see(summary_of("classes"))
    page.set_viewport_size({"width": 360, "height": 900})
    box = "document.getElementById('items').closest('.scroll')"
    assert page.evaluate(f"{box}.scrollWidth > {box}.clientWidth")
    assert "gradient" in page.evaluate(f"getComputedStyle({box}).backgroundImage")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


# --- cards -----------------------------------------------------------------------------------------


def given_labels(said, item):
    """Who gave which label to an item."""
    at = np.flatnonzero(said.item == item)
    return {(said.annotators[said.annotator[k]], said.labels[said.label[k]]) for k in at}


def test_a_card_shows_who_said_what_and_why_the_vote_was_overruled(see):
    summary, (_, _, said) = summary_of("classes"), fitted("classes")
    page = see(summary)
    item = summary.answer["overruled"][0]["item"]
    page.fill("#all-items input[type=search]", str(item))
    page.locator("#items .link", has_text=str(item)).first.click()
    assert page.inner_text("#card-title") == str(item)
    assert {(who, label) for who, label, _ in rows(page, "#card table:nth-of-type(2)")} == given_labels(said, item)
    assert summary.answer["overruled"][0]["why"] in page.inner_text("#card")
    shares = {name: share for name, _, share in rows(page, "#card table:nth-of-type(1)")}
    assert shares == {k: f"{100 * summary.consensus[f'p_{k}'][item]:.0f}%" for k in ("no", "yes")}
    page.keyboard.press("Escape")
    assert not page.locator("#card").is_visible()
    assert page.evaluate("document.activeElement.textContent") == str(item)


def test_gold_items_are_marked_and_can_be_filtered(see):
    model, X, said = fitted("classes")
    truth = {i: "yes" for i in range(0, 60, 7)}
    page = see(summarize(model, X, said, gold=truth))
    page.select_option("#all-items select >> nth=0", "gold")
    shown = rows(page, "#items")
    assert [row[0].split("\n") for row in shown] == [[str(i), "gold"] for i in truth]
    page.locator("#items .link").first.click()
    assert "Gold: the true label of this item was given." in page.inner_text("#card")
    assert page.heard == []


def test_items_in_other_tables_have_cards_too(see):
    summary = summary_of("classes")
    page = see(summary)
    page.locator("#review .link").first.click()
    assert page.inner_text("#card-title") == str(summary.adjudicate["least_sure"][0]["item"])
    page.click("#card >> text=Show on the map")
    assert page.evaluate("document.activeElement.id") == "map"
    assert str(summary.adjudicate["least_sure"][0]["item"]) in page.inner_text("#map-tip")
    assert page.heard == []


@pytest.mark.parametrize("kind", KINDS)
def test_cards_of_every_kind(see, kind):
    page = see(summary_of(kind))
    for place in (0, 1, 2):
        page.locator("#items .link").nth(place).click()
        assert "Consensus" in page.inner_text("#card")
        page.click("#card >> text=Close")
    assert page.heard == []


# --- map -------------------------------------------------------------------------------------------


def test_a_dot_has_a_tooltip_and_opens_its_card(see):
    summary = summary_of("classes")
    page, place = see(summary), lonely(summary)
    item = str(summary.map["item"][place])
    page.mouse.move(*dot(page, summary, place))
    assert page.inner_text("#map-tip").startswith(item)
    page.mouse.click(*dot(page, summary, place))
    assert page.inner_text("#card-title") == item


def test_a_finger_opens_the_card_of_a_dot(see):
    summary = summary_of("classes")
    page, place = see(summary, has_touch=True), lonely(summary)
    page.touchscreen.tap(*dot(page, summary, place))
    assert page.inner_text("#card-title") == str(summary.map["item"][place])


def test_arrow_keys_reach_dots_and_enter_opens_the_card(see):
    page = see(summary_of("classes"))
    page.focus("#map")
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
        seen.add(page.inner_text("#map-tip"))
    assert len(seen) > 2
    here = page.inner_text("#map-tip").split("\n")[0]
    page.keyboard.press("Enter")
    assert page.inner_text("#card-title") == here
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert not page.locator("#map-tip").is_visible()


def test_the_keyboard_selects_a_region_around_a_dot(see):
    page = see(summary_of("classes"))
    page.focus("#map")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    small = int(page.inner_text("#map-count").split()[-2])
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
        page.keyboard.press(f"Shift+{key}")
    assert int(page.inner_text("#map-count").split()[-2]) > small
    page.keyboard.press("Escape")
    assert page.inner_text("#map-count") == "All items"
    assert page.heard == []


def test_ranking_and_profiles_colour_the_map(see):
    summary = summary_of("classes")
    page = see(summary)
    for where in ("table.ranking", ".card h4"):
        for k, name in enumerate(summary.map["annotators"]):
            page.locator(f"{where} .link", has_text=str(name)).click()
            assert page.input_value("#map-who") == str(k)
            assert page.evaluate("document.activeElement.id") == "map"


@pytest.mark.parametrize("kind", ["classes", "many classes", "numbers"])
def test_the_map_is_coloured_by_class_certainty_and_labels(see, kind):
    page, seen = see(summary_of(kind)), {}
    for choice in ("0", "consensus", "sure", "labelled"):
        page.select_option("#map-who", choice)
        seen[choice] = pixels(page), page.inner_text("#map-legend")
    assert len({drawn for drawn, _ in seen.values()}) == 4
    assert "not labelled" in seen["labelled"][1]
    if kind == "classes":
        assert seen["consensus"][1].split() == ["no", "yes"]
    assert page.heard == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_map_and_the_ranking_agree_to_the_last_digit(see, kind):
    page = see(summary_of(kind))
    ranking = {row[1]: row[3] for row in rows(page, "table.ranking")}
    listed = {name.removeprefix("annotator "): skill for name, _, skill, _ in rows(page, "#map-ranking")}
    assert listed == ranking
