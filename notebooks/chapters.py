"""Make the notebooks of both languages from one source for each chapter.

    python notebooks/chapters.py

`notebooks/source/NN_name.md` becomes `notebooks/en/NN_name.ipynb` and `notebooks/es/NN_name.ipynb`,
without outputs. A source is Markdown of four things:

    <!-- en -->          a text in English, and after it
    <!-- es -->          the same in Spanish: a cell of text, one for each language
    ```python            a block of code: a cell that both languages have
    <!-- solution -->    the text in both languages and the block that follow are a solution: they
                         become one cell of text that is folded; tests run its code

Words inside code are written «English|español», in a string or a comment. `cotas.lang("en")`
becomes `cotas.lang("es")` in the Spanish notebooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = sorted((HERE / "source").glob("*.md"))
LANGUAGES = ("en", "es")

_PIECE = re.compile(
    r"^<!-- (?P<marker>en|es|solution) -->$|^```python\n(?P<code>.*?)\n```$",
    flags=re.MULTILINE | re.DOTALL,
)
_WORDS = re.compile(r"«([^«»|]*)\|([^«»|]*)»")
SUMMARY = {"en": "Solution", "es": "Solución"}


class SourceError(ValueError):
    """A source that does not have the form of `chapters.py`."""


@dataclass(frozen=True)
class Cell:
    """A part of a chapter: a text in both languages, code, or a solution, which has both.

    Attributes
    ----------
    text : the text by language; empty for a cell of code
    code : the code, with the words of both languages in it; empty for a cell of text
    """

    text: dict[str, str]
    code: str

    @property
    def is_solution(self) -> bool:
        """Whether the code is shown folded, below its text."""
        return bool(self.text) and bool(self.code)


def read_chapter(source: Path) -> list[Cell]:
    """Read the cells of a source.

    Parameters
    ----------
    source : Path of a file `notebooks/source/NN_name.md`

    Returns
    -------
    list of Cell
    """
    cells: list[Cell] = []
    text: dict[str, str] = {}
    folded = False
    for marker, body in _pieces(source):
        # How many languages the text has that stands before it and belongs to no cell yet.
        if len(text) != {"en": 0, "es": 1, "solution": 0, "code": 2 * folded}[marker]:
            raise SourceError(f"{source.name}: a text in one language only, before {body[:40]!r}.")
        if marker == "solution":
            folded = True
        elif marker == "code":
            cells.append(Cell(text, body))
            text, folded = {}, False
        else:
            text = {**text, marker: body}
            if marker == "es" and not folded:
                cells.append(Cell(text, ""))
                text = {}
    if text or folded:
        raise SourceError(f"{source.name}: it ends within a text or a solution.")
    return cells


def code_of(cell: Cell, language: str) -> str:
    """The code of a cell with the words of one language."""
    code = _WORDS.sub(lambda words: words[LANGUAGES.index(language) + 1], cell.code)
    return code.replace('cotas.lang("en")', f'cotas.lang("{language}")')


def notebook_of(source: Path, language: str) -> Any:
    """Make the notebook of a chapter in one language, without outputs."""
    import nbformat  # a site can be built without it

    cells = [_notebook_cell(cell, language) for cell in read_chapter(source)]
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"{source.stem.split('_')[0]}-{number:02d}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def written(source: Path, language: str) -> tuple[Path, str]:
    """Where the notebook of a chapter belongs, and the text of its file."""
    import nbformat

    path = HERE / language / f"{source.stem}.ipynb"
    return path, nbformat.writes(notebook_of(source, language)) + "\n"


def _pieces(source: Path) -> Iterator[tuple[str, str]]:
    """Each marker with the text after it, and each block of code as "code"."""
    page = source.read_text("utf-8")
    found = list(_PIECE.finditer(page))
    if not found or page[: found[0].start()].strip():
        raise SourceError(f"{source.name}: it has to begin with <!-- en -->.")
    ends = [piece.start() for piece in found[1:]] + [len(page)]
    for piece, end in zip(found, ends, strict=True):
        after = page[piece.end() : end].strip()
        if piece["marker"] in LANGUAGES:
            yield piece["marker"], after
        elif after:
            raise SourceError(f"{source.name}: a text in no language: {after[:40]!r}.")
        else:
            yield ("solution", "") if piece["marker"] else ("code", piece["code"])


def _notebook_cell(cell: Cell, language: str) -> Any:
    """One cell as a notebook has it."""
    import nbformat

    code = code_of(cell, language)
    if not cell.text:
        return nbformat.v4.new_code_cell(code)
    text = cell.text[language]
    if cell.is_solution:
        text = (
            f"<details>\n<summary>{SUMMARY[language]}</summary>\n\n"
            f"{text}\n\n```python\n{code}\n```\n\n</details>"
        )
    return nbformat.v4.new_markdown_cell(text)


def main() -> None:
    """Write all the notebooks, and remove those whose source is gone."""
    made = dict(written(source, language) for source in SOURCES for language in LANGUAGES)
    for language in LANGUAGES:
        (HERE / language).mkdir(exist_ok=True)
        for old in set((HERE / language).glob("*.ipynb")) - set(made):
            old.unlink()
    for path, text in made.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
