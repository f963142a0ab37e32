"""Dates and times as people write them: 2012-01-31, 31/1/2012, 31.1.12 10:30, Jan 31, 2012.

A date that begins with its year is read as year, month, day. In any other the order of day and
month is told by the column: 13 can be no month.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cotas.files.cells import are_exceptions, cells_in_words
from cotas.files.frames import different_words, for_each_word, is_category, polars
from cotas.files.problems import Remark
from cotas.words import say

if TYPE_CHECKING:
    from polars import Series

FORMS = ("ymd", "dmy", "mdy", "time")
# How a column of dates may be read: in one of these forms, or as seconds since 1970.
WAYS = (*FORMS, "unix")
# Cells from which it is told whether a column could hold dates.
SOME_CELLS = 1000
# Two digits up to this stand for the present century, as in POSIX.
_PRESENT = r"[0-5]\d|6[0-8]"

_NAMES = (
    *("jan|ene|janv", "feb|fév|fev", "mar|mär", "apr|abr|avr", "may|mai", "jun|juin"),
    *("jul|juil", "aug|ago|aoû", "sep|set", "oct|okt|out", "nov", "dec|dic|déc|dez"),
)
_TIME = (
    r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,]\d+)?)?\s*(?:(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"\s*(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
_DATE = r"(?P<a>\d{1,4})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{1,4})"
_MOMENT = rf"^{_DATE}(?:(?:\s*T\s*|,?\s+){_TIME}{_ZONE})?$"
_HOUR = rf"^{_TIME}$"
_WORD = r"[A-Za-zéûä]{3,12}\.?"
_NAMED = rf"\d{{1,2}}[ -](?:de )?{_WORD}[ ,-]+(?:de )?\d{{2,4}}|{_WORD} \d{{1,2}},? \d{{4}}"
_PLAIN_DATE = r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}"
_PLAIN_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?)?"
_LIKE = re.compile(
    rf"(?:{_PLAIN_DATE}|{_NAMED})(?:(?:\s*T\s*|,?\s+){_PLAIN_TIME}{_ZONE})?|{_PLAIN_TIME}"
)


def looks_like_a_date(cell: str) -> bool:
    """Tell whether a cell could be a date or a time."""
    return bool(_LIKE.fullmatch(cell.strip()))


def tell_form(words: Any) -> str | None:
    """Return one of FORMS, if all the words of a column, coded or not, but a few are written in it.

    Where day and month could change places, the order in which the rows are sorted is taken, and
    then the one with the day first.
    """
    words = words.drop_nulls()
    if not _begins_with_dates(words):
        return None
    some = words.head(SOME_CELLS)
    if 2 * _misses(some, "time") < len(some):
        return "time" if are_exceptions(_misses(words, "time"), len(words)) else None
    wrong = {form: _misses(words, form) for form in ("dmy", "mdy")}
    form = min(wrong, key=lambda each: wrong[each])
    if not are_exceptions(wrong[form], len(words)):
        return None
    first = _with_numbers(different_words(words)).str.extract(_MOMENT, 1)
    if first.str.len_chars().drop_nulls().eq(4).all():
        return "ymd"
    if wrong["dmy"] == wrong["mdy"] and parsed(words, "mdy").drop_nulls().is_sorted():
        return "dmy" if parsed(words, "dmy").drop_nulls().is_sorted() else "mdy"
    return form


def order_is_open(words: Any) -> bool:
    """Tell whether no date in the column tells the day from the month."""
    words = words.drop_nulls()
    swapped = parsed(words, "dmy") != parsed(words, "mdy")
    return bool(swapped.any()) and _misses(words, "dmy") == _misses(words, "mdy")


def without_odd_cells(words: Any) -> tuple[Series, Remark | None]:
    """Make the few cells of a column of dates that are none missing; with a remark."""
    if not _begins_with_dates(words.drop_nulls()) or _all_are_dates(words.drop_nulls()):
        return words, None
    form = tell_form(words)
    if form is None:
        return words, None
    odd = parsed(words, form).is_null() & words.is_not_null()
    said = cells_in_words(words, odd, say("times" if form == "time" else "dates"))
    pl = polars()
    kept = pl.select(pl.when(~odd).then(words).alias(words.name)).to_series()
    return kept, Remark("cells", words.name, said)


def _begins_with_dates(words: Any) -> bool:
    return any(map(looks_like_a_date, words.head(10).to_list()))


def _all_are_dates(words: Any) -> bool:
    """Tell whether every word is written in one form; the first of them tell which may be it."""
    forms = [form for form in ("dmy", "mdy", "time") if not _misses(words.head(SOME_CELLS), form)]
    return any(not _misses(words, form) for form in forms)


def parsed(words: Any, form: str) -> Any:
    """Parse the words as moments, null where one is none; a time of day is one of the first of
    1970."""
    if is_category(words):  # each different word is read once
        return for_each_word(words, lambda text: parsed(text, form))
    pl = polars()
    words = _with_numbers(words.str.strip_chars())
    pattern = _HOUR if form == "time" else _MOMENT
    parts = words.str.extract_groups(pattern).struct.unnest()
    year, month, day = pl.lit("1970"), pl.lit("1"), pl.lit("1")
    if form != "time":
        first, second, third = pl.col("a"), pl.col("b"), pl.col("c")
        day_first = form != "mdy"
        led = first.str.len_chars() == 4
        year = pl.when(led).then(first).otherwise(_with_century(third))
        month = pl.when(led).then(second).otherwise(second if day_first else first)
        day = pl.when(led).then(third).otherwise(first if day_first else second)
    hour = pl.col("h").cast(pl.Int64, strict=False).fill_null(0)
    half = pl.col("half").str.to_lowercase()
    hour = (
        pl.when(half == "p").then(hour % 12 + 12).when(half == "a").then(hour % 12).otherwise(hour)
    )
    rest = [pl.col(name).fill_null("0") for name in ("min", "s")]
    clock = pl.concat_str([hour.cast(pl.String), *rest], separator=":")
    whole = pl.concat_str([pl.concat_str([year, month, day], separator="-"), clock], separator=" ")
    found = pl.when(pl.col("h").is_not_null()).then(whole) if form == "time" else whole
    moments = parts.select(found.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).alias("t"))
    return moments["t"].rename(words.name)


def _with_century(year: Any) -> Any:
    """Compute 2023 for 23 and 1998 for 98; years of four digits stay, others are none."""
    pl = polars()
    short = pl.when(year.str.contains(rf"^(?:{_PRESENT})$")).then(pl.concat_str(pl.lit("20"), year))
    short = short.when(year.str.len_chars() == 2).then(pl.concat_str(pl.lit("19"), year))
    return short.when(year.str.len_chars() == 4).then(year)


def _with_numbers(words: Any) -> Any:
    """Return names of months as numbers, in the order year, month, day."""
    if not words.str.contains(r"[A-Za-zéûä]{3}").any():
        return words
    for number, names in enumerate(_NAMES, 1):
        name = rf"(?i:(?:{names})[a-zéû]*\.?)"
        for years, century in ((r"\d{4}", ""), (_PRESENT, "20"), (r"\d{2}", "19")):
            words = words.str.replace(
                rf"^(\d{{1,2}})[ -](?:de )?{name}[ ,-]+(?:de )?({years})(\D.*)?$",
                rf"{century}${{2}}-{number}-${{1}}${{3}}",
            )
        words = words.str.replace(
            rf"^{name} (\d{{1,2}}),? (\d{{4}})(.*)$", rf"${{2}}-{number}-${{1}}${{3}}"
        )
    return words


def _misses(words: Any, form: str) -> int:
    """Tell how many of the words are not written in a form."""
    return int(parsed(words, form).null_count())
