"""A claimed certificate beside one computed afresh: every point in which they differ.

The tolerance is that of the fresh certificate alone. Nothing that the claim says about its own
accuracy is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix, Sparse
from cotas.certificates.categories import coded
from cotas.certificates.numbers import refuse_inexact, refuse_masked
from cotas.certificates.passes import one_in_each_row
from cotas.certificates.presentation import (
    OPTIMIZATION,
    against,
    against_the_rest,
    bounds_in_digits,
)
from cotas.source import Listed, as_stored, shape_of_targets
from cotas.words import english, say

if TYPE_CHECKING:
    from cotas.certificates.certificate import Certificate

NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|\binf\b|\bnan\b")
# What a witness or a model that was tampered with can raise: it can be too long, too large or of
# another type.
UNCHECKED = (ValueError, ArithmeticError, AttributeError, LookupError, TypeError)
# The same sums in another order differ by less, whatever the number of rows.
SAME = 1e-9
# A wider interval is still true; so much wider it may be, where it was proved another way.
WEAKER = 1e-5
# The part of an objective that the rounding of single precision may cost a device.
COARSE = 1e-3
# The part of a measurement, or of a bound that was not moved, that rounding may change.
ROUNDED = 1e-6
# A sum of so little is what its terms are charged for underflow.
VANISHED = 2.0**-800
# So many entries are laid out in another way to look at them again.
MOST_ENTRIES = 1 << 25
# Witnesses about classes have one of these; for the others y is a number.
LABELLED = ("positive", "classes", "point")


def read_rows(X: Any) -> Matrix:
    """Read X as a matrix of numbers in this machine's byte order: whatever `fit` takes."""
    X = as_stored(coded(X))
    refuse_inexact(X, "X")
    if sparse.issparse(X):
        rows: Sparse = X.tocsc() if X.format == "csc" else X.tocsr()
        return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))
    return _native(X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X))


def in_the_other_layout(X: Matrix) -> Matrix | None:
    """Return the same rows in the other layout, dense or sparse; None where that is too large.

    The entries are the same and the sums are not, nor is what their rounding is charged with: each
    layout can prove what the other just fails to.
    """
    size = math.prod(X.shape)
    if sparse.issparse(X):
        return X.toarray() if size <= MOST_ENTRIES else None
    rows = X.ndim == 2 and X.dtype.kind in "biuf"
    thin = rows and (size <= MOST_ENTRIES or 4 * np.count_nonzero(X) <= size)
    return sparse.csr_matrix(X) if thin else None


def read_labels(y: Any) -> AnyArray:
    refuse_masked(y, "y")
    return _native(y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y))


def as_meant(labels: AnyArray, witness: Any) -> AnyArray:
    """Return a single target as the witness has it: a vector, or the first of several columns.

    Labels may be any whole numbers; those that are predicted as numbers must be doubles.
    """
    if not any(hasattr(witness, name) for name in LABELLED):
        refuse_inexact(labels, "y")
    column = getattr(witness, "column", None)
    if column is None and labels.ndim == 2 and labels.shape[1] == 1:
        return labels.ravel()
    return labels[:, None] if column == 0 and labels.ndim == 1 else labels


def _native(array: AnyArray) -> AnyArray:
    if array.dtype.kind == "O":
        # Nullable columns come as objects; numbers among them are numbers again.
        numbers = np.array(array.tolist())
        return numbers if numbers.dtype.kind in "biuf" else array
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refuse_no_numbers(witness: Any) -> None:
    """Raise where a field of a witness is complex or masked: it would be read as other numbers."""
    for one in fields(witness):
        value = getattr(witness, one.name)
        if isinstance(value, np.ndarray | complex) and (
            np.iscomplexobj(value) or np.ma.is_masked(value)
        ):
            raise ValueError(f"The witness holds what is no real number, in {one.name}.")
        if is_dataclass(value):
            refuse_no_numbers(value)


class OtherData(ValueError):
    """The data are not those of a certificate, and no other layout of them is."""


def contradictions(claimed: Certificate, fresh: Certificate) -> list[str]:
    """Say in words all that is claimed and does not come out again; raises `OtherData`."""
    found = [*_data(claimed, fresh)]
    if not fresh.holds:
        found.append(fresh.objection)
    if not claimed.holds or claimed.objection:
        said = "The certificate itself says: {objection}"
        found.append(say(said, objection=claimed.objection))
    return [*found, *_words(claimed, fresh), *_bounds(claimed, fresh), *_figures(claimed, fresh)]


def _data(claimed: Certificate, fresh: Certificate) -> list[str]:
    if claimed.sketch is None and fresh.sketch is None:
        return []
    if claimed.sketch is None or fresh.sketch is None:
        return [say("The certificate has no fingerprint of the data that it speaks of.")]
    if claimed.sketch.matches(fresh.sketch):
        return []
    said = "These are not the data that the certificate speaks of, or not in that order."
    raise OtherData(say(said))


def _words(claimed: Certificate, fresh: Certificate) -> list[str]:
    """Return what is said in words or is true or false; its numbers to the digits printed."""
    found = []
    for name in ("kind", "reference"):
        said, right = getattr(claimed, name), getattr(fresh, name)
        if english(said) != english(right):
            found.append(_differs(say(name), say(right), say(said)))
    if claimed.vacuous != fresh.vacuous:
        text = "The bound is vacuous." if fresh.vacuous else "The bound is not vacuous."
        found.append(say(text))
    if english(claimed.label) != english(fresh.label):
        text = "It is about {right}, and not about {said}."
        whole = say("all of y")
        about = {"right": fresh.label or whole, "said": claimed.label or whole}
        found.append(say(text, **about))
    if not _reads_alike(claimed.statement, fresh.statement, claimed, fresh):
        text = "The statement is: {right} And not: {said}"
        found.append(say(text, right=fresh.statement, said=claimed.statement))
    for name in ("remarks", "trusted"):
        said, right = getattr(claimed, name), getattr(fresh, name)
        if len(said) != len(right) or not all(
            _reads_alike(a, b, claimed, fresh) for a, b in zip(said, right, strict=True)
        ):
            found.append(_differs(name, str([*right]), str([*said])))
    return found


def _differs(name: str, right: str, said: str) -> str:
    return say("{name} is {right}, and not {said}.", name=name, right=right, said=said)


def _reads_alike(said: str, right: str, claimed: Certificate, fresh: Certificate) -> bool:
    """Tell whether two texts are the same but for the last digits of the numbers in them.

    Where the fresh text has one of its bounds, the other must have its own, on the safe side.
    """
    said, right = english(said), english(right)
    if NUMBER.sub("#", said) != NUMBER.sub("#", right):
        return False
    lower, upper = bounds_in_digits(fresh)
    slack, share = (0.0 if fresh.kind in OPTIMIZATION else _allowances(fresh)[1]), 0.0
    if fresh.kind in ("mistakes", "separation"):  # beside which other numbers may be small
        slack, share = 0.0, slack / abs(fresh.upper) if fresh.upper else 0.0
    for a, b in zip(NUMBER.findall(said), NUMBER.findall(right), strict=True):
        if a == b:
            continue
        if fresh.kind in OPTIMIZATION and b == lower and a == bounds_in_digits(claimed)[0]:
            continue
        if b == upper and a == bounds_in_digits(claimed)[1]:
            continue
        if not _prints_alike(a, b, slack, share):
            return False
    return True


def _prints_alike(a: str, b: str, slack: float, share: float) -> bool:
    """Tell whether two printed numbers differ by no more than the last digit of the longer one.

    Besides, by `slack` and this share of them; but a whole number may be a count, which does not
    depend on rounding.
    """
    a, b = (text.replace(",", "").replace("−", "-") for text in (a, b))
    x, y = float(a), float(b)
    if a.isdigit() and b.isdigit():
        return x == y
    room = 0.0 if a.isdigit() or b.isdigit() else slack + share * abs(y)
    return bool(abs(x - y) <= 1.5 * min(_last_digit(a), _last_digit(b)) + room)


def _last_digit(text: str) -> float:
    """Return what one unit of the last digit printed is worth."""
    digits, _, exponent = text.replace("E", "e").partition("e")
    _, _, decimals = digits.partition(".")
    return 10.0 ** (int(exponent or 0) - len(decimals))


def _bounds(claimed: Certificate, fresh: Certificate) -> list[str]:
    """Return the two bounds: none may say more than is proved, and none much less.

    The bounds of a best objective were moved apart when they were made, and what is proved lies
    `moved` inside; nothing is allowed for beyond that. Elsewhere a side is a measurement.
    """
    inside = _allowances(fresh)
    inside[1] += fresh.moved[1] * (1 - SAME)
    outside = (inside[0], inside[1] + fresh.moved[1])
    if fresh.kind in OPTIMIZATION:
        inside = [fresh.moved[0] * (1 - SAME), fresh.moved[1] * (1 - SAME)]
        weaker = WEAKER * abs(fresh.upper)
        # The model's own objective is computed, and only what rounding costs depends on the way.
        coarse = max(fresh.charge, min(fresh.gap, COARSE * abs(fresh.upper)))
        outside = (fresh.gap + weaker, coarse + weaker)
    found = []
    for name, more, less in (("lower", inside[0], outside[0]), ("upper", outside[1], inside[1])):
        said, right = getattr(claimed, name), getattr(fresh, name)
        # Two infinities agree, and anything else next to an infinity does not.
        if said != right and not -less <= said - right <= more:
            found.append(_differs(name, repr(right), repr(said)))
    if fresh.kind in OPTIMIZATION and not claimed.lower <= claimed.upper:
        found.append(say("The lower bound is above the upper one."))
    if not _near(claimed.zero_objective, fresh.zero_objective):
        found.append(say("The objective of the zero model is another."))
    return found


def _allowances(fresh: Certificate) -> list[float]:
    """Return what another order of the same sums can change the bounds by.

    It is never much of them, whatever rounding is charged for: who claims chooses the witness, and
    with it the charge.
    """
    small = fresh.kind in ("mistakes", "separation"), fresh.kind == "mistakes"
    found = []
    for side, alone in zip((fresh.lower, fresh.upper), small, strict=True):
        whole = abs(side if alone else fresh.upper)
        found.append(SAME * whole + min(4 * fresh.charge, ROUNDED * whole))
    return found


def _figures(claimed: Certificate, fresh: Certificate) -> list[str]:
    if set(claimed.figures) != set(fresh.figures):
        names = str(sorted(fresh.figures)), str(sorted(claimed.figures))
        return [say("The figures are {right}, and not {said}.", right=names[0], said=names[1])]
    return [
        _differs(say(name), f"{right:.9g}", f"{claimed.figures[name]:.9g}")
        for name, right in fresh.figures.items()
        if not _near(claimed.figures[name], right, _scale(name, fresh), fresh.room.get(name, 0.0))
    ]


def _scale(name: str, fresh: Certificate) -> float:
    """Return what a figure is small beside.

    ‖θ‖² of a kernel machine is a sum over pairs of support vectors: where it nearly vanishes it is
    all rounding. That of a linear model is a sum of squares, and needs no allowance.
    """
    lam = fresh.figures.get("λ", 0.0)
    of_pairs = name == "‖θ‖" and "support vectors" in fresh.figures
    return math.sqrt(2.0 * fresh.upper / lam) if of_pairs and lam > 0 < fresh.upper else 0.0


def _near(said: Any, right: Any, scale: float = 0.0, room: float = 0.0) -> bool:
    if said is None or right is None:
        return said is right
    both_nan = math.isnan(said) and math.isnan(right)
    near = SAME * max(abs(right), scale, VANISHED) + room
    return said == right or both_nan or abs(said - right) <= near


# ---- composites --------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same: arrays by entry, texts in any language, NaN as NaN.

    Of dataclasses those fields count that are compared.
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        alike = type(a) is type(b) and a.dtype == b.dtype
        return alike and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if is_dataclass(a):
        names = [one.name for one in fields(a) if one.compare]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    kind: Any = type(a)
    if kind.__eq__ is object.__eq__ and kind.__module__.startswith("cotas."):
        return type(a) is type(b) and same(vars(a), vars(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        alike = type(a) is type(b) and len(a) == len(b)
        return alike and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, str) and isinstance(b, str):
        return english(a) == english(b)
    equal = a == b
    if not isinstance(equal, bool | np.bool_):
        return False  # such as that of two sparse matrices
    return bool(equal) or bool(a != a and b != b)


def left_out(parts: Sequence[Any], X: Any, y: AnyArray | None) -> list[str]:
    """Say in words what of y no part of a composite is about, or two are; each part is proved.

    Of a blend each model has parts of its own, and every part knows the models that there are.
    """
    models = dict.fromkeys(part.member for part in parts)
    groups = ([part for part in parts if part.member == member] for member in models)
    found = [words for group in groups for words in _lacking(group, X, y)]
    wanted = dict.fromkeys(m for part in parts for m in getattr(part.predictor, "members", ()))
    lacking = [member for member in wanted if member not in models]
    return found + [say("There is no part about {label}.", label=member) for member in lacking]


def _lacking(parts: Sequence[Any], X: Any, y: AnyArray | None) -> list[str]:
    about = [english(part.label) for part in parts]
    twice = [part.label for part in parts if about.count(english(part.label)) > 1]
    if twice:
        return [say("Two parts are about {label}.", label=twice[0])]
    if about == [""]:  # all of y at once
        return []
    witnesses = [getattr(part.witness, "point", part.witness) for part in parts]
    if getattr(witnesses[0], "column", None) is not None:
        targets = X.of_first(shape_of_targets) if y is None else np.shape(y)
        wanted = [{english(say("target {column}", column=k))} for k in range(targets[1])]
    else:
        known = [positive_of(witness) for witness in witnesses]
        if about == [english(against_the_rest(label)) for label in known]:
            whole = len({*known}) == len(known) and one_in_each_row([p.sketch for p in parts])
            if len(known) == 1:  # one class against the other one
                whole = len(_labels_of(X, y)) <= 2
            return [] if whole else [say("There are rows of a class that no part is about.")]
        pairs = combinations(_labels_of(X, y), 2)
        wanted = [{english(against(*pair)), english(against(*pair[::-1]))} for pair in pairs]
    lacking = [min(names) for names in wanted if not names & {*about}]
    return [say("There is no part about {label}.", label=label) for label in lacking]


def positive_of(witness: Any) -> Any:
    """Return the label that counts as +1."""
    return witness.classes[0] if hasattr(witness, "classes") else witness.positive


def _labels_of(X: Any, y: AnyArray | None) -> list[Any]:
    """Return the labels that there are, of arrays or of a source."""
    given = [y] if y is not None else X.map_reduce(Listed(_labels_in))
    found: list[Any] = np.unique(np.concatenate(given)).tolist()
    return found


def _labels_in(block: Any) -> AnyArray:
    return np.unique(block.y)
