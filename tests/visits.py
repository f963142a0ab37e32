"""Visits to the lab with a real browser."""

import time
from urllib.parse import parse_qsl

from browser import resize
from cotas.words import LANGUAGES, lang, say

# What each page says when it has its answer.
ANSWERED = {}
for _spoken in LANGUAGES:
    with lang(_spoken):
        _answer = say("Solved, proved and drawn in {milliseconds:.0f} ms", milliseconds=0)
    ANSWERED[_spoken] = _answer.split("0")[0]
# What finds a model of Bokeh by its name, and a place of the window by its coordinates.
TOOLS = """
window.model = name => Bokeh.documents.map(d => d.get_model_by_name(name)).find(m => m);
window.place = (x, y) => {
  const view = Bokeh.index.find_one(model("plane")), at = view.el.getBoundingClientRect();
  const frame = view.frame;
  return [at.left + frame.x_scale.compute(x), at.top + frame.y_scale.compute(y)];
};
window.deep = wanted => (function find(node) {
  const inside = [node.shadowRoot, ...node.children].filter(n => n).flatMap(find);
  return node.matches?.(wanted) ? [node, ...inside] : inside;
})(document.body);
window.said = () => (function text(node) {
  let found = node.nodeType === 3 ? node.data : "";
  if (node.shadowRoot) for (const child of node.shadowRoot.childNodes) found += text(child);
  if (!["STYLE", "SCRIPT"].includes(node.tagName))
    for (const child of node.childNodes) found += text(child);
  return found;
})(document.body);
"""


def until(condition, seconds=60):
    """Wait for something to become true, and give it back."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return found


def _lang(query):
    return dict(parse_qsl(query)).get("lang", "en")


def visit(browser, address, room, query="", size=(1280, 900)):
    """Open a room and wait until it has answered."""
    resize(browser, *size)
    light = "" if "theme=" in query else "theme=light&"
    browser.get(f"{address}{room}?{light}{query}")
    until(lambda: browser.execute_script("return window.Bokeh?.documents?.length > 0"))
    browser.execute_script(TOOLS)
    until(lambda: ANSWERED[_lang(query)] in browser.execute_script("return said()"))
