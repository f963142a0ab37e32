"""What turns tables into the rows of a model, and the training data in short."""

from __future__ import annotations

from typing import Any

from cotas.files.dates import WAYS
from cotas.files.kinds.certificates import FEATURE_MAP
from cotas.files.schema import (
    LONGEST,
    ArrayField,
    Estimator,
    Family,
    Flag,
    IntegerField,
    ListField,
    Names,
    Record,
    Sentence,
    Text,
    TupleField,
    require,
)


def _sound(preparation: Any) -> None:
    """Check that columns of a matrix are named by their places; the names of others occur once."""
    require((preparation.scales_ > 0).all(), "a scale", "is not positive")
    numbers, categories = preparation.number_names_, preparation.category_names_
    names = [*numbers, *categories]
    require(set(preparation.decimal_commas_) <= set(numbers), "a decimal comma", "is of no number")
    require(len(set(names)) == len(names), "a column", "occurs twice")
    if preparation.layout_ == "dense":
        columns = {*numbers, *(name for name, _ in preparation.dropped_)}
        known = {f"x{j}" for j in range(len(columns))}
        whole = columns == known and len(known) == preparation.n_features_in_
        require(whole, "a column", "is none of the matrix")
    elif preparation.layout_ == "columns":
        require(hasattr(preparation, "feature_names_in_"), "feature_names_in", "is missing")
        known, dates = set(preparation.feature_names_in_), [name for name, _ in preparation.dates_]
        require(set(dates) <= known, "a date", "is none of the columns")
        parts = {name for name in names if name.startswith(tuple(f"{date}: " for date in dates))}
        require(set(names) <= known | parts, "a column", "is none of those")
    else:
        require(not numbers, "a column", "is none of a sparse matrix")
    if preparation.layout_ != "columns":
        require(not categories, "a category", "is none of a matrix")
        require(not preparation.dates_, "a date", "is none of a matrix")
    for values in preparation.categories_:
        require(len(set(values)) == len(values), "a category", "occurs twice")


COLUMNS = Estimator(
    "cotas.preparation.preparation.Preparation",
    {
        "layout": Text(("columns", "dense", "sparse")),
        "n_features_in": IntegerField(1, LONGEST, letter="u"),
        "feature_names_in": Names("u").maybe(),
        "number_names": ListField(Text(), side="a"),
        "means": ArrayField("a"),
        "scales": ArrayField("a", low=0),
        "indicated": ArrayField("a", "bool"),
        "category_names": ListField(Text(), side="b"),
        "categories": ListField(ListField(Text()), side="b"),
        "pooled": ListField(Flag(), side="b"),
        "category_missing": ListField(Flag(), side="b"),
        "dates": ListField(TupleField((Text(), Text(WAYS)))),
        "decimal_commas": ListField(Text()),
        "dropped": ListField(TupleField((Text(), Text()))),
        "sparse_output": Flag(),
    },
    own=True,
    relation=_sound,
)


def _rows_of_the_table(recipe: Any) -> None:
    rows = recipe.rows
    require(rows is None or len(rows), "the rows trained on", "are none")
    if rows is not None:
        require(rows.max() < recipe.n_rows, "the rows trained on", "are not in the table")


CALIBRATION = Record(
    "cotas.preparation.calibration.Calibration",
    {"slopes": ArrayField("k"), "offsets": ArrayField("k"), "folds": IntegerField(2)},
)

PREPARATION = Family(
    "preparation",
    {
        "table": Record(
            "cotas.preparation.recipe.Recipe",
            {
                "columns": COLUMNS.at("preparation"),
                "task": Text(("classification", "regression")),
                "n_rows": IntegerField(0),
                "rows": ArrayField("r", "int32 int64", low=0).or_none(),
                "chosen": Sentence(),
            },
            relation=_rows_of_the_table,
        ),
        "kernel features": FEATURE_MAP,
    },
)

DATA = Record("cotas.files.fingerprint.Fingerprint", {"shape": ListField(IntegerField(0), tuple)})
