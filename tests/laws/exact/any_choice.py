"""Whatever `choices.py` answers, the bounds hold: here it answers at random.

So nothing of that module has to be read to believe a bound, and no mutant of it can be told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cotas.certificates.core import choices
from cotas.certificates.core.bounds import Bounds, Objection, moved_apart
from cotas.certificates.core.rows import Frame
from laws.exact.claims import failures
from laws.exact.more_claims import softmax_failures, squares_failures

FALSE = re.compile(r"(upper|lower) \S+ (below|above) |raised|Error|outside of the problem")
WILD = (0.0, -1.0, 0.3, 0.99, 1.0, 1.7, 1e6, math.inf, math.nan)


@contextmanager
def any_choice(rng: np.random.Generator) -> Iterator[None]:
    """Every function of `choices` gives another answer of the same kind."""

    def frame(X: Any, movable: bool) -> Any:
        unit = 2.0 ** rng.integers(-6, 7, size=X.shape[1])
        dense = movable and not hasattr(X, "indptr")
        return (rng.normal(size=X.shape[1]) if dense and rng.random() < 0.7 else None), unit

    def wild(size: Any) -> Any:
        return rng.choice(WILD if rng.random() < 0.2 else WILD[:7], size=size)

    def point(loss: Any, *given: Any) -> Any:
        s = given[-1]
        return s * rng.normal(size=len(s)) * rng.choice([0.3, 1.0, 30.0])

    answers = {
        "frame": frame,
        "middle": lambda y, s: float(rng.choice([*WILD, float(y.mean())])),
        "slopes": point,
        "balanced": lambda loss, c, s: c if rng.random() < 0.5 else point(loss, s),
        "shares": lambda *given: tuple(wild(3).tolist()),
        "balance": lambda *given: tuple(wild((2, len(given[0])))),
        "probabilities": lambda z: wild(z.shape) * rng.choice([1.0, 1.0, 1e302], size=(len(z), 1)),
        "worth": lambda *given: bool(rng.random() < 0.7),
        "squared_charge": lambda *given: float(abs(rng.choice(WILD[:6]))),
        "multiples": lambda *given: wild(4).tolist(),
        "blur": lambda *given: float(rng.choice(WILD)),
        "felt": lambda *given: float(rng.choice(WILD)),
        "charge": lambda *given: float(abs(rng.choice(WILD[:6]))),
        "apart": lambda *given: tuple(np.abs(rng.choice(WILD[:6], size=2)).tolist()),
    }
    kept = {name: getattr(choices, name) for name in answers}
    for name, answer in answers.items():
        setattr(choices, name, answer)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(choices, name, function)


def choice_failures(seed: int) -> list[str]:
    """What is false of the bounds of a problem of this seed; they may be as wide as they like."""
    law = (failures, failures, squares_failures, softmax_failures)[seed % 4]
    with any_choice(np.random.default_rng([seed, 77])):
        found = law(seed)
    return [words for words in found if FALSE.search(words)] + list(_refusals())


def _refusals() -> Iterator[str]:
    """What is no frame, and what would move bounds towards each other, is refused."""
    plain = np.ones(2)
    bad = [(None, plain * v) for v in (0.0, -1.0, 3.0, math.inf, math.nan)]
    for given in [*bad, (plain * math.nan, plain), (plain * math.inf, plain)]:
        try:
            Frame(*given).refuse()
            yield f"a frame {given}"
        except Objection as objection:
            if objection.code != "rows":
                yield f"a frame {given} is refused as {objection.code!r}"
    Frame(plain, 2.0 ** np.array([-900.0, 900.0])).refuse()
    kept = choices.apart
    try:
        for moved in ((-1.0, 0.0), (0.0, -1.0), (math.nan, 0.0), (0.0, math.nan)):
            choices.apart = lambda *given, moved=moved: moved
            try:
                yield f"bounds moved by {moved}: {moved_apart(1.0, 2.0, 1.0)}"
            except Objection:
                continue
        choices.apart = lambda *given: (0.5, 0.25)
        if Bounds.proved(1.0, 2.0, 1.0).moved != (0.5, 0.25):
            yield "bounds are not moved as chosen"
    finally:
        choices.apart = kept
