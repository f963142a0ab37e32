"""How often a reader who follows one fit has to change file: `python -m bench.walks`.

The functions of the package are listed in the order in which a fit of a few rows first calls them,
compiled loops included (Numba is switched off); each change of file along that list is one switch.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np

import cotas

HOME = Path(cotas.__file__).parent
# What reading one fit may cost at most.
AT_MOST = {
    "LinearSVM.fit": 30,
    "Lasso.fit": 30,
    "KernelSVM.fit": 40,
    "AdaBoost.fit": 40,
    "cotas fit": 80,
}


def walk(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """List (file, function) of the package in the order of their first visit during a call."""
    seen: dict[CodeType, tuple[str, str]] = {}

    def visit(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        named = not code.co_name.startswith("<")
        if (
            event == "call"
            and named
            and code not in seen
            and Path(code.co_filename).is_relative_to(HOME)
        ):
            seen[code] = (str(Path(code.co_filename).relative_to(HOME)), code.co_qualname)

    sys.setprofile(visit)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen.values())


def switches(visited: list[tuple[str, str]]) -> int:
    """Count the changes of file."""
    return sum(a[0] != b[0] for a, b in pairwise(visited))


def fits() -> dict[str, Callable[[], Any]]:
    """Name the walks, each a call on a few rows, with what it imports imported before."""
    from cotas.cli import main

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1, -1)
    folder = Path(tempfile.mkdtemp())
    lines = ["a,b,c,class", *(",".join(map(str, (*x, t))) for x, t in zip(X, y, strict=True))]
    (folder / "rows.csv").write_text("\n".join(lines))
    arguments = [
        "fit",
        str(folder / "rows.csv"),
        "--target",
        "class",
        "--out",
        str(folder / "m.cotas"),
    ]

    def command() -> None:
        sys.argv = ["cotas", *arguments]
        with contextlib.suppress(SystemExit):
            main()

    return {
        "LinearSVM.fit": lambda: cotas.LinearSVM(lam=0.1, n_jobs=1).fit(X, y),
        "Lasso.fit": lambda: cotas.Lasso(lam=0.1).fit(X, y * 1.0),
        "KernelSVM.fit": lambda: cotas.KernelSVM(lam=0.1).fit(X, y),
        "AdaBoost.fit": lambda: cotas.AdaBoost(n_estimators=3, n_jobs=1).fit(X, y),
        "cotas fit": command,
    }


def main(arguments: list[str]) -> None:
    """Print the table of walks, or with the name of one its functions in order."""
    print(f"{'walk':<16} {'functions':>9} {'files':>6} {'switches':>8} {'at most':>8}")
    for name, call in fits().items():
        if arguments and name != " ".join(arguments):
            continue
        call()
        visited = walk(call)
        files = len({file for file, _ in visited})
        print(f"{name:<16} {len(visited):>9} {files:>6} {switches(visited):>8} {AT_MOST[name]:>8}")
        if arguments:
            print(*(f"{file}  {function}" for file, function in visited), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
