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
    def certificate_(self) -> Certificate | list[Certificate]:
        """The certificate of the model as it is now; a list with several classes or targets.

        If the parameters were changed after the fit, it no longer holds.
        """
        check_is_fitted(self)
        current = self._current_certificates()
        return current[0] if len(current) == 1 else current

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
