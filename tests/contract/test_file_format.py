"""The page on the fields of model files is what is declared now."""

import re

import pytest

from file_format import KEPT, PAGES, page

ENGLISH = re.compile(r"\b(?:the|of|or|a|from|to|by|list|text|number|allowed|whole)\b")


@pytest.mark.parametrize("lang", PAGES)
def test_the_page_has_every_field_as_it_is_declared(lang):
    written = PAGES[lang].read_text(encoding="utf-8")
    assert page(lang) == written, "run: python tests/file_format.py"


def test_no_cell_of_the_spanish_page_is_left_in_english():
    cells = [line.split("|")[2] for line in page("es").splitlines() if line.startswith("| ")]
    assert not [cell for cell in cells if ENGLISH.search(re.sub(f"{KEPT}|`[^`]*`", "", cell))]


@pytest.mark.parametrize("lang", PAGES)
def test_every_link_within_the_page_has_its_section(lang):
    text = page(lang)
    sections = {title.replace(" ", "-") for title in re.findall(r"^## (.*)$", text, re.MULTILINE)}
    assert set(re.findall(r"\(#([^)]*)\)", text)) <= sections
