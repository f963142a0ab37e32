"""The page: one self-contained file, section by section."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cotas import words
from cotas.certificates.presentation import at_most, percent
from cotas.files.atomic import write_atomically
from cotas.preparation.record import AGAIN, OPTIMISTIC, FitRecord
from cotas.report.certificates import STANDINGS, card, has_gap, overview, standing
from cotas.report.figures import DIGITS
from cotas.report.markup import bars, details, items, pairs, paragraph, section, table, text
from cotas.report.record import Content, Effects, HeldOutFigures, content_of
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
PER_UNIT = (
    "The number is how much the output changes for one unit of the column. The bar is that for one "
    "standard deviation, and for a category that for its presence, so that bars can be compared."
)
MOST_COEFFICIENTS = 40
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
        write_atomically(path, [render(content_of(record)).encode()])


def render(content: Content) -> str:
    """The report as one HTML text."""
    title = say("Report on a model of {source}", source=content.source)
    sections = (
        _summary(content),
        _certificates(content),
        section(say("On rows that the model has not seen"), *_held_out(content.held_out)),
        _warnings(content),
        _compared(content),
        _pictures(content),
        _effects(content),
        _model(content),
        _data(content),
        _reproduce(content),
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


def _summary(content: Content) -> str:
    """What a reader in a hurry takes away."""
    states = Counter(standing(certificate) for _, certificate in content.certificates)
    proofs = ", ".join(
        say(STANDINGS[state]) + (f": {count}" if len(content.certificates) > 1 else "")
        for state, count in states.items()
    )
    lines = [*content.short]
    held_out = content.held_out
    if held_out is not None:
        lines.append(_bound_in_words(held_out))
    if set(states) == {"holds"} and all(has_gap(c) for _, c in content.certificates):
        gap = percent(max(c.relative_gap for _, c in content.certificates))
        blend = any(one.member for _, one in content.certificates)
        lines.append(say(PROVED_OF_EACH if blend else PROVED, gap=gap))
    else:
        proved = (c for _, c in content.certificates if standing(c) == "holds" and has_gap(c))
        gaps = [one.relative_gap for one in proved]
        worst = f" ({say('relative gap')} {percent(max(gaps))})" if gaps else ""
        lines.append(say("The proof: {standing}.", standing=f"{proofs}{worst}"))
    if content.warnings:
        lines.append(say("Warnings about the data: {count}, below.", count=len(content.warnings)))
    # What a reader must not miss comes before all else.
    alarms = (
        f'<p class="alarm" role="alert"><b>{text(say("WARNING"))}.</b> {text(alarm)}</p>'
        for alarm in content.alarms
    )
    return section(say("In short"), *alarms, items(lines, "summary"))


def _data(content: Content) -> str:
    facts = {
        say("rows"): content.rows,
        say("columns"): content.width,
        say("target"): content.target,
        say("task"): say(content.task),
    }
    shown = content.columns[:MOST_COLUMNS]
    rows = [(column.name, column.kind, column.missing, column.values) for column in shown]
    body = pairs(facts)
    if content.classes:
        total = sum(content.classes.values())
        shares = [
            (name, count, f"{100 * count / total:.1f}%") for name, count in content.classes.items()
        ]
        body += table((say("class"), say("rows"), say("share")), shares)
    headings = (say("column"), say("kind"), say("missing"), say("values"))
    if not rows:
        return section(say("The data"), body)
    columns = table(headings, rows) + _and_more(content.width - len(shown))
    few = content.width <= FEW_COLUMNS
    body += columns if few else details(say("Every column"), columns)
    return section(say("The data"), body)


def _warnings(content: Content) -> str:
    if not content.warnings:
        return section(say("What to look at in the data"), paragraph(say(NO_WARNING)))
    return section(say("What to look at in the data"), items(content.warnings, "warnings"))


def _model(content: Content) -> str:
    parts = [
        f"<p><b>{text(content.model)}</b></p>",
        table((say("parameter"), say("value")), content.parameters.items()),
    ]
    if content.interrupted:
        words = (
            "The training was ended before its goal. The certificate is about the model as it is."
        )
        parts.append(paragraph(say(words)))
    if content.preparation:
        parts += [
            f"<h3>{text(say('How the columns are prepared (part of the model)'))}</h3>",
            items(content.preparation),
        ]
    return section(say("The model"), *parts)


def _certificates(content: Content) -> str:
    cards = [card(label, certificate) for label, certificate in content.certificates]
    if len(cards) == 1:
        return section(say("The certificate"), *cards)
    kinds = dict.fromkeys(certificate.kind for _, certificate in content.certificates)
    tables = [overview([one for one in content.certificates if one[1].kind == k]) for k in kinds]
    each = details(say("Every certificate by itself"), "".join(cards))
    return section(say("The certificate"), *tables, each)


def _held_out(held_out: HeldOutFigures | None) -> list[str]:
    if held_out is None:
        said = "No rows were kept apart, so nothing here says how the model does on new ones."
        return [paragraph(say(said))]
    parts = [paragraph(say("{rows} rows were kept apart before the training.", rows=held_out.rows))]
    known = dict(held_out.measures)
    if held_out.baseline is not None:
        name, value = held_out.baseline
        first, *rest = known.items()
        known = dict([first, (name, value), *rest])
    parts.append(pairs(known))
    parts.append(paragraph(_bound_in_words(held_out)))
    if held_out.tried > 1:
        said = "The bound takes into account that {tried} models were compared on these rows."
        parts.append(paragraph(say(said, tried=held_out.tried)))
    if held_out.classes:
        parts.append(f"<h3>{text(say('What the rows of each class were taken for'))}</h3>")
        parts.append(table(held_out.headings, held_out.classes))
    return parts


def _bound_in_words(held_out: HeldOutFigures) -> str:
    if held_out.bound is None:
        return say(
            "There is no bound for this measure: one large error among the new rows "
            "could exceed any number computed from these."
        )
    confidence = f"{100 * held_out.confidence:.4g}"
    return say(
        "With a confidence of {confidence}%, the error on new rows that come "
        "like these is at most {bound}.",
        confidence=confidence,
        bound=at_most(held_out.bound, DIGITS),
    )


def _compared(content: Content) -> str:
    if not content.compared:
        return ""
    again = f"<pre>{text(chr(10).join(content.commands))}</pre>"
    return section(
        say("The models compared"),
        table(content.compared[0], content.compared[1:]),
        paragraph(say(OPTIMISTIC)),
        *([details(say(AGAIN), again)] if content.commands else []),
    )


def _effects(content: Content) -> str:
    if not content.effects:
        return ""
    linear = content.effects[0].per_unit is not None
    title = say(
        "Coefficients, in the units of the columns" if linear else "Importance of each column"
    )
    charts = [_chart(effects) for effects in content.effects]
    scaled = linear and any(effects.sizes != effects.per_unit for effects in content.effects)
    return section(
        title,
        *[paragraph(say(PER_UNIT))] * scaled,
        *charts,
    )


def _chart(effects: Effects) -> str:
    """The largest effects first; the number is the coefficient, the bar its effect."""
    shown = effects.sizes if effects.per_unit is None else effects.per_unit
    rows = sorted(zip(effects.names, shown, effects.sizes, strict=True), key=lambda r: -abs(r[2]))
    told = [row for row in rows if abs(row[2]) > effects.unsure]
    some = told[:MOST_COEFFICIENTS]
    heading = f"<h3>{text(effects.label)}</h3>" if effects.label else ""
    value = say("value" if effects.per_unit is None else "per unit")
    chart = bars((say("column"), value), some)
    open_ = len(rows) - len(told)
    words = (
        "{count} more that are not told from 0: they are smaller than what the gap leaves open."
        if effects.unsure
        else "{count} more are 0."
    )
    more = paragraph(say(words, count=open_)) if open_ else ""
    return heading + chart + _and_more(len(told) - len(some)) + more


def _and_more(count: int) -> str:
    return paragraph(say("and {count} more", count=count)) if count > 0 else ""


def _pictures(content: Content) -> str:
    figures = [
        f"<figure><h3>{text(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
        for picture in content.pictures
    ]
    return section(say("Pictures"), *figures) if figures else ""


def _reproduce(content: Content) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    facts: dict[str, object] = {say("versions"): versions}
    if content.seed is not None:
        facts = {say("seed"): content.seed, **facts}
    return section(
        say("How to get this model again"), f"<pre>{text(content.command)}</pre>", pairs(facts)
    )
