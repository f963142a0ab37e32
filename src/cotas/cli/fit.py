"""cotas fit"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from cotas.certificates import Certificate
from cotas.certificates.presentation import OPTIMIZATION, percent
from cotas.cli.big import fit_from_pages, refuse_what_needs_memory, too_big
from cotas.cli.data import known_task, open_table, preparation_of, target_of, writable
from cotas.cli.exits import InterruptedEarlyError, ProofFailedError, UsageError
from cotas.cli.judging import proof, quality_lines, show_classes, upwards
from cotas.cli.models import parameters, task_of
from cotas.cli.options import NO_WISHES, Columns, Data, Group, HoldOut, Seed, Target, Task
from cotas.cli.session import Session, command_line
from cotas.cli.training import Settings, train
from cotas.preparation.recipe import Recipe
from cotas.preparation.record import FitRecord, telling_parameters
from cotas.report.alarms import alarms_of
from cotas.report.figures import span
from cotas.stops import Stop
from cotas.words import say

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="svm, kernel-svm, perceptron, averaged-perceptron, passive-aggressive, pegasos, "
        "adaboost, real-adaboost, logitboost, gentleboost, …; ridge, least-squares, lasso, "
        "elastic-net, kernel-ridge, kernel-svr, ls-boost, forward-stagewise, …; or auto. "
        "Default: svm or ridge, by the task.",
    ),
]


def fit(
    session: Session,
    data: Data,
    target: Target = None,
    model: Model = None,
    task: Task = "auto",
    lam: Annotated[float | None, typer.Option(help="λ, the weight of the penalty.")] = None,
    tol: Annotated[float | None, typer.Option(help="The relative gap to prove.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Choose this parameter by validation: lam, n_estimators, …")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="Any other parameter: name=value.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the model here.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    hold_out: HoldOut = 0.2,
    group: Group = None,
    confidence: Annotated[float, typer.Option(help="Of the bound for future rows.")] = 0.95,
    max_time: Annotated[float | None, typer.Option(help="Seconds for training.")] = None,
    time: Annotated[float, typer.Option(help="Seconds for the choice of --model auto.")] = 60.0,
    trials: Annotated[
        int | None, typer.Option(help="So many settings at most for --model auto.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="A table that takes more, such as 2GB, is read from pages on disk. Default: what "
            "is free."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if the gap asked for was not proved.")
    ] = False,
    seed: Seed = 0,
    columns: Columns = NO_WISHES,
) -> None:
    """Train a model on a table, and say what is proved about it.

    Numbers are standardized, categories spread out, missing values filled in and marked. A fifth
    of the rows is set aside first, to bound the error on rows to come.

    Example: cotas fit builtin:breast-cancer --model svm --lam 0.01 --out model.cotas
    """
    writable(out, "--out", data)
    writable(report, "--report", data)
    if out is not None and out == report:
        raise UsageError(say("--out and --report name the same file; the model needs its own."))
    if not 0 < confidence < 1:
        raise UsageError(
            say(
                "--confidence lies between 0 and 1, such as 0.95, not {confidence:g}.",
                confidence=confidence,
            )
        )
    if model not in (None, "auto"):
        known = task_of(str(model))
        task = known if task == "auto" else task
    known_task(task)
    settings = Settings(
        model=model,
        task=task,
        given=parameters(param or [], lam=lam, tol=tol),
        seed=seed,
        hold_out=hold_out,
        confidence=confidence,
        select=select,
        max_time=max_time,
        command=command_line(),
        group=group,
        time=time,
        trials=trials,
    )
    big = too_big(data, memory)
    if big is not None:
        refuse_what_needs_memory(settings, report, columns)
        trained = fit_from_pages(session, big, target, settings, columns, out)
        _finish(trained.certificate_, trained, strict)
        return
    table = open_table(data, target, columns)
    y, task = target_of(table, task)
    settings = replace(settings, task=task, preparation=preparation_of(table, columns))
    record = train(session, table, y, settings)
    if out is not None:
        seen = (record.prepared, record.training.truth)
        made = recipe(record, table.zero_based)
        record.model.save(out, data=seen, recipe=made, prepared=True)
    if report is not None:
        _write_report(record, report)
    session.say(*summary(record))
    if record.quality is not None and record.hold_out is not None:
        show_classes(session, record.quality)
    alarms = alarms_of(record.quality)
    session.alarm(*(f"{say('WARNING')}: {words}" for words in alarms))
    if out is not None:
        session.say(f"{say('saved')}: {out}")
    if report is not None:
        session.say(f"{say('report')}: {report}")
    saved = None if out is None else str(out)
    session.document(record.to_dict() | {"alarms": alarms, "saved": saved})
    session.note(*(f"{say('Warning')}: {words}" for words in record.warnings))
    _finish(record.certificate, record.model.estimator_, strict)


def recipe(record: FitRecord, zero_based: bool | None) -> Recipe:
    """What is stored beside the model."""
    choice = record.choice
    chosen = "" if choice is None else f"{choice.over} = {choice.best_value:.6g}. {choice.ranking}"
    if record.rivals:
        chosen = say(
            "{name}, among {count} settings", name=record.rivals[0].name, count=len(record.rivals)
        )
    return Recipe(
        record.model.preparation_,
        task=record.task,
        target=record.table.target,
        zero_based=zero_based,
        rows=record.training.rows,
        n_rows=record.table.n_rows,
        hold_out=record.bound,
        remarks=tuple(remark.message for remark in record.remarks),
        chosen=chosen,
        command=record.command,
        seed=record.seed,
    )


def _write_report(record: FitRecord, path: Path) -> None:
    if find_spec("cotas.report") is None:
        raise UsageError(say("--report is not part of this version of cotas."))
    import_module("cotas.report").write_report(record, path)


def summary(record: FitRecord) -> list[str]:
    """The result in a few lines."""
    table = record.table
    columns = {"rows": table.n_rows, "columns": table.n_columns, "target": table.target}
    shape = say(
        "{rows} rows, {columns} columns, target {target}"
        if table.n_columns != 1
        else "{rows} rows, 1 column, target {target}",
        **columns,
    )
    lines = [
        (say("data"), f"{Path(table.source).name}: {shape}"),
        (say("model"), f"{record.model_name} ({_parameters(record.model.estimator_)})"),
        (
            say("trained on"),
            say(
                "{rows} rows in {seconds:.2g} s",
                rows=len(record.training.rows),
                seconds=record.seconds,
            ),
        ),
    ]
    if record.choice is not None:
        lines.append((say("chosen"), _choice(record.choice)))
    lines += [(say("proved"), words) for words in _proofs(record)]
    lines.append((say("training error"), _error(record.training)))
    if record.hold_out is not None and record.quality is not None:
        measure = record.quality.measures["error" if record.quality.classes else "RMSE"]
        interval = span(measure, record.quality.confidence)
        lines.append((say("held-out error"), f"{_error(record.hold_out)}; {interval}"))
    if record.quality is not None:
        # What was trained on says little about how good the model is.
        lines += quality_lines(record.quality)[: None if record.hold_out is not None else 1]
    if record.bound is not None:
        sure = 100 * record.bound.figures["confidence"]
        words = say(
            "at most {bound:.4f} with {confidence:.0f}% confidence",
            bound=upwards(record.bound.upper),
            confidence=sure,
        )
        lines.append((say("error on future rows"), words))
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {words}" for name, words in lines]


def _proofs(record: FitRecord) -> list[str]:
    """A line for each certificate; where there are several, they begin with what they are about."""
    estimator, whole = record.model.estimator_, record.certificate
    if not whole.parts:
        return [proof(whole, estimator)]
    return [f"{part.label}: {proof(part, estimator)}" for part in whole.parts]


def _choice(choice: Any) -> str:
    return f"{choice.over} = {_short(choice.best_value)}; {choice.ranking}"


def _error(sample: Any) -> str:
    if sample.r2 is not None:
        return say("{rms:.4g} (root mean square), R² = {r2:.4f}", rms=sample.error, r2=sample.r2)
    wrong = int((sample.predictions != sample.truth).sum())
    return say(
        "{share:.4f} ({wrong} of {rows} rows)",
        share=sample.error,
        wrong=wrong,
        rows=len(sample.rows),
    )


def _parameters(estimator: Any) -> str:
    """The parameters that differ from their defaults, or λ at least."""
    shown = telling_parameters(estimator, ("lam",))
    shown.pop("random_state", None)  # the seed of the command
    words = ", ".join(f"{name}={_short(value)}" for name, value in shown.items())
    return words or say("defaults")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _finish(whole: Certificate, estimator: Any, strict: bool) -> None:
    broken = [c for c in whole.singles if c.kind != "none" and not c.holds]
    if broken:
        raise ProofFailedError(
            say("the certificate does not hold: {objection}", objection=broken[0].objection)
        )
    if estimator.stop_ is Stop.INTERRUPTED:
        raise InterruptedEarlyError(say("the fit was ended early; this is the best so far."))
    tol = getattr(estimator, "tol", None)
    if strict and tol is not None and whole.kind in OPTIMIZATION and whole.relative_gap > tol:
        raise ProofFailedError(
            say(
                "the relative gap proved is {percent}, above {asked}.",
                percent=percent(whole.relative_gap),
                asked=percent(tol),
            )
        )
