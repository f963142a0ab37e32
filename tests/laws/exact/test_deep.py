"""The long run looks at every kind of problem equally often, and forgets nothing it has seen.

And what it looks with sees a bound that is false by one number.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cotas.certificates.core.bounds import Bounds
from cotas.certificates.core.gap import Claim
from deep import EVERY, OWN, Batch, Journal, turn
from laws.exact.cases import FAMILIES, draw
from laws.exact.claims import _of_claim as of_claim
from laws.exact.oracle import CLOSE, Exact, Rational, near, rational


def test_every_family_has_its_turn() -> None:
    turns = Counter(turn(seed) for seed in range(2 * EVERY * len(FAMILIES)))
    assert {turns[family] for family in FAMILIES} == {2 * (EVERY - 1)}
    assert {turns[name,] for name in OWN} == {len(FAMILIES)}
    assert len(turns) == len(FAMILIES) + len(OWN)


def test_a_run_goes_on_with_what_it_has_found(tmp_path: Path) -> None:
    path = str(tmp_path / "journal")
    first = Journal(path, 70)
    first.add(Batch(70, {"hinge, l2": 3, "softmax": 1}, ["seed 71: false"]))
    first.add(Batch(320, {"softmax": 2}, []))
    again = Journal(path, 99)
    assert (again.seed, again.done) == (70, {70, 320})
    assert (again.families, again.false) == (first.families, first.false)
    assert str(again) == "6 problems, 1 false claims"


@pytest.mark.parametrize("family", FAMILIES, ids=" ".join)
def test_a_bound_that_is_false_by_one_number_is_reported(family: tuple[str, str]) -> None:
    seen = 0
    for seed in range(8):
        case = draw(np.random.default_rng(seed), family)
        exact = Exact(case.risk, case.X, case.y, case.weights)
        value = exact.value(rational(case.theta), Rational(case.bias))
        if value is None or not math.isfinite(near(value)):
            continue
        claim = Claim(case.risk, case.y, case.theta, case.bias)
        under = over = near(value)
        number: Any = Decimal if isinstance(value, Decimal) else Rational
        left_open = 2 * CLOSE * abs(value) if number is Decimal else 0
        while number(under) >= value - left_open:
            under = math.nextafter(under, -math.inf)
        while number(over) <= value + left_open:
            over = math.nextafter(over, math.inf)
        for false, word in ((Bounds(0.0, under), "upper"), (Bounds(over, over), "lower")):
            [said] = of_claim(case, claim, value, value, false)
            assert said.startswith(word)
        assert not [*of_claim(case, claim, value, value, Bounds(under, over))]
        seen += 1
    assert seen
