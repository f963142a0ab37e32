"""Every item of the documents has a name that exists and a test that runs."""

from pathlib import Path

import pytest

from coverage_page import DOCS, PAGES, all_items, file_of, functions_of, page, resolve
from findings.claims import CLAIMS

CASES = {claim.measure.__name__ for claim in CLAIMS}
MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("lang", PAGES)
def test_the_page_is_what_the_script_writes(lang):
    written = PAGES[lang].read_text(encoding="utf-8")
    assert page(lang) == written, "run: python tests/coverage_page.py"


def test_no_item_is_left_out():
    numbers = [item.number for item in all_items()]
    assert [number for number in numbers if number.isdecimal()] == [str(n) for n in range(1, 250)]
    assert numbers == sorted(numbers, key=lambda number: (int(number.rstrip("abcdef")), number))
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("name", sorted({name for item in all_items() for name in item.names}))
def test_every_name_exists(name):
    if name.startswith("docs/"):
        assert (DOCS / name.removeprefix("docs/")).is_file()
    else:
        assert resolve(name) is not None


@pytest.mark.parametrize("test", sorted({test for item in all_items() for test in item.tests}))
def test_every_test_exists_and_runs(test):
    path, (name, _, case) = file_of(test), test.split("::")[1].partition("[")
    found = functions_of(path)
    assert not case or case.rstrip("]") in CASES
    assert found if name == "*" else f"test_{name}" in found
    assert f"tests/{path.relative_to(DOCS.parent / 'tests').parts[0]}" in MAKEFILE
