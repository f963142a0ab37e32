"""Take the pictures of the lab that the documentation shows, in both languages.

    PYTHONPATH=src:tests python tests/lab_pictures.py [room ...]

Each room is opened twice, so that the picture shows how long an answer takes once the loops are
compiled.
"""

import sys
import time
from io import BytesIO
from pathlib import Path

from PIL import Image

from browser import chromium, resize
from cotas import lab
from cotas.words import LANGUAGES
from visits import visit

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "lab"
# Each by its file: the room, the state, the width, and dark or light.
PICTURES = {
    "boundary": ("boundary", "", 1200, "light"),
    "steps": ("steps", "procedure=adaboost&data=rings&at=9", 1200, "light"),
    "descent": ("descent", "way=mini-batch&pace=0.5", 1200, "light"),
    "penalty": ("penalty", "", 1200, "light"),
    "boosting": ("boosting", "numbers=diabetes&iterations=1000", 1200, "dark"),
    "done": ("done", "written=LinearSVC(C=1, max_iter=1000, random_state=0)", 1200, "light"),
    "phone": ("boundary", "data=groups&model=LinearSVM&lam=1", 390, "light"),
}
# A screen is as high as this, unless the page is less.
HIGHEST = {1200: 1010, 390: 1010}
COLOURS = 96


def main(names: list[str]) -> None:
    """Take the pictures with these names, or all."""
    found: list[str] = []
    server = lab.serve(browser=False, threaded=True, tell=found.append)
    with chromium() as browser:
        for name in names or PICTURES:
            for lang in LANGUAGES:
                _take(browser, found[0], name, lang)
    server.stop()


def _take(browser, address: str, name: str, lang: str) -> None:
    """Open a room twice and keep what is seen."""
    room, state, width, theme = PICTURES[name]
    for _ in range(2):
        query = f"lang={lang}&theme={theme}&{state}"
        visit(browser, address, room, query, (width, HIGHEST[width]))
        time.sleep(1.0)  # for what is drawn after the answer
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    page = browser.execute_script("return document.body.scrollHeight")
    resize(browser, width, min(HIGHEST[width], page), theme)
    time.sleep(1.0)
    seen = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    seen = seen.quantize(COLOURS, kmeans=3, dither=Image.Dither.NONE)
    suffix = "" if lang == "en" else f".{lang}"
    seen.save(FOLDER / f"{name}{suffix}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
