"""Each example of the gallery runs, prints a certificate that holds, and draws its picture."""

import re
import runpy
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"
EXAMPLES = sorted(path for path in GALLERY.glob("*.py") if not path.name.startswith("_"))
PAGE = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images" / "gallery"

# In one process, so that what one example compiles serves the others.
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)


@each_example
def test_it_prints_a_certificate_and_draws(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(example), run_name="__main__")
    plt.close("all")
    printed = capsys.readouterr().out
    headings = re.findall(r"^Certificate: (.+)$", printed, flags=re.MULTILINE)
    assert headings
    assert all(", holds" in heading for heading in headings)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"{example.stem}.png"]


@each_example
def test_it_is_short_and_the_page_shows_it(example):
    lines = example.read_text("utf-8").splitlines()
    assert len(lines) < 80
    page = PAGE.read_text("utf-8")
    assert f"(images/gallery/{example.stem}.png)" in page
    assert f"examples/gallery/{example.stem}.py" in page
    assert 2_000 < (IMAGES / f"{example.stem}.png").stat().st_size < 60_000


def test_the_page_shows_nothing_else():
    shown = re.findall(r"examples/gallery/(\w+)\.py", PAGE.read_text("utf-8"))
    assert set(shown) - {"__main__"} == {example.stem for example in EXAMPLES}
