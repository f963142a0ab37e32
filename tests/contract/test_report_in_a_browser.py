"""The report as a reader sees it: in a real browser, on a desk and a telephone, in any light."""

import pytest

from browser import NEEDED, chromium, requests, resize
from terminal import cotas

pytestmark = NEEDED
SIZES = {"desk": (1200, 900), "telephone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    there = tmp_path_factory.mktemp("reports")
    said = cotas("fit", "builtin:breast-cancer", "--lam", "0.01", "--report", there / "en.html")
    assert said.code == 0, said.err
    said = cotas("fit", "builtin:houses", "--lang", "es", "--report", there / "es.html")
    assert said.code == 0, said.err
    return there


def show(browser, path, size, scheme):
    """Open the page as on such a screen, in light or dark."""
    resize(browser, *SIZES[size], scheme)
    browser.get(path.as_uri())


def colours(picture):
    """How light the paper is, and how many different colours there are."""
    from io import BytesIO

    from matplotlib.image import imread

    pixels = imread(BytesIO(picture))[..., :3]
    return float(pixels[5:20, 5:20].mean()), len(
        {tuple(p) for p in pixels[::7, ::7].reshape(-1, 3)}
    )


@pytest.mark.parametrize("page", ["en.html", "es.html"])
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_and_follows_the_light(browser, pages, page, size, scheme):
    show(browser, pages / page, size, scheme)
    # Nothing is wider than the screen, apart from tables that scroll by themselves.
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES[size][0]
    drawings = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height])"
    )
    assert drawings
    assert all(width > 200 and height > 100 for width, height in drawings)
    paper, shades = colours(browser.get_screenshot_as_png())
    assert paper > 0.9 if scheme == "light" else paper < 0.2
    assert shades > 10


def test_nothing_is_fetched_and_nothing_complains(browser, pages):
    browser.get_log("browser"), browser.get_log("performance")
    show(browser, pages / "en.html", "desk", "light")
    assert browser.get_log("browser") == []
    (only,) = requests(browser)  # the file itself
    assert "en.html" in only


def test_letters_are_readable_in_the_dark(browser, pages):
    """Text and paper differ in lightness by far (WCAG asks for a contrast of 4.5)."""
    show(browser, pages / "en.html", "desk", "dark")
    ratio = browser.execute_script(
        """
        const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => {
            x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; });
            return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return Math.min(...['p', 'h2', 'dt', 'th', 'figcaption', '.standing'].map(name => {
            const ink = light(getComputedStyle(document.querySelector(name)).color);
            return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05); }));
        """
    )
    assert ratio > 4.5


def test_on_paper_the_details_are_open(browser, pages):
    show(browser, pages / "en.html", "desk", "light")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(printed) > 20_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    heights = browser.execute_script(
        "return [...document.querySelectorAll('details > :not(summary)')]"
        ".map(d => d.getBoundingClientRect().height)"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})
    assert heights
    assert min(heights) > 0
