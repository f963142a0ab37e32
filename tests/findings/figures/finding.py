"""A finding: what a document says of a figure, what was measured, and whether that agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cotas.experiments.samples import mean, standard_error

AGREES, IN_PART, DIFFERS, NO_CLAIM = "agrees", "in part", "differs", "no claim"
FLIPS = "depends on the seed"

Seeds = Sequence[int]


@dataclass(frozen=True)
class Finding:
    """What a document says of one figure or several, what was measured, and the verdicts.

    `votes` are the verdicts of the seeds, one for each: "agrees", "in part" or "differs". Where
    nothing is drawn at random there is one, and where the document has a picture only, none.
    `remark` says why it came out so, where that is known and the document is not confirmed.
    """

    figures: tuple[str, ...]
    says: str
    found: str
    votes: tuple[str, ...] = ()
    remark: str = ""

    @property
    def verdict(self) -> str:
        """That of all the seeds, or that they differ."""
        kinds = set(self.votes)
        return NO_CLAIM if not kinds else FLIPS if len(kinds) > 1 else next(iter(kinds))

    @property
    def confirmed(self) -> bool:
        """Whether nothing was found that the document does not say."""
        return self.verdict in (AGREES, NO_CLAIM)

    @property
    def count(self) -> str:
        """How many seeds stand behind the verdict."""
        many, counts = len(self.votes), Counter(self.votes)
        if many < 2:
            return "exact" if many else "–"
        if len(counts) == 1:
            return f"{many} of {many}"
        order = (AGREES, IN_PART, DIFFERS)
        return ", ".join(f"{kind} {counts[kind]}" for kind in order if counts[kind])


def votes(held: Any, otherwise: str = DIFFERS) -> tuple[str, ...]:
    """Agreement where it held, seed by seed, and something else where it did not."""
    return tuple(AGREES if one else otherwise for one in held)


def scientific(values: Any) -> str:
    """The mean of tiny numbers with its standard error: "4.1e-04 ± 3e-05"."""
    return f"{mean(values):.1e} ± {standard_error(values):.0e}"
