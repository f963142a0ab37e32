"""What goes wrong with a model file."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model that cannot be stored without code, or a file that is not a sound model file."""
