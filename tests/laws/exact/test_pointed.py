"""Problems that are aimed at one line of the core each, and the promises of its parts."""

from collections.abc import Callable, Iterator

import pytest

from laws.exact.contracts import contract_failures
from laws.exact.every import PARTS
from laws.exact.kernel_claims import (
    machine_failures,
    product_failures,
    shift_failures,
    value_failures,
)
from laws.exact.pointed import pointed_failures
from laws.exact.refused import REFUSALS
from laws.exact.rounding_claims import rounding_failures
from laws.exact.test_enclosures import SEED


def test_no_pointed_problem_has_a_false_bound() -> None:
    assert not pointed_failures()


@pytest.mark.parametrize("law", REFUSALS, ids=lambda law: law.__name__)
def test_what_is_none_of_the_problem_is_refused(law: Callable[[], Iterator[str]]) -> None:
    assert not list(law())


@pytest.mark.parametrize("law", PARTS, ids=lambda law: law.__name__)
def test_every_part_keeps_its_promise_to_the_others(law: Callable[..., object]) -> None:
    for k in range(40):
        assert not contract_failures(SEED + k, (law,))


@pytest.mark.parametrize(
    ("law", "count"),
    [
        (rounding_failures, 100),
        (value_failures, 90),
        (product_failures, 40),
        (shift_failures, 20),
        (machine_failures, 40),
    ],
)
def test_numbers_are_enclosed_and_no_wider_than_they_say(
    law: Callable[[int], list[str]], count: int
) -> None:
    for k in range(count):
        assert not law(SEED + k), f"COTAS_SEED={SEED + k}"
