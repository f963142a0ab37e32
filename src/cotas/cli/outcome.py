"""What is stored and said after a fit: what is proved of the model, and how good it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.certificates.certificate import MEAN, badness
from cotas.certificates.presentation import OPTIMIZATION, at_most, percent
from cotas.cli.command import InterruptedEarlyError, ProofFailedError
from cotas.cli.options import NO_WISHES, TextOptions
from cotas.cli.session import NotWrittenError, Session, writing
from cotas.preparation.quality import Quality
from cotas.preparation.recipe import Recipe
from cotas.preparation.record import FitRecord
from cotas.preparation.telling import called, short, telling_parameters
from cotas.report.figures import (
    DIGITS,
    about_calibration,
    alarms_of,
    calibration_headings,
    calibration_rows,
    found,
    quality_lines,
    span,
)
from cotas.selection.blend import Blend
from cotas.stops import Stop
from cotas.words import in_one, say

# More classes than this have no room for their matrix in a line of the terminal.
MOST_CLASSES = 8
# Of so many classes each has a line; of more, those with the most rows.
SHOWN_CLASSES = 20


def show_calibration(session: Session, quality: Quality) -> None:
    """Show how often what was said with a probability was so."""
    rows = calibration_rows(quality)
    if rows:
        session.say("", about_calibration(quality))
        session.table(calibration_headings(), rows)


def show_classes(session: Session, quality: Quality) -> None:
    """Show a row for each class: what its rows were taken for, how many were found, how surely."""
    if quality.confusion is None:
        return
    small = len(quality.classes) <= MOST_CLASSES
    taken = [say("as {label}", label=one.label) for one in quality.classes] * small
    names = [say("class"), say("rows"), *taken, say("recall"), say("precision")]
    by_rows = sorted(range(len(quality.classes)), key=lambda k: -quality.classes[k].rows)
    rows = []
    for k in sorted(by_rows[:SHOWN_CLASSES]):
        one, counts = quality.classes[k], quality.confusion[k]
        cells = [str(count) for count in counts] * small
        rows.append([one.label, str(one.rows), *cells, *found(one)])
    session.say("")
    session.table(names, rows)
    if len(by_rows) > len(rows):
        more = len(by_rows) - len(rows)
        session.say(say("… and {count} more classes (--json shows all)", count=more))


def proof(certificate: Certificate, estimator: Any) -> str:
    """Return what one certificate says, in one line."""
    kind = say(certificate.kind)
    if certificate.kind == "none":
        return say("nothing: {why}", why=certificate.statement)
    if not certificate.holds:
        return say(
            "the {kind} certificate DOES NOT HOLD: {why}", kind=kind, why=certificate.objection
        )
    if certificate.vacuous:
        return say("the {kind} certificate holds, but says nothing here", kind=kind)
    if certificate.kind in ("duality", "gradient"):
        tol = tol_of(certificate, estimator)
        asked = "–" if tol is None else percent(tol)
        return say(
            "the best objective is at most {gap} lower than this one (asked: {asked})",
            gap=percent(certificate.relative_gap),
            asked=asked,
        )
    return f"{say('the {kind} certificate holds', kind=kind)}: {certificate.statement}"


def proofs(whole: Certificate, estimator: Any) -> list[str]:
    """Write a line for each certificate; where there are several, they begin with what they are
    about.

    Of many, those that prove least; of a blend what each of its models proves at least.
    """
    if not whole.parts:
        return [proof(whole, estimator)]
    if whole.kind == MEAN:
        return [*_proofs_of_members(whole, estimator)]
    gaps = [part.relative_gap if part.holds else math.inf for part in whole.parts]
    worst = np.argsort(-np.nan_to_num(gaps, nan=np.inf), kind="stable")[:SHOWN_CLASSES]
    some = [whole.parts[k] for k in np.sort(worst)]
    lines = [f"{part.title}: {proof(part, estimator)}" for part in some]
    more = len(gaps) - len(lines)
    return [*lines, say("{count} more, none of them worse", count=more)] if more else lines


def whole_in_lines(whole: Certificate, estimator: Any) -> list[str]:
    """Return a certificate in full; of a blend a line for each of its models, with its weight."""
    if whole.kind != MEAN:
        return [str(whole)]
    shares = zip(estimator.weights_, proofs(whole, estimator), strict=False)
    return [whole.statement, *(f"  {weight:.3f}·{line}" for weight, line in shares)]


def _proofs_of_members(whole: Certificate, estimator: Any) -> Iterator[str]:
    for name in dict.fromkeys(part.member for part in whole.parts):
        parts = [part for part in whole.parts if part.member == name]
        one = max(parts, key=badness)
        words = f"{name}: {proof(one, estimator)}"
        if len(parts) > 1:
            worst = say("the worst of {count} parts: {label}", count=len(parts), label=one.label)
            words = f"{words}; {worst}"
        yield words


def tol_of(certificate: Certificate, estimator: Any) -> float | None:
    """Return the relative gap that was asked for, of a part of a blend by its own estimator."""
    if certificate.member:
        estimator = estimator.estimators_[estimator.names_.index(certificate.member)]
    return getattr(estimator, "tol", None)


def short_of(part: Certificate, tol: float | None) -> Iterator[str]:
    """Say in words what a part proves less than a relative gap of tol."""
    if tol is None or part.kind not in OPTIMIZATION:
        words = say("this model proves no gap to the best one.")
        yield in_one([part.title, words], ": ") if part.title else words
    elif part.relative_gap > tol:
        yield say(
            "the relative gap proved is {percent}, above {asked}.",
            percent=percent(part.relative_gap),
            asked=percent(tol),
        )


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
    lines, alarms = summary(record), alarms_of(record.quality)
    places = {"saved": out, "report": report}
    document = record.to_dict() | {"alarms": alarms, "saved": None if out is None else str(out)}
    session.say(*lines)
    if record.quality is not None and record.hold_out is not None:
        show_classes(session, record.quality)
        if record.model.probabilities:
            show_calibration(session, record.quality)
    session.alarm(*(f"{say('WARNING')}: {words}" for words in alarms))
    session.say(*(f"{say(name)}: {path}" for name, path in places.items() if path is not None))
    session.document(document)
    session.note(*(f"{say('Warning')}: {words}" for words in record.warnings))


def recipe(record: FitRecord, zero_based: bool | None, text: TextOptions = NO_WISHES) -> Recipe:
    """Return what is stored beside the model."""
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
    """Return the result in a few lines."""
    table, certificate = record.table, record.certificate
    model = model_lines(record.model_name, record.model.estimator_)
    if record.choice is not None:
        best = f"{record.choice.over} = {short(record.choice.best_value)}"
        model.append((say("chosen"), f"{best}; {record.choice.ranking}"))
    errors = {name: each for name, each in record.errors().items() if each is not None}
    return summary_lines(
        f"{Path(table.source).name}: {shape(table.n_rows, table.n_columns, table.target)}",
        model,
        record.seconds,
        proofs(certificate, record.model.estimator_),
        errors,
        record.quality,
        record.bound,
    )


def summary_lines(
    data: str,
    model: list[tuple[str, str]],
    seconds: float,
    proved: list[str],
    errors: Mapping[str, Mapping[str, Any]],
    quality: Quality | None,
    bound: Certificate | None,
) -> list[str]:
    """Write lines on a fit, from memory or from pages: the data, the model, its proofs and its
    errors."""
    rows = errors["training"]["rows"]
    spent = say("{rows} rows in {seconds:.2g} s", rows=rows, seconds=seconds)
    lines = [
        (say("data"), data),
        *model,
        (say("trained on"), spent),
        *((say("proved"), words) for words in proved),
        (say("training error"), _error(errors["training"], quality)),
    ]
    apart = errors.get("hold_out")
    if apart is not None and quality is not None:
        measure = quality.measures["error" if quality.classes else "RMSE"]
        interval = span(measure, quality.confidence)
        lines.append((say("held-out error"), f"{_error(apart, quality)}; {interval}"))
    if quality is not None:
        # What was trained on says little about how good the model is.
        lines += quality_lines(quality)[: None if apart is not None else 1]
    if bound is not None:
        words = say(
            "at most {bound} with {confidence:.4g}% confidence",
            bound=at_most(bound.upper, DIGITS),
            confidence=100 * bound.figures["confidence"],
        )
        lines.append((say("error on future rows"), words))
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {words}" for name, words in lines]


def shape(rows: int, columns: int, target: str | None) -> str:
    """Tell how large a table is, in words."""
    return say(
        "{rows} rows, {columns} columns, target {target}"
        if columns != 1
        else "{rows} rows, 1 column, target {target}",
        rows=rows,
        columns=columns,
        target=target,
    )


def model_lines(name: str, estimator: Any) -> list[tuple[str, str]]:
    """Return the model with its parameters; of a blend a line for each model, with its weight."""
    if not isinstance(estimator, Blend):
        return [(say("model"), f"{name} ({shown_parameters(estimator)})")]
    shares = telling_parameters(estimator, ()).items()
    head = (say("model"), called(name, estimator))
    return [head, *(("", f"{weight}·{one}") for one, weight in shares)]


def _error(found: Mapping[str, Any], quality: Quality | None) -> str:
    if found["r2"] is not None:
        words = "{rms:.4g} (root mean square), R² = {r2:.4g}"
        return say(words, rms=found["error"], r2=found["r2"])
    if quality is not None and not quality.classes:  # of a target that never changes
        return say("{rms:.4g} (root mean square)", rms=found["error"])
    share, rows = found["error"], found["rows"]
    wrong = round(share * rows)
    return say("{share:.4g} ({wrong} of {rows} rows)", share=share, wrong=wrong, rows=rows)


def shown_parameters(estimator: Any) -> str:
    """Return the parameters that differ from their defaults, or λ at least."""
    shown = telling_parameters(estimator, ("lam",))
    shown.pop("random_state", None)  # the seed of the command
    words = ", ".join(f"{name}={short(value)}" for name, value in shown.items())
    return words or say("defaults")


def finish(whole: Certificate, estimator: Any, strict: bool, interrupted: bool = False) -> None:
    """Raise what the exit code is to tell of."""
    broken = [c for c in whole.singles if c.kind != "none" and not c.holds]
    if broken:
        raise ProofFailedError(
            "the certificate does not hold: {objection}", objection=broken[0].objection
        )
    if interrupted or estimator.stop_ is Stop.INTERRUPTED:
        raise InterruptedEarlyError("the fit was ended early; this is the best so far.")
    for part in whole.singles if strict else ():
        for words in short_of(part, tol_of(part, estimator)):
            raise ProofFailedError(words)
