"""Writes docs/coverage.md and its Spanish version: where each item of the documents is.

python tests/coverage_page.py

The items stand in coverage_items.txt, their Spanish texts in coverage_in_spanish.txt.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parent
ITEMS = TESTS / "coverage_items.txt"
DOCS = TESTS.parent / "docs"
PAGES = {"en": DOCS / "coverage.md", "es": DOCS / "coverage.es.md"}
SPANISH = TESTS / "coverage_in_spanish.txt"
HEAD = {
    "en": """# Where each item of the documents is

Read line by line, the five [documents](sources.md) have {count} items: definitions, formulas,
algorithms, theorems, claims and figures. For each: where it stands, what runs it, and the test that
compares the two. Where the library departs from what is printed, the printed version is offered
beside it, or the last column says what is wrong with it. A test is written as `file::name`, without
the `test_` of both. Written by `tests/coverage_page.py`; CI checks that each name and each test
exists.
""",
    "es": """# Dónde está cada elemento de los documentos

Leídos línea por línea, los cinco [documentos](sources.md) tienen {count} elementos: definiciones,
fórmulas, algoritmos, teoremas, afirmaciones y figuras. De cada uno: dónde está, qué lo ejecuta, y
la prueba que compara ambos. Donde la biblioteca se aparta de lo impreso, se ofrece al lado la
versión impresa, o la última columna dice qué falla en ella. Una prueba se escribe como
`archivo::nombre`, sin el `test_` de ninguno de los dos. Lo escribe `tests/coverage_page.py`; las
pruebas comprueban que cada nombre y cada prueba existen.
""",
}
COLUMNS = {
    "en": "| # | item | place | in cotas | test | departure |",
    "es": "| # | elemento | lugar | en cotas | prueba | diferencia |",
}
SOURCES = {
    "000": "Fuentes Cabrera",
    "001": "Rugeles Ospina",
    "002": "Fuentes-Pineda",
    "003": "Moreno Chávez",
    "004": "*Clasificación lineal*",
}
AUTHORED = ("000", "001", "002", "003")  # the last one names nobody
NUMBERED = {
    "Algorithm": "Algoritmo",
    "Theorem": "Teorema",
    "Lemma": "Lema",
    "Corollary": "Corolario",
    "Proposition": "Proposición",
    "Fig.": "Fig.",
}
PLACES = {
    r"\bintro\b": "introducción",
    r"\bpictures\b": "figuras",
    r"\bpicture\b": "figura",
    r"\blast\b": "al final",
    r"\bch\.": "cap.",
    r"\bapp\.": "apéndice",
    r"\bThm\b": "Teo.",
}


class Item(NamedTuple):
    """A line of the table; `names` and `tests` as they are written there.

    An item that was found later has the number of the one before it and a letter.
    """

    number: str
    item: str
    place: str
    names: tuple[str, ...]
    tests: tuple[str, ...]
    note: str


def sections() -> Iterator[tuple[str, list[Item]]]:
    """The documents with their items."""
    title, items = "", list[Item]()
    for line in ITEMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            if items:
                yield title, items
            title, items = line[3:], []
        elif line.strip() and not line.startswith("#"):
            items.append(read_item(line))
    yield title, items


def read_item(line: str) -> Item:
    """number | item | place | names | tests | note"""
    number, item, place, names, tests, *note = (cell.strip() for cell in line.split(" | "))
    parts = [tuple(part.strip() for part in cell.split(";")) for cell in (names, tests)]
    return Item(number, item, place, *parts, note[0] if note else "")


def all_items() -> list[Item]:
    """All of them, in their order."""
    return [item for _, items in sections() for item in items]


def in_spanish(items: list[Item]) -> list[Item]:
    """The items with their Spanish texts; an algorithm or a figure by its number follows."""
    lines = SPANISH.read_text(encoding="utf-8").splitlines()[1:]
    known = {cells[0]: cells[1:] for cells in (line.split(" | ") for line in lines)}
    return [
        _translated(item, *(known.get(item.number) or [_numbered(item.item)])) for item in items
    ]


def _numbered(text: str) -> str:
    """The Spanish of an item that is but a number of its document."""
    kind, _, number = text.partition(" ")
    if not re.fullmatch(r"[\d.]+", number):
        raise KeyError(f"{SPANISH.name} has no line for {text!r}.")
    return f"{NUMBERED[kind]} {number}"


def _translated(item: Item, text: str, note: str = "") -> Item:
    if bool(note) != bool(item.note):
        raise ValueError(f"item {item.number}: the departure must stand in both languages.")
    place = item.place
    for english, spanish in PLACES.items():
        place = re.sub(english, spanish, place)
    return item._replace(item=text, place=place, note=note)


def page(lang: str) -> str:
    """The whole page."""
    lines = [HEAD[lang].format(count=len(all_items()))]
    for title, items in sections():
        number, _, name = title.partition(" ")
        author = f"{SOURCES[number]}, " if number in AUTHORED else ""
        lines += [f"## {author}*{name}* {{#document-{number}}}\n", COLUMNS[lang]]
        lines += ["|---|---|---|---|---|---|"]
        lines += [*map(row, items if lang == "en" else in_spanish(items)), ""]
    return "\n".join(lines)


def row(item: Item) -> str:
    """A row of the page; a bar inside a formula is not the end of a cell, nor a star emphasis."""
    names = ", ".join(map(shown, item.names))
    tests = "<br>".join(f"`{test}`" for test in item.tests)
    text, note = (cell.replace("*", r"\*") for cell in (item.item, item.note))
    place = re.sub(r"\b00[0-4]\b", lambda found: SOURCES[found[0]], item.place)
    cells = [item.number, text, place, names, tests, note]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def shown(name: str) -> str:
    """A name of the package, or a link to a page."""
    if name.startswith("docs/"):
        target = name.removeprefix("docs/")
        return f"[{target}]({target})"
    return f"`{name}`"


# ---- what CI checks ------------------------------------------------------------------------------


def resolve(name: str) -> Any:
    """The object of a name such as `kernels.RBF` or `experiments.FIGURES["001-1.5"]`."""
    return _found(ast.parse(name, mode="eval").body)


def _found(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return _member(import_module("cotas"), node.id)
    if isinstance(node, ast.Attribute):
        return _member(_found(node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return _found(node.value)[ast.literal_eval(node.slice)]
    if isinstance(node, ast.Call):
        return _called(_found(node.func), node)
    raise ValueError(f"{ast.unparse(node)} is no name.")


def _member(owner: Any, name: str) -> Any:
    if inspect.ismodule(owner) and not hasattr(owner, name):
        return import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)


def _called(function: Any, call: ast.Call) -> Any:
    """The function, which must take these arguments."""
    known = inspect.signature(function).parameters
    for keyword in call.keywords:
        if keyword.arg not in known:
            raise TypeError(f"{function.__name__} has no parameter {keyword.arg}.")
    return function


@cache
def file_of(test: str) -> Path:
    """The file of a test that is written as stem::name, the stem without its test_."""
    stem = test.split("::")[0]
    found = list(TESTS.rglob(f"test_{stem}.py"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} files are called test_{stem}.py.")
    return found[0]


@cache
def functions_of(path: Path) -> dict[str, ast.FunctionDef]:
    """The tests of a file that always run: neither skipped nor expected to fail."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any(
            "skip" in ast.unparse(d) or "xfail" in ast.unparse(d) for d in node.decorator_list
        )
    }


if __name__ == "__main__":
    for lang, path in PAGES.items():
        path.write_text(page(lang), encoding="utf-8")
