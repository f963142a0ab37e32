"""The page on the fields of model files is what is declared now."""

from file_format import PAGE, page


def test_the_page_has_every_field_as_it_is_declared():
    assert page() == PAGE.read_text(encoding="utf-8"), "run: python tests/file_format.py"
