"""Each page has a Spanish version beside it, with the same headings and the same code."""

import re
from itertools import chain

import pytest

import pages

yaml = pytest.importorskip("yaml")

CONFIG = (pages.ROOT / "mkdocs.yml").read_text("utf-8")
SPANISH_ONLY = re.compile(r'^cotas\.lang\("es"\)$| --lang es\b')


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name functions of other packages."""


Loader.add_multi_constructor("", lambda loader, tag, node: None)
SETTINGS = yaml.load(CONFIG, Loader)


def leaves(nav):
    """Titles with their pages, sections with their titles, of the whole tree."""
    for item in nav:
        title, inside = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        if isinstance(inside, list):
            yield title, None
            yield from leaves(inside)
        else:
            yield title, inside


NAV = list(leaves(SETTINGS["nav"]))
# Decisions are kept as they were taken, in English.
PAGES = [page for _, page in NAV if page and not page.startswith("adr/")]
BOTH = [page for page in PAGES if (pages.DOCS / page.replace(".md", ".es.md")).exists()]


def headings(text):
    outside = pages.FENCE.sub("", text)
    return [len(level) for level in re.findall(r"^(#+) ", outside, re.MULTILINE)]


def code(text):
    """The blocks without comments; of what is printed, only that it is there."""
    return [(block.kind, _bare(block)) for block in pages.blocks(text)]


def _bare(block):
    if block.kind in ("text", ""):
        return []
    lines = block.body.splitlines()
    if block.kind == "console":
        lines = [line for line in lines if line.startswith("$ ")]
    bare = (SPANISH_ONLY.sub("", re.sub(r"(^|\s+)# .*", "", line)).rstrip() for line in lines)
    return [line for line in bare if line]


def test_every_page_has_a_spanish_version():
    assert [page for page in PAGES if page not in BOTH] == []


def test_every_title_has_a_translation():
    plugins = chain.from_iterable(p.items() for p in SETTINGS["plugins"] if isinstance(p, dict))
    (spanish,) = (each for each in dict(plugins)["i18n"]["languages"] if each["locale"] == "es")
    assert {title for title, _ in NAV if title} == set(spanish["nav_translations"])


@pytest.mark.parametrize("page", BOTH)
def test_headings_and_code_are_the_same(page):
    english = (pages.DOCS / page).read_text("utf-8")
    spanish = (pages.DOCS / page.replace(".md", ".es.md")).read_text("utf-8")
    assert headings(spanish) == headings(english)
    assert code(spanish) == code(english)
