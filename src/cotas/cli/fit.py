"""cotas fit"""

from __future__ import annotations

from dataclasses import replace

from cotas.cli import loading
from cotas.cli.command import UsageError
from cotas.cli.data import open_table, refuse_unsuited, too_big
from cotas.cli.models import task_of
from cotas.cli.options import (
    NO_WISHES,
    ColumnOptions,
    Data,
    FitOptions,
    Target,
    known_equal_rows,
    known_task,
    parameters,
    refuse,
    writable,
)
from cotas.cli.session import Session
from cotas.preparation.targets import target_of

AS_USUAL = FitOptions()


def fit(
    session: Session,
    data: Data,
    target: Target = None,
    wanted: FitOptions = AS_USUAL,
    columns: ColumnOptions = NO_WISHES,
) -> None:
    """Train a model on a table, and say what is proved about it.

    Numbers are standardized, categories spread out, missing values filled in and marked. A fifth
    of the rows is set aside first, to bound the error on rows to come.

    Example: cotas fit builtin:breast-cancer --model svm --lam 0.01 --out model.cotas
    """
    out, report, model = wanted.out, wanted.report, wanted.model
    writable(out, "--out", data)
    writable(report, "--report", data)
    if out is not None and out == report:
        raise UsageError("--out and --report name the same file; the model needs its own.")
    if not 0 < wanted.confidence < 1:
        raise UsageError(
            "--confidence lies between 0 and 1, such as 0.95, not {confidence:g}.",
            confidence=wanted.confidence,
        )
    # A model that there is not is told of before the table is read.
    suited = "" if model in (None, "auto") else task_of(str(model))
    known_task(wanted.task)
    known_equal_rows(session, wanted.equal_rows, wanted.group)
    if model != "auto":
        refuse(session, ["time", "trials", "single"], "is for the choice of --model auto.")
    numbers = {"lam": wanted.lam, "tol": wanted.tol, "max_time": wanted.max_time}
    given = parameters(wanted.param or [], **numbers)
    if wanted.select in given:
        words = "--select chooses {name}, which is given too: leave one of them out."
        raise UsageError(words, name=wanted.select)
    big = too_big(data, wanted.memory)
    table = None if big is not None else open_table(data, target, columns)
    # What trains takes a second to load; a table that cannot be read is told of before.
    with loading():
        from cotas.cli.outcome import finish, store, tell
        from cotas.cli.training import Settings, preparation_of, train

    settings = Settings(**vars(wanted), given=given, command=session.line)
    if big is not None:
        from cotas.cli.big import fit_from_pages, refuse_what_needs_memory

        refuse_what_needs_memory(settings, columns)
        trained = fit_from_pages(session, big, target, settings, columns)
        finish(trained.certificate_, trained, wanted.strict)
        return
    assert table is not None
    if suited and wanted.task == "auto":
        refuse_unsuited(table, str(model), suited)
        settings = replace(settings, task=suited)
    table, y, task = target_of(table, settings.task)
    if wanted.probabilities and task == "regression":
        raise UsageError("--probabilities are those of classes; this is regression.")
    settings = replace(settings, task=task, preparation=preparation_of(table, columns))
    record = train(session, table, y, settings)
    store(record, out, report, table.zero_based, columns)
    tell(session, record, out, report)
    finish(record.certificate, record.model.estimator_, wanted.strict, record.interrupted)
