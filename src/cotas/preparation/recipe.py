"""How a model came about, stored beside it in its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn.base import is_classifier

from cotas.arrays import IntArray
from cotas.certificates import Certificate
from cotas.files.schema import require
from cotas.preparation.calibration import Calibration
from cotas.preparation.preparation import Preparation
from cotas.words import Spoken


@dataclass(frozen=True)
class Recipe:
    """A recipe: what is needed to use a model on a table, and to prove it again from the same
    table.

    Attributes
    ----------
    preparation : Preparation
    task : str
    target : str or None
        The column that is predicted.
    zero_based : bool or None
        How the LibSVM file counted its features, if it was one.
    rows : array or None
        The rows of the table that were trained on; None for all.
    n_rows : int
        How many rows the table had.
    hold_out : Certificate or None
        The bound for the error on future rows.
    remarks : tuple of str
        What looked suspicious about the data.
    chosen : str
        How parameters were chosen, in words.
    command : str
    seed : int
    seal : str
        The digest of what was certified: the preparation, and the model as it was.
    calibration : Calibration or None
        What makes probabilities of its scores.
    missing, not_missing : tuple of str
        More words that stood for a missing value in the file, and those that did not though they
        usually do.
    """

    preparation: Preparation
    task: str = "classification"
    target: str | None = None
    zero_based: bool | None = None
    rows: IntArray | None = field(default=None, repr=False)
    n_rows: int = 0
    hold_out: Certificate | None = None
    remarks: Spoken[tuple[str, ...]] = Spoken(())
    chosen: str = ""
    command: str = ""
    seed: int = 0
    seal: str = ""
    calibration: Calibration | None = None
    missing: tuple[str, ...] = ()
    not_missing: tuple[str, ...] = ()

    def around(self, model: Any) -> Any:
        """Return the `PreparedModel` of which these are the parts, as it was saved."""
        from cotas.preparation.prepared_model import PreparedModel  # which holds a recipe

        whole = PreparedModel.of(self.preparation, model)
        whole.recipe_, whole._seal = self, self.seal
        if self.calibration is not None:
            whole.calibration_ = self.calibration
        return whole

    def try_out(self, model: Any) -> None:
        """Prepare a row and let the model predict it; what does not fit together shows here."""
        require(is_classifier(model) == (self.task == "classification"), "the task", "is another")
        prepared = self.preparation.transform(self.preparation.example())
        require(prepared.shape[1] == model.n_features_in_, "the preparation", "is of other columns")
        model.predict(prepared)
        if self.calibration is not None:
            require(is_classifier(model), "the calibration", "is not of classes")
            scores = model.decision_function(prepared)
            width = 1 if scores.ndim == 1 else scores.shape[1]
            require(len(self.calibration.slopes) == width, "the calibration", "is of other classes")
