"""The notebooks are what their sources make, say the same in both languages, and run."""

import ast
import contextvars
import os
import re
import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import chapters

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")
from jupyter_client import KernelManager  # noqa: E402

ROOT = Path(__file__).parents[2]
INLINE = "module://matplotlib_inline.backend_inline"
# An empty room, fewer searches for garbage, and small pictures that are drawn once (to cut their
# margins off they would be drawn twice): all of this takes less time.
BEGIN = """import gc
gc.set_threshold(50_000)
%reset -f
%config InlineBackend.print_figure_kwargs = {"bbox_inches": None}
import matplotlib
matplotlib.rcParams["figure.dpi"] = 20"""
DRAWS = re.compile(r"^(?:fig, \w+|ax|axes) = ", re.MULTILINE)

each_chapter = pytest.mark.parametrize("source", chapters.SOURCES, ids=lambda path: path.stem)


def _codes(source, language):
    """All the code of a chapter, solutions included, in the order of its page."""
    return [chapters.code_of(cell, language) for cell in chapters.read_chapter(source) if cell.code]


def _without_words(code):
    """The structure of a program, whatever its strings say."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@each_chapter
def test_the_files_are_those_that_the_source_makes(source):
    for language in chapters.LANGUAGES:
        path, text = chapters.written(source, language)
        assert path.read_text("utf-8") == text, "run: python notebooks/chapters.py"
        book = nbformat.reads(text, as_version=4)
        nbformat.validate(book)
        assert not any(cell.get("outputs") for cell in book.cells)


def test_there_are_no_other_files():
    made = {
        chapters.written(source, lang)[0]
        for source in chapters.SOURCES
        for lang in chapters.LANGUAGES
    }
    assert made == set((ROOT / "notebooks").glob("e[ns]/*"))


@each_chapter
def test_both_languages_have_the_same_code_formulas_and_headings(source):
    for cell in chapters.read_chapter(source):
        if cell.code:
            english, spanish = (chapters.code_of(cell, language) for language in chapters.LANGUAGES)
            assert _without_words(english) == _without_words(spanish)
        if cell.text:
            english, spanish = (cell.text[language] for language in chapters.LANGUAGES)
            levels = [re.findall(r"^#+ ", text, flags=re.MULTILINE) for text in (english, spanish)]
            assert levels[0] == levels[1]
            assert english.count("$$") == spanish.count("$$")
            assert english.count("$") % 2 == spanish.count("$") % 2 == 0
            links = [sorted(re.findall(r"\]\(([^)]+)\)", text)) for text in (english, spanish)]
            assert links[0] == links[1]


@each_chapter
def test_links_lead_to_other_chapters(source):
    names = {f"{other.stem}.ipynb" for other in chapters.SOURCES}
    for cell in chapters.read_chapter(source):
        for text in cell.text.values():
            assert set(re.findall(r"\]\(([^)]+)\)", text)) <= names


@each_chapter
def test_each_exercise_has_a_cell_to_fill_and_a_folded_solution(source):
    cells = chapters.read_chapter(source)
    exercises = sum(len(re.findall(r"^\*\*\d\.\*\*", c.text.get("en", ""), re.M)) for c in cells)
    solutions = [pair for pair in pairwise(cells) if pair[1].is_solution]
    assert 2 <= len(solutions) == exercises <= 4
    assert all("«your answer|tu respuesta»" in before.code for before, _ in solutions)


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all the notebooks: what one of them compiles and imports serves the others."""
    manager = KernelManager(kernel_name="python3")
    # Pictures as a notebook has them, whatever the tests draw with.
    manager.start_kernel(env={**os.environ, "MPLBACKEND": INLINE})
    yield manager
    manager.shutdown_kernel(now=True)


@each_chapter
def test_the_spanish_notebook_runs_in_a_kernel_and_speaks_spanish(source, kernel):
    codes = [BEGIN, *_codes(source, "es")]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    client = nbclient.NotebookClient(book, km=kernel, timeout=300)
    client.execute()
    client.kc.stop_channels()
    printed = "".join(output.get("text", "") for cell in book.cells for output in cell.outputs)
    assert "Certificado" in printed
    assert not re.search("Certificate|Warning", printed)
    for cell in book.cells:
        shown = [output for output in cell.outputs if "image/png" in output.get("data", {})]
        assert bool(shown) == bool(DRAWS.search(cell.source)), cell.source


@each_chapter
def test_the_english_notebook_runs_before_any_exercise_is_done(source):
    def run():
        names = {"__name__": "__main__"}
        for cell in chapters.read_chapter(source):
            if not cell.is_solution:
                exec(compile(chapters.code_of(cell, "en"), source.name, "exec"), names)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contextvars.copy_context().run(run)  # the language is set for the notebook alone
    plt.close("all")


@pytest.mark.parametrize(
    ("page", "word"),
    [
        ("Text first.\n\n<!-- en -->\nA\n<!-- es -->\nB\n", "begin"),
        ("<!-- en -->\nA\n\n```python\nx = 1\n```\n", "one"),
        ("<!-- solution -->\n\n```python\nx = 1\n```\n", "one"),
        ("<!-- es -->\nB\n<!-- en -->\nA\n", "one"),
        ("<!-- en -->\nA\n<!-- es -->\nB\n\n```python\nx = 1\n```\n\nC\n", "no"),
        ("<!-- en -->\nA\n<!-- es -->\nB\n\n<!-- solution -->\n", "within"),
    ],
)
def test_a_source_of_another_form_is_refused(page, word, tmp_path):
    (tmp_path / "01_page.md").write_text(page, "utf-8")
    with pytest.raises(chapters.SourceError, match=word):
        chapters.read_chapter(tmp_path / "01_page.md")
