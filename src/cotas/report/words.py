"""The words of a report, by language."""

from __future__ import annotations

from collections.abc import Mapping

from cotas.files.remarks import Remark
from cotas.report.english import ENGLISH
from cotas.report.spanish import SPANISH

WORDS: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "es": SPANISH}
LANGUAGES = tuple(WORDS)


def words_of(lang: str) -> Mapping[str, str]:
    """The words of one language; the error names those there are."""
    if lang not in WORDS:
        raise ValueError(f"lang must be one of {', '.join(LANGUAGES)}; got {lang!r}.")
    return WORDS[lang]


def remark_in(words: Mapping[str, str], remark: Remark) -> str:
    """A remark on the data in these words."""
    said = words.get(f"remark_{remark.kind}")
    if said is None:
        return remark.message
    return said.format(**{"column": remark.column, **remark.figures})
