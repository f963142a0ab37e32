"""cotas path and cotas curve: what happens along λ"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.pipeline import Pipeline

import cotas
from cotas.arrays import AnyArray
from cotas.cli.command import UsageError, refuse
from cotas.cli.data import (
    drawable,
    known_equal_rows,
    open_table,
    preparation_of,
    save_picture,
    target_of,
)
from cotas.cli.models import DEFAULTS, build, check_suits, parameters, task_of
from cotas.cli.options import (
    MOST,
    NO_WISHES,
    Columns,
    Data,
    EqualRows,
    Group,
    HoldOut,
    Param,
    Seed,
    Target,
    Task,
)
from cotas.cli.session import Session
from cotas.cli.training import Settings, grouped, split_and_told
from cotas.files.problems import gathered
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.words import say

Lams = Annotated[str | None, typer.Option(help="Values of λ, separated by commas.")]
Picture = Annotated[Path | None, typer.Option(help="Draw it and save it here.")]


def path(
    session: Session,
    data: Data,
    target: Target = None,
    lams: Lams = None,
    number: Annotated[
        int, typer.Option(min=1, max=MOST, help="How many values of λ, if none are given.")
    ] = 10,
    task: Task = "auto",
    tol: Annotated[float, typer.Option(help="The relative gap to prove at each λ.")] = 1e-6,
    hold_out: HoldOut = 0.2,
    picture: Picture = None,
    seed: Seed = 0,
    columns: Columns = NO_WISHES,
) -> None:
    """Solve for many λ: support vector machines for classes, the Lasso for numbers.

    Each solution has its proof. With rows held out it says what no λ in between can beat.

    Example: cotas path builtin:breast-cancer --lams 1,0.1,0.01
    """
    drawable(picture, data)
    values = _numbers(lams)
    if values is not None:
        refuse(session, ["number"], say("is for λ that are not given by --lams."))
    table = open_table(data, target, columns)
    table, y, task = target_of(table, task)
    preparation = preparation_of(table, columns)
    settings = Settings(None, task, {}, seed, hold_out, preparation=preparation)
    rows, _ = split_and_told(session, table, y, settings)
    (X, y_train), (X_test, y_test) = rows.take(rows.train), rows.take(rows.test)
    preparation.fit(X)
    Z = preparation.transform(X)
    if task == "classification":
        values = np.geomspace(1.0, 1e-4, number) if values is None else values
        validation = (preparation.transform(X_test), y_test) if len(rows.test) else None
        found: Any = cotas.svm_path(
            Z, y_train, values, validation=validation, tol=tol, random_state=seed, progress=False
        )
        session.say(repr(found))
        session.document(_svm_document(found))
    else:
        found = cotas.lasso_path(Z, y_train, lams=values, n_lams=number, tol=tol)
        errors = None
        if len(rows.test):
            errors = _rms(found, preparation.transform(X_test), y_test)
        names = ["λ", say("columns in use"), "‖β‖₁", say("relative gap")]
        names += [] if errors is None else [say("validation error")]
        session.table(names, _lasso_rows(found, errors))
        session.document(_lasso_document(found, preparation) | {"validation_errors": errors})
    if picture is not None:
        _draw_path(found, preparation.shown_names(), picture)
        session.say(f"{say('picture')}: {picture}")


def curve(
    session: Session,
    data: Data,
    target: Target = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="A model with λ.")] = None,
    lams: Lams = None,
    folds: Annotated[int | None, typer.Option(help="Folds, in the place of one split.")] = None,
    task: Task = "auto",
    param: Param = None,
    group: Group = None,
    equal_rows: EqualRows = "copies",
    picture: Picture = None,
    seed: Seed = 0,
    columns: Columns = NO_WISHES,
) -> None:
    """Training and validation loss against c = 1/(λn), and where under- and overfitting begin.

    Example: cotas curve builtin:breast-cancer --model svm --picture curve.png
    """
    drawable(picture, data)
    known_equal_rows(session, equal_rows, group)
    values = _numbers(lams)
    table = open_table(data, target, columns)
    if model is not None and task == "auto":
        task = task_of(model)
    table, y, task = target_of(table, task)
    name = model or DEFAULTS[task]
    check_suits(name, task)
    given = parameters(param or [])
    if "lam" in given:
        raise UsageError("cotas curve is about λ: give values of it by --lams.")
    estimator, _ = build(name, y, seed, given)
    if "lam" not in estimator.get_params():
        raise UsageError("{name} has no λ; cotas curve is about λ.", name=name)
    settings = Settings(None, task, {}, seed=seed, group=group, equal_rows=equal_rows)
    table, groups, said = grouped(table, y, settings)
    preparation = preparation_of(table, columns)
    keep = (*preparation.keep, *preparation.unix_seconds)
    session.remark(*gathered([*inspect_table(table, y, task, keep=keep), *said]))
    pipeline = Pipeline([("preparation", preparation), ("model", estimator)])
    choice = cotas.choose(
        *(pipeline, table.features, y, "lam"),
        values=None if values is None else list(values),
        folds=folds,
        groups=groups,
        random_state=seed,
        refit=False,
        progress=False,
    )
    session.say(repr(choice))
    session.document(choice.to_dict())
    if picture is not None:
        from cotas.plots import loss_against_c

        ax = loss_against_c(choice)
        save_picture(ax.figure, picture)
        session.say(f"{say('picture')}: {picture}")


def _numbers(words: str | None) -> Any:
    if words is None:
        return None
    found = None
    with contextlib.suppress(ValueError):
        found = np.array([float(word) for word in words.split(",")])
    if found is None or not (np.isfinite(found) & (found > 0)).all():
        raise UsageError(
            "--lams takes numbers above zero, such as 1,0.1,0.01, not {words!r}.", words=words
        )
    return found


def _rms(found: Any, X: Any, y: AnyArray) -> AnyArray:
    """The root of the mean squared error on some rows, for each λ."""
    residuals = X @ found.coefs.T + found.intercepts - y[:, None]
    return np.asarray(np.sqrt(np.mean(np.asarray(residuals) ** 2, axis=0)))


def _lasso_rows(found: Any, errors: AnyArray | None) -> list[list[str]]:
    used = (found.coefs != 0).sum(axis=1)
    gaps = [certificate.relative_gap for certificate in found.certificates]
    lines = [
        [f"{lam:.4g}", str(int(k)), f"{delta:.4g}", f"{gap:.1e}"]
        for lam, k, delta, gap in zip(found.lams, used, found.deltas, gaps, strict=True)
    ]
    last = [[]] * len(lines) if errors is None else [[f"{error:.4g}"] for error in errors]
    return [line + cell for line, cell in zip(lines, last, strict=True)]


def _svm_document(found: Any) -> dict[str, Any]:
    bound = found.validation_bound
    return {
        "lams": found.lams,
        "objectives": [[part.upper for part in c.singles] for c in found.certificates],
        "relative_gaps": [c.relative_gap for c in found.certificates],
        "validation_errors": found.validation_errors,
        "no_lam_beats": None if bound is None else bound.error,
        "best_lam": None if found.validation_errors is None else found.best_lam,
    }


def _lasso_document(found: Any, preparation: Preparation) -> dict[str, Any]:
    return {
        "lams": found.lams,
        "relative_gaps": [c.relative_gap for c in found.certificates],
        "columns": preparation.get_feature_names_out(),
        "coefficients": found.coefs,
    }


def _draw_path(found: Any, names: list[str], picture: Path) -> None:
    from cotas import plots

    if found.classes is not None:
        ax = plots.path(found)
    else:
        ax = plots.coefficient_path(found, names=names)
    save_picture(ax.figure, picture)
