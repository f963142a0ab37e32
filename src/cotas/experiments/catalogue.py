"""The figures by name, document by document: those with a number, then those called by a word."""

from __future__ import annotations

from importlib import import_module

from cotas.experiments.figure import DRAWN, Figure

for _chapter in ("boosting", "descent", "generalization", "kernel_machines", "margins", "promises",
                 "stagewise"):  # fmt: skip
    import_module(f"cotas.experiments.drawing.{_chapter}")

FIGURES: dict[str, Figure] = {figure.name: figure for figure in sorted(DRAWN, key=Figure.place)}
