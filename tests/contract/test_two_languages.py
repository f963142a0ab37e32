"""What a page shows is the same in both languages: the numbers of tables, and what is included."""

import re
from collections import Counter
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SPANISH = sorted(DOCS.rglob("*.es.md"))
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def tables(text):
    """The tables of a page, each as its lines."""
    return re.findall(r"(?:^ *\|.*\|\n)+", FENCED.sub("", text), re.MULTILINE)


def both(page):
    """A Spanish page and its English one."""
    english = page.with_name(page.name.replace(".es.md", ".md"))
    return page.read_text("utf-8"), english.read_text("utf-8")


@pytest.mark.parametrize("page", SPANISH, ids=lambda page: page.name)
def test_the_tables_have_the_same_numbers(page):
    here, there = (
        [Counter(NUMBER.findall(table)) for table in found] for found in map(tables, both(page))
    )
    assert here == there


@pytest.mark.parametrize("page", SPANISH, ids=lambda page: page.name)
def test_the_tables_have_the_same_shape(page):
    here, there = ([widths(table) for table in found] for found in map(tables, both(page)))
    assert here == there


def widths(table):
    """How many bars each row of a table has, those of code and of formulas apart."""
    return [re.sub(r"\\\||`[^`]*`", "", row).count("|") for row in table.splitlines()]


@pytest.mark.parametrize("page", SPANISH, ids=lambda page: page.name)
def test_the_same_docstrings_and_parts_are_included(page):
    here, there = (
        re.findall(r"^(?:::: .*|<!-- \w+ \w+ -->)$", text, re.MULTILINE) for text in both(page)
    )
    assert here == there


@pytest.mark.parametrize("page", SPANISH, ids=lambda page: page.name)
def test_the_lists_have_as_many_points(page):
    here, there = (re.findall(r"^ *- ", FENCED.sub("", text), re.MULTILINE) for text in both(page))
    assert len(here) == len(there)


def test_no_page_keeps_the_marks_of_a_merge():
    pages = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    marked = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)
    assert [page.name for page in pages if marked.search(page.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "page",
    [*sorted(DOCS.rglob("*.md")), *sorted(DOCS.parent.glob("*.md"))],
    ids=lambda page: page.name,
)
def test_percentages_are_written_as_the_program_prints_them(page):
    """With no space before the sign."""
    assert not re.findall(r"\d %(?!\w)", page.read_text("utf-8"))
