"""All that a model file may hold, declared field by field."""

from __future__ import annotations

from functools import cache
from typing import Any

from cotas.files.kinds.certificates import CERTIFICATE, FEATURES, WITNESS
from cotas.files.kinds.models import MODEL
from cotas.files.kinds.preparations import DATA, PREPARATION
from cotas.files.kinds.values import KERNEL, LEARNER, LOSS, RULE, STEP, STOP, VALUES
from cotas.files.schema import RECORDS, Family, Record, location_of

FAMILIES: tuple[Family, ...] = (
    *(MODEL, PREPARATION, CERTIFICATE, WITNESS),
    *(KERNEL, FEATURES, LOSS, STEP, STOP, LEARNER, RULE),
)
PARTS: dict[str, Family | Record] = {"model": MODEL, "preparation": PREPARATION, "data": DATA}

_NAMES: dict[str, str] = dict.fromkeys(RECORDS, "")
for _family in FAMILIES:
    for _name, _record in _family.members.items():
        _NAMES[_record.location] = f"{_family.word}: {_name}"


@cache
def name_in_files(cls: type[Any]) -> str:
    """Return what a class is called where files are concerned: its name may change, this may not.

    >>> from cotas.losses import Hinge
    >>> name_in_files(Hinge)
    'loss: hinge'
    """
    location = location_of(cls)
    return _NAMES.get(location, location)


__all__ = ["FAMILIES", "PARTS", "VALUES", "name_in_files"]
