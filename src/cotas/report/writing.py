"""Writing the report: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from cotas import words
from cotas.files.atomic import write_atomically
from cotas.preparation.record import FitRecord
from cotas.report.page import render
from cotas.report.record import content_of


def write_report(record: FitRecord, path: str | Path, lang: str | None = None) -> None:
    """Write one HTML file that says everything there is to say about a fit.

    The file is complete in itself: it loads nothing from the network, follows the light or dark
    setting of the reader, and prints.

    Parameters
    ----------
    record : FitRecord
    path : str or Path
        An existing file is replaced, or left as it was if the new one cannot be written.
    lang : {"en", "es"}, optional
        The language; if not given, that of `cotas.lang`, or else English.
    """
    with words.lang(lang or words.current()):
        write_atomically(path, [render(content_of(record)).encode()])
