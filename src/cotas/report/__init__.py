"""A report on a fitted model, as one HTML file that one would hand to a colleague."""

from cotas.report.content import Column, Content, HeldOut, Picture
from cotas.report.page import render

__all__ = ["Column", "Content", "HeldOut", "Picture", "render"]
