"""What is stored and said after a fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.cli.exits import InterruptedEarlyError, ProofFailedError
from cotas.cli.judging import (
    SHOWN_CLASSES,
    proof,
    quality_lines,
    short_of,
    show_calibration,
    show_classes,
    tol_of,
)
from cotas.cli.options import NO_WISHES, TextOptions
from cotas.cli.session import Session
from cotas.cli.streams import NotWrittenError, writing
from cotas.preparation.recipe import Recipe
from cotas.preparation.record import FitRecord, telling_parameters
from cotas.report.alarms import alarms_of
from cotas.report.figures import span, upwards
from cotas.stops import Stop
from cotas.words import in_one, say


def store(
    record: FitRecord,
    out: Path | None,
    report: Path | None,
    zero_based: bool | None,
    text: TextOptions = NO_WISHES,
) -> None:
    """Write the model and the report where they are wanted."""
    if out is not None:
        seen = (record.prepared, record.training.truth)
        made = recipe(record, zero_based, text)
        with writing(out):
            record.model.save(out, data=seen, recipe=made, prepared=True)
    if report is not None:
        _write_report(record, report, out)


def _write_report(record: FitRecord, path: Path, saved: Path | None) -> None:
    from cotas.report.page import write_report  # which loads what draws

    try:
        with writing(path):
            write_report(record, path)
    except NotWrittenError as error:
        if saved is None:
            raise
        kept = say("{error} The model is saved in {saved}.", error=str(error), saved=saved)
        raise NotWrittenError(kept) from error


def tell(session: Session, record: FitRecord, out: Path | None, report: Path | None) -> None:
    """Say how the fit went: the summary, the classes, what is alarming, and where things are."""
    session.say(*summary(record))
    if record.quality is not None and record.hold_out is not None:
        show_classes(session, record.quality)
        if record.model.probabilities:
            show_calibration(session, record.quality)
    alarms = alarms_of(record.quality)
    session.alarm(*(f"{say('WARNING')}: {words}" for words in alarms))
    if out is not None:
        session.say(f"{say('saved')}: {out}")
    if report is not None:
        session.say(f"{say('report')}: {report}")
    saved = None if out is None else str(out)
    session.document(record.to_dict() | {"alarms": alarms, "saved": saved})
    session.note(*(f"{say('Warning')}: {words}" for words in record.warnings))


def recipe(record: FitRecord, zero_based: bool | None, text: TextOptions = NO_WISHES) -> Recipe:
    """What is stored beside the model."""
    choice = record.choice
    chosen = ""
    if choice is not None:
        chosen = in_one([f"{choice.over} = {choice.best_value:.6g}.", choice.ranking])
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
        missing=tuple(text.missing or ()),
        not_missing=tuple(text.not_missing or ()),
    )


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
        (say("model"), f"{record.model_name} ({shown_parameters(record.model.estimator_)})"),
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
    lines += [
        (say("proved"), words) for words in proofs(record.certificate, record.model.estimator_)
    ]
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
        counted = int(record.bound.figures["rows"])
        if record.hold_out is not None and counted < len(record.hold_out.rows):
            once = say("rows that belong together count once: {count}", count=counted)
            words = f"{words}; {once}"
        lines.append((say("error on future rows"), words))
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {words}" for name, words in lines]


def proofs(whole: Certificate, estimator: Any) -> list[str]:
    """A line for each certificate; where there are several, they begin with what they are about.

    Of many, those that prove least.
    """
    if not whole.parts:
        return [proof(whole, estimator)]
    gaps = [part.relative_gap if part.holds else math.inf for part in whole.parts]
    worst = np.argsort(-np.nan_to_num(gaps, nan=np.inf), kind="stable")[:SHOWN_CLASSES]
    some = [whole.parts[k] for k in np.sort(worst)]
    lines = [f"{part.title}: {proof(part, estimator)}" for part in some]
    more = len(gaps) - len(lines)
    return [*lines, say("{count} more, none of them worse", count=more)] if more else lines


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


def shown_parameters(estimator: Any) -> str:
    """The parameters that differ from their defaults, or λ at least."""
    shown = telling_parameters(estimator, ("lam",))
    shown.pop("random_state", None)  # the seed of the command
    words = ", ".join(f"{name}={_short(value)}" for name, value in shown.items())
    return words or say("defaults")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def finish(whole: Certificate, estimator: Any, strict: bool, interrupted: bool = False) -> None:
    """Raise what the exit code is to tell of."""
    broken = [c for c in whole.singles if c.kind != "none" and not c.holds]
    if broken:
        raise ProofFailedError(
            say("the certificate does not hold: {objection}", objection=broken[0].objection)
        )
    if interrupted or estimator.stop_ is Stop.INTERRUPTED:
        raise InterruptedEarlyError(say("the fit was ended early; this is the best so far."))
    for part in whole.singles if strict else ():
        for words in short_of(part, tol_of(part, estimator)):
            raise ProofFailedError(words)
