"""What the documents say about their figures, and what comes out here, over several seeds.

`python tests/reproduction_page.py --seed 300` measures, and writes docs/reproduction.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from cotas.experiments.figure import DOCUMENTS
from findings.figures import boosting, linear, others, promises, stagewise
from findings.figures.boosting import DIMENSIONS, seconds_by_dimension
from findings.figures.finding import AGREES, DIFFERS, FLIPS, IN_PART, Finding, Seeds

COMMAND = "python tests/reproduction_page.py"
SEEDS = tuple(range(10))


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


def all_findings(seeds: Seeds = SEEDS) -> list[Finding]:
    """Every finding, document by document.

    Parameters
    ----------
    seeds : sequence of int, default=0 to 9
    """
    return [
        linear.memorizer(seeds),
        linear.sides(seeds),
        linear.distance(seeds),
        promises.mistakes(seeds),
        promises.averages(seeds),
        linear.violations(seeds),
        linear.small_and_large(seeds),
        linear.widest(seeds),
        promises.subgradient(seeds),
        promises.ridge(seeds),
        boosting.costs(seeds),
        boosting.data(seeds),
        boosting.stages(seeds),
        promises.surrogate(seeds),
        promises.abstract(seeds),
        *boosting.on_clouds(seeds),
        boosting.forest_on_gaussians(seeds),
        boosting.theory(seeds),
        *boosting.in_100_dimensions(seeds),
        stagewise.ls_boost(seeds),
        stagewise.forward(seeds),
        stagewise.inside_the_ball(seeds),
        stagewise.out_of_the_ball(seeds),
        stagewise.paths(seeds),
        *stagewise.dimension_100(seeds),
        *promises.bounds(seeds),
        others.lifted(seeds),
        others.three_kernels(seeds),
        promises.kernelized(seeds),
        others.houses(seeds),
        others.steps(seeds),
        others.normalized(seeds),
        others.kinds_of_descent(seeds),
        linear.balance(seeds),
        *linear.three_lambdas(seeds),
        *linear.losses(seeds),
        *linear.descents(seeds),
    ]


def table(findings: Iterable[Finding]) -> str:
    """The findings as a Markdown table; a star is no emphasis."""
    lines = ["| figure | the document says | found | verdict | seeds |", "|---|---|---|---|---|"]
    for one in findings:
        cells = (", ".join(one.figures), one.says, one.found, one.verdict, one.count)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).replace("*", r"\*")


def times_report() -> str:
    """Run times by dimension as a Markdown table, with the line a + b·d that fits them best.

    The last column is the largest deviation from that line, as a share of the time.
    """
    head = " | ".join(f"d = {d}" for d in DIMENSIONS)
    lines = [f"| algorithm | {head} | a + b·d | off by |", "|---" * (len(DIMENSIONS) + 3) + "|"]
    for name, seconds in seconds_by_dimension().items():
        # Weighted, so that the deviations count as shares.
        slope, start = np.polyfit(DIMENSIONS, seconds, 1, w=1 / seconds)
        off = np.abs(start + slope * np.array(DIMENSIONS) - seconds) / seconds
        cells = " | ".join(f"{1000 * s:.0f} ms" for s in seconds)
        line = f"{1000 * start:.1f} + {1000 * slope:.3f}·d ms"
        lines.append(f"| {name} | {cells} | {line} | {100 * off.max():.0f} % |")
    return "\n".join(lines)


__all__ = ["SEEDS", "Finding", "all_findings", "table", "times_report"]
