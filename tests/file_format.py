"""Writes docs/model-format.md and its Spanish version, the fields of a model file as declared.

python tests/file_format.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cotas.files.kinds import FAMILIES
from cotas.files.models import FORMAT_VERSION
from cotas.files.schema import (
    LARGEST,
    RECORDS,
    ArrayField,
    Estimator,
    Family,
    Field,
    Flag,
    IntegerField,
    Known,
    Label,
    Labels,
    ListField,
    Mapped,
    Names,
    Number,
    Optional,
    Plain,
    Record,
    RowsField,
    Sentence,
    Text,
    TupleField,
    UnionField,
)

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"en": DOCS / "model-format.md", "es": DOCS / "model-format.es.md"}
HEAD = {
    "en": f"""# The fields of a model file

Version {FORMAT_VERSION} of the format, written from the declarations in `cotas.files.kinds` by
`tests/file_format.py`. [Model files](model-files.md) says how numbers, texts, arrays and
collections are written.

Where the place in a file tells what stands there, the fields stand there by name. Where there is a
choice, a word tells: `{{"loss": "hinge"}}`, `{{"kernel": "constant", "value": 1.0}}`. Letters are
lengths: what is n in one field is n in all fields of the same object and of those inside it, unless
an object has letters of its own. Fields in *italics* may be left out.
""",
    "es": f"""# Los campos de un archivo de modelo

Versión {FORMAT_VERSION} del formato, escrita por `tests/file_format.py` a partir de las
declaraciones de `cotas.files.kinds`. [Archivos de modelos](model-files.md) dice cómo se escriben
números, textos, arreglos y colecciones. Los títulos son las palabras y los nombres del propio
formato, que son ingleses.

Donde el lugar en un archivo dice qué hay ahí, los campos están por nombre. Donde hay varias
posibilidades, lo dice una palabra: `{{"loss": "hinge"}}`, `{{"kernel": "constant", "value": 1.0}}`.
Las letras son longitudes: lo que es n en un campo es n en todos los campos del mismo objeto y de
los que contiene, salvo que un objeto tenga letras propias. Los campos en *cursiva* pueden faltar.
""",
}
FIELDS = {"en": ("field", "what"), "es": ("campo", "qué")}
PLAIN = {"en": "Without fields: ", "es": "Sin campos: "}
FITTED = {
    "en": "In `fitted`; beside it are its `parameters`.\n",
    "es": "En `fitted`; a su lado están sus `parameters`.\n",
}
# Where the name of a class does not say enough.
TITLES = {"Preparation": "columns", "LinearScore": "line"}


def title(record: Record) -> str:
    """What a record is called where no word tells."""
    name = record.location.rpartition(".")[2]
    plain = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return TITLES.get(name, plain)


def words(field: Field) -> str:
    """What may stand in a field."""
    match field:
        case Optional(of):
            return f"{words(of)}; or null"
        case UnionField(fields):
            return "; or ".join(map(words, fields))
        case ListField(of, _, side):
            return f"list{f' ({side})' if side else ''} of: {words(of)}"
        case TupleField(fields):
            return "list of " + ", then ".join(map(words, fields))
        case Mapped(of, numbered):
            return f"by {'number' if numbered else 'name'}: {words(of)}"
        case Known():
            return words(field.of)
        case Family(word):
            return f"a [{word}](#{anchor(word)})"
        case Record():
            return f"[{title(field)}](#{anchor(title(field))})"
        case ArrayField():
            return array_in_words(field)
    return single_in_words(field)


def single_in_words(field: Field) -> str:
    """A number, a text, a label."""
    match field:
        case IntegerField(low, high, letter):
            return f"whole number{f', {letter}' if letter else ''}{limits(low, high)}"
        case Number(low, high, finite):
            return "number" + (limits(low, high) if finite else ", may be infinite")
        case Text(choices):
            return " or ".join(f'"{choice}"' for choice in choices) or "text"
        case Labels(side, least):
            return f"labels ({side}), sorted, at least {least}"
        case Names(side):
            return f"texts ({side})"
        case RowsField(sides):
            return f"float32 or float64 ({', '.join(sides.split())}), dense or CSR"
    return {
        Flag: "true or false",
        Label: "label",
        Plain: "any value of a parameter",
        Sentence: "text, or a record of its `english`, its `text` and the `values` in it",
    }[type(field)]


def limits(low: float, high: float) -> str:
    """The limits of a number, where it has some."""
    found = f" from {low}" if low > -LARGEST else ""
    return found + (f" to {high}" if high < LARGEST else "")


def array_in_words(array: ArrayField) -> str:
    """Type, sides and limits."""
    ends = (("≥", array.low), ("≤", array.high), ("<", array.below))
    found = [f"{sign} {limit}" for sign, limit in ends if limit is not None]
    found += ["infinity allowed"] if array.infinite else []
    found += ["NaN allowed"] if array.nan else []
    kinds = " or ".join(array.types.split())
    return ", ".join([f"{kinds} ({', '.join(array.sides.split())})", *found])


# What is said of a field, in Spanish; the longer ones first.
IN_SPANISH = {
    "text, or a record of its `english`, its `text` and the `values` in it": (
        "texto, o un registro de su inglés, `english`, su `text` y los valores que tiene, `values`"
    ),
    "any value of a parameter": "cualquier valor de un parámetro",
    "whole number": "número entero",
    "by number:": "por número:",
    "by name:": "por nombre:",
    "may be infinite": "puede ser infinito",
    "infinity allowed": "infinito permitido",
    "NaN allowed": "NaN permitido",
    "true or false": "verdadero o falso",
    "sorted, at least": "ordenadas, al menos",
    "dense or CSR": "denso o CSR",
    "or null": "o null",
    "texts": "textos",
    "text": "texto",
    "labels": "etiquetas",
    "label": "etiqueta",
    "number": "número",
    "list": "lista",
    "then": "después",
    "from": "desde",
    "to": "hasta",
    "of": "de",
    "or": "o",
    "a": "un",
}
KEPT = r'"[^"]*"|\[[^\]]*\]\([^)]*\)|\([^)]*\)'  # texts, links and the letters of shapes
PHRASES = re.compile(f"({KEPT})|(?<!\\w)({'|'.join(map(re.escape, IN_SPANISH))})(?!\\w)")


def said(text: str, lang: str) -> str:
    """What is said of a field, in a language, with links to sections that are there."""
    if lang == "es":
        text = PHRASES.sub(lambda found: found[1] or IN_SPANISH[found[2]], text)
    return re.sub(r"\(#([^)]*)\)", lambda found: f"(#{SECTION.get(found[1], found[1])})", text)


def anchor(title: str) -> str:
    """The anchor of a section."""
    return title.replace(" ", "-")


# A member of a family stands in the section of the family.
SECTION = {
    anchor(title(record)): anchor(family.word)
    for family in FAMILIES
    for record in family.members.values()
}


def rows(record: Record, lang: str) -> list[str]:
    """The table of a record."""
    found = ["| {} | {} |".format(*FIELDS[lang]), "|---|---|"]
    for name, each in record.fields.items():
        shown = f"`{name}`" if each.required else f"*`{name}`*"
        found.append(f"| {shown} | {said(words(each), lang)} |")
    return found


def family_section(family: Family, lang: str) -> Iterator[str]:
    """A family: one table where the members are small, else one for each set of fields."""
    yield f"\n## {family.word}\n"
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, record in family.members.items():
        alike.setdefault(tuple(rows(record, lang)), []).append(name)
    plain = [name for table, members in alike.items() if len(table) == 2 for name in members]
    if plain:
        yield PLAIN[lang] + ", ".join(f'`"{name}"`' for name in plain) + ".\n"
    for table, members in alike.items():
        if len(table) > 2:
            yield ", ".join(f'`"{name}"`' for name in members) + ":\n"
            yield "\n".join(table) + "\n"


def without_words() -> Iterator[Record]:
    """The records that no word tells apart, each once."""
    named = {record.location for family in FAMILIES for record in family.members.values()}
    return (record for location, record in RECORDS.items() if location not in named)


def page(lang: str) -> str:
    """The whole page."""
    parts = [HEAD[lang]]
    for family in FAMILIES:
        parts += family_section(family, lang)
    for record in sorted(without_words(), key=title):
        parts.append(f"\n## {title(record)}\n")
        if isinstance(record, Estimator):
            parts.append(FITTED[lang])
        parts.append("\n".join(rows(record, lang)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for lang, path in PAGES.items():
        path.write_text(page(lang), encoding="utf-8")
