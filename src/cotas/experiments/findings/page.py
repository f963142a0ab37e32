"""The parts of docs/reproduction.md that are measured.

python -m cotas.experiments --page docs/reproduction.md --seed 300
"""

from __future__ import annotations

import re

from cotas.experiments.figure import DOCUMENTS
from cotas.experiments.findings import all_findings, table, times_report
from cotas.experiments.findings.finding import AGREES, DIFFERS, FLIPS, IN_PART, Finding, Seeds

COMMAND = "python -m cotas.experiments --page docs/reproduction.md"


def filled(text: str, seeds: Seeds) -> str:
    """The page with every part between its marks written anew, from these seeds.

    A part NAME stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
    """
    wanted = re.findall(r"<!-- begin (\w+) -->", text)
    findings = all_findings(seeds)
    parts = {
        "documents": "\n".join(f"- {source}" for source in DOCUMENTS.values()),
        "seeds": _seeds(seeds),
        "findings": f"{table(findings)}\n\n{_count(findings)}",
        "doubts": _doubts(findings),
        "times": times_report(),
    }
    if set(wanted) != set(parts):
        raise ValueError(f"The page must have the parts {sorted(parts)}; it has {sorted(wanted)}.")
    for name, part in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"The part {name!r} of the page has no end: {end} is missing.")
        text = f"{head}{begin}\n\n{part}\n\n{end}{tail}"
    return text


def _seeds(seeds: Seeds) -> str:
    """How the page was printed."""
    first, many = seeds[0], len(seeds)
    return (
        f"The tables and the remarks are printed from the {many} seeds {first} to {seeds[-1]} by\n"
        f"\n```sh\n{COMMAND} --seed {first} --seeds {many}\n```\n\n"
        "and numbers are means ± standard errors over these seeds."
    )


def _count(findings: list[Finding]) -> str:
    """How many claims hold."""
    claims = [one for one in findings if one.votes]
    counts = {
        kind: sum(one.verdict == kind for one in claims)
        for kind in (AGREES, FLIPS, IN_PART, DIFFERS)
    }
    listed = ", ".join(f"{many} × {kind}" for kind, many in counts.items() if many)
    return f"Of {len(claims)} claims: {listed}."


def _doubts(findings: list[Finding]) -> str:
    """A paragraph for each finding that does not agree in every seed."""
    paragraphs = [
        f"**{', '.join(one.figures)}: {_literal(one.says)}.** {one.verdict.capitalize()} "
        f"({one.count}). {_literal(one.found[0].upper() + one.found[1:])}. "
        f"{_literal(one.remark)}".strip()
        for one in findings
        if not one.confirmed
    ]
    return "\n\n".join(paragraphs) or "There is none: every claim held in every seed."


def _literal(text: str) -> str:
    """A text whose stars are no emphasis."""
    return text.replace("*", r"\*")
