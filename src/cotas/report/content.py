"""What a report tells, as plain values: nothing in here draws, writes or computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cotas.certificates import Certificate


@dataclass(frozen=True)
class ColumnLine:
    """One column of the table: its name, what it holds, and a few words on its values."""

    name: str
    kind: str
    missing: int
    values: str


@dataclass(frozen=True)
class HeldOutFigures:
    """What the rows that were kept apart say about the model.

    Attributes
    ----------
    rows : how many rows were kept apart
    measures : name of each measure on them, such as the error or R², and its value in words
    baseline : name and value, in words, of doing without the model
    bound : what the error on new rows does not exceed, or None where nothing bounds it
    confidence : how often such a bound is true
    tried : how many models were compared on the same rows, which the bound pays for
    classes : for each class its name, its rows, what they were taken for, recall and precision
    headings : of these
    """

    rows: int
    measures: Mapping[str, str]
    baseline: tuple[str, str] | None = None
    bound: float | None = None
    confidence: float = 0.95
    tried: int = 1
    classes: Sequence[Sequence[str]] = ()
    headings: Sequence[str] = ()


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with the sentence that says what to see in it."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Effects:
    """What each column does to the prediction.

    `sizes` are comparable from column to column, and are what the bars show; `per_unit` are the
    coefficients in the units of the columns, where the model has any. `unsure` is what the gap
    leaves open: sizes up to it are not told from zero.
    """

    label: str
    names: Sequence[str]
    sizes: Sequence[float]
    per_unit: Sequence[float] | None = None
    unsure: float = 0.0


@dataclass(frozen=True)
class Content:
    """Everything one report says, in the order in which it says it."""

    source: str
    rows: int
    width: int  # how many columns; `columns` describes those that have names
    columns: Sequence[ColumnLine]
    target: str
    task: str
    classes: Mapping[str, int]
    warnings: Sequence[str]
    model: str
    parameters: Mapping[str, str]
    preparation: Sequence[str]
    certificates: Sequence[tuple[str, Certificate]]
    held_out: HeldOutFigures | None
    effects: Sequence[Effects]
    compared: Sequence[Sequence[str]] = ()  # the first row holds the headings
    commands: Sequence[str] = ()  # by which each of them is trained again
    pictures: Sequence[Picture] = field(default_factory=tuple)
    command: str = ""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    alarms: Sequence[str] = ()
    short: Sequence[str] = ()  # the whole in a few sentences
