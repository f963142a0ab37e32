"""Numbers standardized, categories spread out, missing values filled in and marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.files.frames import for_each_word, polars
from cotas.fitting.parameters import check_count
from cotas.preparation.columns import (
    LEFT_OUT,
    MARKED,
    WEEKDAYS,
    ColumnError,
    Role,
    numbers_of,
    part_name,
    parts_of,
    roles_of,
    warn_of_new,
    words_of,
)
from cotas.preparation.given import as_frame, as_matrix
from cotas.preparation.statistics import (
    Codes,
    ColumnMoments,
    Numbers,
    WordCounts,
    compressed,
    dense,
)
from cotas.refusals import ParameterError
from cotas.source import MatrixLike, in_pairs
from cotas.words import Said, english, say

if TYPE_CHECKING:
    from polars import DataFrame, Series

# More columns than this, fewer than that part of them filled: the matrix is made sparse.
MANY_COLUMNS, FEW_FILLED = 200, 0.2
# So many batches have their moments added up at a time, two by two.
BATCHES_TOGETHER = 64


@dataclass(eq=False, repr=False, kw_only=True)
class Preparation(TransformerMixin, BaseEstimator):
    """A preparation of a table with columns of every kind into the numbers that a model takes.

    * Numbers are standardized: their mean is subtracted, and they are divided by their standard
      deviation. A missing one becomes the mean, and a further column says where that was done.
    * Categories get a column of zeros and ones for each value; of two values one column is enough.
      Rare values share the column "other", to which values never seen before go too. Missing
      values have a column of their own.
    * True and false are one and zero.
    * Dates and times become their year, month, weekday, day of the year, hour and the days since
      1970; months and weekdays are categories. How they are written is told from the column.
    * Columns that never change are dropped, and so are identifiers (another whole number in every
      row), names and free text (another text in most rows) and lists. `dropped_` says why.
    * Infinite numbers are refused, naming the column.

    A matrix instead of a table is all numbers. A sparse matrix is passed on as it is: to subtract
    a mean would fill it.

    Parameters
    ----------
    min_frequency : float, default=0.01
        A value of a category in a smaller part of the rows is rare.
    max_categories : int, default=100
        The most values of one column that get columns of their own, the most frequent ones.
    standardize : bool, default=True
        Whether numbers are standardized, or left as they are.
    keep : sequence of str
        Columns that are used though they look like identifiers or free text.
    strict : bool, default=False
        Refuse tables with columns that would be dropped as identifiers, free text or lists, and
        name them all.
    unix_seconds : sequence of str
        Columns of numbers that count the seconds since 1970, and are used as dates.

    Attributes
    ----------
    layout_ : {"columns", "dense", "sparse"}
        What it was fitted on.
    feature_names_in_, n_features_in_
        The columns it was fitted on; the names only if they had names.
    number_names_, means_, scales_, indicated_
        The columns of numbers and truth values, what is subtracted from them, what they are
        divided by, and whether a column marks their missing values.
    category_names_, categories_, pooled_, category_missing_
        The columns of categories, their values with a column, whether there is a column "other",
        and whether there is one for missing values.
    dates_ : list of (name, way)
        The columns of dates, and how they are written: "ymd", "dmy", "mdy", "time" or "unix".
    decimal_commas_ : list of str
        The columns of numbers that were written with a decimal comma.
    dropped_ : list of (name, reason)
        The reason is "empty", "constant", "identifier", "text" or "other".
    sparse_output_ : bool
        Whether `transform` gives CSR matrices.

    Examples
    --------
    >>> import polars as pl
    >>> from cotas.preparation.preparation import Preparation
    >>> table = pl.DataFrame({"age": [20, None, 40], "town": ["Lugo", "Vigo", "Lugo"]})
    >>> preparation = Preparation().fit(table)
    >>> preparation.get_feature_names_out().tolist()
    ['age', 'age is missing', 'town=Vigo']
    >>> preparation.transform(table).tolist()
    [[-1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    """

    min_frequency: float = 0.01
    max_categories: int = 100
    standardize: bool = True
    keep: Sequence[str] = ()
    strict: bool = False
    unix_seconds: Sequence[str] = ()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # ---- learning what the columns are -------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, deviations and categories.

        Parameters
        ----------
        X : frame of polars, pandas or Arrow, dict of columns, Table, array or sparse matrix
        y : ignored
        """
        learned = self._begin()
        frame = as_frame(X)
        if frame is None:
            learned._fit_matrix(as_matrix(X))
        else:
            learned._fit_frame(frame, [frame])
        return self._conclude(learned).know_commas(getattr(X, "decimal_commas", ()))

    def fit_batches(self, batches: Iterable[Any], sample: Any = None) -> Self:
        """Learn from a table that comes some rows at a time, and need not fit into memory.

        What a column is (a number, a category, a date, an identifier) is told from the sample.
        Means, deviations, missing values and categories with their frequencies are those of all
        rows, as `fit` finds them of the same rows; of a column with more than 131,072 different
        words the rarest are forgotten on the way, and no count is short by more than 2/131,072 of
        the rows.

        Parameters
        ----------
        batches : iterable of frames, as `fit` takes them, with the same columns
            It is gone through once.
        sample : frame, optional
            Some rows drawn at random from all; the first batch if not given.

        Examples
        --------
        >>> import polars as pl
        >>> from cotas.preparation.preparation import Preparation
        >>> table = pl.DataFrame({"age": [20, None, 40], "town": ["Lugo", "Vigo", "Lugo"]})
        >>> learned = Preparation().fit_batches(table.iter_slices(2), sample=table)
        >>> learned.transform(table).tolist()
        [[-1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
        """
        learned = self._begin()
        rest = iter(batches)
        first = next(rest, None) if sample is None else None
        frame = as_frame(first if sample is None else sample)
        if frame is None:
            raise ColumnError("batches must be tables with named columns, and one at least.")
        learned._fit_frame(frame, rest if first is None else chain([first], rest))
        return self._conclude(learned)

    def know_commas(self, names: Iterable[str]) -> Self:
        """Remember which columns of numbers were written with a decimal comma.

        Parameters
        ----------
        names : columns; those that hold no numbers do not matter
        """
        known = set(names)
        self.decimal_commas_: list[str] = [n for n in self.number_names_ if n in known]
        return self

    def _fit_files(self, files: Sequence[Any], reading: Any, seed: int) -> Self:
        """Learn from files of any size, as `open_pages` reads them."""
        from cotas.preparation.streamed import learn  # which reads pages

        learn(self, files, reading, seed)
        return self

    def _begin(self) -> Self:
        """Return another one that knows nothing yet: a fit that fails leaves this one as it was."""
        if not 0 <= self.min_frequency < 1:
            raise ParameterError(
                "min_frequency", f"min_frequency must be in [0, 1), not {self.min_frequency!r}."
            )
        check_count(self.max_categories, "max_categories")
        learned = type(self)(**self.get_params(deep=False))
        learned._forget()
        return learned

    def _forget(self) -> None:
        self.dropped_: list[tuple[str, str]] = []
        self.dates_: list[tuple[str, str]] = []
        self.decimal_commas_ = []
        self.category_names_: list[str] = []
        self.categories_: list[list[str]] = []
        self.pooled_: list[bool] = []
        self.category_missing_: list[bool] = []

    def _conclude(self, learned: Self) -> Self:
        """Take over all that was learned, in the place of what was known before."""
        sparse_layout = learned.layout_ == "sparse"
        width = 0 if sparse_layout else learned._width()
        filled = len(learned.number_names_) + len(learned.category_names_)
        few = width > MANY_COLUMNS and filled < FEW_FILLED * width
        learned.sparse_output_ = sparse_layout or few
        given = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__ = vars(learned) | given
        return self

    def _fit_frame(self, frame: DataFrame, batches: Iterable[Any]) -> None:
        """Learn what the columns are from a frame, and what they hold from all batches."""
        self.layout_ = "columns"
        self.feature_names_in_ = np.asarray(frame.columns, dtype=object)
        self.n_features_in_ = frame.width
        if frame.height == 0:
            raise ColumnError("the table holds no rows.")
        roles = roles_of(frame, self.keep, self.unix_seconds)
        if self.strict:
            _refuse_useless(roles)
        useless = ("empty", *LEFT_OUT)
        self.dropped_ += [(name, role.kind) for name, role in roles.items() if role.kind in useless]
        self.dates_ = [(name, role.form) for name, role in roles.items() if role.kind == "date"]
        columns = self._with_parts(frame.clear())  # their names and types
        kinds = {name: roles[name].kind if name in roles else "" for name in columns.columns}
        names = [name for name in kinds if _is_number(kinds[name], columns[name])]
        plain = np.array([kinds[name] == "boolean" for name in names], dtype=np.bool_)
        numbers = set(names)
        words = [n for n, kind in kinds.items() if n not in numbers and kind in ("category", "")]
        found, counts = self._counted(batches, names, words)
        self._learn_numbers(found, names, plain)
        for name in words:
            self._learn_category(counts[name], name)
        self._settle_parts()

    def _counted(
        self, batches: Iterable[Any], names: list[str], words: list[str]
    ) -> tuple[Numbers, dict[str, WordCounts]]:
        """Collect what there is to know of the numbers, and the counts of the words in all
        batches."""
        parts, counts = [], {name: WordCounts() for name in words}
        for batch in batches:
            frame = self._with_parts(self._same_columns(batch))
            if not frame.height:
                continue
            parts.append(ColumnMoments.of(numbers_of(frame, names)))
            for name, counted in counts.items():
                counted.add(words_of(frame[name], name))
            parts = [in_pairs(parts)] if len(parts) == BATCHES_TOGETHER else parts
        if not parts:
            raise ColumnError("the table holds no rows.")
        return in_pairs(parts).numbers(names), counts

    def _same_columns(self, batch: Any) -> DataFrame:
        frame = as_frame(batch)
        if frame is None or set(frame.columns) != set(self.feature_names_in_):
            raise ColumnError("the batches must be tables with the same columns.")
        return frame

    def _with_parts(self, frame: DataFrame) -> DataFrame:
        """Return the frame with the parts of dates in the place of the dates."""
        if not self.dates_:
            return frame
        taken = set(self.feature_names_in_)
        parts = [
            values.alias(part)
            for name, way in self.dates_
            if name in frame.columns
            for part, values in parts_of(frame[name], way).items()
            if part not in taken
        ]
        return frame.with_columns(parts).drop([name for name, _ in self.dates_], strict=False)

    def _settle_parts(self) -> None:
        """Let one column mark a missing date; parts that never change are not worth a remark."""
        parts = self._parts()
        marked = {part_name(name, part) for name, _ in self.dates_ for part in MARKED}
        for j, name in enumerate(self.number_names_):
            self.indicated_[j] &= name not in parts or name in marked
        for j, name in enumerate(self.category_names_):
            self.category_missing_[j] &= name not in parts
        gone = [name for name, _ in self.dropped_ if name in parts]
        self.dropped_ = [(name, why) for name, why in self.dropped_ if name not in parts]
        for date, _ in self.dates_:
            if all(part in gone for part, source in parts.items() if source == date):
                self.dropped_.append((date, "constant"))

    def _parts(self) -> dict[str, str]:
        """Return the parts of dates, and the column that each is of."""
        known = (*self.number_names_, *self.category_names_, *(name for name, _ in self.dropped_))
        given = set(self.feature_names_in_)
        return {
            part: date
            for date, _ in self.dates_
            for part in known
            if part.startswith(part_name(date, "")) and part not in given
        }

    def _fit_matrix(self, X: Matrix) -> None:
        rows = self._read_matrix(X, reset=True)
        self.layout_ = "sparse" if sparse.issparse(rows) else "dense"
        names = [f"x{j}" for j in range(rows.shape[1])]
        if not sparse.issparse(rows):
            found = ColumnMoments.of(rows).numbers(names)
            self._learn_numbers(found, names, np.zeros(len(names), dtype=np.bool_))
        else:
            self._keep_numbers([], np.empty(0), np.empty(0), np.empty(0, dtype=np.bool_))

    def _learn_numbers(self, found: Numbers, names: list[str], plain: AnyArray) -> None:
        """Learn means and deviations of what is there; `plain` columns are left as they are."""
        for j in np.flatnonzero(found.gone):
            self.dropped_.append((names[j], "empty" if found.empty[j] else "constant"))
        plain = plain | (not self.standardize)
        means = np.where(plain, 0.0, found.means)
        scales = np.where(plain | found.constant, 1.0, found.scales)
        stays = ~found.gone
        kept = [name for name, stay in zip(names, stays, strict=True) if stay]
        self._keep_numbers(kept, means[stays], scales[stays], found.indicated[stays])

    def _keep_numbers(
        self, names: list[str], means: FloatArray, scales: FloatArray, indicated: AnyArray
    ) -> None:
        self.number_names_ = names
        self.means_, self.scales_, self.indicated_ = means, scales, indicated

    def _learn_category(self, words: WordCounts, name: str) -> None:
        kept, values = words.frequent(self.min_frequency, self.max_categories)
        missing, pooled = words.missing > 0, len(kept) < values
        if len(kept) + pooled + missing < 2:
            # Many values of which none comes often are as good as free text.
            self.dropped_.append((name, "constant" if values < 2 else "text"))
            return
        self.category_names_.append(name)
        self.categories_.append(kept)
        self.pooled_.append(pooled)
        self.category_missing_.append(missing)

    # ---- using it ------------------------------------------------------------------------------

    def transform(self, X: Any) -> Matrix:
        """Return the matrix that a model takes: dense, or CSR if `sparse_output_`.

        Parameters
        ----------
        X : of the kind it was fitted on
            Columns are found by their names, in any order; further ones are ignored.
        """
        check_is_fitted(self, "layout_")
        if self.layout_ == "columns":
            frame = self._with_parts(self._checked_frame(X))
            values = numbers_of(frame, self.number_names_)
            return self._assembled(values, [*self._codes(frame)])
        rows = self._read_matrix(as_matrix(X), reset=False)
        if sparse.issparse(rows):
            return rows
        return self._assembled(rows[:, [int(name[1:]) for name in self.number_names_]], [])

    def _assembled(self, values: FloatArray, categories: list[Codes]) -> Matrix:
        """Join the numbers standardized, with marks where they are missing, and the categories."""
        missing = np.isnan(values)
        filled = (values - self.means_) / self.scales_
        filled[missing] = 0.0
        marks = missing[:, self.indicated_]
        numbers = np.hstack([filled, marks]) if marks.shape[1] else filled
        return (compressed if self.sparse_output_ else dense)(numbers, categories)

    def _codes(self, frame: DataFrame) -> Iterator[Codes]:
        """Tell which column of its own each value of a category has."""
        for j, name in enumerate(self.category_names_):
            words, kept = words_of(frame[name], name), self.categories_[j]
            codes = for_each_word(words, partial(_places_of, kept=kept))
            width = len(kept)
            if self.pooled_[j]:
                codes = codes.fill_null(width)
                width += 1
            else:
                warn_of_new(words, codes, name)
            numbers = codes.fill_null(-1).to_numpy(writable=True)
            if words.null_count():
                numbers[words.is_null().to_numpy()] = width if self.category_missing_[j] else -1
            width += self.category_missing_[j]
            first = int(self._one_column(j))
            yield Codes(numbers - first if first else numbers, width - first)

    def _width(self) -> int:
        """Tell how many columns `transform` makes of a table that is not sparse."""
        more = [*self.pooled_, *self.category_missing_]
        one = sum(map(self._one_column, range(len(self.categories_))))
        values = sum(map(len, self.categories_)) - one
        return len(self.number_names_) + int(np.sum(self.indicated_)) + values + sum(more)

    def _one_column(self, j: int) -> bool:
        """Tell whether two values are told apart by one column, that of the second."""
        return len(self.categories_[j]) == 2 and not (self.pooled_[j] or self.category_missing_[j])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self, "layout_")
        return np.array([english(name) for name in self.shown_names()], dtype=object)

    def shown_names(self) -> list[str]:
        """Return the same names for people, in the language of the moment."""
        if self.layout_ == "sparse":
            return [f"x{j}" for j in range(self.n_features_in_)]
        parts = self._parts() if self.layout_ == "columns" else {}
        called = {
            name: _shown(name, parts.get(name))
            for name in (*self.number_names_, *self.category_names_)
        }
        names = [called[name] for name in self.number_names_]
        marked = zip(self.number_names_, self.indicated_, strict=True)
        missing = "{name} is missing"
        names += [say(missing, name=called[name]) for name, indicated in marked if indicated]
        for j, name in enumerate(self.category_names_):
            of_date = isinstance(called[name], Said)
            values = [say(v) if of_date and v in WEEKDAYS else v for v in self.categories_[j]]
            block = [say("{name}={value}", name=called[name], value=value) for value in values]
            block += [say("{name}=other", name=called[name])] * self.pooled_[j]
            block += [say(missing, name=called[name])] * self.category_missing_[j]
            names += block[1:] if self._one_column(j) else block
        return names

    def in_original_units(
        self, coef: FloatArray, intercept: float
    ) -> tuple[dict[str, float], float]:
        """Compute θ and θ₀ for the columns as they were before they were standardized.

        Parameters
        ----------
        coef : array of shape (n_features_out,)
        intercept : float
        """
        names = self.get_feature_names_out()
        if len(coef) != len(names):
            raise ParameterError("coef", f"coef has {len(coef)} entries for {len(names)} columns.")
        original = np.array(coef, dtype=np.float64)
        if self.layout_ != "sparse":
            count = len(self.number_names_)
            original[:count] /= self.scales_
            intercept = float(intercept - original[:count] @ self.means_)
        return dict(zip(names.tolist(), original.tolist(), strict=True)), float(intercept)

    def example(self) -> Any:
        """Make a table of two rows that it takes: nothing known of one, only new things in the
        other."""
        if self.layout_ == "columns":
            pl, parts = polars(), self._parts()
            numbers = {name: [None, 0.0] for name in self.number_names_ if name not in parts}
            words = {name: [None, ""] for name in self.text_columns_}
            dates = {name: pl.Series([None, None], dtype=pl.String) for name, _ in self.dates_}
            return pl.DataFrame({**numbers, **words, **dates})
        if self.layout_ == "sparse":
            return sparse.csr_matrix((2, self.n_features_in_))
        return np.zeros((2, self.n_features_in_))

    # ---- does the table fit? ---------------------------------------------------------------------

    @property
    def used_columns_(self) -> list[str]:
        """Return the columns that the result depends on."""
        if self.layout_ != "columns":
            return [*self.number_names_, *self.category_names_]
        parts = self._parts()
        used = (parts.get(name, name) for name in (*self.number_names_, *self.category_names_))
        return list(dict.fromkeys(used))

    @property
    def text_columns_(self) -> list[str]:
        """Return the columns of categories, which a file of text has as text."""
        parts = self._parts() if self.layout_ == "columns" else {}
        return [name for name in self.category_names_ if name not in parts]

    def compare(self, X: MatrixLike) -> list[str]:
        """Say in words what is different about the columns of X, though it can be used."""
        frame = as_frame(X)
        if frame is None or self.layout_ != "columns":
            return []
        known = set(self.feature_names_in_)
        extra = [name for name in frame.columns if name not in known]
        words = "Columns that the model does not know are ignored: {names}."
        notes = [say(words, names=", ".join(extra))] if extra else []
        shared = [name for name in frame.columns if name in known]
        there = set(shared)
        expected = [name for name in self.feature_names_in_ if name in there]
        if shared != expected:
            notes.append(say("The columns come in another order; they are found by their names."))
        return notes

    def _checked_frame(self, X: MatrixLike) -> DataFrame:
        frame = as_frame(X)
        if frame is None:
            raise ColumnError(
                "the model was fitted on a table with named columns; a matrix has no names."
            )
        known = set(frame.columns)
        gone = [name for name in self.used_columns_ if name not in known]
        if gone:
            raise ColumnError(
                "the model needs the columns {names}, which are missing.",
                names=", ".join(map(repr, gone)),
            )
        return frame

    def _read_matrix(self, X: Matrix, reset: bool) -> Matrix:
        if as_frame(X) is not None:
            raise ColumnError("the model was fitted on a matrix; a table with names was given.")
        _refuse_words(X)
        rows: Matrix = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float64,
            reset=reset,
            ensure_all_finite="allow-nan" if not sparse.issparse(X) else True,
        )
        return rows


def _refuse_words(X: MatrixLike) -> None:
    """Say of a matrix with words in it what to give in its place."""
    if getattr(getattr(X, "dtype", None), "kind", "") not in "OU":
        return
    for word in np.asarray(X).flat:
        if isinstance(word, str) and not _reads_as_number(word):
            raise ColumnError(
                "the matrix holds words, such as {word!r}. Give a table whose columns have "
                "names, such as a DataFrame: words are categories there.",
                word=str(word),
            )


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _places_of(words: Any, kept: list[str]) -> Any:
    """Return the place of each word in a list, null for a word that is not in it."""
    places, kind = list(range(len(kept))), polars().Int32
    return words.replace_strict(kept, places, default=None, return_dtype=kind)


def _is_number(kind: str, column: Series) -> bool:
    """Tell whether a column is used as numbers; parts of dates have no kind but their type."""
    return kind in ("number", "boolean") or (kind == "" and column.dtype.is_numeric())


def _shown(name: str, date: str | None) -> str:
    """Return the name of a column; the part of a date is named in the language of the moment."""
    if date is None:
        return name
    part = name.removeprefix(part_name(date, ""))
    return say("{name}: {part}", name=date, part=say(part))


def _refuse_useless(roles: dict[str, Role]) -> None:
    """Name all columns that would be left out, at once."""
    useless = [(name, role) for name, role in roles.items() if role.kind in LEFT_OUT]
    if useless:
        some = "; ".join(str(role.remark) for _, role in useless)
        names = ",".join(name for name, _ in useless)
        raise ColumnError(
            "{count} columns cannot be used as they are. {some} Drop them ({names}) "
            "or keep them by name."
            if len(useless) != 1
            else "{count} column cannot be used as it is. {some} Drop it ({names}) "
            "or keep it by name.",
            count=len(useless),
            some=some,
            names=names,
        )
