"""The command line: `cotas fit`, `cotas predict`, `cotas certify` and the rest."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """The entry point of `cotas` and of `python -m cotas`."""
    missing = [name for name in ("typer", "rich", "polars") if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"cotas: the command line needs {' and '.join(missing)}: pip install 'cotas[cli]'.\n"
        )
        raise SystemExit(5)
    from cotas.cli.loading import leave_at_once, loading

    leave_at_once()
    with loading():
        from cotas.cli.app import run
    run()
