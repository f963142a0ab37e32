"""A report on a fitted model, as one HTML file that one would hand to a colleague."""

from cotas.report.content import Column, Content, Effects, HeldOut, Picture
from cotas.report.page import render
from cotas.report.writing import write_report

__all__ = ["Column", "Content", "Effects", "HeldOut", "Picture", "render", "write_report"]
