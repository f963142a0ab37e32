"""Writes docs/reproduction.md, and docs/reproduction.es.md with the same numbers in Spanish.

python tests/reproduction_page.py --seed 300 --seeds 10   # measures both, which takes long
python tests/reproduction_page.py                         # the Spanish page alone
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

TESTS = Path(__file__).parent
SENTENCES = TESTS / "reproduction_in_spanish.txt"
ENGLISH = TESTS.parent / "docs" / "reproduction.md"
SPANISH = TESTS.parent / "docs" / "reproduction.es.md"
PARTS = re.compile(r"(<!-- begin (\w+) -->\n\n)(.*?)(\n\n<!-- end \2 -->)", re.DOTALL)
NUMBER = re.compile(r"(?:(?<=\s)−)?\d+(?:[.,]\d+)*(?:[\s]\d{3})*(?:e[-+]\d+)?")
CLEARLY = re.compile(r"((?:Ahead|Behind) by more than two standard errors): ([A-Z][^.]*)\.")
VERDICTS = {
    "agrees": "coincide",
    "in part": "en parte",
    "differs": "difiere",
    "no claim": "no se afirma nada",
    "depends on the seed": "depende de la semilla",
    "exact": "exacto",
    " of ": " de ",
}
HEADS = {
    "| figure | the document says | found | verdict | seeds |": (
        "| figura | el documento dice | hallado | veredicto | semillas |"
    ),
}
COLUMNS = {"| algorithm |": "| algoritmo |", "| off by |": "| se desvía |"}
COUNT = re.compile(r"Of (\d+) claims: (.*)\.")
DOUBT = re.compile(
    r"\*\*(?P<figures>.*?): (?P<says>.*?)\.\*\* (?P<verdict>.*?) \((?P<count>.*?)\)\. "
)


def sentences() -> dict[str, str]:
    """Each English sentence with its Spanish one."""
    pairs = SENTENCES.read_text(encoding="utf-8").split("\n\n")[1:]
    return dict(pair.strip().split("\n") for pair in pairs)


SAID = sentences()


def said(text: str) -> str:
    """A sentence in Spanish, with the numbers of the English one."""
    plain = text.replace("\\*", "*")
    names = CLEARLY.fullmatch(plain)
    if names:
        return said(f"{names[1]}: none.").replace("ninguno", names[2])
    template, numbers = NUMBER.sub("#", plain), NUMBER.findall(plain)
    if template not in SAID:
        raise KeyError(f"{SENTENCES.name} has no sentence: {template}")
    return re.sub("#", lambda _: numbers.pop(0), SAID[template]).replace("*", "\\*")


def verdict(text: str) -> str:
    """A verdict, or how many seeds stand behind it."""
    for english, spanish in VERDICTS.items():
        text = text.replace(english, spanish)
    return text


def cells(row: str) -> list[str]:
    """The cells of a row."""
    return row.strip("| ").split(" | ")


def findings(part: str) -> str:
    """The table of findings, and how many claims hold."""
    table, _, count = part.rpartition("\n\n")
    head, line, *rows = table.splitlines()
    told = [
        f"| {figures} | {said(says)} | {said(found)} | {verdict(judged)} | {verdict(seeds)} |"
        for figures, says, found, judged, seeds in map(cells, rows)
    ]
    counted = COUNT.sub(lambda found: f"De {found[1]} afirmaciones: {verdict(found[2])}.", count)
    return "\n".join([HEADS[head], line, *told]) + f"\n\n{counted}"


def doubt(paragraph: str, found: str) -> str:
    """A finding that does not agree in every seed."""
    head = DOUBT.match(paragraph)
    if head is None:
        return said(paragraph)
    remarks = paragraph[head.end() + len(found) + 1 :].strip()
    told = said(found)
    parts = [f"**{head['figures']}: {said(head['says'])}.**"]
    parts.append(f"{verdict(head['verdict'].lower()).capitalize()} ({verdict(head['count'])}).")
    parts.append(f"{told[0].upper()}{told[1:]}.")
    parts += map(said, re.split(r"(?<=\.) (?=[A-Z])", remarks) if remarks else ())
    return " ".join(parts)


def doubts(part: str, table: str) -> str:
    """All of them; what was found stands in the table too."""
    rows = [cells(row) for row in table.splitlines()[2:] if row.startswith("|")]
    known = {(figures, says): found for figures, says, found, *_ in rows}
    found = [
        known[head["figures"], head["says"]] if (head := DOUBT.match(paragraph)) else ""
        for paragraph in part.split("\n\n")
    ]
    return "\n\n".join(map(doubt, part.split("\n\n"), found))


def seeds(part: str) -> str:
    """How the page was printed; the command stays what it is."""
    first, command, last = part.split("\n\n")
    return "\n\n".join([said(first), command, said(last)])


def times(part: str) -> str:
    """The table of run times."""
    head, rest = part.split("\n", 1)
    for english, spanish in COLUMNS.items():
        head = head.replace(english, spanish)
    return f"{head}\n{rest}"


def filled(page: str, english: str) -> str:
    """The Spanish page with the parts of the English one."""
    parts = {found[2]: found[3] for found in PARTS.finditer(english)}
    told = {
        "documents": parts["documents"],
        "seeds": seeds(parts["seeds"]),
        "findings": findings(parts["findings"]),
        "doubts": doubts(parts["doubts"], parts["findings"]),
        "times": times(parts["times"]),
    }
    return PARTS.sub(lambda found: f"{found[1]}{told[found[2]]}{found[4]}", page)


def measure(first: int, many: int) -> None:
    """Write the parts of the English page that are measured, from so many seeds."""
    from findings.figures import filled

    text = filled(ENGLISH.read_text("utf-8"), tuple(range(first, first + many)))
    ENGLISH.write_text(text, "utf-8")


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--seed", type=int, help="measure, from this seed on")
    asked.add_argument("--seeds", type=int, default=10, help="so many of them")
    given = asked.parse_args()
    if given.seed is not None:
        measure(given.seed, given.seeds)
    page = filled(SPANISH.read_text(encoding="utf-8"), ENGLISH.read_text(encoding="utf-8"))
    SPANISH.write_text(page, encoding="utf-8")
