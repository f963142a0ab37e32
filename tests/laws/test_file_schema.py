"""Every declared array refuses what its declaration excludes: type, sides, limits, NaN."""

import numpy as np
import pytest

import cotas.files.kinds  # noqa: F401  (declares them)
from cotas.exceptions import ModelFileError
from cotas.files.schema import (
    RECORDS,
    ArrayField,
    IntegerField,
    ListField,
    Mapped,
    Number,
    Scope,
    Text,
    TupleField,
)
from file_format import title, words

LENGTHS = {letter: 3 + i for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}


def arrays():
    """All arrays of the tables, by where they stand."""
    found = {}
    for record in RECORDS.values():
        for name, field in record.fields.items():
            for array in inner_arrays(field):
                found[f"{title(record)}.{name}: {words(array)}"] = array
    return found


def inner_arrays(field):
    if isinstance(field, ArrayField):
        yield field
    if not hasattr(field, "location"):
        inner = getattr(field, "fields", ())
        for each in (*(inner if isinstance(inner, tuple) else ()), getattr(field, "of", None)):
            if each is not None:
                yield from inner_arrays(each)


def limit(value):
    return LENGTHS[value] if isinstance(value, str) else value


def shape_of(array):
    sides = [side.partition("+") for side in array.sides.split()]
    return tuple(int(a) if a.isdigit() else LENGTHS[a] + int(more or 0) for a, _, more in sides)


def sound(array):
    """An array as it is declared."""
    fill = 1.0 if array.low is None else max(limit(array.low), 0)
    return np.full(shape_of(array), fill, dtype=array.types.split()[0])


def refuses(array, value):
    with pytest.raises(ModelFileError):
        array.check(value, Scope(LENGTHS), "it")


ARRAYS = arrays()


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_declared_is_taken_and_all_else_is_not(name):
    array = ARRAYS[name]
    value = sound(array)
    array.check(value, Scope(LENGTHS), "it")
    refuses(array, value.tolist())
    refuses(array, None)
    refuses(array, value[None])
    refuses(array, value.astype(np.complex128))
    for axis in range(value.ndim):
        refuses(array, np.concatenate([value, value], axis=axis))
    if "bool" not in array.types:
        refuses(array, value.astype(bool))
    beyond = []
    if array.low is not None:
        beyond.append(limit(array.low) - 1)
    if array.high is not None:
        beyond.append(limit(array.high) + 1)
    if array.below is not None and limit(array.below) < 2**31:
        beyond.append(limit(array.below))
    if value.dtype.kind == "f":
        beyond += [] if array.nan else [np.nan]
        beyond += [] if array.infinite else [np.inf, -np.inf]
    for entry in beyond:
        if value.dtype.kind == "u" and entry < 0:
            continue
        wrong = value.copy()
        wrong.flat[-1] = entry
        refuses(array, wrong)


def test_arrays_that_compiled_loops_walk_through_have_limits():
    """Whole numbers in what predicts are indices, codes, counts: none is without limits."""
    for name, array in ARRAYS.items():
        predicts = name.startswith(("trees.", "categories.", "run.", "stagewise run.", "ending."))
        if predicts and array.types.split()[0].startswith(("int", "uint")):
            lower = array.low is not None or array.types.startswith("uint")
            upper = array.below is not None or array.high is not None
            counts = name.partition(":")[0] in ("run.seen", "run.mistakes", "run.updates")
            assert lower, name
            assert upper or counts, name


def test_lengths_are_shared_by_letter():
    scope = Scope()
    ArrayField("n d").check(np.zeros((4, 2)), scope, "X")
    ArrayField("n").check(np.zeros(4), scope, "y")
    ArrayField("d+1").check(np.zeros(3), scope, "start")
    with pytest.raises(ModelFileError):
        ArrayField("n").check(np.zeros(5), scope, "y")
    with pytest.raises(ModelFileError):
        ArrayField("m", "int64", low=0, below="n").check(np.array([4]), scope, "i")


@pytest.mark.parametrize(
    ("field", "stored"),
    [
        (ListField(Text()), "ab"),
        (ListField(Text(), side="n"), ["a", "b", "c"]),
        (TupleField((Text(), IntegerField())), ["a"]),
        (TupleField((Text(), IntegerField())), ["a", "b"]),
        (Mapped(IntegerField()), [1]),
        (Mapped(IntegerField(), numbered=True), {"x": 1}),
        (Mapped(IntegerField(), numbered=True), {"01": 1}),
        (Mapped(IntegerField(), numbered=True), {"²": 1}),
        (IntegerField(), 10**400),
        (IntegerField(), True),
        (IntegerField(1), 0),
        (Number(), 10**400),
        (Number(), "1"),
        (Text(("a", "b")), "c"),
    ],
)
def test_other_fields_refuse_too(field, stored):
    class Source:
        def decode(self, value):
            return value

    with pytest.raises(ModelFileError):
        field.read(stored, Source(), Scope({"n": 2}), "it")
