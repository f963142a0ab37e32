"""Finding a figure by its name, and saving it."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from cotas.experiments.catalogue import FIGURES
from cotas.experiments.figure import Figure


class UnknownFigureError(ValueError):
    """There is no figure of that name."""


def find(name: str) -> Figure:
    """The figure with this name, or with this number: "001-1.5" and "1.5" are the same.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> from cotas.experiments import find
    >>> find("3.6").english
    'The linear separator with the largest margin'
    """
    if name in FIGURES:
        return FIGURES[name]
    same = [figure for figure in FIGURES.values() if figure.name.split("-", 1)[1] == name]
    if len(same) == 1:
        return same[0]
    near = [figure.name for figure in same] or _near(name)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UnknownFigureError(
        f"There is no figure {name!r}.{advice} `python -m cotas.experiments --list` shows all."
    )


def _near(name: str) -> list[str]:
    """Names that look alike, with or without the document."""
    short = {known.split("-", 1)[1]: known for known in FIGURES}
    found = difflib.get_close_matches(name, FIGURES, n=3)
    found += [short[word] for word in difflib.get_close_matches(name, short, n=3)]
    return list(dict.fromkeys(found))[:3]


def reproduce(
    name: str,
    folder: str | Path = "figures",
    *,
    seed: int = 0,
    lang: str | None = None,
    **sizes: Any,
) -> Path:
    """Compute a figure, draw it and save it as a PNG.

    Parameters
    ----------
    name : str
        One of `FIGURES`, or the number alone.
    folder : path, default="figures"
        Where to save; it is made if it is not there.
    seed : int, default=0
    lang : "en" or "es", optional
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
    figure, there = find(name), ready(folder)
    target = there / f"{figure.name}.png"
    figure(seed, lang, **sizes).savefig(target, dpi=150)
    return target


def ready(folder: str | Path) -> Path:
    """The folder, made and writable, or an error that says why not: before hours of work."""
    there = Path(folder)
    try:
        there.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"The folder {there} cannot be made ({error.strerror}): choose another with --out."
        raise OSError(reason) from error
    if not os.access(there, os.W_OK):
        raise PermissionError(f"The folder {there} is not writable: choose another with --out.")
    return there
