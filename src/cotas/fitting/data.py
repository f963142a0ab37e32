"""From what the user hands over to what the solvers take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates.core.rounding import dot
from cotas.certificates.numbers import refuse_inexact, refuse_masked
from cotas.design import canonical
from cotas.refusals import ParameterError
from cotas.solvers.moments import rough_centre
from cotas.source import MatrixLike, NotInBlocksError, as_stored, comes_in_blocks

DOUBLE_OR_SINGLE = (np.dtype(np.float64), np.dtype(np.float32))
# The kinds of y that are taken as they are; whole numbers as targets may be too large for a double.
LABELS, NUMBERS = "biuUf", "f"


@dataclass(frozen=True)
class TrainingRows:
    """Validated training data: X as it came, labels or numbers, and the weights."""

    X: Matrix
    y: AnyArray
    weights: FloatArray | None

    @property
    def n_rows(self) -> int:
        """Tell how many rows there are, used or not."""
        return int(self.X.shape[0])

    def used(self) -> IntArray | None:
        """Return the rows with a positive weight; None stands for all of them."""
        if self.weights is None or (self.weights > 0).all():
            return None
        return np.flatnonzero(self.weights > 0)

    def shares(self) -> FloatArray:
        """Return the weights sᵢ of the objective, which sum to one."""
        if self.weights is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        return np.asarray(self.weights / self.weights.sum())

    @property
    def n_entries(self) -> int:
        """Tell how many numbers X has, zeros included."""
        return self.n_rows * int(self.X.shape[1])

    def total_weight(self) -> float:
        """Return the sum of the weights, as they were given."""
        return float(self.n_rows if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class Examples(TrainingRows):
    """Rows with labels, and the classes that there are."""

    classes: AnyArray

    @cached_property
    def codes(self) -> IntArray:
        """Return the place of each label among the classes."""
        return encode(self.y, self.classes)

    def refuse_classes_without_weight(self) -> None:
        """Raise where a class has no example that counts."""
        if self.weights is None:
            return
        counted = np.bincount(self.codes, self.weights, len(self.classes))
        if not (counted > 0).all():
            lost = self.classes[counted <= 0].tolist()
            raise ParameterError(
                "sample_weight",
                f"The weights leave no example of class {lost}: leave its rows out, or give one "
                "of them a weight above zero.",
            )

    def refuse_one_class(self) -> None:
        """Raise where all examples that count are of one class."""
        used = self.used()
        if used is not None and len(np.unique(self.codes[used])) < 2:
            raise ParameterError(
                "y", "The examples with a weight are of one class; two classes are needed."
            )

    def positives(self) -> IntArray:
        """Return the codes of the classes that are trained against the rest."""
        k = len(self.classes)
        return np.arange(1 if k == 2 else 0, k, dtype=_type_of_codes(k))


def refuse_source(caller: Any, X: MatrixLike) -> None:
    """Raise where an estimator or a function needs arrays, and was given a source of row blocks.

    Parameters
    ----------
    caller : the estimator, or the name of what was called
    X : whatever was given
    """
    if comes_in_blocks(X):
        name = caller if isinstance(caller, str) else type(caller).__name__
        raise NotInBlocksError(
            f"{name} needs X as an array here, and takes no source of row "
            "blocks and no collection of Dask's: docs/scale.md lists what does."
        )


def is_plain(
    X: Any, *, finite: bool | str = True, layout: Literal["C"] | None = None
) -> TypeGuard[FloatArray]:
    """Tell whether X is an array that scikit-learn's validation would hand back as it is.

    That takes a quarter of a millisecond to find out, which is most of the time of a small fit.
    Where `finite` is False, nobody asks whether the entries are.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in DOUBLE_OR_SINGLE:
        return False
    if not X.size or (layout == "C" and not X.flags.c_contiguous):
        return False
    return finite is False or _all_finite(X)


def _is_plain_csr(X: Any) -> TypeGuard[Matrix]:
    """Tell the same of the rows of a CSR matrix, all of whose entries are finite."""
    if type(X) not in (sparse.csr_matrix, sparse.csr_array) or X.dtype not in DOUBLE_OR_SINGLE:
        return False
    return X.nnz > 0 and _all_finite(X.data)


def _all_finite(a: AnyArray) -> bool:
    """Tell whether the sum of all entries is finite, which it is only if they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.add.reduce(a, axis=None))


def _is_plain_target(y: Any, n: int, kinds: str) -> TypeGuard[AnyArray]:
    """Tell whether y is a vector of so many labels, or finite numbers, of one of these kinds."""
    if type(y) is not np.ndarray or y.shape != (n,) or y.dtype.kind not in kinds:
        return False
    return y.dtype.kind != "f" or (y.dtype in DOUBLE_OR_SINGLE and _all_finite(y))


def _note_plain(estimator: Any, X: Matrix) -> None:
    """Keep of X what validation would: there are no names of columns."""
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)


def rows_to_predict(
    estimator: Any,
    X: MatrixLike,
    *,
    layouts: Sequence[str] = ("csr", "csc"),
    finite: bool | str = True,
) -> Matrix:
    """Return X as the fit would take it, with as many columns; refuse who is not fitted."""
    known = vars(estimator)
    nameless = "_certificates" in known and "feature_names_in_" not in known
    if nameless and is_plain(X, finite=finite) and X.shape[1] == known.get("n_features_in_"):
        return X
    check_is_fitted(estimator)
    refuse_source(estimator, X)
    rows: Matrix = validate_data(
        estimator,
        as_stored(X),
        accept_sparse=layouts,
        dtype=[np.float64, np.float32],
        reset=False,
        ensure_all_finite=finite,
    )
    return canonical(rows) if sparse.issparse(rows) else rows


def _in_order(X: Any) -> Any:
    """Compute X with the entries of each sparse row, or column, one after another.

    All that follow would put them in order by themselves, and to look among entries in disorder for
    one that is stored in parts takes longer than that.
    """
    if not sparse.issparse(X) or X.format not in ("csr", "csc"):
        return X
    rows: Any = X
    # Most are in order and have no entry twice: one look then answers who asks for either.
    return X if rows.has_canonical_format or rows.has_sorted_indices else rows.sorted_indices()


def _validated(
    estimator: Any, X: MatrixLike, y: Any, kinds: str, refuse_y: Callable[[Any, str], None],
    reset: bool, finite: bool | str, order: Literal["C"] | None = None, **more: Any,
) -> tuple[Matrix, Any]:  # fmt: skip
    """Return what scikit-learn makes of X and y, after what would be lost on the way is refused.

    It is not asked where it would hand both back as they are.
    """
    refuse_source(estimator, X)
    X = _in_order(as_stored(X))
    if (
        reset
        and (is_plain(X, finite=finite, layout=order) or _is_plain_csr(X))
        and _is_plain_target(y, X.shape[0], kinds)
    ):
        _note_plain(estimator, X)
        return X, y
    refuse_inexact(X, "X")
    refuse_y(y, "y")
    found: tuple[Matrix, Any] = validate_data(
        estimator,
        X,
        y,
        accept_sparse=["csr", "csc"],
        dtype=[np.float64, np.float32],
        reset=reset,
        ensure_all_finite=finite or sparse.issparse(X),
        order=order,
        **more,
    )
    return found


def read_examples(
    estimator: Any,
    X: MatrixLike,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    *,
    classes: AnyArray | None = None,
    reset: bool = True,
    finite: bool | str = True,
) -> Examples:
    """Validate as scikit-learn does, and refuse what no classifier can be trained on.

    With `finite=False` it is left open whether a dense X is finite, for callers that gather the
    facts for the checker: that pass over X shows it too; see `refuse_infinite`. "allow-nan" lets
    missing values pass.
    """
    X, y = _validated(estimator, X, y, LABELS, refuse_masked, reset, finite, order="C")
    if sparse.issparse(X):
        X = canonical(X.tocsr())  # rows are what all the algorithms here walk along
    if y.dtype.kind not in "biuU":  # whole numbers and strings are labels, whatever they are
        check_classification_targets(y)
    found = distinct(y)
    fresh = classes is None
    if classes is None:
        classes = found
        if len(classes) < 2:
            only = found.tolist()[0]
            raise ParameterError(
                "y", f"y holds one class only ({only!r}); a classifier needs at least 2 classes."
            )
    else:
        unknown = np.setdiff1d(found, classes)
        if len(unknown):
            raise ParameterError(
                "y", f"y holds labels that are not in `classes`: {unknown.tolist()}."
            )
    weights = _weights(X, y, sample_weight, class_weight)
    examples = Examples(X, y, weights, classes)
    if fresh:
        examples.refuse_classes_without_weight()
    return examples


def refuse_infinite(estimator: Any, X: Matrix, seen: Any) -> None:
    """Raise scikit-learn's error if X holds NaN or infinity, which made `seen` so too."""
    if not np.isfinite(seen).all():
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")


def distinct(y: AnyArray) -> AnyArray:
    """Return the labels that occur, sorted; whole numbers close together are counted."""
    if y.dtype.kind not in "biu" or len(y) == 0:
        return np.unique(y)
    low, high = y.min(), y.max()
    if int(high) - int(low) > 1 << 16:
        return np.unique(y)
    occurs = np.zeros(int(high) - int(low) + 1, dtype=np.bool_)
    for start in range(0, len(y), 1 << 16):
        occurs[y[start : start + (1 << 16)].astype(np.int64) - int(low)] = True
    return (np.flatnonzero(occurs) + int(low)).astype(y.dtype)


def _type_of_codes(k: int) -> type[np.signedinteger[Any]]:
    """Return two bytes for the number of a class where they suffice."""
    return np.int16 if k < 2**15 else np.int32


def encode(y: AnyArray, classes: AnyArray) -> IntArray:
    """Return the position of each label in the sorted classes."""
    narrow = _type_of_codes(len(classes))
    if len(classes) == 2:
        return np.asarray(y == classes[1]).astype(narrow)
    codes = np.empty(len(y), dtype=narrow)
    for start in range(0, len(y), 1 << 16):
        span = slice(start, start + (1 << 16))
        codes[span] = np.searchsorted(classes, y[span])
    return codes


# Between these the sums and squares of weights stay far from overflow and underflow, with data of
# any scale; only the ratios of weights count.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100


def checked_weights(sample_weight: Any, X: MatrixLike) -> FloatArray:
    """Return a weight for each row, none below zero, the largest neither tiny nor huge."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    refuse_extreme_weights(float(weights.max()))
    return np.asarray(weights)


def refuse_extreme_weights(largest: float, name: str = "sample_weight") -> None:
    """Raise if the largest weight is tiny or huge."""
    if largest > 0 and not LEAST_WEIGHT <= largest <= MOST_WEIGHT:
        raise ParameterError(
            name,
            f"{name} goes up to {largest:g}, where sums overflow or vanish; only the ratios "
            "of weights count, so divide them all by the largest.",
        )


def _weights(
    X: MatrixLike, y: AnyArray, sample_weight: Any, class_weight: Any
) -> FloatArray | None:
    if sample_weight is None and class_weight is None:
        return None
    weights = checked_weights(sample_weight, X)
    if class_weight is not None:
        weights = checked_weights(weights * compute_sample_weight(class_weight, y), X)
    if not (weights > 0).any():
        raise ParameterError(
            "class_weight", "class_weight leaves no example with a weight: at least one non-zero."
        )
    return np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True)
class Observations(TrainingRows):
    """Rows with numbers: y has one column or several."""

    y: FloatArray

    @property
    def single(self) -> bool:
        """Tell whether y came as a vector, so that the coefficients are one too."""
        return self.y.ndim == 1

    @property
    def targets(self) -> FloatArray:
        """Return y with one column for each target."""
        return self.y[:, None] if self.single else self.y

    @property
    def columns(self) -> list[int | None]:
        """Return for each target its column of y; None where y is a vector."""
        return [None] if self.single else list(range(self.y.shape[1]))

    def uneven_shares(self) -> FloatArray | None:
        """Return the `shares`; None stands for 1/n each."""
        return None if self.weights is None else self.shares()


def read_observations(
    estimator: Any,
    X: MatrixLike,
    y: Any,
    sample_weight: Any = None,
    *,
    layout: Literal["csr", "csc"] = "csr",
    reset: bool = True,
    finite: bool | str = True,
) -> Observations:
    """Validate as scikit-learn does; a dense X is not copied, a sparse one takes the layout.

    With `finite=False` it is left open whether a dense X is finite, for callers who will see it
    in what they compute and then call `refuse_infinite`. "allow-nan" lets missing values pass.
    """
    X, y = _validated(
        estimator, X, y, NUMBERS, refuse_inexact, reset, finite, multi_output=True, y_numeric=True
    )
    if sparse.issparse(X):
        X = canonical(X.asformat(layout))
    y = np.asarray(y.toarray() if sparse.issparse(y) else y, dtype=np.float64)
    weights = None
    if sample_weight is not None:
        weights = checked_weights(sample_weight, X)
        if not (weights > 0).any():
            raise ParameterError(
                "sample_weight", "sample_weight is zero for all rows: at least one must count."
            )
    return Observations(X, y, weights)


# ---- data far from zero --------------------------------------------------------------------------


class Moved(NamedTuple):
    """A matrix X less a shift m of its columns, for solvers; None where no column lies far from
    zero.

    Beside a free bias a solver may see each column less a number near it.
    θ·(x − m) + θ₀ is the model θ·x + (θ₀ − θ·m) of the rows as they were given. Squares of the
    digits that m takes away would leave none for the rest.
    """

    X: Matrix
    shift: FloatArray | None = None

    @classmethod
    def near_zero(cls, X: Matrix, free_bias: bool) -> Moved:
        """Return a dense X with all columns near zero, which is a copy where one was not.

        A constant column is a multiple of the ones that the bias stands for, and the solver has to
        live with those: it is far where such ones would be.
        """
        shift = rough_centre(X, unit=1.0) if free_bias and not sparse.issparse(X) else None
        return cls(X) if shift is None else cls(X - shift, shift)

    def given(self, theta: FloatArray, theta0: Any) -> Any:
        """Compute θ₀ for the rows as they were given; θ may have a column for each of
        θ₀."""
        return theta0 if self.shift is None else self._along(-theta, theta0)

    def seen(self, theta: FloatArray, theta0: Any) -> Any:
        """Compute θ₀ for the rows that the solver sees."""
        return theta0 if self.shift is None else self._along(theta, theta0)

    def _along(self, theta: FloatArray, theta0: Any) -> Any:
        """Compute θ₀ + θ·m, rounded once: at these sizes each rounding shows in the objective."""
        assert self.shift is not None
        if theta.ndim == 1:
            return dot(self.shift, theta, [float(theta0)])[0]
        return np.array([self._along(t, b) for t, b in zip(theta.T, theta0, strict=True)])
