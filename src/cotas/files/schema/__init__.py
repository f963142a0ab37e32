"""The language in which model files are declared: fields, the arrays in them, and what they share.

A field says what may stand in one place of a file. The same declaration writes it, reads it,
refuses what does not belong there, and describes it in the documentation. The lengths of arrays
are letters: what is n in one field is n in all fields of the same record and of those inside it.
"""

from __future__ import annotations

from cotas.files.schema.arrays import FLOATS, NUMBERS, Array, Labels, Names, RowsField
from cotas.files.schema.fields import (
    DEEPEST,
    LARGEST,
    LONGEST,
    Field,
    Flag,
    Label,
    Number,
    Optional,
    Plain,
    Scope,
    Sentence,
    Text,
    Whole,
    require,
)
from cotas.files.schema.groups import Each, Either, Mapped, Together

__all__ = [
    "DEEPEST",
    "FLOATS",
    "LARGEST",
    "LONGEST",
    "NUMBERS",
    "Array",
    "Each",
    "Either",
    "Field",
    "Flag",
    "Label",
    "Labels",
    "Mapped",
    "Names",
    "Number",
    "Optional",
    "Plain",
    "RowsField",
    "Scope",
    "Sentence",
    "Text",
    "Together",
    "Whole",
    "require",
]
