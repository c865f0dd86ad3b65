"""The web app in a real Chromium: walked through with mouse and keyboard, silent, and never off this machine."""

import shutil
import threading
import time

import pytest
import uvicorn

from whoknows.apps.web.application import create_app
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store, fits, gold, items, labels, projects

expect = pytest.importorskip("playwright.sync_api", reason="it drives the browser: pip install playwright").expect
PATIENCE = 120_000  # milliseconds for a fit on a busy machine
PAGES = (
    "",
    "annotators",
    "annotators/anna",
    "map",
    "items",
    "items/tumour%20001",
    "ask",
    "fits",
    "data",
    "label?as=anna",
)


@pytest.fixture(scope="module")
def store(fitted_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browsed")
    shutil.copytree(fitted_folder, folder, dirs_exist_ok=True)
    store = Store(ServerSettings(folder).url)
    store.folder = folder
    return store


@pytest.fixture(scope="module")
def address(store):
    """A server with a worker of its own, on a free port."""
    app = create_app(ServerSettings(store.folder), store)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def page(browser, address):
    """A page that fails the test if it complains, or asks another machine for anything."""
    context = browser.new_context(
        base_url=address, viewport={"width": 1280, "height": 900}, reduced_motion="reduce", accept_downloads=True
    )
    page, heard = context.new_page(), []
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else heard.append(asked.url))
    yield page
    context.close()
    assert heard == []


@pytest.fixture
def project(store):
    with store.read() as db:
        return projects.by_name(db, "example")


def sheet():
    """Labels of 12 short texts by three annotators, as somebody may bring them: columns have unusual names."""
    words = ("good", "fine", "bad", "awful")
    rows = [
        f"case {i},{who},{'pos' if (i % 4 < 2) != (who == 'eva' and i % 5 == 0) else 'neg'},a {words[i % 4]} day {i}"
        for i in range(12)
        for who in ("carl", "dora", "eva")
    ]
    return "\n".join(["thing,person,answered,text", *rows]).encode()


def test_a_file_is_uploaded_checked_imported_fitted_and_exported(page, store):
    page.goto("/projects")
    page.fill("input[name=title]", "Days: good & bad")
    page.click("text=Add")
    page.set_input_files("input[type=file]", {"name": "days.csv", "mimeType": "text/csv", "buffer": sheet()})
    page.click("text=Upload")
    assert "days.csv: is CSV with the columns 'thing', 'person'," in page.inner_text("[role=alert]")
    for role, column in (("item", "thing"), ("annotator", "person"), ("label", "answered")):
        page.select_option(f"select[name={role}]", column)
    page.click("text=Read again")
    read = "36 labels by 3 annotators on 12 items. Classes: neg, pos. Nothing is stored yet."
    expect(page.locator("main")).to_contain_text(read)
    with store.read() as db:
        project = projects.by_name(db, "days-good-bad")
        assert labels.count(db, project.id) == 0
    page.click("button >> text=Import")
    assert page.inner_text(".tiles").split()[:4] == ["12", "items,", "12", "with"]
    page.goto("/projects/days-good-bad/fits")
    page.wait_for_selector("#fit[data-state=done] .curve")
    expect(page.locator("#fit")).to_contain_text("of the model with most weight: map ")
    page.click("nav >> text=Data")
    with page.expect_download() as download:
        page.click("text=consensus.csv")
    exported = download.value.path().read_text().splitlines()
    assert exported[0].startswith("item,consensus,confidence")
    assert len(exported) == 13


def test_no_page_is_wider_than_a_small_screen(page):
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        for address in PAGES:
            page.goto(f"/projects/example/{address}")
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, (address, width)


def test_pages_of_a_project_without_items_are_silent(page, store):
    with store.write() as db:
        projects.create(db, "empty", "Empty")
    for address in ("", "annotators", "map", "items", "ask", "fits", "data", "label?as=anna"):
        page.goto(f"/projects/empty/{address}")
    expect(page.locator("#task")).to_contain_text("No items yet")
    assert not page.locator("button[value=skip]").is_visible()


def test_numbers_are_given_by_keyboard_alone(page, store):
    with store.write() as db:
        essays = projects.create(db, "essays", "Essays", projects.ProjectSettings(model="regression"))
        items.put(db, essays.id, [items.Item(key, text=key) for key in ("one", "two", "three")])
    page.goto("/projects/essays/label?as=zoe")
    task = page.locator("#task")
    for key, pressed in (("one", ("3", ".", "5", "Enter")), ("two", ("s",)), ("three", ("7",))):
        expect(task).to_have_attribute("data-item", key)
        for each in pressed:
            page.keyboard.press(each)
    with page.expect_response(lambda answer: '"three"' in (answer.request.post_data or "")):
        page.keyboard.press("Enter")
    expect(task).to_contain_text("You have seen every item.")
    with store.read() as db:
        assert [(row.item, row.label) for row in labels.every(db, essays.id)] == [("one", "3.5"), ("three", "7")]


def test_brushing_the_map_and_opening_a_dot(page):
    page.goto("/projects/example/")
    page.click("nav >> text=Map")
    page.wait_for_url("**/map")  # loaded, with its script
    everybody = page.inner_text("#map-ranking")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.95 * box["height"], steps=3)
    page.mouse.up()
    assert page.inner_text("#map-count").startswith("In this region: ")
    assert page.inner_text("#map-ranking") != everybody
    for choice in ("0", "consensus", "sure", "labelled"):
        page.select_option("#map-who", choice)
    page.focus("#map")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    item = page.inner_text("#card-title")
    page.click("#card >> text=Open the page of this item")
    expect(page.locator("h1")).to_have_text(item)


def test_searching_and_deciding_the_truth_of_an_item(page, store, project):
    page.goto("/projects/example/items")
    page.fill("input[name=q]", "tumour 02")
    page.select_option("select[name=sort]", "uncertain")
    page.click("text=Search")
    page.wait_for_url("**sort=uncertain**")
    least_certain = page.locator("table.items a").first
    item = least_certain.inner_text()
    least_certain.click()
    expect(page.locator("h1")).to_have_text(item)
    page.click(".card button >> text=malignant")
    expect(page.locator(".card")).to_contain_text("Gold: the truth is malignant.")
    with store.read() as db:
        assert gold.every(db, project.id)[item] == "malignant"


def test_twenty_items_are_labelled_by_keyboard_alone_and_a_fit_follows(page, store, project):
    page.goto("/projects/example/label?as=zoe")
    task, given = page.locator("#task"), []
    for k in range(20):
        item = task.get_attribute("data-item")
        given.append((item, ("benign", "malignant")[k % 2]))
        page.keyboard.press(str(k % 2 + 1))
        expect(task).not_to_have_attribute("data-item", item)
    expect(task).to_contain_text("20 of 300 items")
    item = task.get_attribute("data-item")
    page.keyboard.press("s")
    expect(task).not_to_have_attribute("data-item", item)
    page.keyboard.press("u")  # the skip
    expect(task).to_have_attribute("data-item", item)
    page.keyboard.press("Control+z")  # the last answer
    expect(task).to_have_attribute("data-item", given[-1][0])
    expect(task).to_contain_text("19 of 300 items")
    page.keyboard.press("2")
    expect(task).to_contain_text("20 of 300 items")
    page.goto("/projects/example/fits")
    page.wait_for_selector("#fit[data-state=done] .curve")
    with store.read() as db:
        stored = [(row.item, row.label) for row in labels.every(db, project.id, annotator="zoe")]
        assert fits.latest(db, project.id).n_annotations >= labels.count(db, project.id) - 1
    assert sorted(stored) == sorted(given)
    page.click("nav >> text=Overview")
    expect(page.locator("#changes")).to_contain_text("New: zoe")
    page.goto("/projects/example/annotators/anna")
    assert page.locator("#content .interval").count() == 2  # one per fit


def test_a_fit_is_started_and_cancelled(page):
    page.goto("/projects/example/fits")
    page.click("text=Fit now")
    assert page.get_attribute("#fit", "data-state") in ("queued", "running")
    page.click("text=Cancel")
    expect(page.locator("#fit [role=status]")).to_have_text("The last fit was cancelled.")
