"""cotas path and cotas curve, along λ; cotas compare, of many models; cotas separable"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.pipeline import Pipeline

import cotas
from cotas.arrays import AnyArray
from cotas.certificates import Certificate
from cotas.certificates.presentation import at_most
from cotas.cli.command import UsageError
from cotas.cli.data import drawable, open_table, save_picture
from cotas.cli.models import DEFAULTS, build, check_suits, sensible, task_of
from cotas.cli.options import (
    MOST,
    NO_WISHES,
    ColumnOptions,
    Data,
    EqualRows,
    Group,
    HoldOut,
    Param,
    Seed,
    Target,
    Task,
    known_equal_rows,
    known_task,
    parameters,
    refuse,
)
from cotas.cli.session import Session
from cotas.cli.training import (
    Settings,
    SplitTable,
    bound_on_future_rows,
    grouped,
    preparation_of,
    rival_of,
    sample_of,
    split_and_announce,
    train_one,
)
from cotas.files.problems import gathered
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.preparation.quality import baseline
from cotas.preparation.record import Rival, Sample
from cotas.preparation.targets import target_of
from cotas.report.figures import DIGITS, baseline_line
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
    columns: ColumnOptions = NO_WISHES,
) -> None:
    """Solve for many λ: support vector machines for classes, the Lasso for numbers.

    Each solution has its proof. With rows held out it says what no λ in between can beat.

    Example: cotas path builtin:breast-cancer --lams 1,0.1,0.01
    """
    drawable(picture, data)
    known_task(task)
    values = _numbers(lams)
    if values is not None:
        refuse(session, ["number"], "is for λ that are not given by --lams.")
    table = open_table(data, target, columns)
    table, y, task = target_of(table, task)
    preparation = preparation_of(table, columns)
    settings = Settings(task=task, seed=seed, hold_out=hold_out, preparation=preparation)
    rows, _ = split_and_announce(session, table, y, settings)
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
    columns: ColumnOptions = NO_WISHES,
) -> None:
    """Training and validation loss against c = 1/(λn), and where under- and overfitting begin.

    Example: cotas curve builtin:breast-cancer --model svm --picture curve.png
    """
    drawable(picture, data)
    known_task(task)
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
    settings = Settings(task=task, seed=seed, group=group, equal_rows=equal_rows)
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
    """Return the root of the mean squared error on some rows, for each λ."""
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


# ---- compare -------------------------------------------------------------------------------------


def compare(
    session: Session,
    data: Data,
    target: Target = None,
    models: Annotated[
        str | None, typer.Option(help="Which, separated by commas; else all that suit.")
    ] = None,
    task: Task = "auto",
    hold_out: HoldOut = 0.2,
    group: Group = None,
    equal_rows: EqualRows = "copies",
    max_time: Annotated[float | None, typer.Option(help="Seconds for each model.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the errors and save them.")] = None,
    seed: Seed = 0,
    columns: ColumnOptions = NO_WISHES,
) -> None:
    """Train all suitable models side by side: time, gap, error and its bound.

    All are judged by the same rows, and the bounds hold for all of them at once.

    Example: cotas compare builtin:breast-cancer --models svm,kernel-svm,adaboost
    """
    drawable(picture, data)
    known_task(task)
    known_equal_rows(session, equal_rows, group)
    table = open_table(data, target, columns)
    table, y, task = target_of(table, task)
    settings = Settings(
        task=task,
        seed=seed,
        hold_out=hold_out,
        max_time=max_time,
        given=parameters([], max_time=max_time),
        preparation=preparation_of(table, columns),
        group=group,
        equal_rows=equal_rows,
    )
    rows, _ = split_and_announce(session, table, y, settings)
    if not len(rows.test):
        raise UsageError("comparing needs rows to judge by: at least 30, and a --hold-out.")
    names = _names(models, task, rows)
    found = []
    for name in names:
        made, notes = build(name, y[rows.train], seed, settings.given)
        session.remark(*notes)
        one = train_one(session, name, rows, settings, made)
        sample = sample_of(one.model, rows, rows.test)
        bound = _bound(sample, rows, len(names), settings)
        found.append((rival_of(rows, one, sample), bound))
    found.sort(key=lambda pair: pair[0].error)
    rivals, bounds = [rival for rival, _ in found], [bound for _, bound in found]
    _show(session, rivals, bounds, task)
    classes = task == "classification"
    answer, error = baseline(y[rows.train], y[rows.test], classes)
    session.say(": ".join(baseline_line(answer, error, classes)))
    if picture is not None:
        draw(rivals, bounds, task, picture)
        session.say(f"{say('picture')}: {picture}")
    documents = [
        {**vars(rival), "bound": None if bound is None else bound.upper} for rival, bound in found
    ]
    always = {"answer": answer, "error": error}
    document = {"task": task, "held_out": len(rows.test), "baseline": always, "models": documents}
    session.document(document)


def _names(models: str | None, task: str, rows: SplitTable) -> list[str]:
    if models is None:
        return sensible(task, len(rows.train), rows.table.n_columns)
    names = [name.strip() for name in models.split(",") if name.strip()]
    if "auto" in names:
        raise UsageError("--models takes the names of models; auto is for cotas fit.")
    for name in names:
        check_suits(name, task)
    return list(dict.fromkeys(names))


def _bound(sample: Sample, rows: SplitTable, tried: int, settings: Settings) -> Certificate | None:
    if settings.task == "regression":
        return None
    wrong = sample.predictions != sample.truth
    return bound_on_future_rows(wrong, rows, settings, tried)


def _show(
    session: Session, rivals: list[Rival], bounds: list[Certificate | None], task: str
) -> None:
    kind = say("error" if task == "classification" else "rms error")
    names = [say("model"), say("seconds"), say("relative gap")]
    names += [say("training {kind}", kind=kind), say("held-out {kind}", kind=kind)]
    names += [say("at most, on future rows")] if bounds[0] is not None else []
    lines = []
    for rival, bound in zip(rivals, bounds, strict=True):
        gap = "–" if rival.relative_gap is None else f"{rival.relative_gap:.1e}"
        cells = [rival.name, f"{rival.seconds:.2f}", gap]
        cells += [f"{rival.training_error:.4g}", f"{rival.error:.4g}"]
        lines.append([*cells, at_most(bound.upper, DIGITS)] if bound is not None else cells)
    session.table(names, lines)
    for rival in rivals:
        if rival.note:
            session.note(f"{say('Warning')}: {rival.name}: {rival.note}")


def draw(rivals: list[Rival], bounds: list[Certificate | None], task: str, path: Path) -> Any:
    """Return the held-out errors as points, the bounds as lines to their right."""
    from cotas.plots.style import COLOURS, drawing

    with drawing(None) as ax:
        for place, (rival, bound) in enumerate(zip(rivals, bounds, strict=True)):
            if bound is not None:
                ax.plot([rival.error, bound.upper], [place, place], color=COLOURS[0], lw=2)
                ax.plot(bound.upper, place, "|", color=COLOURS[0], ms=12)
            ax.plot(rival.error, place, "o", color=COLOURS[1])
        ax.set_yticks(range(len(rivals)), [rival.name for rival in rivals])
        ax.invert_yaxis()
        words = "held-out error and its bound" if task == "classification" else "rms error"
        ax.set(xlabel=say(words), title="")
        save_picture(ax.figure, path)
    return path


# ---- separable -----------------------------------------------------------------------------------


def separable(
    session: Session,
    data: Data,
    target: Target = None,
    widest: Annotated[
        bool, typer.Option("--widest", help="Find the separator with the largest margin.")
    ] = False,
    of: Annotated[
        str | None, typer.Option("--class", help="One of several classes, against the rest.")
    ] = None,
    columns: ColumnOptions = NO_WISHES,
) -> None:
    """Is there a hyperplane between two classes? The answer is proved, yes or no.

    It exits with 0 in both cases; --json has "separable".

    Example: cotas separable builtin:iris --class setosa
    """
    table = open_table(data, target, columns)
    table, y, task = target_of(table, "classification")
    y = _against_the_rest(y, of)
    preparation = preparation_of(table, columns)
    keep = (*preparation.keep, *preparation.unix_seconds)
    session.remark(*gathered(inspect_table(table, y, task, keep=keep)))
    X = preparation.fit_transform(table.features)
    answer = cotas.separability(X, y, widest=widest)
    session.result(say("separable: {answer}", answer=say("yes" if answer.separable else "no")))
    session.say(str(answer.certificate))
    session.document(
        {"separable": bool(answer.separable), "certificate": answer.certificate.to_dict()}
    )


def _against_the_rest(y: AnyArray, of: str | None) -> AnyArray:
    """Return two classes: those there are, or one of several and the rest."""
    labels = y.astype(str)
    known = np.unique(labels)
    if of is None and len(known) == 2:
        return y
    if of not in known:
        there = ", ".join(known[:8])
        text = "no class {of!r}: --class takes one of {there}."
        if of is None:
            text = "which of the classes, against the rest? --class takes one of {there}."
        raise UsageError(text, of=of, there=there)
    return np.where(labels == of, str(of), "the rest")
