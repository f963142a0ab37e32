"""The tables of docs/speed.md and its Spanish version, put there by the run that measured them.

`python -m bench --write small svm` runs two sections and replaces the rows of their tables. In the
pages each table stands behind a mark, `<!-- bench: svm 1 -->`, the first table that section
prints. A page keeps its own head, and its rows of data sets that were not run.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
# What cells say besides numbers and names, in Spanish; longer parts first.
IN_SPANISH = {
    "more than ": "más de ",
    "not reached": "no alcanzado",
    "one run": "una ejecución",
    "ten classes": "diez clases",
    "least squares": "mínimos cuadrados",
    "made up": "inventado",
    "dense": "densa",
    "vacuous": "vacía",
    "redundant columns": "columnas redundantes",
    "one-hot": "indicadoras",
    "breast cancer": "cáncer de mama",
    "squared hinge": "hinge al cuadrado",
    "squared": "cuadrática",
    "absolute": "absoluta",
    "predict 1 row": "predecir 1 fila",
    "predict 10 rows": "predecir 10 filas",
    "20 epochs": "20 épocas",
    "5 epochs": "5 épocas",
    "20 trees of depth 3": "20 árboles de profundidad 3",
    "20 stumps": "20 tocones",
    "rows, of 10 columns": "filas, de 10 columnas",
    "columns, of 1,000 rows": "columnas, de 1,000 filas",
    "classes, 20,000 rows of 20 columns": "clases, 20,000 filas de 20 columnas",
    "entries, 10 in each row of 1,000 columns": "entradas, 10 en cada fila de 1,000 columnas",
    "degree 3": "grado 3",
    "sparse": "dispersa",
    "random": "aleatorio",
    "first fit": "primer ajuste",
    "P of SVC": "P de SVC",
    "above the best": "sobre el óptimo",
    "3,000 rows": "3,000 filas",
    " to ": " a ",
}


class Copied(io.TextIOBase):
    """Standard output, of which the tables are kept."""

    def __init__(self) -> None:
        self.lines = [""]

    def write(self, text: str) -> int:
        first, *more = text.split("\n")
        self.lines[-1] += first
        self.lines += more
        return sys.__stdout__.write(text)

    def flush(self) -> None:
        sys.__stdout__.flush()

    def tables(self) -> list[list[str]]:
        """The rows of each table, without its head."""
        found: list[list[str]] = []
        inside = False
        for line in self.lines:
            begins = line.startswith("|") and not inside
            inside = line.startswith("|")
            if begins:
                found.append([])
            if inside:
                found[-1].append(line)
        return [rows[2:] for rows in found]


def in_spanish(row: str) -> str:
    """A row in Spanish; what stands between backquotes is code."""
    parts = re.split(r"(`[^`]*`)", row)
    for english, spanish in IN_SPANISH.items():
        parts = [p if p.startswith("`") else p.replace(english, spanish) for p in parts]
    return "".join(parts)


def merged(old: list[str], new: list[str]) -> list[str]:
    """The old rows with those of the same data set replaced, where they stood, and what is new."""

    def data(row: str) -> str:
        return row.split(" | ")[0]

    measured: dict[str, list[str]] = {}
    for row in new:
        measured.setdefault(data(row), []).append(row)
    found: list[str] = []
    for row in old:
        found += measured.pop(data(row), []) if data(row) in measured else []
        found += [] if any(data(row) == data(r) for r in new) else [row]
    return found + [row for rows in measured.values() for row in rows]


def put(page: str, mark: str, rows: list[str]) -> str:
    """The page with the rows of one table replaced, if it has a place for it."""
    table = re.compile(rf"(<!-- bench: {mark} -->\n\n)((?:\|.*\n)+)")
    found = table.search(page)
    if found is None:
        print(f"The page has no place for a table “{mark}”.", file=sys.stderr)
        return page
    head, old = found[2].splitlines()[:2], found[2].splitlines()[2:]
    if any(row.count(" | ") != head[0].count(" | ") for row in rows):
        raise SystemExit(f"The table “{mark}” of the page has other columns than the run.")
    kept = "\n".join([*head, *merged(old, rows)])
    return page[: found.start(2)] + kept + "\n" + page[found.end(2) :]


def write(section: str, tables: list[list[str]]) -> None:
    """Put the tables of a section into both pages."""
    for name, spoken in (("speed.md", str), ("speed.es.md", in_spanish)):
        path = DOCS / name
        page = path.read_text(encoding="utf-8")
        for number, rows in enumerate(tables, 1):
            page = put(page, f"{section} {number}", [spoken(row) for row in rows])
        path.write_text(page, encoding="utf-8")
