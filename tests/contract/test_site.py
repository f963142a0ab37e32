"""The pages as they are built: nothing left over, nothing missing, nothing from another host."""

import ast
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

import browser
import pages

pytest.importorskip("mkdocs_static_i18n")
LEFTOVERS = re.compile(r"--8 ?<|\$\$|\\[()\[\]]|\\[a-zA-Z]{2,}|&[a-z]+;")
SCREENS = {"desk": (1280, 900), "phone": (390, 844)}
# Each with something wide: formulas, certificates, tables, pictures, signatures.
WIDE = ("index", "tutorials/student", "is-my-fit-done", "gallery", "certificates", "theory/svm")
WIDE += ("theory/stagewise", "command-line", "api")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder `site` where `make docs` has just built it, or a new one."""
    sources = [pages.ROOT / "mkdocs.yml", *pages.DOCS.rglob("*")]
    sources += [*(pages.ROOT / "src").rglob("*.py"), *(pages.ROOT / "examples").rglob("*.py")]
    built = pages.ROOT / "site" / "sitemap.xml"
    if built.exists() and built.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return built.parent
    there = tmp_path_factory.mktemp("site")
    # Without a search for garbage, which takes an eighth of the time.
    mkdocs = "import gc; gc.disable(); from mkdocs.__main__ import cli; cli()"
    build = [sys.executable, "-c", mkdocs, "build", "--strict", "-d", str(there)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=pages.ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return there


class Page(HTMLParser):
    """What a page shows as prose, its formulas, what it loads, and where it leads."""

    VOID = frozenset(("br", "hr", "img", "input", "link", "meta", "path", "source", "wbr"))
    UNREAD = frozenset(("code", "pre", "script", "style"))

    def __init__(self, html):
        super().__init__()
        self.open, self.prose, self.formulas, self.loads, self.links = [], [], [], [], []
        self.languages, self.language = {}, None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in self.VOID:
            self.open.append((tag, "arithmatex" in (given.get("class") or "").split()))
        if tag == "html":
            self.language = given["lang"]
        if tag in ("img", "script", "iframe") and "src" in given:
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given["href"])
        if tag == "a" and "hreflang" in given:
            self.languages[given["hreflang"]] = given["href"]
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if any(formula for _, formula in self.open):
            self.formulas.append(data)
        elif not self.UNREAD.intersection(tag for tag, _ in self.open):
            self.prose.append(data)


@pytest.fixture(scope="session")
def built(site):
    """All pages that were built, by their place; the one for errors has no language."""
    found = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {path: Page(path.read_text("utf-8")) for path in found}


def local(path, address):
    """The file that an address on a page stands for."""
    return (path.parent / unquote(urlsplit(address).path)).resolve()


def test_nothing_is_left_of_the_source(built):
    left = {path.name: LEFTOVERS.findall(" ".join(page.prose)) for path, page in built.items()}
    assert {name: found for name, found in left.items() if found} == {}


def test_no_snippet_is_left_in_code(built):
    assert [path for path in built if re.search(r"--8 ?(<|&lt;)", path.read_text("utf-8"))] == []


def test_everything_that_is_loaded_is_here(site, built):
    styles = {
        path: re.findall(r"url\(([^)]+)\)", path.read_text("utf-8")) for path in site.rglob("*.css")
    }
    loaded = {path: page.loads for path, page in built.items()} | styles
    named = [(path, each.strip("\"'")) for path, all_ in loaded.items() for each in all_]
    asked = [(path, each) for path, each in named if not each.startswith(("data:", "#"))]
    assert asked
    assert [each for path, each in asked if urlsplit(each).netloc] == []
    assert [(path.name, each) for path, each in asked if not local(path, each).exists()] == []


def test_every_link_to_a_page_leads_to_one(built):
    for path, page in built.items():
        ours = (
            link for link in page.links if not urlsplit(link).scheme and not urlsplit(link).netloc
        )
        for link in ours:
            assert not urlsplit(link).path or local(path, link).exists(), (path, link)


def test_the_other_language_is_the_same_page(site, built):
    for path, page in built.items():
        place = path.relative_to(site)
        name = place.relative_to("es") if place.parts[0] == "es" else place
        assert page.language == ("es" if name != place else "en")
        assert local(path, page.languages["en"]) == (site / name).resolve()
        assert local(path, page.languages["es"]) == (site / "es" / name).resolve()


def test_the_gallery_shows_its_programs(site):
    for name in ("gallery.html", "es/gallery.html"):
        text = re.sub("<[^>]+>", "", (site / name).read_text("utf-8"))
        for program in (pages.ROOT / "examples" / "gallery").glob("[a-z]*.py"):
            purpose = ast.get_docstring(ast.parse(program.read_text("utf-8")))
            assert purpose.splitlines()[0].partition('"')[0] in text, program


def test_both_languages_can_be_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    assert {"en", "es"} <= set(index["config"]["lang"])
    places = {entry["location"] for entry in index["docs"]}
    assert {"cookbook.html", "es/cookbook.html"} <= places


@pytest.fixture(scope="module")
def window():
    with browser.chromium() as driver:
        yield driver


@browser.NEEDED
def test_katex_knows_every_formula(site, built, window):
    window.get((site / "index.html").as_uri())
    written = sorted({formula for page in built.values() for formula in page.formulas})
    assert written
    wrong = window.execute_script(
        """return arguments[0].filter((written) => {
             try { katex.renderToString(written.trim().slice(2, -2)); } catch { return true; }
           });""",
        written,
    )
    assert wrong == []


CUT = """
const page = document.documentElement;
const wide = [...document.querySelectorAll(".certificate code, .certificate pre")];
return {
  page: page.scrollWidth - page.clientWidth,
  cut: wide.filter((each) => each.scrollWidth > each.clientWidth + 1).length,
  formulas: document.querySelectorAll(".arithmatex:not(:has(.katex))").length,
};
"""


@browser.NEEDED
@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_cut_and_nothing_comes_from_elsewhere(site, window, screen):
    browser.resize(window, *SCREENS[screen])
    for name in (*WIDE, "es/index", "es/tutorials/practitioner"):
        window.get((site / f"{name}.html").as_uri())
        assert window.execute_script(CUT) == {"page": 0, "cut": 0, "formulas": 0}, name
    asked = {urlsplit(address).scheme for address in browser.requests(window)}
    assert asked <= {"file", "data", "blob"}


@browser.NEEDED
def test_a_picture_enlarges_and_closes(site, window):
    browser.resize(window, *SCREENS["phone"])
    window.get((site / "gallery.html").as_uri())
    window.execute_script("document.querySelector('a.enlarge').click()")
    shown = "return document.querySelectorAll('dialog.enlarged[open] img').length"
    assert window.execute_script(shown) == 1
    window.execute_script("document.querySelector('dialog.enlarged').click()")
    assert window.execute_script(shown) == 0
