"""What the fits prove of all λ between the ones that were tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cotas.certificates import ValidationBound
from cotas.certificates.consequences.path import bound_validation_error
from cotas.linear.svm import LinearSVM
from cotas.selection.deciding import Plan
from cotas.selection.fits import seen_by_last
from cotas.selection.parameter import final_step
from cotas.selection.ranking import Standing
from cotas.selection.splits import Part


def bound_between(
    plan: Plan, standings: Sequence[Standing], part: Part | None
) -> ValidationBound | None:
    """No optimum at any λ of the range has a validation error below it; see `svm_path`."""
    model = standings[0].fits[0].model
    last = final_step(model)
    along = plan.parameter.name == "lam" and isinstance(last, LinearSVM)
    along = along and (last.margin, last.loss) == ("soft", "hinge")
    if not along or part is None or part.weights_val is not None:
        raise ValueError(
            "between=True needs the λ of a LinearSVM with a soft margin and the hinge loss, and "
            "one set of validation rows without weights."
        )
    if len(standings) < 2:
        return None
    wrong = min(fit.validation.error for standing in standings for fit in standing.fits)
    return bound_validation_error(
        [list(standing.fits[0].certificate.singles) for standing in standings],
        seen_by_last(model, part.X),
        part.y,
        seen_by_last(model, part.X_val),
        part.y_val,
        last.classes_,
        # A bound above what was reached would not help anybody.
        enough=round(wrong * len(np.asarray(part.y_val))),
    )
