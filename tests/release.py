"""Check everything that a release needs, and publish nothing: `make release`.

The package is built, looked into, installed into bare environments and used there as somebody
would who has nothing else. Needs git, `build` and `twine`; it takes some minutes. With `--again`
the version may have a tag already.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# What is left of the extras where there is no GPU.
EXTRAS = "progress,cli,lab,excel,onnx,dask"
# The modules that need what those extras do not bring.
WITH_A_GPU = ("torch", "triton")
SECONDS = 1800
IMPORT_ALL = """
import importlib, json, pkgutil, sys
import cotas
missing = {}
for module in pkgutil.walk_packages(cotas.__path__, "cotas."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing[module.name] = error.name
print(json.dumps({"file": cotas.__file__, "version": cotas.__version__, "missing": missing}))
"""
FIT = """
import numpy as np, cotas
X = np.random.default_rng(0).normal(size=(60, 4)); y = X[:, 0] + X[:, 1] > 0
model = cotas.LinearSVM(lam=1e-2).fit(X, y)
assert model.certificate_.holds and model.certificate_.verify(X, y)
cotas.lang("es")
assert "Certificado" in str(model.certificate_)
"""


class NotReadyError(Exception):
    """Something that a release needs is not there."""


def need(condition: object, words: str) -> None:
    """Go on only if it is so."""
    if not condition:
        raise NotReadyError(words)


# ---- what the files say --------------------------------------------------------------------------


def version() -> str:
    """The version, from the one place where it stands."""
    text = (ROOT / "src/cotas/__init__.py").read_text("utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def releases() -> dict[str, str]:
    """The versions of the change log with their dates, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return dict(re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", text, re.MULTILINE))


def citation() -> dict[str, str]:
    """The plain lines of CITATION.cff."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    return {name: value.strip('"') for name, value in re.findall(r"^([\w-]+): (\S.*)$", text, re.M)}


def check_words() -> None:
    """The change log, the citation and the package name the same version, day and address."""
    now, cited = version(), citation()
    need(now in releases(), f"CHANGELOG.md has no heading “## {now} (year-month-day)”")
    need(next(iter(releases())) == now, f"{now} is not the newest version of CHANGELOG.md")
    need(cited["version"] == now, f"CITATION.cff has version {cited['version']}, not {now}")
    need(
        cited["date-released"] == releases()[now], "CITATION.cff has another day than CHANGELOG.md"
    )
    need(cited["license"] == project()["license"], "CITATION.cff has another licence")
    address = project()["urls"]["Source"]
    need(
        cited["repository-code"] == address, "CITATION.cff has another address than pyproject.toml"
    )


def check_tree() -> None:
    """What is built is what is committed."""
    changed = output("git", "status", "--porcelain")
    need(not changed, f"these files are not committed:\n{changed}")


def check_new() -> None:
    """No version is given twice."""
    tags = output("git", "tag", "--list", f"v{version()}").split()
    need(not tags, f"there is a tag v{version()} already: choose the next version")


def check_tag() -> None:
    """A tag that is built has the name of the version."""
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        tag = os.environ.get("GITHUB_REF_NAME")
        need(tag == f"v{version()}", f"the tag is {tag}, and the version v{version()}")


# ---- what the archives hold ----------------------------------------------------------------------


def source_files() -> set[str]:
    """Every file of the package, as a wheel names it."""
    home = ROOT / "src"
    paths = (path for path in (home / "cotas").rglob("*") if path.is_file())
    return {
        path.relative_to(home).as_posix()
        for path in paths
        if "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def check_wheel(wheel: Path) -> None:
    """All of the package is in it, its licence too, and nothing besides."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    lacking = source_files() - held
    need(not lacking, f"{wheel.name} lacks {sorted(lacking)}")
    more = {name for name in held - source_files() if ".dist-info/" not in name}
    need(not more, f"{wheel.name} holds {sorted(more)} besides")
    need(any(name.endswith("licenses/LICENSE") for name in held), f"{wheel.name} has no licence")


def check_source(sdist: Path) -> None:
    """Whoever has the source distribution has the whole repository, tests and docs too."""
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(output("git", "ls-files").splitlines())
    lacking = {name for name in tracked - held if not name.startswith(".ci/")}
    need(not lacking, f"{sdist.name} lacks {sorted(lacking)}")


# ---- the package in use --------------------------------------------------------------------------


def outside() -> dict[str, str]:
    """An environment that knows nothing of this folder."""
    ours = ("PYTHONPATH", "NUMBA_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "MPLBACKEND": "Agg", "PYTHONUTF8": "1"}


def output(*words: str | Path, cwd: Path = ROOT, codes: Sequence[int] = (0,)) -> str:
    """What a program prints, outside of this folder."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=outside(),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    call = " ".join(str(word) for word in words)[:200]
    need(
        done.returncode in codes,
        f"{call} ended with {done.returncode}:\n{done.stdout}{done.stderr}",
    )
    return done.stdout


class Bare:
    """An environment with nothing but what pip installs there, and an empty folder to work in."""

    def __init__(self, place: Path, package: Path, extras: str = "") -> None:
        self.folder = place / "work"
        self.folder.mkdir(parents=True)
        output(sys.executable, "-m", "venv", place / "env")
        self.bin = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        wanted = f"{package}[{extras}]" if extras else str(package)
        self.python("-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted)

    def python(self, *words: str, codes: Sequence[int] = (0,)) -> str:
        """What `python …` prints."""
        return output(self.bin / "python", *words, cwd=self.folder, codes=codes)

    def cotas(self, *words: str, codes: Sequence[int] = (0,)) -> str:
        """What `cotas …` prints."""
        return output(self.bin / "cotas", *words, cwd=self.folder, codes=codes)


def check_library(bare: Bare) -> None:
    """Without extras it fits and proves, in both languages, and the command says what it lacks."""
    bare.python("-c", FIT)
    bare.cotas("fit", codes=(5,))


def check_modules(bare: Bare) -> None:
    """Every module can be imported, from the environment and not from here."""
    found = json.loads(bare.python("-c", IMPORT_ALL).splitlines()[-1])
    need(not Path(found["file"]).is_relative_to(ROOT / "src"), "the source tree was imported")
    need(found["version"] == version(), f"the package says that it is {found['version']}")
    broken = {name: why for name, why in found["missing"].items() if why not in WITH_A_GPU}
    need(not broken, f"modules that cannot be imported, and what they lack: {broken}")


def check_commands(bare: Bare) -> None:
    """Every command explains itself, and the main ones do their work."""
    names = bare.python("-c", "from cotas.cli.app import COMMANDS; print(*COMMANDS)").split()
    for name in names:
        need("Usage" in bare.cotas(name, "--help"), f"cotas {name} --help has no usage")
    need(version() in bare.cotas("--version"), "cotas --version says something else")
    data = "builtin:breast-cancer"
    bare.cotas(
        "fit", data, "--lam", "0.01", "--out", "m.cotas", "--report", "r.html", "--lang", "es"
    )
    bare.cotas("certify", "m.cotas", data, "--lang", "es")
    bare.cotas("explain", "m.cotas")
    bare.cotas("predict", "m.cotas", data, "--out", "answers.csv")
    bare.cotas("curve", data, "--picture", "curve.png")
    bare.cotas("path", data, "--picture", "path.svg")
    bare.cotas("separable", "builtin:iris", "--class", "setosa")
    bare.cotas("export", "m.cotas", "--onnx", "m.onnx")
    bare.cotas("reproduce", "000-3.3", "--out", "figures")
    bare.cotas("info", "--lang", "es")
    made = (
        "m.cotas",
        "r.html",
        "answers.csv",
        "curve.png",
        "path.svg",
        "m.onnx",
        "figures/000-3.3.png",
    )
    for name in made:
        need((bare.folder / name).stat().st_size, f"{name} is empty")


def ended(process: subprocess.Popen[str]) -> int | None:
    """The exit code of a process that was told to end; None if it had to be killed."""
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def first_line(process: subprocess.Popen[str], seconds: float = SECONDS) -> str:
    """What a process says first; one that says nothing for so long is killed."""
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    try:
        return process.stdout.readline().strip()
    finally:
        clock.cancel()


def check_lab(bare: Bare) -> None:
    """The lab starts, gives every room, and ends when it is told to."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that starts this in the background makes all of its children deaf to Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    rooms = bare.python("-c", "from cotas import lab; print(*lab.ROOMS)").split()
    call = [str(bare.bin / "cotas"), "lab", "--no-browser"]
    lab = subprocess.Popen(
        call, cwd=bare.folder, env=outside(), stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        address = first_line(lab)
        need(address.startswith("http://127.0.0.1:"), f"cotas lab says {address!r}")
        ask = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).status)"
        for room in rooms:
            need("200" in bare.python("-c", ask, f"{address}{room}?lang=es"), f"no room {room}")
    finally:
        lab.terminate() if os.name == "nt" else lab.send_signal(signal.SIGINT)
        code = ended(lab)
    wanted = (1,) if os.name == "nt" else (0, 130)
    need(code in wanted, f"cotas lab, told to end, ended with {code}")


def main() -> None:
    """Go through all of it, and say so."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    # On Windows a file that is still open cannot be removed, which is no fault of the package.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        place = Path(temporary)
        step("the words agree", check_words)
        step("the tag names the version", check_tag)
        step("all is committed", check_tree)
        if "--again" not in sys.argv:
            step("the version is new", check_new)
        step("build", lambda: output(sys.executable, "-m", "build", "--outdir", dist, ROOT))
        wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
        step(
            "twine check",
            lambda: output(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist),
        )
        step("the wheel is complete", lambda: check_wheel(wheel))
        step("the source distribution is complete", lambda: check_source(sdist))
        step("the source distribution alone", lambda: check_library(Bare(place / "sdist", sdist)))
        used = Bare(place / "wheel", wheel, EXTRAS)
        step("every module", lambda: check_modules(used))
        step("every command", lambda: check_commands(used))
        step("the lab", lambda: check_lab(used))
    print(f"cotas {version()} is ready in {dist.relative_to(ROOT)}/; nothing was published.")


def step(words: str, check: Callable[[], object]) -> None:
    """Check something, and say that it is well."""
    print(f"{words} …", end=" ", flush=True)
    check()
    print("well", flush=True)


if __name__ == "__main__":
    try:
        main()
    except NotReadyError as error:
        sys.exit(f"\nNot ready: {error}")
