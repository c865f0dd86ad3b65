"""Take the screenshot of the demo report for the README: docs/images/report.png.

python docs/screenshot.py    (needs playwright and a Chromium on the machine)
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "report.png"
WIDE, HIGH = 1180, 1200


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([Path(sys.executable).parent / "whoknows", "demo", "--quiet", "--out", folder], check=True)
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": WIDE, "height": HIGH})
        page.goto((Path(folder) / "report.html").as_uri())
        top = page.locator("#annotators h2").bounding_box()
        page.evaluate("y => window.scrollTo(0, y)", top["y"] - 24)
        page.screenshot(path=PICTURE)
        chromium.close()
    print(f"Wrote {PICTURE}.")


if __name__ == "__main__":
    main()
