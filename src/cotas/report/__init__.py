"""A report on a fitted model, as one HTML file that one would hand to a colleague."""

from cotas.report.content import ColumnLine, Content, Effects, HeldOutFigures, Picture
from cotas.report.page import render
from cotas.report.writing import write_report

__all__ = [
    "ColumnLine",
    "Content",
    "Effects",
    "HeldOutFigures",
    "Picture",
    "render",
    "write_report",
]
