"""A chart of the times, as multiples of the gradient written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = {
    "traced": "tab:cyan",
    "eager": "tab:blue",
    "compiled": "tab:green",
    "autograd": "tab:red",
    "torch": "tab:orange",
    "jax": "tab:purple",
}


def draw(results: dict[str, Any], path: Path, title: str) -> None:
    """Draw a bar for each workload and way; the scale is logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(results)
    figure, axes = plt.subplots(figsize=(11, 0.55 * len(names) + 1.5), layout="constrained")
    height = 0.8 / len(COLOURS)
    for k, (way, colour) in enumerate(COLOURS.items()):
        places, ratios = [], []
        for row, name in enumerate(names):
            seconds = results[name]["seconds"]
            if way in seconds:
                places.append(row + (k - len(COLOURS) // 2) * height)
                ratios.append(seconds[way] / seconds["by hand"])
        axes.barh(places, ratios, height, color=colour, label=way)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, title=title)
    axes.set_xlabel("time of a gradient, in times of the one written by hand")
    axes.invert_yaxis()
    axes.legend(loc="lower right")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
