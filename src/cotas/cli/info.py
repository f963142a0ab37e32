"""cotas info: what a report of an error has to hold, and what the names are"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from cotas.cli import MEANINGS
from cotas.cli.data import BUILTIN
from cotas.cli.models import CLASSIFIERS, REGRESSORS
from cotas.cli.session import Session
from cotas.files.compression import memory_of_the_machine
from cotas.files.models import versions
from cotas.loops.compiled import kept_in
from cotas.running import cpu_count
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
        "memory": memory_of_the_machine(),
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
    """A line for each fact, in the language of the reader."""
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
    """The extra that would install it, if there is one."""
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
    """The processor by the name that the loops are compiled for."""
    from numba.core.codegen import ll  # llvmlite, which Numba brings along

    bits = f"{sys.maxsize.bit_length() + 1} bit"
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": str(ll.get_host_cpu_name()),
        "python": f"{platform.python_implementation()} {bits}",
    }


def _blas() -> dict[str, Any]:
    """The BLAS that NumPy was built with, and the libraries in memory that have threads."""
    import scipy.linalg  # noqa: F401  brings its own

    built: Any = np.show_config("dicts")
    told = ("internal_api", "version", "architecture", "threading_layer", "num_threads")
    pools = [{key: pool[key] for key in told if pool.get(key)} for pool in threadpool_info()]
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
