"""Write docs/_static/gallery.png, the picture of the README: six figures of the gallery.

Run ``python tools/readme_picture.py`` after a change of the scripts.
"""

import io
import os
import runpy
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
NAMES = ["lynx_and_hare", "deblurring", "cloth", "digits", "heat_source", "carbon_dioxide"]


def picture(name: str) -> object:
    """Run a script of the gallery, and return its figure as an array of pixels."""
    plt.close("all")
    runpy.run_path(f"{name}.py", run_name="__main__")
    file = io.BytesIO()
    plt.savefig(file, dpi=70, format="png")
    plt.close("all")
    file.seek(0)
    return plt.imread(file)


def main() -> None:
    """Run the scripts, and put their figures side by side."""
    os.chdir(ROOT / "examples" / "gallery")
    plt.show = lambda: None  # type: ignore[assignment]
    pictures = [picture(name) for name in NAMES]
    figure, axes = plt.subplots(2, 3, figsize=(12, 5.2), layout="constrained")
    for axis, pixels in zip(axes.flat, pictures, strict=True):
        axis.imshow(pixels)
        axis.axis("off")
    figure.savefig(ROOT / "docs" / "_static" / "gallery.png", dpi=85)


if __name__ == "__main__":
    main()
