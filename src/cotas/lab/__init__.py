"""The lab: the documents to be tried out in a browser or a notebook, by the library's own calls.

`cotas lab` opens it in a browser; in a notebook each room is an object that shows itself:

    cotas.lab.Boundary()

Needs Panel: pip install 'cotas[lab]'.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cotas.lab.boosting import Boosting
    from cotas.lab.boundary import Boundary
    from cotas.lab.descent import Descent
    from cotas.lab.done import Done
    from cotas.lab.penalty import Penalty
    from cotas.lab.server import serve
    from cotas.lab.steps import Steps

# The rooms by the last part of their address, in the order of the documents.
ROOMS = {
    kind.lower(): kind for kind in ("Boundary", "Steps", "Descent", "Penalty", "Boosting", "Done")
}
_HOME = {kind: f"cotas.lab.{name}" for name, kind in ROOMS.items()} | {"serve": "cotas.lab.server"}

__all__ = ["Boosting", "Boundary", "Descent", "Done", "Penalty", "Steps", "serve"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'cotas.lab' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("panel", "bokeh", "param"):
            raise ImportError("The lab needs Panel: pip install 'cotas[lab]'.") from error
        raise
