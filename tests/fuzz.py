"""A million changed model files, in child processes with a time limit: `make fuzz`.

Every kind of file that the package's estimators write, with and without a preparation, is changed
at random: bytes, values of the JSON, numbers, shapes and types of arrays; nearly always with the
checksum that it needs, and half of the time with the digest that binds the certificate. Then it
is loaded, asked about rows, missing values among them, verified, proved again, saved and trained
on. Each of these is counted, and none may happen:

    crash      the process died
    hang       no answer within the time limit
    error      anything but a ModelFileError came out of loading, predicting or verifying
    false      other predictions on the training rows, and `verify` says True

Compiled loops run with bounds checks (NUMBA_BOUNDSCHECK=1), so that what would read foreign memory
is an error. A line with a seed is repeated by `python tests/fuzz.py seed SEED`.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import cotas
from cotas.exceptions import ModelFileError
from cotas.files.container import pack, unpack
from cotas.files.models import checksum
from cotas.fitting.certified import Certified
from cotas.preparation.columns import ColumnError
from cotas.tables import PreparedModel
from laws.test_model_files import CASES
from problems import clouds, regression

BATCH = 20_000  # files for each child, which fits all the models once
TIME_LIMIT = 60.0  # seconds without a sign of life; the slowest trial takes a fraction of one
MEMORY = 6 << 30  # bytes of address space
METHODS = ("predict", "decision_function", "predict_proba")
BAD = ("crash", "hang", "error", "false")


class Sample(NamedTuple):
    """A sound file: its parts, and what it answers on the training rows and on others."""

    raw: bytes
    tensors: dict[str, Any]
    metadata: dict[str, str]
    prepared: bool
    X: Any
    y: Any
    rows: Any
    answers: dict[str, Any]


# ---- sound files ---------------------------------------------------------------------------------


def estimators() -> list[type[Any]]:
    """All that the package trains."""
    public = [getattr(cotas, name) for name in cotas.__all__]
    return [c for c in public if isinstance(c, type) and issubclass(c, Certified)]


def table(X: Any) -> pl.DataFrame:
    """The first columns as numbers with gaps, and a category."""
    words = np.array(["red", "green", "blue", None], dtype=object)[np.arange(len(X)) % 4]
    gaps = [None if i % 5 == 0 else float(x) for i, x in enumerate(X[:, 0])]
    return pl.DataFrame({"a": gaps, "b": X[:, 1], "c": words.tolist()})


def small(model: Any) -> Any:
    """The model with few steps."""
    return model.set_params(**few(model, 5))


def few(model: Any, count: int) -> dict[str, int]:
    """The parameter that counts the steps of this model, set to so many."""
    given = model.get_params(deep=False)
    names = [name for name in ("max_iter", "n_estimators") if given.get(name) is not None]
    return dict.fromkeys(names[:1], count)


@cache
def names() -> tuple[str, ...]:
    """All kinds of files."""
    return (*CASES, *(f"{cls.__name__} prepared" for cls in estimators()))


@cache
def sample(name: str) -> Sample:
    """The file of this name."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.cotas"
        if name in CASES:
            model, (X, y) = CASES[name]
            model = copy.deepcopy(model).fit(X, y)
            rows = X
        else:
            cls = getattr(cotas, name.partition(" ")[0])
            regressor = cls().__sklearn_tags__().estimator_type == "regressor"
            X, y = regression(24, 3)[:2] if regressor else clouds(24, 3)
            X = table(X)
            given = {"lam": 0.1} if "lam" in cls().get_params() else {}
            model = PreparedModel(small(cls(**given))).fit(X, y)
            rows = pl.concat([X, X.with_columns(c=pl.lit("never seen"), a=pl.lit(None))])
        model.save(path, data=(X, y))
        cotas.load(path)  # what is not sound to begin with would be refused whatever is changed
        raw = path.read_bytes()
        tensors, metadata = unpack(path)
        tensors = {key: array.copy() for key, array in tensors.items()}
        return Sample(raw, tensors, metadata, name not in CASES, X, y, rows, ask(model, X))


def ask(model: Any, X: Any) -> dict[str, Any]:
    """All the model says about these rows."""
    return {name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}


def with_gaps(model: Any, X: Any) -> Any:
    """The rows with values missing, if the model takes that."""
    inner = getattr(model, "estimator_", model)
    if not isinstance(X, np.ndarray) or not inner.__sklearn_tags__().input_tags.allow_nan:
        return X
    X = X.astype(np.float64)
    X[::3, :] = np.nan
    return X


# ---- changes -------------------------------------------------------------------------------------


STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 255, 2**31, 2**63, 10**400, 0.5, -1e308, 1e308, 1e-308),
    *("", "a", "rbf", "exponential", "x0", "t0", "ovr", "sparse", "columns", [], [[]], {}),
    *(
        {"float": "nan"},
        {"float": "-inf"},
        {"list": []},
        {"tuple": [1, "a"]},
        {"dict": [[None, 1]]},
    ),
    *({"scalar": "int64", "value": -7}, {"scalar": "float32", "value": 1e300}, {"F": 1}, {"a": {}}),
    *({"kernel": "linear"}, {"loss": "zero-one"}, {"weak learner": "linear"}, {"stop": "gap"}),
)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a JSON document are."""
    found = [here]
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            found += places(item, (*here, key))
    return found


def at(value: Any, place: tuple[Any, ...]) -> Any:
    """What stands in a place of a JSON document."""
    for key in place:
        value = value[key]
    return value


def change_value(rng: random.Random, parts: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Another value in one place of the JSON, or none."""
    part = parts[rng.choice(sorted(parts))]
    found = places(part)[1:]
    *where, key = rng.choice(found)
    here = at(part, tuple(where))
    chance = rng.random()
    if chance < 0.1:
        del here[key]
    elif chance < 0.2 and isinstance(here, dict):
        here[rng.choice(["order", "readonly", "x", "fitted", "coef", "kernel"])] = here.pop(key)
    elif chance < 0.3 and isinstance(here, dict):
        here[rng.choice(["order", "readonly", "note"])] = copy.deepcopy(rng.choice(STRANGE))
    elif chance < 0.5:
        here[key] = copy.deepcopy(at(part, rng.choice(found)))
    elif chance < 0.6:
        here[key] = {"array": rng.choice(sorted(tensors))} if tensors else None
    elif chance < 0.7 and isinstance(here[key], int | float):
        here[key] = rng.choice([-here[key], here[key] + 1, here[key] * 2, float(here[key])])
    else:
        here[key] = copy.deepcopy(rng.choice(STRANGE))


def change_number(rng: random.Random, parts: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Other entries in an array."""
    filled = sorted(name for name, a in tensors.items() if a.size)
    if not filled:
        return
    array = tensors[rng.choice(filled)]
    for _ in range(rng.choice([1, 1, 1, 3])):
        entry = rng.randrange(array.size)
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            near = [int(array.flat[entry]) + 1, int(array.flat[entry]) - 1]
            value = rng.choice([limits.min, limits.max, 0, 1, 2, 3, 255, *near])
            array.flat[entry] = min(max(value, int(limits.min)), int(limits.max))
        elif array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                value = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1e300, -1e300, 1e-300, 2.0])
                array.flat[entry] = rng.choice([value, -array.flat[entry], array.flat[entry] * 3])
        else:
            array.flat[entry] = not array.flat[entry]


def change_array(rng: random.Random, parts: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Another shape or type of an array, other numbers in all of it, or another order."""
    if not tensors:
        return
    name = rng.choice(sorted(tensors))
    array = tensors[name]
    types = ["float64", "float32", "float16", "int64", "int32", "int16", "uint8", "bool"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ways = [
            lambda: array[: len(array) // 2],
            lambda: array[:-1],
            lambda: np.concatenate([array, array]),
            lambda: array[::-1],
            lambda: array.T,
            lambda: array.ravel(),
            lambda: array[None],
            lambda: array[:0],
            lambda: array.astype(rng.choice(types)),
            lambda: np.negative(array) if array.dtype.kind == "f" else array[::-1],
            lambda: np.full_like(array, rng.choice([0, 1, 2])),
            lambda: tensors[rng.choice(sorted(tensors))],
        ]
        tensors[name] = np.array(rng.choice(ways)()) if array.ndim else array


def change_length(rng: random.Random, parts: dict[str, Any], tensors: dict[str, Any]) -> None:
    """One length less or more wherever it occurs: in shapes, lists and whole numbers."""
    lengths = sorted({side for array in tensors.values() for side in array.shape if side > 1})
    if not lengths:
        return
    old = rng.choice(lengths)
    new = rng.choice([old - 1, old + 1, 1])
    chosen = np.minimum(np.arange(new), old - 1)
    for name, array in tensors.items():
        for axis, side in enumerate(array.shape):
            array = array.take(chosen, axis) if side == old else array
        tensors[name] = np.ascontiguousarray(array)
    share = rng.choice([0.0, 0.5, 1.0])
    for name in parts:
        parts[name] = _resized(parts[name], old, new, lambda: rng.random() < share)


def _resized(value: Any, old: int, new: int, also: Callable[[], bool]) -> Any:
    """The document with the numbers and the lists of this length changed, where `also` says so."""
    if isinstance(value, dict):
        return {key: _resized(item, old, new, also) for key, item in value.items()}
    if isinstance(value, list):
        items = [_resized(item, old, new, also) for item in value]
        return (
            [items[min(i, old - 1)] for i in range(new)] if len(items) == old and also() else items
        )
    return new if type(value) is int and value == old and also() else value


CHANGES = (change_value, change_value, change_number, change_array, change_length)


def changed(rng: random.Random, given: Sample) -> bytes:
    """The file with a few changes, sealed again."""
    if rng.random() < 0.05:
        raw = bytearray(given.raw)
        for _ in range(rng.randint(1, 3)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        return bytes(raw[: rng.choice([len(raw), len(raw), rng.randrange(len(raw))])])
    tensors = {name: array.copy() for name, array in given.tensors.items()}
    metadata = dict(given.metadata)
    written = [name for name in ("model", "preparation", "data") if name in metadata]
    parts = {name: json.loads(metadata[name]) for name in written}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            rng.choice(CHANGES)(rng, parts, tensors)
        except (KeyError, IndexError, TypeError, ValueError, OverflowError):
            continue  # an earlier change took the place away
    metadata |= {name: json.dumps(part) for name, part in parts.items()}
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return b"".join(pack(tensors, {**metadata, "checksum": checksum(tensors, metadata)}))


# ---- one trial -----------------------------------------------------------------------------------


def trial(seed: int, folder: Path) -> tuple[str, str]:
    """What came of one changed file, and what to say of it."""
    rng = random.Random(seed)
    name = rng.choice(names())
    given = sample(name)
    path = folder / "model.cotas"
    path.write_bytes(changed(rng, given))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _outcome(rng, given, path), ""
        except ModelFileError:
            return "refused", ""
        except ColumnError:
            return "other", ""  # it knows other columns than the table has
        except Exception:
            return "error", f"{name}: {traceback.format_exc(limit=-4)}"


def _outcome(rng: random.Random, given: Sample, path: Path) -> str:
    load = PreparedModel.load if given.prepared else cotas.load
    model = load(path)
    if not given.prepared and model.n_features_in_ != given.X.shape[1]:
        ask(model, np.ones((2, model.n_features_in_)))  # a model of other data
        return "other"
    found = ask(model, given.X)
    ask(model, with_gaps(model, given.rows))
    str(model.certificate_)
    if rng.random() < 0.5:
        _seal_again(model)
    same = found.keys() == given.answers.keys() and all(
        _same(answer, given.answers[method]) for method, answer in found.items()
    )
    verified = False
    if not same or rng.random() < 0.2:
        verified = model.certificate_.verify(_rows(model, given.X), given.y)
    if rng.random() < 0.2:
        _prove_again(model, given)
    if rng.random() < 0.1:
        model.save(path)
        _go_on(model, given)
    if not same:
        return "false" if verified else "other"
    return "same"


def _same(answer: Any, expected: Any) -> bool:
    if answer.shape != expected.shape:
        return False
    if expected.dtype.kind != "f" or answer.dtype.kind != "f":
        return bool(np.all(answer == expected))  # the labels 0 and 0.0 are the same
    # As exact as `verify` is when it compares what is computed.
    scale = np.abs(expected).max(initial=0.0)
    return bool((np.abs(answer - expected) <= 1e-6 * scale).all())


def _prove_again(model: Any, given: Sample) -> None:
    """Ask for a proof of the model as it is; that the witness is of other data may be said."""
    inner = getattr(model, "estimator_", model)
    with suppress(ValueError):
        str(cotas.certify(inner, _rows(model, given.X), given.y, max_time=1.0))


def _rows(model: Any, X: Any) -> Any:
    return model.prepare(X) if hasattr(model, "prepare") else X


def _seal_again(model: Any) -> None:
    """What a forger would do: compute the digest of what was changed."""
    inner = getattr(model, "estimator_", model)
    inner._seal = inner._state()
    if inner is not model:
        model._seal = model._state()


def _go_on(model: Any, given: Sample) -> None:
    """Train on; parameters may be refused, but no loop may leave its arrays."""
    inner = getattr(model, "estimator_", model)
    quick = {**few(inner, 3), "warm_start": True, "max_time": 1.0, "n_jobs": 1}
    known = inner.get_params(deep=False)
    inner.set_params(**{name: value for name, value in quick.items() if name in known})
    refusals = (ValueError, TypeError, AttributeError, KeyError, ArithmeticError, MemoryError)
    with suppress(*refusals):
        X = _rows(model, given.X)
        if hasattr(inner, "partial_fit"):
            inner.partial_fit(X, given.y)
        inner.fit(X, given.y)


# ---- children ------------------------------------------------------------------------------------


def child(first: int, count: int) -> None:
    """Try so many seeds, with a line before and after each."""
    import resource

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            print(json.dumps(["begin", seed]), flush=True)
            outcome, words = trial(seed, Path(folder))
            print(json.dumps([outcome, seed, words]), flush=True)


class Tally:
    """Follows children, and counts what came of their files."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, outcome: str, seed: int, words: str = "") -> None:
        """Count, and tell at once what may not happen."""
        self.counts[outcome] += 1
        if outcome in BAD:
            print(f"{outcome}: seed {seed} {words}", flush=True)

    def follow(self, first: int, count: int) -> None:
        """A child for these seeds; if it dies or hangs, another one for those that are left."""
        end = first + count
        while first < end:
            first = self._one_child(first, end - first)

    def _one_child(self, first: int, count: int) -> int:
        command = [sys.executable, __file__, "child", str(first), str(count)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        running, seen, text = first, time.monotonic(), b""
        limit = 20 * TIME_LIMIT  # until the first file: loops may have to be compiled
        try:
            while True:
                ready, _, _ = select.select([process.stdout], [], [], 1.0)
                new = process.stdout.read() if ready else None
                if new:
                    *lines, text = (text + new).split(b"\n")
                    seen, limit = time.monotonic(), TIME_LIMIT
                    for line in lines:
                        outcome, seed, *words = json.loads(line)
                        if outcome == "begin":
                            running = seed
                        else:
                            self.note(outcome, seed, *words)
                            running = seed + 1
                elif process.poll() is not None and ready:
                    return self._ended(process, running, first + count)
                elif time.monotonic() > seen + limit:
                    self.note("hang", running)
                    return running + 1
        finally:
            process.kill()
            process.wait()

    def _ended(self, process: Any, running: int, end: int) -> int:
        if running < end:
            words = process.stderr.read().decode(errors="replace")[:2000]
            self.note("crash", running, f"status {process.returncode} {words}")
            return running + 1
        return running


def main() -> int:
    """Try so many files, or as many as fit into so many seconds."""
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    first = int(os.environ.get("COTAS_SEED", time.time_ns() // 1000 % 10**12))
    begin, said, tally = time.monotonic(), 0.0, Tally()
    print(f"COTAS_SEED={first}, {len(names())} kinds of files", flush=True)
    for start in range(first, first + count, BATCH):
        tally.follow(start, min(BATCH, first + count - start))
        passed = time.monotonic() - begin
        if passed > said + 30:
            said = passed
            print(f"{passed:,.0f} s: {dict(tally.counts)}", flush=True)
        if passed > seconds:
            break
    bad = sum(tally.counts[outcome] for outcome in BAD)
    print(f"{tally.counts.total():,} files: {dict(tally.counts)}; {bad} that may not be")
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["seed"]:
        with tempfile.TemporaryDirectory() as chosen:
            print(*trial(int(sys.argv[2]), Path(chosen)))
    else:
        sys.exit(main())
