"""Compiled code on disk heals by itself, and Ctrl-C while it is made is answered right after."""

import ast
import gc
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cotas
from cotas.loops import loop
from cotas.loops.cache import SealedCache
from cotas.loops.compiled import garbage_kept, interrupts_deferred


def triple(x):
    return 3 * x


def fresh():
    """What the next process has: a loop that has not been called."""
    return loop(triple)


def files_of(compiled):
    kept = compiled._cache._cache_file
    return [Path(kept._index_path), *Path(kept._cache_path).glob(kept._index_name[:-3] + "*.nbc")]


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "longer": lambda data: data + b"\0",
    "other": lambda data: b"no pickle at all",
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", [0, -1], ids=["index", "code"])
def test_damaged_code_is_compiled_again_and_kept(damage, which):
    fresh()(1)
    again = fresh()
    assert again(2) == 6
    assert sum(again.stats.cache_hits.values()) == 1
    path = files_of(again)[which]
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    healed = fresh()
    assert healed(2) == 6
    assert sum(healed.stats.cache_misses.values()) == 1
    after = fresh()
    assert after(2) == 6
    assert sum(after.stats.cache_hits.values()) == 1


def test_a_full_disk_keeps_nothing_and_ends_nothing(monkeypatch):
    def full(self, name, data):
        raise OSError(28, "No space left on device")

    for path in files_of(fresh()):
        path.unlink(missing_ok=True)
    monkeypatch.setattr("cotas.loops.cache.SealedFiles._save_data", full)
    assert fresh()(2) == 6


def test_a_folder_that_cannot_be_written_is_done_without(monkeypatch):
    def nowhere(self, function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(SealedCache, "__init__", nowhere)
    assert fresh()(2) == 6


def test_ctrl_c_while_code_is_loaded_arrives_after(monkeypatch):
    load = SealedCache.load_overload

    def pressed(self, sig, context):
        signal.raise_signal(signal.SIGINT)
        return load(self, sig, context)

    monkeypatch.setattr(SealedCache, "load_overload", pressed)
    before = signal.getsignal(signal.SIGINT)
    compiled = fresh()
    with pytest.raises(KeyboardInterrupt):
        compiled(2)
    assert len(compiled.signatures) == 1
    assert compiled(2) == 6
    assert signal.getsignal(signal.SIGINT) is before


def test_deferring_within_deferring_delivers_once_at_the_end():
    done = []

    def work():
        with interrupts_deferred():
            with interrupts_deferred():
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_an_error_inside_is_not_hidden_and_threads_have_nothing_to_defer():
    with pytest.raises(ZeroDivisionError), interrupts_deferred():
        raise ZeroDivisionError
    found = []
    thread = threading.Thread(target=lambda: found.append(fresh()(2)))
    thread.start()
    thread.join()
    assert found == [6]


def test_the_search_for_garbage_is_left_as_it_was_found():
    with garbage_kept():
        assert not gc.isenabled()
    with pytest.raises(ZeroDivisionError), garbage_kept():
        raise ZeroDivisionError
    assert gc.isenabled()
    gc.disable()
    try:
        assert fresh()(2) == 6
        assert not gc.isenabled()
    finally:
        gc.enable()


@loop
def inverse(x):
    if x == 0:
        raise ValueError("nothing has no inverse")
    return 1 / x


def sum_of_inverses(values):
    total = 0.0
    for i in range(len(values)):
        total += inverse(values[i])
    return total


@pytest.mark.parametrize("process", ["first", "next"])
def test_a_loop_called_by_a_loop_is_the_loop_that_python_calls(process):
    """Its code is a part of the caller's, errors included, and of what the disk keeps."""
    whole = loop(sum_of_inverses)
    assert whole(np.array([1.0, 2.0, 4.0])) == inverse(1.0) + inverse(2.0) + inverse(4.0)
    for call in (lambda: whole(np.array([1.0, 0.0])), lambda: inverse(0.0)):
        with pytest.raises(ValueError, match="inverse"):
            call()
    if process == "next":
        assert sum(whole.stats.cache_hits.values()) == 1


def loops():
    """Every compiled loop of the package, as it is written."""
    for path in Path(cotas.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
            if not {"loop", "loop_in_place"}.isdisjoint(decorators):
                yield node


def test_no_loop_asks_for_python_or_for_itself():
    """Where it is a part of another, a print never ends and an error loses its values."""
    assert len(list(loops())) > 50
    for written in loops():
        found = list(ast.walk(written))
        called = {ast.unparse(node.func) for node in found if isinstance(node, ast.Call)}
        assert not called & {"print", written.name}, written.name
        for node in found:
            values = node.exc.args if isinstance(getattr(node, "exc", None), ast.Call) else []
            assert all(isinstance(value, ast.Constant) for value in values), written.name


SOLVERS = Path(cotas.__file__).parent / "solvers"
NUMBERS = {"np.uint8", "np.uint64"}


def written_with(path):
    """The functions of a module of solvers and of those that it imports, by what calls them."""
    defined, ahead, seen = {}, [path.stem], set()
    while ahead:
        seen.add(name := ahead.pop())
        for node in ast.parse((SOLVERS / f"{name}.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith("cotas.solvers."):
                ahead += {node.module.rpartition(".")[2]} - seen
            if isinstance(node, ast.FunctionDef):
                # Of an operation each implementation is called by its name.
                names = {ast.unparse(one).partition(".when(")[0] for one in node.decorator_list}
                for called in names | {node.name}:
                    defined.setdefault(called, []).append(node)
    return defined


def called_in(function):
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return {ast.unparse(node.func) for node in calls}


@pytest.mark.parametrize(
    "path", [p for p in SOLVERS.glob("*.py") if "@loop_in" in p.read_text("utf-8")]
)
def test_no_loop_in_place_makes_an_array_or_is_given_one(path):
    """It would not be freed: a loop in place counts no references, nor does what it calls."""
    defined = written_with(path)
    ahead, seen = ["loop_in_place"], set()
    while ahead:
        seen.add(name := ahead.pop())
        for function in defined[name]:
            called = called_in(function)
            assert "Array" not in ast.unparse(function.returns), function.name
            assert not {one for one in called - NUMBERS if one.startswith("np.")}, function.name
            ahead += called & defined.keys() - seen - {*ahead}
    assert len(seen) > (20 if path.stem == "level_search" else 3)


AFTER_WARMUP = """
import gc, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
import cotas
from cotas.cli.info import compile_loops, NAMES
from cotas.cli.models import CLASSIFIERS, build
from cotas.loops.cache import SealedCache

def ready():
    loops = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    kept = [one for one in loops if isinstance(one._cache, SealedCache)]
    return {(one.py_func.__qualname__, str(types)) for one in kept for types in one.overloads}

warnings.simplefilter("ignore")
names = [name for name, model in NAMES.items() if model.endswith("Boost")]
compile_loops(names)
warm, rng = ready(), np.random.default_rng(1)
for n, d in ((70, 4), (6000, 6), (6000, 90)):
    X = rng.normal(size=(n, d))
    X[:, 1:4] = np.round(X[:, 1:4])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.3 * rng.normal(size=n)
    for name in names:
        target = np.where(y > 0, 1, -1) if name in CLASSIFIERS else y
        for weak in (cotas.Stump(), cotas.Tree(3), cotas.Tree(2, categorical_features=[1])):
            model = build(name, target, 0, {})[0].set_params(weak_learner=weak, n_estimators=2)
            for weights in (None, rng.random(n)):
                model.fit(X, target, sample_weight=weights).predict(X)
assert len(warm) > 20
print(sorted(ready() - warm))
"""


def test_after_warmup_no_booster_compiles_anything():
    """Whatever its learner, its weights and its table: lists, bundles, categories, gaps."""
    call = [sys.executable, "-c", AFTER_WARMUP]
    said = subprocess.run(call, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip() == "[]"
