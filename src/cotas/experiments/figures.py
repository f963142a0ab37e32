"""Saving a figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cotas.experiments.names import find
from cotas.experiments.sheet import DPI
from cotas.plots.style import pyplot
from cotas.refusals import ParameterError

# What each format would write of the moment it is written at: without it, equal figures are equal
# files. The salt is what names inside an SVG are made from; letters of a PDF stay text.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": DPI},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
SETTINGS = {"svg.hashsalt": "cotas", "pdf.fonttype": 42}


def reproduce(
    name: str,
    folder: str | Path = "figures",
    *,
    seed: int = 0,
    lang: str | None = None,
    format: str = "png",
    **sizes: Any,
) -> Path:
    """Compute a figure, draw it and save it.

    Parameters
    ----------
    name : str
        One of `FIGURES`, the number alone, or what the figure shows: "teorema-3.1".
    folder : path, default="figures"
        Where to save; it is made if it is not there.
    seed : int, default=0
    lang : "en" or "es", optional
    format : "png", "svg" or "pdf", default="png"
        A PNG has 1920 × 1080 points; the others are made of lines and have no size of their own.
        The same figure of the same seed is the same file.
    **sizes : as in `Figure`

    Returns
    -------
    Path of the picture

    Examples
    --------
    >>> import tempfile
    >>> from cotas.experiments import reproduce
    >>> reproduce("3.3", tempfile.mkdtemp()).name
    '000-3.3.png'
    """
    if format not in FORMATS:
        raise ParameterError("format", f"format must be one of {tuple(FORMATS)}, not {format!r}.")
    figure, there = find(name), ready(folder)
    target = there / f"{figure.name}.{format}"
    picture = figure(seed, lang, **sizes)
    with pyplot().rc_context(SETTINGS):
        picture.savefig(target, **FORMATS[format])
    return target


def ready(folder: str | Path) -> Path:
    """Return the folder, made and writable, or an error that says why not: before hours of work."""
    there = Path(folder)
    try:
        there.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"The folder {there} cannot be made ({error.strerror}): choose another with --out."
        raise OSError(reason) from error
    if not os.access(there, os.W_OK):
        raise PermissionError(f"The folder {there} is not writable: choose another with --out.")
    return there
