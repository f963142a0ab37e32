"""Writes docs/model-format.md, the fields of a model file, from their declarations.

python tests/file_format.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cotas.files.kinds import FAMILIES, PARTS
from cotas.files.models import FORMAT_VERSION
from cotas.files.records import Estimator, Family, Record, records_within

PAGE = Path(__file__).parents[1] / "docs" / "model-format.md"
HEAD = f"""# The fields of a model file

Version {FORMAT_VERSION} of the format, written from the declarations in `cotas.files.kinds` by
`tests/file_format.py`. [Model files](model-files.md) says how numbers, texts, arrays and
collections are written.

Where the place in a file tells what stands there, the fields stand there by name. Where there is a
choice, a word tells: `{{"loss": "hinge"}}`, `{{"kernel": "constant", "value": 1.0}}`. Letters are
lengths: what is n in one field is n in all fields of the same object and of those inside it, unless
an object has letters of its own. Fields in *italics* may be left out.
"""


def rows(record: Record) -> list[str]:
    """The table of a record."""
    found = ["| field | what |", "|---|---|"]
    for name, each in record.fields.items():
        shown = f"`{name}`" if each.required else f"*`{name}`*"
        found.append(f"| {shown} | {each.words()} |")
    return found


def family_section(family: Family) -> Iterator[str]:
    """A family: one table where the members are small, else one for each set of fields."""
    yield f"\n## {family.word}\n"
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, record in family.members.items():
        alike.setdefault(tuple(rows(record)), []).append(name)
    plain = [name for table, members in alike.items() if len(table) == 2 for name in members]
    if plain:
        yield "Without fields: " + ", ".join(f'`"{name}"`' for name in plain) + ".\n"
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


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for family in FAMILIES:
        parts += family_section(family)
    for record in sorted(without_words(), key=lambda record: record.title):
        parts.append(f"\n## {record.title}\n")
        if isinstance(record, Estimator):
            parts.append("In `fitted`; beside it are its `parameters`.\n")
        parts.append("\n".join(rows(record)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
