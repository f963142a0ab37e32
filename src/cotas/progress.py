"""A bar for work that takes longer than a second."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import Any


class ProgressBar:
    """A bar on the terminal or in a notebook for work longer than a second.

    `shown=None` shows one if tqdm is installed and someone is there to look at it. Without a
    `total` it counts and shows the speed.
    """

    def __init__(
        self, total: int | None, name: str, shown: bool | None, unit: str = "epoch"
    ) -> None:
        self._bar = None
        if shown is False or (shown is None and not _someone_watches()):
            return
        try:
            with warnings.catch_warnings():
                # In a notebook without ipywidgets it warns, and then shows the bar as text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError as error:
            if shown:
                raise ImportError(
                    "progress=True needs tqdm: pip install 'cotas[progress]', "
                    "or leave progress at None."
                ) from error
            return
        self._bar = tqdm(total=total, desc=name, unit=unit, delay=1.0, leave=False)

    def step(self, **figures: Any) -> None:
        """One unit further, with figures to show beside the bar; without any the last ones stay."""
        if self._bar is not None:
            if figures:
                self._bar.set_postfix(figures, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _someone_watches() -> bool:
    with suppress(AttributeError, ValueError):
        if sys.stderr.isatty():
            return True
    # In a notebook; that IPython is loaded says nothing.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
