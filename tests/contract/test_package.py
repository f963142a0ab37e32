"""What holds for the package as a whole."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cotas

ROOT = Path(__file__).parents[2]


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_import_is_light():
    done = run(
        "import sys, cotas; heavy = {'numba', 'sklearn', 'scipy', 'matplotlib', 'numpy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_every_public_name_is_there():
    for name in cotas.__all__:
        assert getattr(cotas, name) is not None
        assert name in dir(cotas)
    assert not {"Any", "TYPE_CHECKING", "annotations", "import_module"} & set(dir(cotas))
    with pytest.raises(AttributeError, match="nothing"):
        _ = cotas.nothing


def test_there_are_few_public_names():
    assert len(cotas.__all__) <= 48


def test_what_is_shown_is_what_can_be_asked_for():
    """Beside the public names only modules, each of which the pages of the API tell of."""
    shown = {name for name in dir(cotas) if not name.startswith("__")}
    beside = shown - set(cotas.__all__)
    pages = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md"))
    assert [n for n in beside if not inspect.ismodule(getattr(cotas, n))] == []
    assert [n for n in beside if f"`cotas.{n}" not in pages and f"::: cotas.{n}" not in pages] == []
    assert shown & set(cotas.tables.__all__) == set()


def test_version_is_the_one_of_the_package():
    from importlib.metadata import version

    assert cotas.__version__ == version("cotas")


def test_the_checker_loads_neither_numba_nor_scikit_learn():
    done = run(
        "import sys, cotas.certificates;"
        "print(sorted({'numba', 'sklearn', 'cotas.solvers'} & set(sys.modules)))"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_ctrl_c_returns_the_model_so_far():
    code = """
import signal, warnings
import numpy as np, cotas
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 20))
def interrupt(report):
    if report.epoch == 3:
        signal.raise_signal(signal.SIGINT)
for classes in (2, 4):
    y = np.arange(2000) % classes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cotas.Pegasos(max_iter=1_000_000, callbacks=interrupt, random_state=0).fit(X, y)
    assert any("Interrupted" in str(w.message) for w in caught)
    assert model.stop_.name == "INTERRUPTED"
    for certificate in model.certificate_.singles:
        assert certificate.holds and certificate.verify(X, y)
    print("done", model.predict(X[:3]).shape)
"""
    done = run(code)
    assert done.stdout.splitlines() == ["done (3,)"] * 2, done.stderr


def test_no_writable_cache_folder_is_no_obstacle(monkeypatch):
    import numba

    from cotas.loops import loop

    original = numba.njit

    def refuse(*args, **options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return original(*args, **options)

    monkeypatch.setattr(numba, "njit", refuse)

    @loop
    def twice(x):
        return 2 * x

    assert twice(3) == 6


def test_a_fit_needs_little_memory_besides_dense_single_precision_data():
    import tracemalloc

    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 64), dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    model = cotas.Perceptron(max_iter=2).fit(X, y)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 8 * len(X)  # six numbers a row, where X has 64 in single precision


def test_no_test_asks_for_a_sentence():
    """What an error is about is asked with `refuses` or `says`, of which the words are free.

    `match` has a word at most, such as a name, a value, or one that another library says. Where
    it comes from a table it is called so.
    """
    asked = [
        (path, keyword.value)
        for path in Path(__file__).parents[1].rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "match"
    ]
    assert asked
    for path, value in asked:
        texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
        named = not isinstance(value, ast.Name) or value.id in ("name", "word")
        assert named, f"{path.name}:{value.lineno}: match={value.id}"
        assert not any(re.search(r"\s|\.[*+]", text) for text in texts), f"{path.name}: {texts}"


def test_every_package_that_is_imported_is_asked_for():
    """What is here only because another package needs it may be missing elsewhere."""
    source = Path(cotas.__file__).parent
    project = tomllib.loads((source.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [
        *project["dependencies"],
        *(line for name, lines in extras.items() if name not in ("docs", "lint") for line in lines),
    ]
    packages = {re.split(r"[<>=\[ ]", line)[0].replace("-", "_") for line in named}
    allowed = {*packages, "sklearn", "cotas", *sys.stdlib_module_names}
    imported = {
        (name.split(".")[0], path.relative_to(source))
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _imports(node)
    }
    assert imported
    assert [(name, str(path)) for name, path in imported if name not in allowed] == []


def _imports(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []


def test_the_oldest_packages_are_enough_to_read_the_tests_that_are_run_with_them():
    """What a test imports at its top is in tests/oldest.txt; what else it needs, it asks for."""
    root = Path(__file__).parents[2]
    makefile = (root / "Makefile").read_text("utf-8").replace("\\\n", "")
    listed = re.findall(r"^OLDEST_TESTS \?= (.*)$", makefile, re.MULTILINE)[0].split()
    read = [root / "tests" / "conftest.py"]
    for each in map(root.joinpath, listed):
        read += sorted(each.rglob("*.py")) if each.is_dir() else [each]
    lines = (root / "tests" / "oldest.txt").read_text("utf-8").splitlines()
    packages = {line.partition("==")[0].replace("-", "_") for line in lines if "==" in line}
    known = {*packages, "sklearn", "cotas", *sys.stdlib_module_names}
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    folders = settings["tool"]["pytest"]["ini_options"]["pythonpath"]
    lacking = set()
    for path in read:  # which grows by what the tests share
        for name in (name for node in _at_the_top(path) for name in _imports(node)):
            parts = name.replace(".", "/")
            files = (f"{parts}.py", f"{parts}/__init__.py")
            ours = [root / folder / file for folder in folders for file in files]
            shared = [file for file in ours if file.is_file()]
            read += [file for file in shared if file not in read]
            if not shared and name.split(".")[0] not in known:
                lacking.add((name, path.name))
    assert lacking == set()


# Modules of the library that come with Python on one system and not on all.
ELSEWHERE = {
    *("crypt", "fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "readline", "resource"),
    *("syslog", "termios", "tty", "winreg", "winsound"),
}


def test_every_test_can_be_read_on_every_system():
    """What a system lacks is asked for where it is needed, and no process is killed by Ctrl-C."""
    tests = Path(__file__).parents[1]
    for path in (*tests.rglob("test_*.py"), tests / "conftest.py", tests / "release.py"):
        named = {name for node in _at_the_top(path) for name in _imports(node)}
        assert not named & ELSEWHERE, path.name
        # On Windows os.kill ends the process whatever the signal is.
        assert not re.search(r"os\.kill\b.*SIGINT", path.read_text("utf-8")), path.name


def _at_the_top(path):
    """What is run in any case, before a package is asked for."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Expr | ast.Assign) and "importorskip" in ast.unparse(node):
            return
        yield node


def test_the_lower_bounds_are_those_that_are_tested():
    """`make oldest` installs tests/oldest.txt, which has the lowest version of each bound."""
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    ours = ("progress", "plots", "files", "excel", "onnx", "cli")
    bounds = [*project["dependencies"], *(line for name in ours for line in extras[name])]
    wanted = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in bounds if ">=" in line)
    lines = (root / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name, version in wanted.items():
        assert f"{tested[name]}.".startswith(f"{version}."), name
