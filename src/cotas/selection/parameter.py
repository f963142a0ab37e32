"""The parameter that is chosen: how it is set, its values, and which way models get complex."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from cotas.arrays import Matrix
from cotas.kernel.choice import as_kernel, is_precomputed
from cotas.kernel.gaussian import RBF
from cotas.kernel.interface import Kernel
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.regression.lasso import Lasso

# With more of these a model can fit more, or less; c = 1/(λn) of Clasificación lineal rises as λ
# falls.
RISING = frozenset(
    (
        *("C", "degree", "delta", "eps", "gamma", "learning_rate", "max_depth", "max_features"),
        *("max_iter", "max_leaf_nodes", "n_components", "n_estimators", "step"),
    )
)
FALLING = frozenset(
    ["alpha", "ccp_alpha", "lam", "min_samples_leaf", "n_neighbors", "reg_lambda", "sigma"]
)
# A grid for λ spans so many powers of ten below the mean squared length of the rows.
DECADES, A_DECADE = 6, 2
# That of a Lasso begins where all coefficients are zero, and ends at this part of it.
LASSO_RATIO = 1e-4


def check_estimator(model: Any) -> None:
    """Check that it is an estimator that can be cloned and fitted, not its class."""
    usable = all(hasattr(model, name) for name in ("fit", "predict", "get_params", "set_params"))
    if isinstance(model, type) or not usable:
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterTypeError(
            "model", f"model must be an estimator such as cotas.LinearSVM(), not {given}."
        )


def is_number(value: object) -> bool:
    """Tell whether a value is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, as its type says."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def final_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return final_step(model[-1]) if isinstance(model, Pipeline) else model


@dataclass(frozen=True)
class Parameter:
    """A parameter as the user named it, and where it is.

    Attributes
    ----------
    over : the name that was given
    path : the name that `set_params` takes, with `svm__` and the like before it
    field : where the parameter belongs to a kernel, the name of it; `path` is that of the kernel
    """

    over: str
    path: str
    field: str | None = None

    @property
    def name(self) -> str:
        """Return the last part of it."""
        return self.field or self.path.rpartition("__")[2]

    def set(self, model: Any, value: object) -> Any:
        """Return the same model, with this value."""
        if self.field is None:
            return model.set_params(**{self.path: value})
        kernel = model.get_params(deep=True)[self.path]
        return model.set_params(**{self.path: _with_field(kernel, self.field, value)})

    def copy_with(self, model: Any, value: object) -> Any:
        """Return a new model, not fitted, with this value."""
        return self.set(clone(model), value)


def find_parameter(model: Any, over: Any) -> Parameter:
    """Tell where the parameter is: of the model, of a step of a pipeline, or of a kernel."""
    if not isinstance(over, str):
        raise ParameterTypeError(
            "over", f"over must be the name of a parameter, such as 'lam', not {over!r}."
        )
    known = model.get_params(deep=True)
    for path in (over, inside(model) + over):
        if path in known:
            return Parameter(over, path)
        kernel, _, field = path.rpartition("__")
        kernel = kernel if kernel.rpartition("__")[2] == "kernel" else inside(model) + "kernel"
        if kernel in known and field in _fields(known[kernel]):
            return Parameter(over, kernel, field)
    elsewhere = [path for path in known if path.endswith(f"__{over}")]
    if len(elsewhere) == 1:
        return Parameter(over, elsewhere[0])
    if elsewhere:
        raise ParameterError(
            "over", f"over={over!r} may be {' or '.join(elsewhere)}: give the whole name."
        )
    raise ParameterError("over", _unknown(model, over, list(known)))


def inside(model: Any) -> str:
    """Return what stands before the parameters of the last step."""
    if not isinstance(model, Pipeline):
        return ""
    name, last = model.steps[-1]
    return f"{name}__{inside(last)}"


def _fields(kernel: Any) -> list[str]:
    if kernel is None or kernel == "rbf":
        return ["sigma", "gamma"]
    return [field.name for field in fields(kernel)] if is_dataclass(kernel) else []


def _with_field(kernel: Any, name: str, value: Any) -> Kernel:
    if not isinstance(kernel, Kernel) or isinstance(kernel, RBF):
        return RBF(**{name: value})
    return replace(kernel, **{name: value})  # type: ignore[type-var]


def _unknown(model: Any, over: str, known: list[str]) -> str:
    short = [name.rpartition("__")[2] for name in known]
    near = get_close_matches(over, [*known, *short, "sigma"], n=1, cutoff=0.5)
    # A short name stands for the one that the last step has.
    said = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"over={over!r} is no parameter of {type(model).__name__}.{said} It has: "
        f"{', '.join(sorted(known))}."
    )


def complexity_sign(parameter: Parameter, values: list[Any], complexity: str | None) -> int:
    """Return 1 where larger values make more complex models, −1 where they make simpler ones, else
    0."""
    if complexity not in (None, "rises", "falls"):
        raise ParameterError(
            "complexity", f"complexity must be 'rises', 'falls' or None, not {complexity!r}."
        )
    if not all(is_number(value) for value in values):
        if complexity is not None:
            raise ParameterError(
                "complexity", "complexity is about numbers, and these values are not."
            )
        return 0
    if complexity is not None:
        return 1 if complexity == "rises" else -1
    return (parameter.name in RISING) - (parameter.name in FALLING)


def in_order(
    parameter: Parameter, values: list[Any], complexity: str | None
) -> tuple[bool, list[Any]]:
    """Tell whether it is known which models are complex, and the values from the simplest one
    on."""
    sign = complexity_sign(parameter, values, complexity)
    return sign != 0, sorted(values, reverse=sign < 0) if sign else values


def read_values(values: Any, parameter: Parameter) -> list[Any]:
    """Return the values, each once, in the order given."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ParameterTypeError(
            "values", f"values must be a sequence of values for {parameter.over}: {values!r}."
        )
    found: list[Any] = []
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        if is_number(plain) and math.isnan(float(plain)):
            raise ParameterError("values", f"values holds NaN: give {parameter.over} numbers.")
        if not any(_same(plain, other) for other in found):
            found.append(plain)
    if not found:
        raise ParameterError(
            "values", f"values is empty: give at least one value for {parameter.over}."
        )
    return found


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and bool(np.all(a == b)))


def default_values(model: Any, parameter: Parameter, X: Matrix, y: ArrayLike | None) -> list[Any]:
    """Return a grid, where one is known to make sense."""
    if parameter.name in ("n_estimators", "max_iter") and parameter.field is None:
        most = int(model.get_params(deep=True)[parameter.path])
        return sorted({max(1, round(most * 2.0**-k)) for k in range(9)})
    if parameter.name != "lam":
        raise ParameterError("values", f"values must be given for over={parameter.over!r}.")
    model = clone(model)
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].fit(X, y).transform(X)
    last = final_step(model)
    if isinstance(last, Lasso):
        grid = np.geomspace(1.0, LASSO_RATIO, DECADES * A_DECADE + 1) * _all_zero(last, X, y)
    else:
        grid = np.geomspace(1.0, 10.0**-DECADES, DECADES * A_DECADE + 1) * _scale(last, X)
    if not np.isfinite(grid).all():
        raise ParameterError(
            "X",
            "X holds NaN or infinity. Leave those rows out, or fill them in, for example with a "
            "SimpleImputer before the model in a pipeline.",
        )
    return [float(f"{value:.3g}") for value in grid]


def _all_zero(model: Lasso, X: Matrix, y: Any) -> float:
    """Compute the smallest λ of a Lasso that makes all its coefficients zero: the largest
    correlation."""
    y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    # With the mean of y taken out, that of the columns makes no difference.
    y = y - y.mean(axis=0) if model.fit_intercept else y
    rows: Matrix = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    found = np.abs(np.asarray(rows.T @ y)) / len(y)
    if model.standardize:
        squares = rows.multiply(rows) if sparse.issparse(rows) else np.square(rows)
        means = np.asarray(rows.mean(axis=0)).ravel()
        variances = np.asarray(squares.mean(axis=0)).ravel() - means**2
        found = found[variances > 0] / np.sqrt(variances[variances > 0])[:, None]
    return float(found.max(initial=0.0)) or 1.0


def _scale(model: Any, X: Matrix) -> float:
    """Compute the mean squared length of the rows about their mean, in the feature space of a
    kernel."""
    kernel = getattr(model, "kernel", "none")
    if kernel != "none" and not is_precomputed(kernel):
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        return float(np.mean(as_kernel(kernel, X).diagonal(X))) or 1.0
    if is_precomputed(kernel):
        return float(np.mean(np.diagonal(np.asarray(X)))) or 1.0
    if sparse.issparse(X):
        return float(X.multiply(X).sum() / X.shape[0]) or 1.0
    rows = np.asarray(X, dtype=np.float64)
    return float(np.square(rows - rows.mean(axis=0)).sum() / len(rows)) or 1.0
