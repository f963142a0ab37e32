"""What makes a fitted estimator one of ours: its certificates."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from cotas.certificates import Certificate


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
