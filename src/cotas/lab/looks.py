"""The looks of the lab: the palette of the pictures, on light and dark paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cotas.plots.style import COLOURS, MARKERS
from cotas.report.markup import text

# The markers of the pictures, as Bokeh calls them.
_NAMES = {"o": "circle", "s": "square", "^": "triangle", "D": "diamond", "v": "inverted_triangle",
          "P": "plus", "X": "x", "*": "star"}  # fmt: skip
BOKEH_MARKERS = tuple(_NAMES[marker] for marker in MARKERS)


class Looks:
    """Colours on one kind of paper.

    >>> Looks(dark=False).mixed("#000000", 0.5)
    '#808080'
    """

    def __init__(self, dark: bool) -> None:
        self.dark = dark
        self.paper = "#14181c" if dark else "#ffffff"
        self.ink = "#e8ecef" if dark else "#1b1f23"
        self.soft = "#a6b0b9" if dark else "#59636e"
        self.line = "#343c44" if dark else "#d9dee3"
        self.accent = "#4aa8e0" if dark else "#0072b2"
        swap = {"#000000": self.ink, "#0072B2": self.accent}
        self.colours = tuple(swap.get(colour, colour) for colour in COLOURS)

    def colour(self, number: int) -> str:
        """The colour of a class or a curve."""
        return self.colours[number % len(self.colours)]

    def marker(self, number: int) -> str:
        """The marker of a class."""
        return BOKEH_MARKERS[number % len(BOKEH_MARKERS)]

    def mixed(self, colour: str, strength: float) -> str:
        """The colour thinned with the paper."""
        parts = zip(_bytes(colour), _bytes(self.paper), strict=True)
        return "#" + "".join(f"{round(strength * a + (1 - strength) * b):02x}" for a, b in parts)

    def dress(self, figure: Any) -> Any:
        """Give a figure of Bokeh these colours."""
        # Bokeh leaves what it drew before where there is no colour to draw over it.
        figure.background_fill_color = figure.border_fill_color = self.paper
        figure.outline_line_color = self.line
        # Room for the numbers of the axes, so that nothing moves when they change.
        figure.min_border_left, figure.min_border_bottom, figure.min_border_right = 64, 52, 14
        figure.grid.grid_line_color = self.line
        figure.grid.grid_line_alpha = 0.6
        for axis in figure.axis:
            axis.axis_line_color = axis.major_tick_line_color = self.soft
            axis.minor_tick_line_color = None
            axis.major_label_text_color = axis.axis_label_text_color = self.soft
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = "13px"
            axis.major_label_text_font_size = "12px"
        figure.toolbar.logo = None
        return figure

    def key(self, kind: str, number: int = 0) -> str:
        """A small drawing for a legend: a line, dashes, dots, a ring, an area or a point."""
        colour = self.colour(number)
        line = '<line x1="1" y1="8" x2="25" y2="8" stroke="{}" stroke-width="2.4"{}/>'
        shapes = {
            "ink": line.format(self.ink, ""),
            "soft": line.format(self.soft, ""),
            "upright": f'<line x1="13" y1="0" x2="13" y2="16" stroke="{self.ink}"/>',
            "small": f'<circle cx="13" cy="8" r="2.5" fill="{self.mixed(colour, 0.5)}"/>',
            "dashed ink": line.format(self.ink, ' stroke-dasharray="4 3"'),
            "line": line.format(colour, ""),
            "dashed": line.format(colour, ' stroke-dasharray="5 3"'),
            "dotted": line.format(colour, ' stroke-dasharray="2 3"'),
            "dotdash": line.format(colour, ' stroke-dasharray="2 3 6 3"'),
            "ring": f'<circle cx="13" cy="8" r="6.5" fill="none" stroke="{self.ink}"/>',
            "area": f'<rect x="3" y="2" width="20" height="12" fill="{self.mixed(colour, 0.2)}"/>',
            "hatch": "".join(
                f'<line x1="{x}" y1="14" x2="{x + 8}" y2="2" stroke="{self.soft}"/>'
                for x in (2, 7, 12, 17)
            ),
            "point": _POINTS[self.marker(number)].format(colour),
        }
        return f'<svg class="key" viewBox="0 0 26 16" aria-hidden="true">{shapes[kind]}</svg>'


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Small drawings, each with the words that say what it is."""
    shown = "".join(f"<span>{drawing}{text(words)}</span>" for drawing, words in items)
    return f'<div class="legend">{shown}</div>'


_POLYGON = '<polygon points="{}" fill="{{}}"/>'
_POINTS = {
    "circle": '<circle cx="13" cy="8" r="5" fill="{}"/>',
    "square": '<rect x="8" y="3" width="10" height="10" fill="{}"/>',
    "triangle": _POLYGON.format("13,2 19,13 7,13"),
    "diamond": _POLYGON.format("13,1 18,8 13,15 8,8"),
    "inverted_triangle": _POLYGON.format("13,14 19,3 7,3"),
    "plus": _POLYGON.format("11,2 15,2 15,6 19,6 19,10 15,10 15,14 11,14 11,10 7,10 7,6 11,6"),
    "x": '<path d="M8 3 L18 13 M18 3 L8 13" stroke="{}" stroke-width="3"/>',
    "star": _POLYGON.format("13,1 15,6 20,6 16,9 18,14 13,11 8,14 10,9 6,6 11,6"),
}


def _bytes(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


# The variables reach into every widget; where no page defines them, in a notebook, the values
# after the commas stand.
PAGE = """
:root { --lab-paper: #ffffff; --lab-ink: #1b1f23; --lab-soft: #59636e; --lab-line: #d9dee3;
  --lab-card: #f6f8fa;
  --lab-good: #00694e; --lab-bad: #a83a00; --lab-accent: #0072b2; --lab-on-accent: #ffffff;
  --lab-band: #0072b2; }
:root[data-theme=dark] { --lab-paper: #14181c; --lab-ink: #e8ecef; --lab-soft: #a6b0b9;
  --lab-line: #343c44;
  --lab-card: #1c2227; --lab-good: #3fc79a; --lab-bad: #ff9a66; --lab-accent: #4aa8e0;
  --lab-on-accent: #0b1116;
  --lab-band: #4aa8e0; }
* { box-sizing: border-box; }
html, body { margin: 0; background: var(--lab-paper); color: var(--lab-ink); }
html { color-scheme: light; } html[data-theme=dark] { color-scheme: dark; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem;
  padding: .55rem 1.25rem; border-bottom: 1px solid var(--lab-line); background: var(--lab-card); }
header b { font-size: 1.05rem; letter-spacing: .01em; white-space: nowrap; }
header b i { font-style: normal; color: var(--lab-accent); }
nav { display: flex; flex-wrap: wrap; gap: .1rem .2rem; flex: 1 1 auto; }
header > span { white-space: nowrap; }
nav a, .turn { color: var(--lab-soft); text-decoration: none; padding: .3rem .6rem;
  border-radius: 6px; white-space: nowrap; background: none; border: 0; font: inherit;
  cursor: pointer; }
nav a:hover, .turn:hover { color: var(--lab-ink); background: var(--lab-line); }
nav a[aria-current] { color: var(--lab-on-accent); background: var(--lab-accent); }
.skip { position: absolute; left: -99rem; background: var(--lab-paper); color: var(--lab-accent);
  padding: .5rem .8rem; z-index: 9; } .skip:focus { left: .5rem; top: .4rem; }
a:focus-visible, button:focus-visible { outline: 3px solid var(--lab-accent); outline-offset: 2px; }
main { max-width: 1480px; margin: 0 auto; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.45rem; line-height: 1.25; margin: .2rem 0 .1rem; font-weight: 650; }
.lead { color: var(--lab-soft); margin: 0 0 1rem; max-width: 62rem; }
.rooms { display: grid; gap: 1rem; padding: 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
.rooms a { display: block; height: 100%; padding: 1rem 1.1rem; border: 1px solid var(--lab-line);
  border-radius: 10px; background: var(--lab-card); color: var(--lab-ink); text-decoration: none; }
.rooms a:hover { border-color: var(--lab-accent); }
.rooms b { display: block; font-size: 1.05rem; margin-bottom: .3rem; line-height: 1.3; }
.rooms span { color: var(--lab-soft); }
@media (max-width: 640px) { header, main { padding-left: .75rem; padding-right: .75rem; }
  nav { order: 3; flex-wrap: nowrap; overflow-x: auto; width: 100%; padding: 3px;
    scrollbar-width: none; }
  header b { flex: 1 1 auto; } .turn { padding: .3rem .35rem; } header { column-gap: .4rem; }
  h1 { font-size: 1.25rem; } .lead { font-size: .92rem; } }
"""

# For every widget, inside its shadow root.
WIDGET = """
:host { color: var(--lab-ink, #1b1f23); font-family: inherit;
  --border-color: var(--lab-line, #d9dee3);
  --surface-color: var(--lab-paper, #fff); --surface-text-color: var(--lab-ink, #1b1f23);
  --primary-color: var(--lab-accent, #0072b2); --primary-text-color: var(--lab-on-accent, #fff);
  --background-color: var(--lab-paper, #fff); --background-text-color: var(--lab-ink, #1b1f23);
  --bokeh-font-size: 14px; --bokeh-base-font: inherit; font-size: 14px; }
label, .bk-input-group > label, .bk-slider-title { color: var(--lab-soft, #59636e);
  font-size: 13px; }
.bk-slider-value { color: var(--lab-ink, #1b1f23); font-weight: 600; }
select.bk-input, input.bk-input, textarea.bk-input { background-color: var(--lab-paper, #fff);
  color: var(--lab-ink, #1b1f23); border: 1px solid var(--lab-line, #d9dee3); border-radius: 6px;
  min-height: 34px; font-size: 14px; }
select:not([multiple]).bk-input, select:not([size]).bk-input { text-overflow: ellipsis;
  padding-right: 26px;
  background-image: linear-gradient(45deg, transparent 50%, var(--lab-soft, #59636e) 50%),
    linear-gradient(135deg, var(--lab-soft, #59636e) 50%, transparent 50%);
  background-position: calc(100% - 15px) 50%, calc(100% - 10px) 50%; background-size: 5px 5px;
  background-repeat: no-repeat; }
select.bk-input:focus, input.bk-input:focus, textarea.bk-input:focus {
  outline: 2px solid var(--lab-accent, #0072b2); border-color: var(--lab-accent, #0072b2);
  box-shadow: none; }
.bk-btn, .bk-btn.bk-btn-default, .bk-btn a { background: var(--lab-card, #f6f8fa); font-size: 14px;
  color: var(--lab-ink, #1b1f23); border-radius: 6px; }
.bk-btn, .bk-btn.bk-btn-default, a.bk-btn { border: 1px solid var(--lab-line, #d9dee3) !important;
  padding: 5px 12px !important; line-height: 1.4; }
.bk-btn a { padding: 0; border: 0; background: none; }
.bk-btn:hover, .bk-btn.bk-btn-default:hover { border-color: var(--lab-accent, #0072b2);
  background: var(--lab-card, #f6f8fa); color: var(--lab-ink, #1b1f23); }
.bk-btn:focus-visible { outline: 3px solid var(--lab-accent, #0072b2); }
.bk-btn.bk-active, .bk-btn.bk-btn-default.bk-active, .bk-btn.bk-btn-primary {
  background: var(--lab-accent, #0072b2); color: var(--lab-on-accent, #fff);
  border-color: var(--lab-accent, #0072b2); }
.noUi-target { background: var(--lab-line, #d9dee3); border: 0; box-shadow: none; }
.noUi-handle { background: var(--lab-paper, #fff); border: 2px solid var(--lab-accent, #0072b2);
  box-shadow: none; border-radius: 50%; }
.noUi-handle:focus-visible { outline: 3px solid var(--lab-accent, #0072b2); outline-offset: 2px; }
"""

# For panes that hold HTML of the lab's own.
PROSE = """
:host { color: var(--lab-ink, #1b1f23); font-family: inherit; font-size: 15px; line-height: 1.5; }
p { margin: .4rem 0; } h2 { font-size: 1rem; margin: .1rem 0 .4rem; font-weight: 650; }
.card { border: 1px solid var(--lab-line, #d9dee3); border-left: 5px solid var(--lab-soft, #59636e);
  border-radius: 8px; padding: .8rem 1rem; background: var(--lab-card, #f6f8fa); }
.card.holds { border-left-color: var(--lab-good, #00694e); }
.card.fails, .card.open { border-left-color: var(--lab-bad, #a83a00); }
.standing { font-weight: 600; color: var(--lab-soft, #59636e); }
.holds .standing { color: var(--lab-good, #00694e); }
.fails .standing, .open .standing { color: var(--lab-bad, #a83a00); }
.holds .standing::before { content: "✓ "; } .fails .standing::before { content: "✕ "; }
.open .standing::before { content: "◐ "; }
.say { overflow-wrap: anywhere; } .soft { color: var(--lab-soft, #59636e); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; font-size: 13px; margin: .2rem 0; }
.legend span { display: inline-flex; align-items: center; gap: .4rem; }
svg.key { width: 26px; height: 16px; flex: none; }
svg.bar { display: block; width: 100%; height: auto; margin: .5rem 0 .1rem; }
.caption { color: var(--lab-soft, #59636e); font-size: 13px; margin-top: .4rem; }
.caption b { font-size: 14px;
  color: var(--lab-ink, #1b1f23); } .caption:empty { display: none; }
.ends { display: flex; justify-content: space-between; font-size: 13px; gap: .5rem;
  font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: minmax(8.5rem, 1fr) auto; gap: .15rem .8rem;
  margin: .6rem 0 0; }
dt { color: var(--lab-soft, #59636e); } dd { margin: 0; font-variant-numeric: tabular-nums;
  text-align: right; font-weight: 600; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--lab-soft, #59636e); }
summary:focus-visible { outline: 3px solid var(--lab-accent, #0072b2); }
pre { margin: 0; padding: .75rem .9rem; border: 1px solid var(--lab-line, #d9dee3); font-size: 13px;
  border-radius: 8px; background: var(--lab-card, #f6f8fa); overflow-x: auto; line-height: 1.45;
  font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre .line { display: block; white-space: pre-wrap; --hang: calc(1ch * (7 + 2 * var(--depth)));
  padding-left: var(--hang); text-indent: calc(-1 * var(--hang)); }
pre .now { background: var(--lab-accent, #0072b2); color: var(--lab-on-accent, #fff);
  border-radius: 4px;
  box-shadow: -.4rem 0 var(--lab-accent, #0072b2), .4rem 0 var(--lab-accent, #0072b2); }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--lab-line, #d9dee3); overflow-wrap: break-word; }
h2.next { margin-top: 1rem; }
th { font-weight: normal; color: var(--lab-soft, #59636e); }
.n { font-variant-numeric: tabular-nums; text-align: right; } td.n, td.word { white-space: nowrap; }
.problem { border: 2px solid var(--lab-bad, #a83a00); color: var(--lab-bad, #a83a00);
  border-radius: 8px;
  padding: .55rem .9rem; overflow-wrap: anywhere; }
.busy::after { content: ""; display: inline-block; width: .7em; height: .7em; margin-left: .5em;
  border: 2px solid var(--lab-accent, #0072b2); border-right-color: transparent; border-radius: 50%;
  animation: turn .8s linear infinite; } @keyframes turn { to { transform: rotate(360deg); } }
@media (prefers-reduced-motion: reduce) { .busy::after { animation: none; } }
"""

# Side by side on a desk; on a telephone one under the other, the picture first.
FLOOR = """
:host { display: grid !important; gap: 1rem 1.25rem; align-items: start; width: 100%;
  grid-template-columns: minmax(210px, 270px) minmax(0, 1fr) minmax(270px, 350px); }
:host > * { margin: 0 !important; min-width: 0; width: 100%; }
.below { grid-column: 1 / -1; }
@media (max-width: 1000px) { :host { grid-template-columns: minmax(190px, 240px) minmax(0, 1fr); }
  .proof { grid-column: 1 / -1; } }
@media (max-width: 640px) { :host { grid-template-columns: minmax(0, 1fr); }
  .picture { order: 1; } .controls { order: 2; } .proof { order: 3; } .below { order: 4; } }
"""

# What is set stands in two columns on a telephone, so that the picture above stays in sight.
CONTROLS = """
@media (max-width: 640px) { :host { display: grid !important; align-items: end; gap: 0 1rem;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  :host > * { width: 100%; } .wide { grid-column: 1 / -1; } }
"""
