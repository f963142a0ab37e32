"""What the pages need besides Markdown: KaTeX out of installed packages, pictures that enlarge."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import files as files_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont
from mkdocs.exceptions import PluginError

ONLY_IN_ENGLISH = '!!! info "Esta página está solo en inglés."\n\n'
LONELY_PICTURE = re.compile(r'(?<!">)(<img [^>]*?src="([^"]+)"[^>]*>)')
CERTIFICATE = re.compile(
    r'<div class="highlight">(?=<pre>(?:<[^>]+>)*\s*(?:Certificate|Certificado):)'
)


def on_post_build(config: Any) -> None:
    """Lay KaTeX beside the pages, so that formulas need nothing from the network."""
    there = Path(config.site_dir) / "assets" / "katex"
    if not there.exists():
        (there / "fonts").mkdir(parents=True)
        _copy_program(there)
        _copy_fonts(there / "fonts")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Say in Spanish where a page has no Spanish version."""
    spoken = config.theme["language"]
    return markdown if page.file.locale == spoken else ONLY_IN_ENGLISH + markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Make each picture a link to itself, and mark the printed certificates."""
    html = LONELY_PICTURE.sub(r'<a class="enlarge" href="\2">\1</a>', html)
    return CERTIFICATE.sub('<div class="highlight certificate">', html)


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
    fonts = [path for path in files_of("jupyterlab-katex") or () if path.suffix == ".woff"]
    for font in fonts:
        path = Path(str(font.locate()))
        shutil.copyfile(path, there / f"{TTFont(path)['name'].getDebugName(6)}.woff")
