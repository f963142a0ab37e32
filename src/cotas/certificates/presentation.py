"""Certificates as people read them: in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cotas.certificates.certificate import Certificate

BOUNDS = {
    "duality": ("best objective is at least", "objective of this model"),
    "stagewise": ("training error above the best", "the theorem allows"),
    "gradient": ("best objective is at least", "objective of this model"),
    "mistakes": ("mistakes made", "mistakes the theorem allows"),
    "stationary": ("violation at a stationary point", "violation of the KKT conditions"),
    "training error": ("training error of this model", "the bound allows"),
    "separation": ("margin found", "no separator has a margin above"),
    "hold-out": ("error on these rows", "error on future rows, at most"),
}


def verdict(certificate: Certificate) -> str:
    """One word, or a few, on what the reader may rely on."""
    if not certificate.holds:
        return f"DOES NOT HOLD. {certificate.objection}"
    return "holds, but the bound is vacuous" if certificate.vacuous else "holds"


def lines(certificate: Certificate) -> list[tuple[str, str]]:
    """The numbers, each with its name."""
    below, above = BOUNDS[certificate.kind]
    table = [(above, f"{certificate.upper:.6g}"), (below, f"{certificate.lower:.6g}")]
    if certificate.kind in ("duality", "gradient"):
        table.append(("gap", _gap(certificate)))
    table += [(name, f"{value:.6g}") for name, value in certificate.figures.items()]
    if certificate.reference:
        table.append(("proved in", certificate.reference))
    return table


def _gap(certificate: Certificate) -> str:
    if certificate.gap <= certificate.rounding:
        return f"below rounding ({certificate.rounding:.1g})"
    if certificate.lower <= 0:
        return f"{certificate.gap:.6g}"
    above = certificate.gap / certificate.lower
    percent = f"{100 * above:.2f}" if above >= 1e-4 else f"{100 * above:.2g}"
    return f"{certificate.gap:.6g} (at most {percent}% above the best)"


def as_text(certificate: Certificate) -> str:
    """Several lines for a terminal."""
    if certificate.kind == "none":
        body = [certificate.statement, *certificate.remarks]
        return "\n".join(["Certificate: none", *(f"  {line}" for line in body)])
    table = lines(certificate)
    width = max(len(name) for name, _ in table)
    return "\n".join(
        [
            f"Certificate: {certificate.kind}, {verdict(certificate)}",
            f"  {certificate.statement}",
            *(f"  {name:<{width}}  {value}" for name, value in table),
            *(f"  Note: {remark}" for remark in certificate.remarks),
        ]
    )


def as_html(certificate: Certificate) -> str:
    """A small table for a notebook."""
    if certificate.kind == "none":
        return f"<p><b>Certificate: none.</b> {html.escape(certificate.statement)}</p>"
    rows = "".join(
        f"<tr><th align='left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in lines(certificate)
    )
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in certificate.remarks)
    return (
        f"<div><b>Certificate: {html.escape(certificate.kind)}, {verdict(certificate)}</b>"
        f"<p>{html.escape(certificate.statement)}</p><table>{rows}</table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )
