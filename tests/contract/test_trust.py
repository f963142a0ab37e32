"""The page on trust has the numbers that are counted now."""

import pytest

from trusted_lines import IN_SPANISH, KINDS, PAGES, filled, table


@pytest.mark.parametrize("lang", PAGES)
def test_the_table_is_what_is_counted(lang):
    page = PAGES[lang].read_text(encoding="utf-8")
    assert filled(page, lang) == page, "run: python tests/trusted_lines.py"
    assert table(lang) in page


def test_every_kind_has_its_spanish_name():
    assert set(IN_SPANISH) == set(KINDS)
