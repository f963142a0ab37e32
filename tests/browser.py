"""A real browser for the tests: Chromium without a window, with what it logs and asks for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NEEDED = pytest.mark.skipif(
    shutil.which("chromedriver") is None, reason="there is no Chromium with its driver here"
)
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that keeps its console and its requests."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", *QUIET):
        options.add_argument(option)
    options.add_argument("--disable-dev-shm-usage")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def resize(browser: Any, width: int, height: int, scheme: str = "light") -> None:
    """Take on the size of a screen, in light or dark."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def requests(browser: Any) -> list[str]:
    """The addresses that were asked for since the last look."""
    found = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        entry["params"]["request"]["url"]
        for entry in found
        if entry["method"] == "Network.requestWillBeSent"
    ]


def mouse(browser: Any, kind: str, x: float, y: float, buttons: int = 1) -> None:
    """One event of the mouse, at a place of the window."""
    browser.execute_cdp_cmd(
        "Input.dispatchMouseEvent",
        {
            "type": f"mouse{kind}",
            "x": x,
            "y": y,
            "button": "left",
            "buttons": buttons,
            "clickCount": 1,
        },
    )


def drag(
    browser: Any, start: tuple[float, float], end: tuple[float, float], steps: int = 5
) -> None:
    """Press the mouse, move it in some steps, and let go."""
    mouse(browser, "Moved", *start, buttons=0)
    mouse(browser, "Pressed", *start)
    for k in range(1, steps + 1):
        share = k / steps
        mouse(browser, "Moved", *(a + share * (b - a) for a, b in zip(start, end, strict=True)))
    mouse(browser, "Released", *end, buttons=0)
