"""The page: one self-contained file, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cotas import words
from cotas.certificates.certificate import MEAN
from cotas.certificates.presentation import at_most, percent
from cotas.files.atomic import write_atomically
from cotas.preparation.preparation import Preparation
from cotas.preparation.quality import Quality
from cotas.preparation.record import AGAIN, OPTIMISTIC, ColumnSummary, FitRecord
from cotas.preparation.telling import called, telling_parameters
from cotas.report.certificates import STANDINGS, card, has_gap, labels_of, overview, standing
from cotas.report.drawings import pictures_of
from cotas.report.effects import effects_of, effects_section, largest
from cotas.report.figures import (
    DIGITS,
    MEASURES,
    about_groups,
    alarms_of,
    baseline_line,
    found,
    number,
    span,
)
from cotas.report.markup import and_more, details, items, pairs, paragraph, section, table, text
from cotas.report.style import STYLE
from cotas.words import current, say

PROVED = (
    "It is proved that no other choice of its parameters has an objective lower than its own by "
    "more than {gap}."
)
PROVED_OF_EACH = (
    "Of each of its models it is proved that no other choice of that model’s parameters has an "
    "objective lower than its own by more than {gap}."
)
ENDED_EARLY = "The training was ended before its goal. The certificate is about the model as it is."
NO_WARNING = (
    "No constant column, no column that gives the answer away, no row on both sides of the split, "
    "no class that is rare."
)
# What a column holds.
KINDS = {
    "number": "number",
    "boolean": "true or false",
    "category": "category",
    "date": "date",
    "time": "time of day",
    "other": "other",
}
MOST_IN_MATRIX = 100  # classes; a page with a million cells is read by nobody
MOST_COLUMNS = 200
FEW_COLUMNS = 12  # more of them are folded away
# Nothing may be fetched: the browser itself is told so.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_report(record: FitRecord, path: str | Path, lang: str | None = None) -> None:
    """Write one HTML file that says everything there is to say about a fit.

    The file is complete in itself: it loads nothing from the network, follows the light or dark
    setting of the reader, and prints.

    Parameters
    ----------
    record : FitRecord
    path : str or Path
        An existing file is replaced, or left as it was if the new one cannot be written.
    lang : {"en", "es"}, optional
        The language; if not given, that of `cotas.lang`, or else English.
    """
    with words.lang(lang or words.current()):
        write_atomically(path, [render(record).encode()])


def render(record: FitRecord) -> str:
    """Return the report as one HTML text, in the language of the moment."""
    title = say("Report on a model of {source}", source=Path(record.table.source).name)
    sections = (
        _summary(record),
        _certificates(record),
        section(say("On rows that the model has not seen"), *_held_out(record)),
        _warnings(record),
        _compared(record),
        _pictures(record),
        effects_section([*effects_of(record)]),
        _model(record),
        _data(record),
        _reproduce(record),
    )
    alone = say("This file is complete in itself: it loads nothing from the network.")
    return (
        f'<!doctype html><html lang="{current()}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{text(title)}</h1>{''.join(sections)}"
        f"<footer>{paragraph(alone)}</footer></main></body></html>\n"
    )


# ---- what a reader in a hurry takes away ---------------------------------------------------------


def _summary(record: FitRecord) -> str:
    # What a reader must not miss comes before all else.
    alarms = (
        f'<p class="alarm" role="alert"><b>{text(say("WARNING"))}.</b> {text(alarm)}</p>'
        for alarm in alarms_of(record.quality)
    )
    return section(say("In short"), *alarms, items(_in_short(record), "summary"))


def _in_short(record: FitRecord) -> Iterator[str]:
    """Say in short what is predicted, how well against doing without, what is proved, and what
    matters most."""
    many = getattr(record.model.estimator_, "names_", None)
    blend = None if many is None else say("a blend of {count} models", count=len(many))
    yield say(
        "It predicts “{target}” ({task}) from {columns} columns of {rows} rows, by {model}.",
        target=record.table.target or "y",
        task=say(record.task),
        columns=len(record.model.preparation_.used_columns_) or record.table.n_columns,
        rows=record.table.n_rows,
        model=blend or record.model_name,
    )
    quality = record.quality if record.hold_out is not None else None
    if quality is not None:
        name = "error" if quality.classes else "RMSE"
        yield say(
            "On the {rows} rows kept apart the {measure} is {value} ({interval}); "
            "answering always “{answer}” gives {baseline}.",
            rows=quality.rows,
            measure=say(MEASURES[name]),
            value=number(quality.measures[name].value),
            interval=span(quality.measures[name], quality.confidence),
            answer=quality.answer,
            baseline=number(quality.baseline.value),
        )
    names = largest([*effects_of(record)])
    if names:
        yield say("What matters most: {names}.", names=", ".join(names))
    if record.certificate.kind == MEAN:
        yield from record.certificate.notes[:1]
        if record.rivals:
            yield say(
                "It was chosen because the mean of its squared errors on rows kept out of training "
                "is smaller than that of each of its models, by more than a standard error."
            )
    if quality is not None:
        yield _bound_in_words(record)
    yield _proof_in_words(record)
    if _all_warnings(record):
        count = len(_all_warnings(record))
        yield say("Warnings about the data: {count}, below.", count=count)


def _proof_in_words(record: FitRecord) -> str:
    certificates = record.certificate.singles
    states = Counter(map(standing, certificates))
    if set(states) == {"holds"} and all(map(has_gap, certificates)):
        gap = percent(max(one.relative_gap for one in certificates))
        blend = any(one.member for one in certificates)
        return say(PROVED_OF_EACH if blend else PROVED, gap=gap)
    proofs = ", ".join(
        say(STANDINGS[state]) + (f": {count}" if len(certificates) > 1 else "")
        for state, count in states.items()
    )
    gaps = [c.relative_gap for c in certificates if standing(c) == "holds" and has_gap(c)]
    worst = f" ({say('relative gap')} {percent(max(gaps))})" if gaps else ""
    return say("The proof: {standing}.", standing=f"{proofs}{worst}")


def _certificates(record: FitRecord) -> str:
    labelled = list(zip(labels_of(record.certificate), record.certificate.singles, strict=True))
    cards = [card(label, certificate) for label, certificate in labelled]
    if len(cards) == 1:
        return section(say("The certificate"), *cards)
    kinds = dict.fromkeys(certificate.kind for _, certificate in labelled)
    tables = [overview([one for one in labelled if one[1].kind == kind]) for kind in kinds]
    each = details(say("Every certificate by itself"), "".join(cards))
    return section(say("The certificate"), *tables, each)


# ---- how good the model is -----------------------------------------------------------------------


def _held_out(record: FitRecord) -> Iterator[str]:
    quality, bound = record.quality, record.bound
    if record.hold_out is None or quality is None:
        said = "No rows were kept apart, so nothing here says how the model does on new ones."
        yield paragraph(say(said))
        return
    yield paragraph(say("{rows} rows were kept apart before the training.", rows=quality.rows))
    first, *rest = (
        (say(MEASURES[name]), f"{number(one.value)} ({span(one, quality.confidence)})")
        for name, one in quality.measures.items()
    )
    always = baseline_line(quality.answer, quality.baseline.value, bool(quality.classes))
    intervals = [(say("intervals"), parameters) for parameters in about_groups(quality)]
    yield pairs(dict([first, always, *rest, *intervals]))
    yield paragraph(_bound_in_words(record))
    tried = 1 if bound is None else int(bound.figures.get("models to choose from", 1))
    if tried > 1:
        said = "The bound takes into account that {tried} models were compared on these rows."
        yield paragraph(say(said, tried=tried))
    if quality.confusion is not None:
        yield f"<h3>{text(say('What the rows of each class were taken for'))}</h3>"
        yield _confusion(quality)


def _bound_in_words(record: FitRecord) -> str:
    bound = record.bound
    if bound is None or bound.kind == "none" or not bound.holds:
        if record.quality is not None and record.quality.classes:  # of which no error is large
            return say("No bound for new rows follows from these rows: the notes say why.")
        return say(
            "There is no bound for this measure: one large error among the new rows "
            "could exceed any number computed from these."
        )
    return say(
        "With a confidence of {confidence}%, the error on new rows that come "
        "like these is at most {bound}.",
        confidence=f"{100 * bound.figures.get('confidence', 0.95):.4g}",
        bound=at_most(bound.upper, DIGITS),
    )


def _confusion(quality: Quality) -> str:
    """Recall and precision of each class, with the confusion matrix beside them if it is small."""
    small = len(quality.classes) <= MOST_IN_MATRIX
    taken = [say("as {label}", label=one.label) for one in quality.classes] * small
    matrix: Any = quality.confusion
    rows = [
        [one.label, str(one.rows), *found(one), *[str(count) for count in counts] * small]
        for one, counts in zip(quality.classes, matrix, strict=True)
    ]
    return table([say("class"), say("rows"), say("recall"), say("precision"), *taken], rows)


def _compared(record: FitRecord) -> str:
    rivals = record.rivals
    if len(rivals) < 2:
        return ""
    squares = "Brier score" if record.task == "classification" else "mean square"
    names = [
        *("model", "seconds", "relative gap", "certificate", "training error"),
        *("validation error", squares, "folds", "rows"),
    ]
    noted = any(rival.note for rival in rivals)
    standings = {True: say("proved"), False: say("not proved"), None: say("no bound")}
    rows = [
        [
            rival.name,
            f"{rival.seconds:.2f}",
            "" if rival.relative_gap is None else f"{rival.relative_gap:.1e}",
            standings[rival.holds],
            "" if rival.training_error is None else number(rival.training_error),
            number(rival.error),
            "" if rival.squares is None else number(rival.squares),
            *(str(rival.folds), str(rival.rows)),
            *[rival.note] * noted,
        ]
        for rival in rivals
    ]
    commands = "\n".join(rival.command for rival in rivals if rival.command)
    again = [details(say(AGAIN), f"<pre>{text(commands)}</pre>")] if commands else []
    compared = table([*map(say, names), *[say("note")] * noted], rows)
    return section(say("The models compared"), compared, paragraph(say(OPTIMISTIC)), *again)


def _pictures(record: FitRecord) -> str:
    figures = [
        f"<figure><h3>{text(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
        for picture in pictures_of(record)
    ]
    return section(say("Pictures"), *figures) if figures else ""


# ---- the model, the data, and how to get it again ------------------------------------------------


def _all_warnings(record: FitRecord) -> list[str]:
    return [*map(str, record.remarks), *record.warnings]


def _warnings(record: FitRecord) -> str:
    found = _all_warnings(record)
    body = items(found, "warnings") if found else paragraph(say(NO_WARNING))
    return section(say("What to look at in the data"), body)


def _model(record: FitRecord) -> str:
    name = called(record.model_name, record.model.estimator_)
    parts = [
        f"<p><b>{text(name)}</b></p>",
        table((say("parameter"), say("value")), _parameters(record).items()),
    ]
    if record.interrupted:
        parts.append(paragraph(say(ENDED_EARLY)))
    width = record.table.n_columns
    prepared = (
        _preparation(record.model.preparation_)
        if record.table.columns or width == 0
        else [say("A matrix of {columns} columns without names.", columns=width)]
    )
    title = text(say("How the columns are prepared (part of the model)"))
    return section(say("The model"), *parts, f"<h3>{title}</h3>", items(prepared))


def _parameters(record: FitRecord) -> dict[str, str]:
    """Show what was given or chosen, and what came of it; parameters left as they were say
    nothing."""
    estimator = record.model.estimator_
    parameters = {
        name: number(value) if isinstance(value, float) else str(value)
        for name, value in telling_parameters(estimator, ("lam", "delta", "tol")).items()
    }
    if record.certificate.kind == MEAN:
        parameters = {
            say("weight of {name}", name=name): share for name, share in parameters.items()
        }
    support = getattr(estimator, "support_", None)
    if support is not None:
        rows = support if isinstance(support, np.ndarray) else np.concatenate(support)
        parameters[say("support vectors")] = f"{len(np.unique(rows))} / {len(record.training.rows)}"
    return parameters | {say("training time [s]"): number(record.seconds)}


def _preparation(preparation: Preparation) -> Iterator[str]:
    count = len(preparation.number_names_)
    if count and preparation.standardize and preparation.layout_ != "sparse":
        said = "Numbers, less their mean and divided by their deviation: {count}."
        yield say(said, count=count)
    else:
        yield say("The numbers are used as they are.")
    marked = zip(preparation.number_names_, preparation.indicated_, strict=True)
    indicated = ", ".join(name for name, there in marked if there)
    if indicated:
        said = "Missing numbers become the mean, with a column that marks them: {names}."
        yield say(said, names=indicated)
    if preparation.category_names_:
        said = "Categories, with a column of zeros and ones for each value: {count}."
        yield say(said, count=len(preparation.category_names_))
    if preparation.dropped_:
        yield say("Left out: {names}.", names=", ".join(name for name, _ in preparation.dropped_))


def _data(record: FitRecord) -> str:
    known = record.table
    facts = {
        say("rows"): known.n_rows,
        say("columns"): known.n_columns,
        say("target"): known.target or "y",
        say("task"): say(record.task),
    }
    body = pairs(facts)
    if record.task == "classification":
        samples = [one for one in (record.training, record.hold_out) if one is not None]
        counts = Counter(str(label) for one in samples for label in one.truth)
        shares = [
            (name, count, f"{100 * count / counts.total():.1f}%")
            for name, count in counts.most_common()
        ]
        body += table((say("class"), say("rows"), say("share")), shares)
    shown = [
        (one.name, say(KINDS[one.kind]), one.missing, _values(one))
        for one in known.columns[:MOST_COLUMNS]
    ]
    if shown:
        headings = (say("column"), say("kind"), say("missing"), say("values"))
        columns = table(headings, shown) + and_more(known.n_columns - len(shown))
        few = known.n_columns <= FEW_COLUMNS
        body += columns if few else details(say("Every column"), columns)
    return section(say("The data"), body)


def _values(column: ColumnSummary) -> str:
    """Return a few words on what a column holds."""
    if column.mean is not None and column.smallest is not None and column.largest is not None:
        return say(
            "{smallest} to {largest}, mean {mean}",
            smallest=number(column.smallest),
            largest=number(column.largest),
            mean=number(column.mean),
        )
    if column.most_frequent is not None:
        said = "{distinct} values, most often {value}"
        return say(said, distinct=column.distinct, value=column.most_frequent)
    return say("{distinct} values", distinct=column.distinct)


def _reproduce(record: FitRecord) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    # What a search finds in its time need not be found again; the first of it can be typed.
    commands = "\n".join([record.command, *(rival.command for rival in record.rivals[:1])])
    return section(
        say("How to get this model again"),
        f"<pre>{text(commands.strip())}</pre>",
        pairs({say("seed"): record.seed, say("versions"): versions}),
    )
