"""Pictures that a command draws: told before the work if they cannot be, and written whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cotas.cli.data import writable
from cotas.cli.exits import UsageError
from cotas.cli.streams import writing
from cotas.files.atomic import replacing


def drawable(picture: Path | None, data: str) -> None:
    """Refuse a place that cannot be written, and an ending that no picture has."""
    if picture is None:
        return
    writable(picture, "--picture", data)
    from matplotlib.backend_bases import FigureCanvasBase

    if _ending(picture) not in FigureCanvasBase.filetypes:
        raise UsageError("--picture cannot be {ending}; name a .png.", ending=picture.suffix)


def save_picture(figure: Any, picture: Path) -> None:
    """Write a figure of matplotlib, whole or not at all."""
    with writing(picture), replacing(picture) as file:
        figure.savefig(file, format=_ending(picture), dpi=150, bbox_inches="tight")


def _ending(picture: Path) -> str:
    return picture.suffix.removeprefix(".").lower() or "png"
