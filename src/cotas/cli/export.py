"""cotas export"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cotas.cli.command import UsageError
from cotas.cli.data import writable
from cotas.cli.explain import shown_names
from cotas.cli.predict import Model
from cotas.cli.saved import Saved, open_model, refuse_foreign
from cotas.cli.session import Session
from cotas.cli.streams import writing
from cotas.linear.base import LinearClassifier
from cotas.preparation.prepared_model import PreparedModel
from cotas.regression.base import LinearRegressor
from cotas.words import say


def export(
    session: Session,
    model: Model,
    onnx: Annotated[Path, typer.Option("--onnx", help="The ONNX file to write.")],
    single: Annotated[
        bool, typer.Option("--single", help="Take rows in single precision.")
    ] = False,
) -> None:
    """Write a model for other programs, as ONNX.

    The input of a linear model on numbers alone is the columns as they are. Otherwise it is the
    prepared rows, whose columns are listed.

    Example: cotas export model.cotas --onnx model.onnx
    """
    from cotas.export.onnx import to_onnx

    writable(onnx, "--onnx", model)
    saved = open_model(model)
    refuse_foreign(saved, "export")
    estimator, names, prepared = _ready(saved)
    with writing(onnx):
        try:
            dtype = np.float32 if single else np.float64
            calibration = getattr(saved.model, "calibration_", None)
            to_onnx(estimator, onnx, dtype=dtype, calibration=calibration)
        except ValueError as error:  # what the model holds has no place in ONNX
            raise UsageError(str(error)) from error
    what = say("prepared columns") if prepared else say("columns as they are")
    session.say(
        f"{say('saved')}: {onnx}",
        say("its input X: {what}: {names}", what=what, names=", ".join(_shown(saved, names))),
    )
    session.document({"onnx": str(onnx), "prepared": prepared, "columns": names})


def _shown(saved: Saved, names: list[str]) -> list[str]:
    """What the columns are called in the language of the moment."""
    called = shown_names(saved)
    return [called.get(name, name) for name in names]


def _ready(saved: Saved) -> tuple[Any, list[str], bool]:
    """The estimator to write, the names of its columns, and whether they must be prepared."""
    model, names = saved.model, saved.names
    if not isinstance(model, PreparedModel):
        return model, names, False
    preparation = model.preparation_
    plain = preparation.layout_ == "sparse" or names == preparation.number_names_
    linear = isinstance(model.estimator_, LinearClassifier | LinearRegressor)
    if not (plain and linear):
        return model.estimator_, names, True
    return _in_original_units(model), names, False


def _in_original_units(model: PreparedModel) -> Any:
    """The same linear function of the columns before they were standardized."""
    estimator = copy.copy(model.estimator_)
    pairs = model.in_original_units()
    rows = np.array([list(weights.values()) for weights, _ in pairs])
    biases = np.array([bias for _, bias in pairs])
    single = np.ndim(model.estimator_.coef_) == 1
    estimator.coef_ = rows[0] if single else rows
    estimator.intercept_ = float(biases[0]) if single else biases
    return estimator
