"""cotas explain and export: what a saved model has learned, for people and for other programs"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from cotas.certificates import Certificate
from cotas.cli.command import UsageError
from cotas.cli.models import NAMES
from cotas.cli.options import refuse, writable
from cotas.cli.outcome import whole_in_lines
from cotas.cli.predict import Model
from cotas.cli.saved import Saved, open_model, refuse_foreign
from cotas.cli.session import Session, writing
from cotas.linear.base import LinearClassifier
from cotas.preparation.doubt import doubts_of
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.telling import called
from cotas.regression.base import LinearRegressor
from cotas.words import say


def explain(
    session: Session,
    model: Model,
    top: Annotated[int, typer.Option(min=0, help="How many columns to show; 0 for all.")] = 20,
) -> None:
    """Say what a saved model has learned, and what is proved about it.

    The coefficients are in the units of the columns; they are ordered by how much the score
    changes when a column moves by its standard deviation.

    Example: cotas explain model.cotas --top 5
    """
    if session.json:
        refuse(session, ["top"], "is about the terminal; --json has all.")
    saved = open_model(model)
    refuse_foreign(saved, "explain")
    facts = facts_of(saved)
    session.say(*(f"{name}: {value}" for name, value in facts.items()))
    weights = weights_of(saved)
    n_rows = 1 if saved.recipe is None else saved.recipe.n_rows
    # Of a kernel's own features there are coefficients, but none of a column.
    doubts = doubts_of(saved.estimator, saved.model.certificate_, n_rows) if weights else []
    said = shown_names(saved)
    for (label, whole), doubt in zip(weights.items(), doubts, strict=True):
        table = [entry for k, entry in enumerate(whole) if k == 0 or abs(entry[2]) > doubt]
        shown = table[: top or None]
        # One proof for all classes together is not of each against the rest.
        against = len(saved.estimator.certificate_.singles) == len(weights)
        words = "class {label} against the rest" if against else "class {label}"
        title = None if label is None else say(words, label=label)
        called = [say(CONSTANT), *(said[name] for name, _, _ in shown[1:])]
        rows = [
            [name, f"{theta:+.6g}", f"{effect:+.4g}"]
            for name, (_, theta, effect) in zip(called, shown, strict=True)
        ]
        names = [say(name) for name in ("column", "coefficient", "per deviation")]
        if not _standardized(saved):
            names, rows = names[:2], [row[:2] for row in rows]
        session.say("")
        session.table(names, rows, title)
        if len(table) > len(shown):
            more = len(table) - len(shown)
            session.say(say("… and {count} more (--top 0 shows all)", count=more))
        if len(whole) > len(table):
            words = "Not told from 0: {count} more; the gap leaves ±{doubt:.1g} open."
            session.say(say(words, count=len(whole) - len(table), doubt=doubt))
    importances = importances_of(saved)
    if importances:
        rows = [[said[name], f"{share:.4f}"] for name, share in importances[: top or None]]
        session.say("")
        session.table([say("column"), say("importance")], rows)
        if len(importances) > len(rows):
            more = len(importances) - len(rows)
            session.say(say("… and {count} more (--top 0 shows all)", count=more))
    certificate = saved.model.certificate_
    session.say("", *whole_in_lines(certificate, saved.estimator))
    bound = None if saved.recipe is None else saved.recipe.hold_out
    if bound is not None:
        session.say("", str(bound))
    session.document(_document(saved, facts, weights, importances, certificate, bound))


def facts_of(saved: Saved) -> dict[str, str]:
    """Return what the model is, and the numbers it is known by."""
    estimator, recipe = saved.estimator, saved.recipe
    kind = type(estimator).__name__
    name = next((name for name, known in NAMES.items() if known == kind), kind)
    facts = {say("model"): called(name, estimator)}
    if recipe is not None:
        facts[say("predicts")] = f"{recipe.target} ({say(recipe.task)})"
    if hasattr(estimator, "classes_"):
        facts[say("classes")] = ", ".join(map(str, estimator.classes_))
    if recipe is not None and recipe.rows is not None:
        counted = {"count": len(recipe.rows), "rows": recipe.n_rows}
        facts[say("trained on")] = say("{count} of {rows} rows", **counted)
    for name, words in _NUMBERS.items():
        value = getattr(estimator, name, None)
        if value is not None:
            facts[say(words)] = ", ".join(_shown(v) for v in np.atleast_1d(value))
    if recipe is not None:
        dropped = [f"{name} ({say(_REASONS[why])})" for name, why in recipe.preparation.dropped_]
        facts |= {say("left out"): ", ".join(dropped)} if dropped else {}
        facts |= {say("chosen"): recipe.chosen} if recipe.chosen else {}
        facts |= {say("made by"): recipe.command} if recipe.command else {}
        facts |= {say("note {k}", k=k): words for k, words in enumerate(recipe.remarks, 1)}
    return facts


def _shown(value: object) -> str:
    return str(value) if isinstance(value, str) else f"{value:.6g}"


# The bias among the coefficients, first of all.
CONSTANT = "(constant)"

# Why a column was left out, as it is said.
_REASONS = {
    "empty": "empty",
    "constant": "never changes",
    "identifier": "like an identifier",
    "text": "names or free text",
    "other": "of a type that no model here can use",
}

# Attributes of fitted models that say something by themselves.
_NUMBERS = {
    "margin_width_": "width of the margin",
    "n_support_": "support vectors",
    "leave_one_out_bound_": "leave-one-out error at most",
    "n_rounds_": "rounds",
    "solver_": "solver",
}


def weights_of(saved: Saved) -> dict[Any, list[tuple[str, float, float]]]:
    """Return for each class or target: column, coefficient in its units, and per standard
    deviation."""
    estimator, model = saved.estimator, saved.model
    if not hasattr(estimator, "coef_") or getattr(estimator, "features_", None) is not None:
        return {}
    rows = np.atleast_2d(estimator.coef_)
    if isinstance(model, PreparedModel):
        originals = model.in_original_units()
    else:
        names = saved.names
        biases = np.broadcast_to(np.atleast_1d(estimator.intercept_), len(rows))
        pairs = zip(rows, biases, strict=True)
        originals = [(dict(zip(names, row, strict=True)), float(b)) for row, b in pairs]
    labels = [None] if len(rows) == 1 else list(getattr(estimator, "classes_", range(len(rows))))
    if getattr(estimator, "_votes", False):  # a machine for each pair of classes
        labels = estimator._part_names(len(rows))
    found = {}
    for label, row, (weights, bias) in zip(labels, rows, originals, strict=True):
        table = [(n, w, float(e)) for (n, w), e in zip(weights.items(), row, strict=True)]
        table.sort(key=lambda entry: -abs(entry[2]))
        found[label] = [(CONSTANT, bias, 0.0), *table]
    return found


def shown_names(saved: Saved) -> dict[str, str]:
    """Return what the columns are called in the language of the moment."""
    prepared = isinstance(saved.model, PreparedModel)
    shown = saved.model.preparation_.shown_names() if prepared else saved.names
    return dict(zip(saved.names, shown, strict=True))


def _standardized(saved: Saved) -> bool:
    """Tell whether the columns were divided by their deviations before the training."""
    model = saved.model
    return isinstance(model, PreparedModel) and model.preparation_.layout_ != "sparse"


def importances_of(saved: Saved) -> list[tuple[str, float]]:
    """Return columns by their part in the gain of boosted trees."""
    values = getattr(saved.estimator, "feature_importances_", None)
    if values is None:
        return []
    pairs = [(name, float(v)) for name, v in zip(saved.names, values, strict=True) if v > 0]
    return sorted(pairs, key=lambda pair: -pair[1])


def _document(
    saved: Saved,
    facts: dict[str, str],
    weights: dict[Any, list[tuple[str, float, float]]],
    importances: list[tuple[str, float]],
    certificate: Certificate,
    bound: Certificate | None,
) -> dict[str, Any]:
    coefficients = [
        {"class": label, "coefficients": {name: w for name, w, _ in table}}
        for label, table in weights.items()
    ]
    return {
        "facts": facts,
        "coefficients": coefficients,
        "importances": dict(importances),
        "certificate": certificate.to_dict(),
        "hold_out": None if bound is None else bound.to_dict(),
    }


# ---- export --------------------------------------------------------------------------------------


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
        say("its input X: {what}: {names}", what=what, names=", ".join(_called(saved, names))),
    )
    session.document({"onnx": str(onnx), "prepared": prepared, "columns": names})


def _called(saved: Saved, names: list[str]) -> list[str]:
    """Return what the columns are called in the language of the moment."""
    called = shown_names(saved)
    return [called.get(name, name) for name in names]


def _ready(saved: Saved) -> tuple[Any, list[str], bool]:
    """Return the estimator to write, the names of its columns, and whether they must be
    prepared."""
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
    """Return the same linear function of the columns before they were standardized."""
    estimator = copy.copy(model.estimator_)
    pairs = model.in_original_units()
    rows = np.array([list(weights.values()) for weights, _ in pairs])
    biases = np.array([bias for _, bias in pairs])
    single = np.ndim(model.estimator_.coef_) == 1
    estimator.coef_ = rows[0] if single else rows
    estimator.intercept_ = float(biases[0]) if single else biases
    return estimator
