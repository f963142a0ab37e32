"""An algorithm step by step: each update with its numbers, and the printed line that makes it."""

from cotas.tracing.printed import Line, Printed
from cotas.tracing.steps import (
    DescentStep,
    KernelStep,
    OnlineStep,
    PairStep,
    Return,
    RoundStep,
    Step,
    SubgradientStep,
)
from cotas.tracing.traced import TRACED, Trace, trace

__all__ = [
    "TRACED",
    "DescentStep",
    "KernelStep",
    "Line",
    "OnlineStep",
    "PairStep",
    "Printed",
    "Return",
    "RoundStep",
    "Step",
    "SubgradientStep",
    "Trace",
    "trace",
]
