"""The page: one self-contained file, section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cotas.certificates.presentation import percent
from cotas.report.certificates import card, has_gap, standing
from cotas.report.content import Content, Effects, HeldOut, Picture
from cotas.report.markup import (
    bars,
    bounds,
    details,
    items,
    number,
    pairs,
    paragraph,
    section,
    table,
    text,
)
from cotas.report.style import STYLE
from cotas.report.words import words_of

MOST_COEFFICIENTS = 40
MOST_COLUMNS = 200
FEW_COLUMNS = 12  # more of them are folded away
# Nothing may be fetched: the browser itself is told so.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(content: Content, lang: str = "en") -> str:
    """The report as one HTML text."""
    words = words_of(lang)
    title = words["title"].format(source=content.source)
    sections = (
        _summary(content, words),
        _certificates(content, words),
        section(words["held_out"], *_held_out(content.held_out, words)),
        _warnings(content, words),
        _compared(content, words),
        _pictures(content, words),
        _effects(content, words),
        _model(content, words),
        _data(content, words),
        _reproduce(content, words),
    )
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{text(title)}</h1>{''.join(sections)}"
        f"<footer>{paragraph(words['alone'])}</footer></main></body></html>\n"
    )


def _alarms(content: Content, words: Mapping[str, str]) -> str:
    """What a reader must not miss, before all else."""
    return "".join(
        f'<p class="alarm" role="alert"><b>{text(words["alarm"])}.</b> {text(alarm)}</p>'
        for alarm in content.alarms
    )


def _summary(content: Content, words: Mapping[str, str]) -> str:
    """What a reader in a hurry takes away."""
    states = Counter(standing(certificate) for _, certificate in content.certificates)
    proofs = ", ".join(
        words[state] if len(content.certificates) == 1 else f"{words[state]}: {count}"
        for state, count in states.items()
    )
    lines = [*content.short]
    held_out = content.held_out
    if held_out is not None:
        lines.append(_bound_in_words(held_out, words))
    if set(states) == {"holds"} and all(has_gap(c) for _, c in content.certificates):
        gap = percent(max(c.relative_gap for _, c in content.certificates))
        lines.append(words["summary_proved"].format(gap=gap))
    else:
        gap = _worst_gap(content, words)
        lines.append(words["summary_proof"].format(standing=f"{proofs}{gap}"))
    if content.warnings:
        lines.append(words["some_warnings"].format(count=len(content.warnings)))
    return section(words["summary"], _alarms(content, words), items(lines, "summary"))


def _worst_gap(content: Content, words: Mapping[str, str]) -> str:
    """The largest relative gap of those that have one."""
    gaps = [
        c.relative_gap for _, c in content.certificates if standing(c) == "holds" and has_gap(c)
    ]
    return f" ({words['gap_column']} {percent(max(gaps))})" if gaps else ""


def _data(content: Content, words: Mapping[str, str]) -> str:
    facts = {
        words["rows"]: f"{content.rows:,}".replace(",", " "),
        words["columns"]: content.width,
        words["target"]: content.target,
        words["task"]: words[content.task],
    }
    shown = content.columns[:MOST_COLUMNS]
    rows = [(column.name, column.kind, column.missing, column.values) for column in shown]
    body = pairs(facts)
    if content.classes:
        total = sum(content.classes.values())
        shares = [
            (name, count, f"{100 * count / total:.1f} %") for name, count in content.classes.items()
        ]
        body += table((words["class"], words["rows"], words["share"]), shares)
    headings = (words["column"], words["kind"], words["missing"], words["values"])
    if not rows:
        return section(words["data"], body)
    columns = table(headings, rows) + _and_more(content.width - len(shown), words)
    few = content.width <= FEW_COLUMNS
    body += columns if few else details(words["every_column"], columns)
    return section(words["data"], body)


def _warnings(content: Content, words: Mapping[str, str]) -> str:
    if not content.warnings:
        return section(words["warnings"], paragraph(words["no_warnings"]))
    return section(words["warnings"], items(content.warnings, "warnings"))


def _model(content: Content, words: Mapping[str, str]) -> str:
    parts = [
        f"<p><b>{text(content.model)}</b></p>",
        table((words["parameter"], words["value"]), content.parameters.items()),
    ]
    if content.interrupted:
        parts.append(paragraph(words["interrupted"]))
    if content.preparation:
        parts += [f"<h3>{text(words['preparation'])}</h3>", items(content.preparation)]
    return section(words["model"], *parts)


def _certificates(content: Content, words: Mapping[str, str]) -> str:
    cards = [card(label, certificate, words) for label, certificate in content.certificates]
    if len(cards) == 1:
        return section(words["certificate"], *cards)
    names = ("kind", "certificate", "objective", "best_at_least", "gap_column")
    headings = [words[name] for name in names]
    rows = [
        (
            label,
            words[standing(certificate)],
            *bounds(certificate.lower, certificate.upper)[::-1],
            percent(certificate.relative_gap) if has_gap(certificate) else "–",
        )
        for label, certificate in content.certificates
    ]
    each = details(words["all_certificates"], "".join(cards))
    return section(words["certificate"], table(headings, rows), each)


def _held_out(held_out: HeldOut | None, words: Mapping[str, str]) -> list[str]:
    if held_out is None:
        return [paragraph(words["no_held_out"])]
    parts = [paragraph(words["held_out_words"].format(rows=held_out.rows))]
    known = dict(held_out.measures)
    if held_out.baseline is not None:
        name, value = held_out.baseline
        first, *rest = known.items()
        known = dict([first, (name, value), *rest])
    parts.append(pairs(known))
    parts.append(paragraph(_bound_in_words(held_out, words)))
    if held_out.tried > 1:
        parts.append(paragraph(words["bound_tried"].format(tried=held_out.tried)))
    if held_out.classes:
        parts.append(f"<h3>{text(words['confusion'])}</h3>")
        parts.append(table(held_out.headings, held_out.classes))
    return parts


def _bound_in_words(held_out: HeldOut, words: Mapping[str, str]) -> str:
    if held_out.bound is None:
        return words["bound_none"]
    confidence = f"{100 * held_out.confidence:.4g}"
    return words["bound_words"].format(confidence=confidence, bound=number(held_out.bound))


def _compared(content: Content, words: Mapping[str, str]) -> str:
    if not content.compared:
        return ""
    return section(words["compared"], table(content.compared[0], content.compared[1:]))


def _effects(content: Content, words: Mapping[str, str]) -> str:
    if not content.effects:
        return ""
    linear = content.effects[0].per_unit is not None
    title = words["coefficients" if linear else "importances"]
    charts = [_chart(effects, words) for effects in content.effects]
    scaled = linear and any(effects.sizes != effects.per_unit for effects in content.effects)
    return section(title, *([paragraph(words["bars"])] if scaled else []), *charts)


def _chart(effects: Effects, words: Mapping[str, str]) -> str:
    """The largest effects first; the number is the coefficient, the bar its effect."""
    shown = effects.sizes if effects.per_unit is None else effects.per_unit
    rows = sorted(zip(effects.names, shown, effects.sizes, strict=True), key=lambda r: -abs(r[2]))
    told = [row for row in rows if abs(row[2]) > effects.unsure]
    some = told[:MOST_COEFFICIENTS]
    heading = f"<h3>{text(effects.label)}</h3>" if effects.label else ""
    value = words["value" if effects.per_unit is None else "per_unit"]
    chart = bars((words["column"], value), some)
    open_ = len(rows) - len(told)
    more = paragraph(words["below_the_gap"].format(count=open_)) if open_ else ""
    return heading + chart + _and_more(len(told) - len(some), words) + more


def _and_more(count: int, words: Mapping[str, str]) -> str:
    return paragraph(words["more"].format(count=count)) if count > 0 else ""


def _pictures(content: Content, words: Mapping[str, str]) -> str:
    if not content.pictures:
        return ""
    return section(words["pictures"], *(_figure(picture) for picture in content.pictures))


def _figure(picture: Picture) -> str:
    return (
        f"<figure><h3>{text(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
    )


def _reproduce(content: Content, words: Mapping[str, str]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    facts: dict[str, object] = {words["versions"]: versions}
    if content.seed is not None:
        facts = {words["seed"]: content.seed, **facts}
    return section(words["reproduce"], f"<pre>{text(content.command)}</pre>", pairs(facts))
