"""Problems that are aimed at one line of the core each, and the promises of its rounding."""

from laws.exact.contracts import contract_failures
from laws.exact.pointed import pointed_failures
from laws.exact.rounding_claims import rounding_failures
from laws.exact.test_enclosures import SEED


def test_no_pointed_problem_has_a_false_bound() -> None:
    assert not pointed_failures()


def test_every_part_keeps_its_promise_to_the_others() -> None:
    for k in range(100):
        assert not contract_failures(SEED + k)


def test_rounding_encloses_and_is_no_wider_than_it_says() -> None:
    for k in range(100):
        assert not rounding_failures(SEED + k)
