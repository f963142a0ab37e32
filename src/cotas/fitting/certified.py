"""What makes a fitted estimator one of ours: its certificates, and the file it is kept in."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cotas.certificates import Certificate
from cotas.files.models import save


class Certified:
    """A mixin for estimators whose fit leaves certificates about the model as it is now."""

    def _current_certificates(self) -> list[Certificate]:
        """One for each class or target, about the parameters as they are now, not as they were."""
        raise NotImplementedError

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the model as it is now.

        With several classes or targets it is a composite: `certificate_.parts` has one for each.
        If the parameters were changed after the fit, it no longer holds.
        """
        check_is_fitted(self)
        current = self._current_certificates()
        if len(current) == 1:
            return current[0]
        return Certificate.of_parts(current, self._part_names(len(current)))

    def _part_names(self, count: int) -> list[str]:
        """What each certificate is about, where there are several."""
        if hasattr(self, "classes_"):
            return [f"{label} against the rest" for label in self.classes_]
        return [f"target {k}" for k in range(count)]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        data: tuple[Any, Any] | None = None,
        preparation: Any = None,
        witness: bool = True,
    ) -> None:
        """Store the fitted model and its certificate in a file; `cotas.load(path)` reads it.

        There is no pickle and no code in the file, and it is written whole or not at all.

        Parameters
        ----------
        path : str or path
            By custom with the ending `.cotas`.
        data : (X, y), optional
            The training data, of which a fingerprint is stored.
        preparation : optional
            What turns raw data into the rows that the model expects, an object of cotas.
        witness : bool, default=True
            Whether to store what proves the certificates, about one number for each training row
            and class. Without it the file is small, and nothing can be verified.
        """
        save(self, path, data=data, preparation=preparation, witness=witness)
