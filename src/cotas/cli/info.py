"""cotas info, reproduce, bench, clean and warmup: about the library itself

What `info` prints is what a report of an error has to hold, and what the names are.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse
from threadpoolctl import threadpool_info

import cotas
from cotas.cli import MEANINGS
from cotas.cli.command import UsageError
from cotas.cli.data import BUILTIN
from cotas.cli.models import CLASSIFIERS, NAMES, REGRESSORS, build
from cotas.cli.options import Seed, refuse
from cotas.cli.session import Session
from cotas.files.compression import physical_memory
from cotas.files.models import versions
from cotas.loops.compiled import kept_in
from cotas.running import cpu_count
from cotas.scale.pages import remove_pages
from cotas.words import current, say

# The packages of each extra, as pyproject.toml names them.
EXTRAS = {
    "progress": ("tqdm",),
    "plots": ("matplotlib",),
    "files": ("safetensors", "polars", "zstandard"),
    "excel": ("fastexcel",),
    "onnx": ("onnx",),
    "gpu": ("torch", "triton"),
    "dask": ("dask", "distributed", "cloudpickle"),
    "cli": ("typer", "rich", "skops"),
    "lab": ("panel", "bokeh"),
}
# What a fit stands on beside the packages that a model file names, and what hands tables over.
UNDERNEATH = ("numba", "llvmlite", "joblib", "threadpoolctl")
HANDED_OVER = ("pandas", "pyarrow")
# Settings of the environment that change how fast, in how many threads or in which letters. What
# is printed here is sent to others: a shorter prefix would show the keys of other programs.
PREFIXES = ("NUMBA_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "COTAS_")
SETTINGS = (
    *("VECLIB_MAXIMUM_THREADS", "LOKY_MAX_CPU_COUNT", "CUDA_VISIBLE_DEVICES", "CUDA_HOME"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING"),
    *("PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "PYTHONCOERCECLOCALE"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC"),
)


def info(session: Session) -> None:
    """Versions, what is installed, where compiled code is kept, and what the names are.

    Example: cotas info --json
    """
    packages = _optional()
    content: dict[str, Any] = {
        "versions": versions() | {name: _version(name) for name in UNDERNEATH},
        "system": _system(),
        "cores": cpu_count(),
        "memory": physical_memory(),
        "BLAS": _blas(),
        "GPU": _cards(),
        "packages": packages,
        "extras": {extra: all(packages[each] for each in EXTRAS[extra]) for extra in EXTRAS},
        "compiled loops": kept_in(),
        "environment": _environment(),
        "language": current(),
        "encodings": _encodings(session),
        "classifiers": list(CLASSIFIERS),
        "regressors": list(REGRESSORS),
        "built-in data": [f"builtin:{name}" for name in BUILTIN],
        "exit codes": {str(code): words for code, words in MEANINGS.items()},
    }
    session.document(content)
    lines = _lines(content)
    width = max(map(len, lines)) + 2
    session.say(*(f"{label:<{width}}{words}" for label, words in lines.items()))


def _lines(content: dict[str, Any]) -> dict[str, str]:
    """Return a line for each fact, in the language of the reader."""
    none, memory = say("none"), content["memory"]
    size = say("{size:.1f} GB", size=memory / 1e9) if memory else say("unknown")
    absent = [name for name, found in content["packages"].items() if found is None]
    return {
        say("versions"): _named(content["versions"]),
        say("optional packages"): _named(content["packages"]) or none,
        say("not installed"): ", ".join(f"{name}{_extra_of(name)}" for name in absent) or none,
        say("system"): ", ".join(content["system"].values()),
        say("cores"): str(content["cores"]),
        say("memory"): size,
        say("BLAS and threads"): _pools(content["BLAS"]),
        "GPU": ", ".join(content["GPU"]) or none,
        say("compiled loops"): content["compiled loops"]
        or say("nowhere: no folder can be written, so every process compiles them"),
        say("environment"): " ".join(f"{k}={v}" for k, v in content["environment"].items()) or none,
        say("language"): content["language"],
        say("encodings"): _named({say(k): v for k, v in content["encodings"].items()}),
        say("classifiers"): ", ".join(content["classifiers"]),
        say("regressors"): ", ".join(content["regressors"]),
        say("built-in data"): ", ".join(content["built-in data"]),
    }


def _named(found: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items() if value is not None)


def _pools(blas: dict[str, Any]) -> str:
    pools = (" ".join(map(str, pool.values())) for pool in blas["pools"])
    return "; ".join([f"NumPy: {blas['numpy']}", *pools])


def _extra_of(package: str) -> str:
    """Return the extra that would install it, if there is one."""
    return next((f" [{extra}]" for extra, some in EXTRAS.items() if package in some), "")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _optional() -> dict[str, str | None]:
    names = (*dict.fromkeys(each for packages in EXTRAS.values() for each in packages),)
    return {name: _version(name) for name in (*names, *HANDED_OVER)}


def _system() -> dict[str, str]:
    """Return the processor by the name that the loops are compiled for."""
    from numba.core.codegen import ll  # llvmlite, which Numba brings along

    bits = f"{sys.maxsize.bit_length() + 1} bit"
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": str(ll.get_host_cpu_name()),
        "python": f"{platform.python_implementation()} {bits}",
    }


def _blas() -> dict[str, Any]:
    """Return the BLAS that NumPy was built with, and the libraries in memory that have threads."""
    import scipy.linalg  # noqa: F401  brings its own

    built: Any = np.show_config("dicts")
    shown_keys = ("internal_api", "version", "architecture", "threading_layer", "num_threads")
    pools = [{key: pool[key] for key in shown_keys if pool.get(key)} for pool in threadpool_info()]
    return {"numpy": built["Build Dependencies"]["blas"]["name"], "pools": pools}


def _cards() -> list[str]:
    if find_spec("torch") is None:
        return []
    import torch

    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name in SETTINGS or name.startswith(PREFIXES)
    }


def _encodings(session: Session) -> dict[str, str]:
    return {"output": session.out.encoding, "files": sys.getfilesystemencoding()}


# ---- what is done with the library itself --------------------------------------------------------


def reproduce(
    session: Session,
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME…", help="001-1.5, figura-1.5, pegasos, teorema-3.1, tesis: as in --list."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only list the names.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder.")] = Path("figures"),
    kind: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    seed: Seed = 0,
) -> None:
    """Compute the figures of the source documents anew and save them as PNG, SVG or PDF.

    Example: cotas reproduce 001-1.5 teorema-3.1 --out figures --format pdf
    """
    from cotas.experiments.figures import FORMATS, ready
    from cotas.experiments.figures import reproduce as make
    from cotas.experiments.names import FIGURES, UnknownFigureError, find_all, listing, other_names

    if listed:
        refuse(session, ["every", "out", "kind", "seed"], "does not go with --list.")
    if figures and (every or listed):
        raise UsageError("name figures, or give --all or --list; not both.")
    if listed:
        known = {name: figure.description() for name, figure in FIGURES.items()}
        also = {name: other_names(figure) for name, figure in FIGURES.items()}
        session.say(listing())
        session.document({"figures": known, "also": also})
        return
    wanted = list(FIGURES) if every else figures or []
    if not wanted:
        raise UsageError("name a figure, or give --all or --list.")
    if kind not in FORMATS:
        formats = ", ".join(FORMATS)
        raise UsageError("--format must be one of {known}, not {kind!r}.", known=formats, kind=kind)
    try:
        names = dict.fromkeys(figure.name for name in wanted for figure in find_all(name))
        ready(out)
    except (UnknownFigureError, OSError) as error:
        raise UsageError(str(error)) from None
    made = []
    for name in names:
        made.append(str(make(name, out, seed=seed, format=kind)))
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
        raise UsageError("the measurements are in the source tree of cotas, which is not here.")
    call = [sys.executable, "-m", "bench", *(sections or [])]
    output = subprocess.PIPE if session.json else None
    done = subprocess.run(call, cwd=root, check=False, stdout=output, text=True)
    if done.returncode:
        raise UsageError(
            "the measurements ended with code {returncode}.", returncode=done.returncode
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

    They are kept on disk, for all processes to come. As many processes compile as there are cores.

    Example: cotas warmup
    """
    taken = {}
    with ProcessPoolExecutor(cpu_count(), get_context("spawn")) as pool:
        for found in pool.map(compile_loops, families()):
            taken.update(found)
            session.say(*(f"{name:<30} {seconds:6.1f} s" for name, seconds in found.items()))
    session.document({"seconds": taken})


def families() -> list[list[str]]:
    """Return the models, those that share most of their loops together."""
    packages = {name: getattr(cotas, NAMES[name]).__module__.split(".")[1] for name in NAMES}
    return [
        [name for name in NAMES if packages[name] == package]
        for package in sorted(set(packages.values()))
    ]


def compile_loops(names: Sequence[str]) -> dict[str, float]:
    """Fit each model once on each layout of the rows; how many seconds that took."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    scores, taken = X[:, 0] + 0.3 * rng.normal(size=60), {}
    for name in names:
        y = np.where(scores > 0, 1, -1) if name in CLASSIFIERS else scores
        began = time.perf_counter()
        for layout in (X, sparse.csr_matrix(X), X.astype(np.float32)):
            _fit_quietly(name, layout, y)
        if NAMES[name].endswith("Boost"):
            for table in _large_tables():
                _fit_quietly(name, table, np.resize(y, len(table)))
        taken[name] = time.perf_counter() - began
    return taken


def _large_tables() -> Iterator[Any]:
    """Yield rows that are binned in compiled loops, with columns of few values and of rare ones.

    More than 2¹⁹ entries are searched in threads, by loops of their own. In the last table no two
    columns are of few values.
    """
    n = 5000
    for d in (5, 110, 111):
        X = np.random.default_rng(0).normal(size=(n, d))
        X[:, 1] = np.round(X[:, 1])
        if d < 111:
            X[:, 2] = np.round(X[:, 2])
            X[: n - n // 20, 3] = 0.0
        yield X


def _fit_quietly(name: str, X: Any, y: Any) -> None:
    """Fit it as it is built by default; what is boosted for two rounds, with trees and categories
    too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build(name, y, 0, {})[0]
        ways: list[dict[str, Any]] = [{}]
        if "weak_learner" in model.get_params(deep=False):
            learners = (cotas.Stump(), cotas.Tree(), cotas.Tree(categorical_features=[1]))
            ways = [{"weak_learner": weak, "n_estimators": 2} for weak in learners]
        for parameters in ways:
            model.set_params(**parameters).fit(X, y)
            model.predict(X)
