"""Every witness, every field of it forged: a certificate that holds is still true.

The list of witnesses is taken from the package, so that the next one has to be covered too.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import cotas
import cotas.certificates
from cotas.certificates import Certificate, HeldOut
from cotas.certificates.presentation import OPTIMIZATION
from cotas.certificates.theorems.additive import AdditiveFit
from cotas.source import Arrays

RNG = np.random.default_rng(20)
X = np.round(RNG.normal(size=(24, 3)), 2)
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=24) > 0, 1, -1)
SIDE = np.where(X[:, 0] > 0, 1, -1)
APART = X + SIDE[:, None]
CLASSES = np.arange(24) % 3
T = X @ [1.0, 2.0, 0.0] + RNG.normal(size=24)

# One fit for each witness, or more.
EXAMPLES: dict[str, Callable[[], tuple[Any, Any, Certificate]]] = {
    "svm": lambda: (X, Y, cotas.LinearSVM(lam=0.1).fit(X, Y).certificate_),
    "svm in blocks": lambda: (
        X,
        Y,
        cotas.LinearSVM(lam=0.1).fit(Arrays(X, Y, block_rows=7)).certificate_,
    ),
    "hard margin": lambda: (
        APART,
        SIDE,
        cotas.LinearSVM(margin="hard").fit(APART, SIDE).certificate_,
    ),
    "kernel": lambda: (X, Y, cotas.KernelSVM().fit(X, Y).certificate_),
    "pairs": lambda: (X, CLASSES, cotas.KernelSVM().fit(X, CLASSES).certificate_),
    "features": lambda: (
        X,
        Y,
        cotas.KernelSVM(approximate="nystroem", random_state=0).fit(X, Y).certificate_,
    ),
    "softmax": lambda: (
        X,
        CLASSES,
        cotas.certify(LogisticRegression().fit(X, CLASSES), X, CLASSES),
    ),
    "logistic": lambda: (
        X,
        Y,
        cotas.LogisticRegression(lam=0.05, penalty="elasticnet").fit(X, Y).certificate_,
    ),
    "softmax l1": lambda: (
        X,
        CLASSES,
        cotas.LogisticRegression(lam=0.01, penalty="l1").fit(X, CLASSES).certificate_,
    ),
    "softmax in blocks": lambda: (
        X,
        CLASSES,
        cotas.LogisticRegression(lam=0.01, class_weight={CLASSES[0]: 2.0})
        .fit(Arrays(X, CLASSES, block_rows=7))
        .certificate_,
    ),
    "stagewise in blocks": lambda: (
        X,
        T,
        cotas.LSBoost(max_iter=20).fit(Arrays(X, T, block_rows=7)).certificate_,
    ),
    "votes in blocks": lambda: (
        X,
        CLASSES,
        cotas.AdaBoost(n_estimators=3).fit(Arrays(X, CLASSES, block_rows=7)).certificate_,
    ),
    "lasso": lambda: (X, T, cotas.Lasso(lam=0.1).fit(X, T).certificate_),
    "kernel ridge": lambda: (X, T, cotas.KernelRidge(lam=0.1).fit(X, T).certificate_),
    "kernel svr": lambda: (X, T, cotas.KernelSVR(lam=0.1).fit(X, T).certificate_),
    "net": lambda: (X, T, cotas.ElasticNet(lam=0.1).fit(X, T).certificate_),
    "absolute residuals": lambda: (X, T, cotas.LinearSVR(lam=0.1).fit(X, T).certificate_),
    "Huber": lambda: (X, T, cotas.HuberRegressor(lam=0.1).fit(X, T).certificate_),
    "least squares": lambda: (X, T, cotas.LeastSquares().fit(X, T).certificate_),
    "ridge": lambda: (X, T, cotas.Ridge(lam=0.1).fit(X, T).certificate_),
    "perceptron": lambda: (APART, SIDE, cotas.Perceptron().fit(APART, SIDE).certificate_),
    "passive": lambda: (APART, SIDE, cotas.PassiveAggressive().fit(APART, SIDE).certificate_),
    "perceptron in blocks": lambda: (
        APART,
        SIDE,
        cotas.Perceptron().fit(Arrays(APART, SIDE, block_rows=7)).certificate_,
    ),
    "passive in blocks": lambda: (
        APART,
        SIDE,
        cotas.PassiveAggressive(class_weight={1: 2.0})
        .fit(Arrays(APART, SIDE, block_rows=7))
        .certificate_,
    ),
    "kernel perceptron": lambda: (
        APART,
        SIDE,
        cotas.KernelPerceptron().fit(APART, SIDE).certificate_,
    ),
    "separable": lambda: (APART, SIDE, cotas.separability(APART, SIDE).certificate),
    "not separable": lambda: (X, Y, cotas.separability(X, Y).certificate),
    "boosting": lambda: (X, Y, cotas.AdaBoost(n_estimators=3).fit(X, Y).certificate_),
    "boosting in blocks": lambda: (
        X,
        Y,
        cotas.AdaBoost(n_estimators=3, class_weight={1: 2.0})
        .fit(Arrays(X, Y, block_rows=7))
        .certificate_,
    ),
    "stumps of numbers in blocks": lambda: (
        X,
        T,
        cotas.LSBoost("stump", n_estimators=3).fit(Arrays(X, T, block_rows=7)).certificate_,
    ),
    "hull": lambda: (X, Y, cotas.ConvexAnyBoost(n_estimators=3).fit(X, Y).certificate_),
    "stagewise": lambda: (X, T, cotas.LSBoost(max_iter=20).fit(X, T).certificate_),
    "stumps of numbers": lambda: (
        X,
        T,
        cotas.LSBoost("stump", n_estimators=3).fit(X, T).certificate_,
    ),
    "trees of numbers": lambda: (
        X,
        T,
        cotas.LSBoost(cotas.Tree(2), n_estimators=3).fit(X, T).certificate_,
    ),
    "held out": lambda: (X, Y, HeldOut(SIDE, 0.95, 1).check(X, Y)),
}


def witness_classes() -> set[type]:
    """Everything in the package that proves something of (X, y), but for what others build on."""
    found = set()
    for module in pkgutil.walk_packages(cotas.certificates.__path__, "cotas.certificates."):
        for one in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(one) and one.__module__ == module.name and is_dataclass(one):
                given = list(inspect.signature(getattr(one, "check", lambda: 0)).parameters)
                if given[1:3] == ["X", "y"]:
                    found.add(one)
    return {one for one in found if not one.__subclasses__()}


@cache
def example(name: str) -> tuple[Any, Any, Certificate]:
    """The data, and a certificate of them with a witness of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, labels, certificate = EXAMPLES[name]()
    return rows, labels, certificate.singles[0]


def test_every_witness_is_forged_here() -> None:
    covered = {type(example(name)[2].witness) for name in EXAMPLES}
    assert witness_classes() <= covered


def forged(value: Any) -> Iterator[tuple[str, Any]]:
    """Other values for a field, some of them poison."""
    yield "None", None
    if isinstance(value, bool | np.bool_):
        yield "negated", not value
        return
    if isinstance(value, int | float | np.number):
        for other in (math.nan, math.inf, -math.inf, 5e-324, -1.0, 0.0, float(value) * 1e300):
            yield f"{other}", other
        yield "string", "one"
        yield "complex", complex(value, 1.0)
        if math.isfinite(value):
            yield "int", int(value)
        return
    if isinstance(value, str):
        yield "another", value + "?"
        return
    try:
        array = np.asarray(value)
    except ValueError:  # a list of unlike things
        return
    if array.dtype.kind not in "fiub" or array.size == 0:
        return
    for name, other in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("denormal", 5e-324)):
        spoiled = array.astype(np.float64)
        spoiled.flat[0] = other
        yield name, spoiled
        yield f"all {name}", np.full(array.shape, other)
    yield "scaled", array * 1e300
    yield "a little", array * (1 + 1e-6)
    yield "negated", -array.astype(np.float64)
    yield "zero", array * 0
    yield "permuted", array[::-1].copy()
    yield "short", array[:-1]
    yield "long", np.concatenate([array, array[:1]])
    yield "column", array[..., None]
    for dtype in (np.int64, np.float32, object, complex, bool, str):
        yield np.dtype(dtype).name, array.astype(dtype)


def forgeries(thing: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The thing with one field, of its own or of a part, replaced."""
    for one in fields(thing):
        if not one.init:
            continue
        value = getattr(thing, one.name)
        path = f"{where}{one.name}"
        parts = value if isinstance(value, tuple) else (value,)
        if any(is_dataclass(part) and not isinstance(part, type) for part in parts):
            for k, part in enumerate(parts):
                if is_dataclass(part):
                    for name, other in forgeries(part, f"{path}."):
                        if other is None:
                            continue
                        whole = (*parts[:k], other, *parts[k + 1 :])
                        yield name, _with(thing, one.name, whole if value is parts else other)
            yield f"{path}=None", _with(thing, one.name, None)
            continue
        for name, other in forged(value):
            yield f"{path}={name}", _with(thing, one.name, other)


def _with(thing: Any, field: str, value: Any) -> Any:
    try:
        return replace(thing, **{field: value})
    except (ValueError, TypeError):  # refused where it was made
        return None


def said(certificate: Certificate) -> tuple[Any, ...]:
    """What is claimed."""
    return certificate.lower, certificate.upper, certificate.statement, certificate.kind


def checked(witness: Any, rows: Any, labels: Any) -> Certificate | None:
    """The certificate, None where it is refused: `verify` takes all of these for a no."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return witness.check(rows, labels)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None


def within(model: Any, forgery: Any) -> bool:
    """Whether the model is one of those that the forgery is compared with.

    A sum of stumps is compared with those of its own total weight.
    """
    if not isinstance(forgery, AdditiveFit):
        return True
    own, most = (np.abs(one.combinations[0].coefficients).sum() for one in (model, forgery))
    return bool(own <= most)


def what_is_false(forgery: Any, honest: Certificate, rows: Any, labels: Any) -> str:
    """Why a certificate that holds should not, as far as the honest one tells."""
    found = checked(forgery, rows, labels)
    if found is None or not found.holds or said(found) == said(honest):
        return ""
    if not (math.isfinite(found.lower) and math.isfinite(found.upper)):
        return f"bounds {found.lower}, {found.upper}"
    if not found.lower <= found.upper:
        return f"lower {found.lower} above upper {found.upper}"
    if any(math.isnan(figure) for figure in found.figures.values()):
        return f"figures {found.figures}"
    if found.kind in OPTIMIZATION and within(honest.witness, forgery):
        # The honest model is one of the forged problem's too, and measured by it.
        witness = honest.witness
        other = checked(forgery.about(witness.coef, witness.intercept), rows, labels)
        if other is not None and other.holds and not found.lower <= other.upper:
            return f"lower {found.lower!r} above {other.upper!r} of another model"
        if other is not None and other.holds and not other.lower <= found.upper:
            return f"upper {found.upper!r} below {other.lower!r}, a bound of the same problem"
    return ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_forged_witness_proves_what_is_false(name: str) -> None:
    rows, labels, honest = example(name)
    assert honest.holds
    false = []
    for path, forgery in forgeries(honest.witness):
        if forgery is None:
            continue
        try:
            with warnings.catch_warnings():  # complex numbers, of which the real part is taken
                warnings.simplefilter("ignore")
                words = what_is_false(forgery, honest, rows, labels)
        except Exception as error:
            words = f"raised {error!r}"
        if words:
            false.append(f"{path}: {words}")
    assert not false, "\n".join(false)


@pytest.mark.parametrize("name", EXAMPLES)
def test_verify_never_raises_and_says_no_to_another_claim(name: str) -> None:
    rows, labels, honest = example(name)
    assert honest.verify(rows, labels)
    accepted = []
    for path, forgery in forgeries(honest.witness):
        if forgery is None or not path.endswith(("=None", "=scaled", "=short", "=nan", "=zero")):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            claim = replace(honest, witness=forgery)
            found = checked(forgery, rows, labels)
            if claim.verify(rows, labels) and (found is None or not found.holds):
                accepted.append(path)
    assert not accepted


POISON = ("=nan", "=inf", "=-inf", "=all nan", "=all inf", "=all -inf", "=complex", "=complex128")
# Names of classes are no numbers: NaN is another class. And infinity is a threshold like others.
LABELS = (
    "positive",
    "predictions",
    "classes",
    "point.positive",
    "combinations.learners.threshold",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_poisoned_number_that_matters_proves_nothing(name: str) -> None:
    """NaN, infinity or an imaginary part: refused, or the claim is the same without the field."""
    rows, labels, honest = example(name)
    accepted = []
    for path, forgery in forgeries(honest.witness):
        if forgery is None or not path.endswith(POISON) or path.startswith(LABELS):
            continue
        try:
            found = checked(forgery, rows, labels)
        except Exception:  # the law above says so
            continue
        if found is not None and found.holds and not _weaker(found, honest):
            accepted.append(f"{path}: {found.lower!r}, {found.upper!r}, {found.statement}")
    assert not accepted, "\n".join(accepted)


def _weaker(found: Certificate, honest: Certificate) -> bool:
    """Whether less is claimed: of the same model, a bound that is no better."""
    return (
        found.upper >= honest.upper - honest.charge and found.lower <= honest.lower + honest.charge
    )


def theorems_on_bad_data() -> Iterator[tuple[Any, Any, Certificate]]:
    """Bounds beside which rounding is large: a tiny λ, rows far from zero."""
    random = np.random.default_rng(0)
    side = np.where(random.random(400) < 0.5, 1, -1)
    rows = np.c_[side * (1 + random.random(400)), 0.3 * random.normal(size=400)]
    passive = cotas.PassiveAggressive(lam=1e-12, max_iter=30)
    yield rows, side, passive.fit(rows, side).certificate_
    yield rows, side, passive.fit(Arrays(rows, side, block_rows=100)).certificate_
    yield rows + 1e9, side, cotas.separability(rows + 1e9, side).certificate


def figures_near_zero() -> Iterator[tuple[Any, Any, Certificate, str]]:
    """A margin far smaller than the rows are long, and losses far below one."""
    labels = np.array([1, 1, -1, -1])
    rows = np.c_[[1.0, -1.0, 1.0, -1.0], 3e-9 * labels]
    name = "γ (margin of u), at least"
    yield rows, labels, cotas.Perceptron().fit(rows, labels).certificate_, name
    passive = cotas.PassiveAggressive().fit(X, Y, sample_weight=np.full(len(Y), 1e-13))
    yield X, Y, passive.certificate_, "ΣH (hinge losses of u)"


def test_rounding_is_no_excuse_for_another_figure() -> None:
    for rows, labels, honest, name in figures_near_zero():
        for layout in (np.asarray, csr_matrix):
            assert honest.verify(layout(rows), labels)
        for factor in (0.0, 0.8, 0.999, 1.001, 1.2):
            figures = {**honest.figures, name: factor * honest.figures[name]}
            forged = replace(honest, figures=figures, room={name: 1.0}, predictor=None)
            assert not forged.verify(rows, labels), (name, factor)


def test_rounding_is_no_excuse_for_another_count() -> None:
    rows, labels, honest, _ = next(figures_near_zero())
    made, shown = f"made {honest.lower:.0f} mistakes", f"in {honest.figures['presentations']:.0f} "
    others = {
        made: ("made 0.0 mistakes", "made -4 mistakes", "made 4.9 mistakes"),
        shown: ("in 8,000 ", "in 8e5 ", "in 8000000.5 "),
    }
    for text, forgeries in others.items():
        assert text in honest.statement
        for other in forgeries:
            words = honest.statement.replace(text, other)
            forged = replace(honest, statement=words, predictor=None)
            assert not forged.verify(rows, labels), words


def test_rounding_is_no_excuse_for_a_better_bound() -> None:
    for rows, labels, honest in theorems_on_bad_data():
        assert honest.holds
        assert honest.verify(rows, labels)
        proved = {"lower": honest.lower, "upper": honest.upper - honest.moved[1]}
        better = [("lower", 1.01), ("lower", 100.0), ("upper", 0.0), ("upper", 0.99)]
        for name, factor in [*better, ("lower", 0.99)]:
            forged = replace(honest, **{name: factor * proved[name]}, predictor=None)
            assert not forged.verify(rows, labels), (name, factor)
