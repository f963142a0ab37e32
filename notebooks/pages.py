"""The chapters as pages of the site: a hook of MkDocs that writes them into docs/notebooks."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import chapters

_DOWNLOAD = {"en": "The notebook of this page", "es": "El cuaderno de esta página"}


def on_pre_build(config: Any) -> None:
    """Write a page for each chapter and language, and lay the notebook beside it."""
    there = Path(config.docs_dir) / "notebooks"
    for source in chapters.SOURCES:
        for language in chapters.LANGUAGES:
            suffix = "" if language == "en" else f".{language}"
            _write(there / f"{source.stem}{suffix}.md", page_of(source, language))
            notebook = Path(language) / f"{source.stem}.ipynb"
            _write(there / notebook, (chapters.HERE / notebook).read_text("utf-8"))


def page_of(source: Path, language: str) -> str:
    """Make the page of a chapter in one language: its text, its code, solutions that unfold."""
    title, *rest = "\n\n".join(
        _block(cell, language) for cell in chapters.read_chapter(source)
    ).split("\n", 1)
    notebook = f"{language}/{source.stem}.ipynb"
    return "\n".join([title, "", f"[{_DOWNLOAD[language]}]({notebook}): `{notebook}`", *rest, ""])


def _block(cell: chapters.Cell, language: str) -> str:
    """One cell as a page has it."""
    code = f"```python\n{chapters.code_of(cell, language)}\n```" if cell.code else ""
    text = cell.text.get(language, "").replace(".ipynb)", ".md)")
    if not cell.is_solution:
        return text or code
    inside = textwrap.indent(f"{text}\n\n{code}", "    ")
    return f'??? success "{chapters.SUMMARY[language]}"\n\n{inside}'


def _write(path: Path, text: str) -> None:
    """Write a file that is new or has changed; a page that is older than its site stays so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
