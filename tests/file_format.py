"""Writes docs/model-format.md and its Spanish version, the fields of a model file as declared.

python tests/file_format.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cotas.files.kinds import FAMILIES, PARTS
from cotas.files.models import FORMAT_VERSION
from cotas.files.records import Estimator, Family, Record, records_within

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
# What a field says of itself; the longer ones first.
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


def said(words: str, lang: str) -> str:
    """What a field says of itself, in a language, with links to sections that are there."""
    if lang == "es":
        words = PHRASES.sub(lambda found: found[1] or IN_SPANISH[found[2]], words)
    return re.sub(r"\(#([^)]*)\)", lambda found: f"(#{SECTION.get(found[1], found[1])})", words)


def anchor(title: str) -> str:
    """The anchor of a section."""
    return title.replace(" ", "-")


# A member of a family stands in the section of the family.
SECTION = {
    anchor(record.title): anchor(family.word)
    for family in FAMILIES
    for record in family.members.values()
}


def rows(record: Record, lang: str) -> list[str]:
    """The table of a record."""
    found = ["| {} | {} |".format(*FIELDS[lang]), "|---|---|"]
    for name, each in record.fields.items():
        shown = f"`{name}`" if each.required else f"*`{name}`*"
        found.append(f"| {shown} | {said(each.words(), lang)} |")
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
    for part in (*PARTS.values(), *FAMILIES):
        for record in records_within(part):
            if record.location not in named:
                named.add(record.location)
                yield record


def page(lang: str) -> str:
    """The whole page."""
    parts = [HEAD[lang]]
    for family in FAMILIES:
        parts += family_section(family, lang)
    for record in sorted(without_words(), key=lambda record: record.title):
        parts.append(f"\n## {record.title}\n")
        if isinstance(record, Estimator):
            parts.append(FITTED[lang])
        parts.append("\n".join(rows(record, lang)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for lang, path in PAGES.items():
        path.write_text(page(lang), encoding="utf-8")
