"""Run every example and put its picture, made small, where the documentation shows it.

    python examples/gallery/__main__.py

The pictures as the examples save them go to `out`, the small ones to `docs/images/gallery`.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHOWN = ROOT / "docs" / "images" / "gallery"
WIDEST = 900  # pixels
LARGEST = 60_000  # bytes


def examples() -> list[Path]:
    """All of them, by name."""
    return sorted(path for path in HERE.glob("*.py") if not path.name.startswith("_"))


def shrink(picture: Path, target: Path) -> None:
    """The picture with few colours, and no wider or larger than a page likes it."""
    with Image.open(picture) as image:
        flat = image.convert("RGB")
    width = min(WIDEST, flat.width)
    for colours in (256, 128, 64, 32):
        small = flat.resize(
            (width, round(flat.height * width / flat.width)), Image.Resampling.LANCZOS
        )
        small.quantize(colours, method=Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
        if target.stat().st_size < LARGEST:
            return
    raise RuntimeError(f"{target.name} has {target.stat().st_size} bytes; draw fewer things.")


def main() -> None:
    """Run them one after the other, in the root of the project."""
    os.chdir(ROOT)
    SHOWN.mkdir(parents=True, exist_ok=True)
    for example in examples():
        print(f"\n# {example.stem}\n")
        runpy.run_path(str(example), run_name="__main__")
        plt.close("all")
        shrink(Path("out") / f"{example.stem}.png", SHOWN / f"{example.stem}.png")


if __name__ == "__main__":
    main()
