"""Take the screenshot of the web app for the README: docs/images/web.png.

python docs/screenshot_web.py    (needs whoknows[web], playwright and a Chromium on the machine)
"""

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).parent / "images" / "web.png"
WIDE, HIGH = 1180, 760
PATIENCE = 180_000  # milliseconds for the first fit


def main() -> None:
    with example_server() as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": WIDE, "height": HIGH}, base_url=address)
        page.set_default_timeout(PATIENCE)
        page.goto("/projects/example/fits")
        page.wait_for_selector("#fit[data-state=done]")
        page.goto("/projects/example/map")
        brush(page, 0.02, 0.3, 0.36, 0.98)
        page.screenshot(path=PICTURE)
        chromium.close()
    print(f"Wrote {PICTURE}.")


@contextmanager
def example_server() -> Iterator[str]:
    """A server with the example project, on a free port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [Path(sys.executable).parent / "whoknows", "serve", folder, "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        next(line for line in server.stdout if line.startswith("Open "))
        yield f"http://127.0.0.1:{port}"
        server.terminate()
        server.wait()


def brush(page: Page, left: float, top: float, right: float, bottom: float) -> None:
    """Select a region of the map, in shares of its width and height."""
    box = page.locator("#map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"], box["y"] + bottom * box["height"], steps=5)
    page.mouse.up()


if __name__ == "__main__":
    main()
