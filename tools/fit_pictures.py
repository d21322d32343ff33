"""Write the pictures of docs/optimise.md and docs/distributed.md: progress bars, and a history.

Run ``python -m tools.fit_pictures`` from the root of the repository.
"""

from __future__ import annotations

import functools
import io
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from scipy import optimize

from autodiff.optimize import minimize

STATIC = Path(__file__).parent.parent / "docs" / "_static"
# Without the fonts, which would come from the network.
SVG = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
CLEAR_LINE = "\x1b[2K"
WIDTH = 92


def valley(p):
    return optimize.rosen(p["x"]) + 0.1 * np.sum(p["x"] ** 2)


def rows(seed):
    rng = np.random.default_rng([3, seed])
    x = rng.normal(size=(1000, 30))
    return x, np.sign(x @ np.linspace(-1, 1, 30) + rng.normal(size=1000))


def loss(p, x, y):
    return np.sum(np.logaddexp(0.0, -y * (x @ p["w"] + p["b"])))


def frames(run):
    """What a run with a progress bar shows, one text after the other."""
    terminal = Console(file=io.StringIO(), force_terminal=True, width=WIDTH)
    run(terminal)
    shown = re.sub(r"\x1b\[\?25[lh]", "", terminal.file.getvalue()).split(CLEAR_LINE)
    return [frame.rstrip() for frame in shown if "evaluations" in frame]


def write_screen(name, frame, title):
    """Write a frame as a picture of a terminal."""
    terminal = Console(file=io.StringIO(), record=True, width=WIDTH)
    terminal.print(Text.from_ansi(frame))
    svg = terminal.export_svg(title=title, code_format=SVG, unique_id=name)
    (STATIC / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")


def main() -> None:
    """Write the pictures."""
    start = {"x": np.linspace(-1.0, 1.5, 40)}
    seen = frames(lambda terminal: minimize(valley, start, method="BFGS", progress=terminal))
    write_screen("progress", seen[-1], "minimize(..., progress=True)")

    params = {"w": np.zeros(30), "b": 0.0}
    shards = [functools.partial(rows, seed) for seed in range(64)]
    pool = functools.partial(ThreadPoolExecutor, 2)
    seen = frames(
        lambda terminal: minimize(
            loss, params, shards=shards, executor=pool, progress=terminal, options={"maxiter": 3}
        )
    )
    of_shards = [frame for frame in seen if re.search(r"(?<!\d)(2\d|3\d|4\d)/64", frame)]
    write_screen("progress_of_shards", of_shards[-1], "minimize(..., shards=..., progress=True)")

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "fits", "svg.fonttype": "none"}
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    minimize(valley, start, method="BFGS").history.plot(axes)
    figure.savefig(STATIC / "history.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
