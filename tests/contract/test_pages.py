"""The pages with examples at a prompt show what comes out."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
# A Spanish page has the code of its English one, which is enough to run.
ENGLISH = [page for page in sorted(DOCS.rglob("*.md")) if not page.name.endswith(".es.md")]
AT_A_PROMPT = [page for page in ENGLISH if "\n>>> " in page.read_text("utf-8")]


@pytest.mark.parametrize("page", AT_A_PROMPT, ids=lambda page: page.name)
def test_examples(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=flags, encoding="utf-8"
    )
    assert tried > 0
    assert failed == 0
