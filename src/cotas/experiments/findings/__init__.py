"""What the documents say about their figures, and what comes out here, over several seeds.

`python -m cotas.experiments --report` prints the table, and `--page` the page on reproduction.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cotas.experiments.findings import boosting, linear, others, promises, stagewise
from cotas.experiments.findings.boosting import DIMENSIONS, seconds_by_dimension
from cotas.experiments.findings.finding import Finding, Seeds

SEEDS = tuple(range(10))


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


def report(seeds: Seeds = SEEDS) -> str:
    """Every finding over these seeds, as a Markdown table."""
    return table(all_findings(seeds))


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


__all__ = ["SEEDS", "Finding", "all_findings", "report", "table", "times_report"]
