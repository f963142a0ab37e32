"""cotas fit"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cotas.cli import loading
from cotas.cli.command import UsageError, refuse
from cotas.cli.data import known_equal_rows, known_task, open_table, writable
from cotas.cli.models import parameters, task_of
from cotas.cli.options import (
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
from cotas.cli.session import Session, command_line
from cotas.cli.sizes import too_big
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
    param: Param = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the model here.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    hold_out: HoldOut = 0.2,
    group: Group = None,
    equal_rows: EqualRows = "copies",
    confidence: Annotated[float, typer.Option(help="Of the bound for future rows.")] = 0.95,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Learn probabilities from the scores, on folds of the rows."
        ),
    ] = False,
    max_time: Annotated[float | None, typer.Option(help="Seconds for training.")] = None,
    time: Annotated[float, typer.Option(help="Seconds for the choice of --model auto.")] = 60.0,
    trials: Annotated[
        int | None, typer.Option(help="So many settings at most for --model auto.")
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="No blend of several models from --model auto.")
    ] = False,
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
        raise UsageError("--out and --report name the same file; the model needs its own.")
    if not 0 < confidence < 1:
        raise UsageError(
            "--confidence lies between 0 and 1, such as 0.95, not {confidence:g}.",
            confidence=confidence,
        )
    if model not in (None, "auto"):
        task_of(str(model))  # a model that there is not is told of before the table is read
    known_task(task)
    known_equal_rows(session, equal_rows, group)
    if model != "auto":
        refuse(session, ["time", "trials", "single"], say("is for the choice of --model auto."))
    given = parameters(param or [], lam=lam, tol=tol)
    if select in given:
        words = "--select chooses {name}, which is given too: leave one of them out."
        raise UsageError(words, name=select)
    big = too_big(data, memory)
    table = None if big is not None else open_table(data, target, columns)
    # What trains takes a second to load; a table that cannot be read is told of before.
    with loading():
        from cotas.cli.data import preparation_of, target_of
        from cotas.cli.outcome import finish, store, tell
        from cotas.cli.training import Settings, train

    settings = Settings(
        model=model,
        task=task,
        given=given,
        seed=seed,
        hold_out=hold_out,
        confidence=confidence,
        select=select,
        max_time=max_time,
        command=command_line(),
        group=group,
        time=time,
        trials=trials,
        single=single,
        probabilities=probabilities,
        equal_rows=equal_rows,
    )
    if big is not None:
        from cotas.cli.big import fit_from_pages, refuse_what_needs_memory

        refuse_what_needs_memory(settings, report, columns)
        trained = fit_from_pages(session, big, target, settings, columns, out)
        finish(trained.certificate_, trained, strict)
        return
    assert table is not None
    table, y, task = target_of(table, task, model)
    if probabilities and task == "regression":
        raise UsageError("--probabilities are those of classes; this is regression.")
    settings = replace(settings, task=task, preparation=preparation_of(table, columns))
    record = train(session, table, y, settings)
    store(record, out, report, table.zero_based, columns)
    tell(session, record, out, report)
    finish(record.certificate, record.model.estimator_, strict, record.interrupted)
