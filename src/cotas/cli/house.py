"""cotas reproduce, bench, warmup and info: about the library itself"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

import cotas
from cotas.cli.codes import MEANINGS
from cotas.cli.data import BUILTIN
from cotas.cli.exits import UsageError
from cotas.cli.models import CLASSIFIERS, NAMES, REGRESSORS, build
from cotas.cli.options import Seed
from cotas.cli.session import Session
from cotas.files.models import versions
from cotas.fitting.threads import cpu_count
from cotas.scale.pages import remove_pages
from cotas.words import say

EXTRAS = {
    "progress": ("tqdm",),
    "plots": ("matplotlib",),
    "files": ("safetensors", "polars", "zstandard"),
    "onnx": ("onnx",),
    "cli": ("typer", "rich", "skops"),
    "lab": ("panel", "bokeh"),
}


def reproduce(
    session: Session,
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE…", help="Names or numbers: 001-1.5.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only list the names.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder.")] = Path("figures"),
    seed: Seed = 0,
) -> None:
    """Compute the figures of the source documents anew and save them as PNG.

    Example: cotas reproduce 001-1.5 --out figures
    """
    from cotas.experiments.catalogue import FIGURES
    from cotas.experiments.figures import UnknownFigureError, find, ready
    from cotas.experiments.figures import reproduce as make

    if listed:
        known = {name: figure.description() for name, figure in FIGURES.items()}
        session.table(["figure", ""], [[name, words] for name, words in known.items()])
        session.document({"figures": known})
        return
    wanted = list(FIGURES) if every else figures or []
    if not wanted:
        raise UsageError(say("name a figure, or give --all or --list."))
    try:
        names = [find(name).name for name in wanted]
        ready(out)
    except (UnknownFigureError, OSError) as error:
        raise UsageError(str(error)) from None
    made = []
    for name in names:
        made.append(str(make(name, out, seed=seed)))
        session.say(made[-1])
    session.document({"saved": made})


def bench(
    session: Session,
    sections: Annotated[
        list[str] | None, typer.Argument(metavar="SECTION…", help="startup, svm, lasso, …")
    ] = None,
) -> None:
    """Measure speed against other libraries; needs the source tree.

    Example: cotas bench startup
    """
    root = Path(cotas.__file__).parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        raise UsageError(
            say("the measurements are in the source tree of cotas, which is not here.")
        )
    call = [sys.executable, "-m", "bench", *(sections or [])]
    output = subprocess.PIPE if session.json else None
    done = subprocess.run(call, cwd=root, check=False, stdout=output, text=True)
    if done.returncode:
        raise UsageError(
            say("the measurements ended with code {returncode}.", returncode=done.returncode)
        )
    session.document({"output": done.stdout})


def clean(
    session: Session,
    place: Annotated[
        Path, typer.Argument(metavar="PLACE", help="A file of data, or a folder and all in it.")
    ] = Path(),
) -> None:
    """Remove the pages that were made of tables too large for memory.

    Nothing but folders of pages is removed; they are made anew when they are needed.

    Example: cotas clean data/
    """
    count, size = remove_pages(place)
    session.say(say("{count} folders, {size:.1f} MB", count=count, size=size / 1e6))
    session.document({"folders": count, "bytes": size})


def warmup(session: Session) -> None:
    """Compile the loops ahead, so that the first fit does not wait for them.

    They are kept on disk, for all processes to come.

    Example: cotas warmup
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    scores = X[:, 0] + 0.3 * rng.normal(size=60)
    taken = {}
    for name in NAMES:
        y = np.where(scores > 0, 1, -1) if name in CLASSIFIERS else scores
        began = time.perf_counter()
        for layout in (X, sparse.csr_matrix(X), X.astype(np.float32)):
            _fit_quietly(name, layout, y)
        taken[name] = time.perf_counter() - began
        session.say(f"{name:<30} {taken[name]:6.1f} s")
    session.document({"seconds": taken})


def _fit_quietly(name: str, X: Any, y: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build(name, y, 0, {})[0].fit(X, y)
        model.predict(X)


def info(session: Session) -> None:
    """Versions, what is installed, where compiled code is kept, and what the names are.

    Example: cotas info --json
    """
    from numba.core import config

    installed = {
        extra: all(find_spec(package) is not None for package in packages)
        for extra, packages in EXTRAS.items()
    }
    cache = str(config.CACHE_DIR) or say("beside the source, in __pycache__")
    content: dict[str, Any] = {
        "versions": versions(),
        "extras": installed,
        "cores": cpu_count(),
        "compiled loops": os.environ.get("NUMBA_CACHE_DIR", cache),
        "classifiers": list(CLASSIFIERS),
        "regressors": list(REGRESSORS),
        "built-in data": [f"builtin:{name}" for name in BUILTIN],
        "exit codes": {str(code): words for code, words in MEANINGS.items()},
    }
    session.document(content)
    for name, value in content.items():
        session.say(f"{name}:")
        if isinstance(value, dict):
            session.say(*(f"  {key}: {each}" for key, each in value.items()))
        else:
            session.say(f"  {', '.join(value) if isinstance(value, list) else value}")
