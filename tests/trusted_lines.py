"""What a sceptic has to read: for each certificate the modules its numbers depend on, and lines.

`python tests/trusted_lines.py` writes the tables of docs/trust.md and its Spanish version; a test
compares them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGES = {"en": ROOT / "docs" / "trust.md", "es": ROOT / "docs" / "trust.es.md"}
# Words, files and pictures: nothing a number depends on.
NO_NUMBERS = {
    "cotas.arrays",
    "cotas.refusals",
    "cotas.words",
    "cotas.certificates.presentation",
}
# What only chooses: whatever it answers, the bounds hold, which a law has it prove at random.
CHOICES = {"cotas.certificates.core.choices"}
# What computes on a GPU, or reads rows in blocks, is reached only by who asks for it.
ON_REQUEST = {
    "cotas.certificates.device",
    "cotas.certificates.blocks",
    "cotas.certificates.block_points",
    "cotas.source",
}
IN_BLOCKS = ["cotas.source", "cotas.certificates.blocks"]
KINDS = {
    "core only: a linear SVM's bounds": [f"cotas.certificates.core.{m}" for m in ("gap", "rows")],
    "core only: a kernel machine's bounds": ["cotas.certificates.core.gram"],
    "linear SVM, logistic, hard margin": ["cotas.certificates.duality"],
    "softmax": ["cotas.certificates.softmax"],
    "kernel machines": ["cotas.certificates.kernel"],
    "kernel machines, on a GPU": ["cotas.certificates.kernel", "cotas.certificates.device"],
    "kernel regression": ["cotas.certificates.kernel_regression"],
    "Lasso, elastic net, ball": ["cotas.certificates.lasso"],
    "Lasso from products": ["cotas.certificates.lasso_products"],
    "robust regression": ["cotas.certificates.residuals"],
    "least squares, ridge": ["cotas.certificates.least_squares"],
    "least squares from products": ["cotas.certificates.streamed"],
    "linear models of rows in blocks": [*IN_BLOCKS, "cotas.certificates.block_points"],
    "softmax of rows in blocks": [*IN_BLOCKS, "cotas.certificates.softmax"],
    "stagewise": ["cotas.certificates.theorems.stagewise"],
    "mistakes": ["cotas.certificates.theorems.mistakes"],
    "mistakes of a kernel perceptron": ["cotas.certificates.theorems.kernel_mistakes"],
    "mistakes of mixed runs": [*IN_BLOCKS, "cotas.certificates.theorems.mixing"],
    "separation": ["cotas.certificates.theorems.separation"],
    "boosting": ["cotas.certificates.theorems.surrogates"],
    "hull": ["cotas.certificates.theorems.hull"],
    "boosted trees for numbers": ["cotas.certificates.theorems.additive"],
    "boosted models of rows in blocks": [
        *IN_BLOCKS, "cotas.certificates.theorems.block_combinations",
    ],
    "hold-out": ["cotas.certificates.theorems.hold_out"],
    "certified predictions": ["cotas.certificates.consequences.prediction"],
    "paths over λ": ["cotas.certificates.consequences.path"],
}  # fmt: skip

HEADS = {
    "en": "| certificate | modules | lines | of these in `core/` |",
    "es": "| certificado | módulos | líneas | de ellas en `core/` |",
}
IN_SPANISH = {
    "core only: a linear SVM's bounds": "solo el núcleo: las cotas de una SVM lineal",
    "core only: a kernel machine's bounds": "solo el núcleo: las cotas de una máquina con kernel",
    "linear SVM, logistic, hard margin": "SVM lineal, logística, margen duro",
    "softmax": "softmax",
    "kernel machines": "máquinas con kernel",
    "kernel machines, on a GPU": "máquinas con kernel, en una GPU",
    "kernel regression": "regresión con kernel",
    "Lasso, elastic net, ball": "Lasso, red elástica, bola",
    "Lasso from products": "Lasso a partir de productos",
    "robust regression": "regresión robusta",
    "least squares, ridge": "mínimos cuadrados, ridge",
    "least squares from products": "mínimos cuadrados a partir de productos",
    "linear models of rows in blocks": "modelos lineales de filas en bloques",
    "softmax of rows in blocks": "softmax de filas en bloques",
    "stagewise": "por etapas",
    "mistakes": "errores",
    "mistakes of a kernel perceptron": "errores de un perceptrón con kernel",
    "mistakes of mixed runs": "errores de ejecuciones mezcladas",
    "separation": "separación",
    "boosting": "boosting",
    "hull": "envolvente convexa",
    "boosted trees for numbers": "árboles con boosting para números",
    "boosted models of rows in blocks": "modelos de boosting con filas por bloques",
    "hold-out": "datos reservados",
    "certified predictions": "predicciones certificadas",
    "paths over λ": "caminos en λ",
}


def path_of(module: str) -> Path | None:
    """The file of a module of ours."""
    base = SOURCE / Path(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


@cache
def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports when it runs."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in hidden and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if path_of(inner) else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("cotas")}


def closure(roots: list[str]) -> set[str]:
    """The roots and all they import, directly or not."""
    seen, todo = set(), list(roots)
    while todo:
        name = todo.pop()
        path = path_of(name)
        if name in seen or name in NO_NUMBERS | CHOICES or path is None:
            continue
        if name in ON_REQUEST and name not in roots:
            continue
        seen.add(name)
        todo += imported(path)
    return seen


def lines_of(modules: set[str]) -> int:
    """How many lines the modules have together, comments and docstrings included."""
    paths = [path for path in map(path_of, modules) if path is not None]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def table(lang: str = "en") -> str:
    """The table of docs/trust.md, or of its Spanish version."""
    rows = [HEADS[lang], "|---|---|---|---|"]
    for kind, roots in KINDS.items():
        modules = closure(roots)
        core = {name for name in modules if ".core." in name}
        shown = kind if lang == "en" else IN_SPANISH[kind]
        rows.append(f"| {shown} | {len(modules)} | {lines_of(modules)} | {lines_of(core)} |")
    return "\n".join(rows)


def filled(page: str, lang: str) -> str:
    """The page with the table that is counted now."""
    start = re.escape(HEADS[lang])
    if not re.search(start, page):
        raise ValueError(f"the page must have a table that begins with {HEADS[lang]!r}.")
    return re.sub(rf"^{start}\n(?:\|.*\n)+", lambda _: table(lang) + "\n", page, flags=re.MULTILINE)


if __name__ == "__main__":
    for lang, path in PAGES.items():
        path.write_text(filled(path.read_text(encoding="utf-8"), lang), encoding="utf-8")
    print(table())
