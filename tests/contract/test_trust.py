"""The page on trust has the numbers that are counted now."""

from pathlib import Path

from trusted_lines import table

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"


def test_the_table_is_what_is_counted():
    assert table() in PAGE.read_text(encoding="utf-8")
