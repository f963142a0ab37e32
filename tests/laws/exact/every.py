"""Every exact law of the core as a function of a seed, and how many seeds tell a mutant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from laws.exact.any_choice import choice_failures
from laws.exact.as_written import FORMULAS
from laws.exact.cases import FAMILIES
from laws.exact.charged import CHARGED
from laws.exact.claims import failures
from laws.exact.class_parts import CLASS_PARTS
from laws.exact.coarse import COARSE_PARTS
from laws.exact.contracts import CONTRACTS, contract_failures
from laws.exact.curvature_parts import CURVATURE_PARTS
from laws.exact.curved_as_written import CURVED_FORMULAS
from laws.exact.extremes import EXTREMES
from laws.exact.guesses import GUESSES
from laws.exact.kernel_claims import (
    KERNEL_PARTS,
    machine_failures,
    product_failures,
    shift_failures,
    value_failures,
)
from laws.exact.kernels_as_written import KERNEL_FORMULAS
from laws.exact.more_claims import softmax_failures, squares_failures
from laws.exact.more_parts import MORE_PARTS
from laws.exact.passed_on import PASSED_ON
from laws.exact.pointed import POINTED
from laws.exact.refused import REFUSALS
from laws.exact.rounding_claims import rounding_failures
from laws.exact.sum_parts import SUM_PARTS
from laws.exact.summed_as_written import SUMMED_FORMULAS
from laws.exact.two_ways import TWO_WAYS

LAWS: dict[str, tuple[Callable[[int], list[str]], int]] = {
    "rounding": (rounding_failures, 40),
    "any choice": (choice_failures, 80),
    "softmax": (softmax_failures, 30),
    "squares": (squares_failures, 40),
    "kernel values": (value_failures, 60),
    "products with K": (product_failures, 25),
    "shifts": (shift_failures, 8),
    "kernel machines": (machine_failures, 20),
}
PARTS = (
    *CONTRACTS,
    *SUM_PARTS,
    *CLASS_PARTS,
    *CURVATURE_PARTS,
    *COARSE_PARTS,
    *KERNEL_PARTS,
    *MORE_PARTS,
    *FORMULAS,
    *CURVED_FORMULAS,
    *SUMMED_FORMULAS,
    *KERNEL_FORMULAS,
    *GUESSES,
    *CHARGED,
    *EXTREMES,
    *TWO_WAYS,
    *PASSED_ON,
)
LAWS |= {law.__name__: (partial(contract_failures, laws=(law,)), 25) for law in PARTS}
LAWS |= {law.__name__: (lambda seed, law=law: list(law()), 1) for law in (*POINTED, *REFUSALS)}
LAWS |= {" ".join(family): (partial(failures, family=family), 3) for family in FAMILIES}
