"""What every fit from a source of row blocks begins with: one pass that looks at all of them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates.blocks import weighed
from cotas.certificates.sound import Sound, kind_of_labels, refuse_mixed_labels
from cotas.fitting.data import refuse_extreme_weights
from cotas.refusals import ParameterError
from cotas.running import blocks_in_threads
from cotas.source import Block, Changed, Source, Sums, double, is_sparse, reader_of, rows_of

# y with more different values than this is one of numbers, not of classes.
MOST_CLASSES = 1000
# Bytes of a sample that is solved in memory first, and how many of the rows it has at most.
SAMPLE_BYTES, SAMPLE = 1 << 26, 0.1
# A column lies far from zero if its centre does, in units of its deviation; as the core has it.
FAR = 4.0


def note_columns(model: Any, source: Source) -> None:
    """Keep the number of columns, and their names, as scikit-learn does."""
    model.n_features_in_ = source.n_features
    vars(model).pop("feature_names_in_", None)
    if source.feature_names is not None:
        model.feature_names_in_ = np.asarray(source.feature_names, dtype=object)


def refuse_other_columns(model: Any, X: Any) -> None:
    """Raise if a source or a collection has other columns than the model was trained on."""
    known = X.feature_names if isinstance(X, Source) else getattr(X, "columns", None)
    size = X.n_features if isinstance(X, Source) else X.shape[1]
    if size != model.n_features_in_:
        raise ParameterError(
            "X",
            f"X has {size} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input.",
        )
    names = getattr(model, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        raise ParameterError(
            "X", "The columns of the source have other names than those of the fit."
        )


def refuse_not_finite(block: Block, gaps: bool = False) -> None:
    """Raise if a block holds infinity, NaN where no gaps may be, or weights that are none."""
    values = block.X.data if sparse.issparse(block.X) else block.X
    with np.errstate(all="ignore"):
        sound = np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all()
    if not sound and not (gaps and not np.isinf(values).any()):
        what = "infinity" if gaps or not np.isnan(values).any() else "NaN"
        raise ParameterError(
            "X", f"Input X contains {what}, in {rows_of(block)}: fill in or leave out such rows."
        )
    s = block.weights
    if s is not None and not (np.isfinite(s).all() and (s >= 0).all()):
        raise ParameterError(
            "sample_weight",
            "The weights of a source must be finite numbers, none of them negative.",
        )
    if s is not None:
        refuse_extreme_weights(max(1.0, float(s.max())), "The weight of a row")


@dataclass(frozen=True)
class LabelTotals:
    """Totals of each label, rows and weight; all labels are of one kind."""

    found: dict[Any, tuple[int, float]]
    kind: str
    where: str

    def __add__(self, other: LabelTotals) -> LabelTotals:
        refuse_mixed_labels((self.kind, other.kind), other.where)
        whole = dict(self.found)
        for label, (rows, weight) in other.found.items():
            before = whole.get(label, (0, 0.0))
            whole[label] = (before[0] + rows, before[1] + weight)
        return LabelTotals(refuse_many(whole), self.kind, self.where)

    def labels(self) -> AnyArray:
        """Return the labels in their order, each of which is found again in the array."""
        found = np.unique(np.array(list(self.found)))
        if len(found) != len(self.found) or set(found.tolist()) != set(self.found):
            raise ParameterError(
                "y",
                "y holds whole numbers and floats of which double precision cannot hold all: two "
                "classes would become one. Give all labels the same type, or make them text.",
            )
        return found


def refuse_many(labels: dict[Any, Any]) -> dict[Any, Any]:
    """Return the labels, unless there are too many of them."""
    if len(labels) > MOST_CLASSES:
        raise ParameterError(
            "y",
            f"Unknown label type: y has more than {MOST_CLASSES} different values, so it holds "
            "numbers, and a classifier needs classes.",
        )
    return labels


def count_labels(block: Block) -> LabelTotals:
    """Return the labels of a block, which is looked at for NaN besides."""
    refuse_not_finite(block)
    return label_totals(block)


def label_totals(block: Block) -> LabelTotals:
    """Return the labels of a block."""
    y, where = np.asarray(block.y), rows_of(block)
    if y.ndim != 1:
        raise ParameterError(
            "y", f"y of a classifier must be a vector, and it has {y.ndim} dimensions."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ParameterError("y", "Input y contains NaN or infinity.")
    kind = kind_of_labels(y, where)
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes, minlength=len(labels))
    weights = np.bincount(codes, block.shares(), len(labels))
    found = zip(counts.tolist(), weights.tolist(), strict=True)
    return LabelTotals(refuse_many(dict(zip(labels.tolist(), found, strict=True))), kind, where)


@dataclass(frozen=True)
class SourceClasses:
    """The classes of a source, their weights besides those of the rows, and Σ of all weights."""

    labels: AnyArray
    factors: FloatArray | None
    total: float

    @property
    def pairs(self) -> tuple[tuple[Any, float], ...]:
        """Return label and factor of each class, where there are factors."""
        if self.factors is None:
            return ()
        return tuple(zip(self.labels.tolist(), self.factors.tolist(), strict=True))

    def positives(self) -> AnyArray:
        """Return the labels that are trained against the rest."""
        return self.labels[1:] if len(self.labels) == 2 else self.labels


def read_classes(source: Source, class_weight: Any, each: Each = map) -> SourceClasses:
    """Read in one pass over the blocks which classes there are, and what they weigh."""
    return classes_of(source.map_reduce(count_labels, each), class_weight)


def classes_of(whole_y: LabelTotals, class_weight: Any) -> SourceClasses:
    """Return the classes that these labels make, each of which must have a weight."""
    totals, labels = whole_y.found, whole_y.labels()
    if len(labels) < 2:
        only = labels.tolist()[0]
        raise ParameterError(
            "y", f"y holds one class only ({only!r}); a classifier needs at least 2 classes."
        )
    rows, weights = (np.array([totals[label][k] for label in labels.tolist()]) for k in (0, 1))
    factors = _class_factors(class_weight, labels, rows)
    whole = weights if factors is None else weights * factors
    if not (whole > 0).all():
        lost = labels[whole <= 0].tolist()
        raise ParameterError(
            "sample_weight",
            f"The weights leave no example of class {lost}: leave its rows out, or give one of "
            "them a weight above zero.",
        )
    refuse_extreme_weights(min(1.0, float(whole.sum())), "The weight of all rows")
    return SourceClasses(labels, factors, float(whole.sum()))


def _class_factors(class_weight: Any, labels: AnyArray, rows: AnyArray) -> FloatArray | None:
    """Return the factors as scikit-learn's `compute_class_weight` has them."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ParameterError(
                "class_weight",
                f"class_weight must be a dict, 'balanced' or None: {class_weight!r}.",
            )
        return np.asarray(rows.sum() / (len(labels) * rows))
    factors = np.array([float(class_weight.get(label, 1.0)) for label in labels.tolist()])
    if not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise ParameterError(
            "class_weight", "class_weight must hold finite numbers, none of them negative."
        )
    return factors


@dataclass(frozen=True)
class Recoded:
    """Labels as ±1 if one is given, else as their places; class weights in those of the rows.

    The columns are less a shift.
    """

    labels: tuple[Any, ...]
    pairs: tuple[tuple[Any, float], ...]
    shift: FloatArray | None = None

    def __call__(self, block: Block) -> Block:
        y: AnyArray = np.asarray(block.y)
        if len(self.labels) == 1:
            y = np.where(y == self.labels[0], 1.0, -1.0)
        else:
            y = np.searchsorted(np.array(self.labels), y)
        X = block.X if self.shift is None else double(block.X) - self.shift
        return block._replace(X=X, y=y, weights=weighed(block, self.pairs))


def shift_of(source: Source) -> FloatArray | None:
    """Find the centres of columns far from zero, by the first block: they would cost
    digits.

    Zero for the other columns; None if there are none, or if the rows are sparse.
    """
    return source.of_first(_far_centres)


def _far_centres(block: Block) -> FloatArray | None:
    if sparse.issparse(block.X):
        return None
    X = np.asarray(block.X, dtype=np.float64)
    with np.errstate(all="ignore"):
        centre, spread = X.mean(axis=0), X.std(axis=0)
        far = np.isfinite(centre) & (np.abs(centre) > FAR * spread) & (spread > 0)
    return np.where(far, centre, 0.0) if far.any() else None


def draw(share: float, block: Block) -> list[Block]:
    """Return a part of the rows of a block, drawn by the number of its first row."""
    n, random = block.n_rows, np.random.default_rng((0, block.start))
    chosen = np.sort(random.choice(n, min(n, int(np.ceil(share * n))), replace=False))
    weights = None if block.weights is None else block.weights[chosen]
    return [Block(block.start, block.X[chosen], block.y[chosen], weights)]


def draw_sample(source: Source, fewest: int, each: Each = map) -> Block | None:
    """Draw a tenth of the rows, or as many as fit into little memory; None if too few."""
    entries = source.of_first(_entries_of_a_row)
    size = min(SAMPLE * source.n_rows, SAMPLE_BYTES / (8 * max(1.0, entries)))
    if size < fewest:
        return None
    parts = source.map_reduce(partial(draw, size / source.n_rows), each)
    weights = None if parts[0].weights is None else np.concatenate([p.weights for p in parts])
    y = np.concatenate([p.y for p in parts])
    X: list[Any] = [p.X for p in parts]
    whole = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return Block(0, double(whole), y, weights)


def _entries_of_a_row(block: Block) -> float:
    """Tell how many numbers a row takes, on average."""
    n, d = block.X.shape
    return 1.5 * block.X.nnz / n if sparse.issparse(block.X) else float(d)


# ---- what a fitted model makes of a source -----------------------------------------------------


def of_rows(model: Any, method: str, block: Block) -> Any:
    """Return what a method of a fitted model returns for the rows of a block."""
    return getattr(model, method)(block.X)


def hits(model: Any, block: Block) -> Sums:
    """Return the weight of the rows of a block whose class is predicted, and that of all."""
    s = block.shares()
    right = model.predict(block.X) == np.asarray(block.y)
    return Sums(float(s @ right), float(s.sum()))


def residuals(model: Any, middle: FloatArray, block: Block) -> Sums:
    """Compute Σ s(y − ŷ)², Σ s, Σ s(y − m) and Σ s(y − m)² of a block, for some m near y."""
    s, y = block.shares(), np.asarray(block.y, dtype=np.float64).reshape(block.n_rows, -1)
    off = y - np.asarray(model.predict(block.X)).reshape(y.shape)
    about = y - middle
    return Sums(s @ off**2, float(s.sum()), s @ about, s @ about**2)


def nameless(model: Any) -> Any:
    """Copy a model without the names of its columns, which blocks do not have, and callbacks."""
    plain = copy.copy(model)
    vars(plain).pop("feature_names_in_", None)
    if hasattr(plain, "callbacks"):
        plain.callbacks = None  # they need not be such as can be sent to another process
    return plain


def of_source(model: Any, source: Any, method: str) -> Any:
    """Return what a method of a model returns for each row of a source, in the order of its rows.

    Of a collection of another library it is a lazy one of that library.
    """
    refuse_other_columns(model, source)
    if not isinstance(source, Source):
        return reader_of(source).lazily(nameless(model), source, method)
    with blocks_in_threads(getattr(model, "n_jobs", None)) as each:
        return source.collect(partial(of_rows, nameless(model), method), each)


def accuracy(model: Any, source: Source) -> float:
    """Return the weight of the rows whose class is predicted, as a part of that of all."""
    refuse_other_columns(model, source)
    with blocks_in_threads(getattr(model, "n_jobs", None)) as each:
        found, total = source.map_reduce(partial(hits, nameless(model)), each)
    return float(found / total)


def r_squared(model: Any, source: Source) -> float:
    """Compute 1 − Σ s(y − ŷ)²/Σ s(y − ȳ)², the mean over the targets."""
    return squared_error(model, source)[1]


def squared_error(model: Any, source: Source) -> tuple[float, float]:
    """Return the root of the mean of (y − ŷ)², and R², the means over the targets."""
    refuse_other_columns(model, source)
    middle = source.of_first(_mean_targets)
    with blocks_in_threads(getattr(model, "n_jobs", None)) as each:
        left, total, mean, square = source.map_reduce(
            partial(residuals, nameless(model), middle), each
        )
    whole = square - mean**2 / total
    with np.errstate(divide="ignore", invalid="ignore"):
        # As scikit-learn has it: y that does not vary is predicted, or it is not.
        parts = np.where(whole > 0, 1.0 - left / whole, np.where(left > 0, 0.0, 1.0))
    return float(np.sqrt(left / total).mean()), float(parts.mean())


def _mean_targets(block: Block) -> FloatArray:
    y = np.asarray(block.y, dtype=np.float64)
    return np.asarray(y.reshape(len(y), -1).mean(axis=0))


def bound_to(source: Source, each: Each, *, targets: bool) -> Source:
    """Return the source, gone over by `each` where nothing else is said; its blocks are sound.

    `targets` says whether y holds numbers to be predicted; labels otherwise.
    """
    return Changed(source, Sound(source.n_features, targets, source.of_first(is_sparse)), each)
