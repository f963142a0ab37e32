"""The looks of a report: system fonts, light and dark, wide and narrow, screen and paper."""

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1a1c1e; --soft: #5b6168;
  --line: #d8dce0; --card: #f5f7f9; --good: #00694e; --bad: #a83a00; --idle: #5b6168;
  --right: #0072b2; --left: #c8860a; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --ink: #e8eaec; --soft: #a3abb3;
  --line: #363c42; --card: #1e2327; --good: #3fc79a; --bad: #ff9a66; --idle: #a3abb3;
  --right: #4aa8e0; --left: #e69f00; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line);
  padding-bottom: .25rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-weight: normal; }
thead th { color: var(--soft); }
.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
table.bars { width: 100%; } .bar { width: 55%; min-width: 8rem; position: relative; }
.bar i { display: block; height: .9rem; border-radius: 2px; margin-top: .25rem; }
.bar i.right { background: var(--right); } .bar i.left { background: var(--left); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.certificate { background: var(--card); border: 1px solid var(--line); border-left-width: 6px;
  border-radius: 6px; padding: .9rem 1rem; margin: .8rem 0; }
.certificate.holds { border-left-color: var(--good); } .holds .standing { color: var(--good); }
.certificate.fails { border-left-color: var(--bad); } .fails .standing { color: var(--bad); }
.certificate.vacuous, .certificate.none { border-left-color: var(--idle); }
.alarm { border: 2px solid var(--bad); border-radius: 6px; padding: .7rem 1rem; color: var(--bad);
  font-size: 1.05rem; max-width: none; }
.summary { font-size: 1.05rem; } .summary li { margin: .3rem 0; }
.standing::before { content: "● "; } .fails .standing::before { content: "✕ "; }
.holds .standing::before { content: "✓ "; }
ul.warnings li::marker { content: "⚠ "; color: var(--bad); } ul.warnings { padding-left: 1.6rem; }
figure { margin: 1rem 0; max-width: 40rem; } figcaption { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; display: block; }
/* Drawings are made for white paper: in the dark light and dark change places, hues stay. */
@media (prefers-color-scheme: dark) { svg { filter: invert(.9) hue-rotate(180deg); } }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .7rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9rem; }
summary { cursor: pointer; color: var(--soft); } footer { color: var(--soft); font-size: .85rem; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  h1 { font-size: 1.3rem; } .bar { min-width: 6rem; } }
@media print { svg { filter: none; }
  :root { --paper: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb; --card: #ffffff; }
  main { max-width: none; padding: 0; } article, figure, tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; } }
"""
