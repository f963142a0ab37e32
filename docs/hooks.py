"""What the pages need besides Markdown: KaTeX out of installed packages, pictures that enlarge."""

from __future__ import annotations

import logging
import re
import shutil
from importlib.metadata import PackageNotFoundError
from importlib.metadata import files as files_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont
from markdown import Markdown
from mkdocs.exceptions import PluginError

ONLY_IN_ENGLISH = '\n\n!!! info "Esta página está solo en inglés."\n'
GENERIC: Any = {"extension_configs": {"pymdownx.arithmatex": {"generic": True}}}
# Fenced code comes first, so that its comments are no headings.
HEADING = re.compile(r"^ *(`{3,})[^`].*?^ *\1 *$|^(?P<heading>#+ [^\n]*)$", re.M | re.S)
LONELY_PICTURE = re.compile(r'(?<!">)(<img [^>]*?src="([^"]+)"[^>]*>)')
CERTIFICATE = re.compile(
    r'<div class="highlight">(<pre>(?:<[^>]+>)*)((?:Certificate|Certificado):.*?)(</code>)', re.S
)


def on_startup(command: str, dirty: bool) -> None:
    """Let a name of the reference stand once in each language."""
    logging.getLogger("mkdocs.plugins.mkdocs_autorefs._internal.plugin").addFilter(_on_two_pages)


def _on_two_pages(record: logging.LogRecord) -> bool:
    """Whether a name that has several places has them on different pages, languages apart."""
    urls = record.args[-1] if isinstance(record.args, tuple) and record.args else ()
    pages = {url.removeprefix("es/").partition("#")[0] for url in urls if isinstance(url, str)}
    return not isinstance(urls, list) or len(pages) > 1


def on_post_build(config: Any) -> None:
    """Lay KaTeX beside the pages, so that formulas need nothing from the network."""
    there = Path(config.site_dir) / "assets" / "katex"
    if not there.exists():
        (there / "fonts").mkdir(parents=True)
        _copy_program(there)
        _copy_fonts(there / "fonts")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Give Spanish headings the anchors of the English ones; say where a page has no Spanish."""
    spoken = config.theme["language"]
    if spoken == "en":
        return markdown
    if page.file.locale != spoken:
        title, rest = markdown.split("\n", 1)
        return title + ONLY_IN_ENGLISH + rest
    english = Path(page.file.abs_src_path.replace(f".{spoken}.md", ".md"))
    return _anchored(markdown, english.read_text("utf-8"))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Make each picture a link to itself, and mark the printed certificates."""
    html = LONELY_PICTURE.sub(r'<a class="enlarge" href="\2">\1</a>', html)
    return CERTIFICATE.sub(_lines_apart, html)


def _anchored(markdown: str, english: str) -> str:
    """Name each heading as its English counterpart, so that links lead to it in both languages."""
    anchors = iter(_anchors(english))

    def named(found: re.Match[str]) -> str:
        heading = found["heading"]
        anchor = next(anchors, None) if heading else None
        if anchor is None or "#" in heading.lstrip("#"):
            return found[0]
        if heading.endswith("}"):
            return f"{heading[:-1]}#{anchor} }}"
        return f"{heading} {{ #{anchor} }}"

    return HEADING.sub(named, markdown)


def _anchors(markdown: str) -> list[str]:
    """The anchors that the headings of a page get, in their order."""
    reader = Markdown(extensions=["toc", "attr_list", "pymdownx.arithmatex"], **GENERIC)
    headings = [found["heading"] for found in HEADING.finditer(markdown) if found["heading"]]
    return re.findall(r'<h\d [^>]*id="([^"]+)"', reader.convert("\n\n".join(headings)))


def _lines_apart(block: re.Match[str]) -> str:
    """Set a printed certificate line by line, so that what is wrapped can be indented."""
    opening, text, closing = block.groups()
    lines = "".join(f'<span class="line">{line}</span>' for line in text.splitlines(keepends=True))
    return f'<div class="highlight certificate">{opening}{lines}{closing}'


def _copy_program(there: Path) -> None:
    """Copy script and style of KaTeX, which Panel carries; the style asks for WOFF alone."""
    panel = find_spec("panel")
    folder = Path(panel.origin).parent if panel and panel.origin else Path()
    found = sorted(folder.glob("dist/bundled/katex/*/dist/katex.min.js"))
    if not found:
        raise PluginError("KaTeX is missing: pip install 'cotas[docs]' brings it with Panel.")
    shutil.copyfile(found[-1], there / "katex.min.js")
    style = found[-1].with_suffix(".css").read_text("utf-8")
    style = re.sub(r'url\([^)]*\.(?:woff2|ttf)\) format\("(?:woff2|truetype)"\),?', "", style)
    (there / "katex.min.css").write_text(style.replace(",}", "}"), "utf-8")


def _copy_fonts(there: Path) -> None:
    """Copy the fonts of KaTeX, which jupyterlab-katex carries, under the names they bear inside."""
    try:
        fonts = [path for path in files_of("jupyterlab-katex") or () if path.suffix == ".woff"]
    except PackageNotFoundError:
        raise PluginError("The fonts of KaTeX are missing: pip install 'cotas[docs]'.") from None
    for font in fonts:
        path = Path(str(font.locate()))
        shutil.copyfile(path, there / f"{TTFont(path)['name'].getDebugName(6)}.woff")
