"""The plot of the fits: one panel for each model."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK, BLUE, ORANGE, GREY = "#333333", "#2b6cb0", "#dd6b20", "#8a8f98"


def draw(pictures, path):
    """Draw one panel for each picture, side by side, and write them to `path`.

    Parameters
    ----------
    pictures : list of (str, dict)
        Title, and what `tasks.Report.picture` holds.
    path : Path
        A PNG file.
    """
    widths = [1.0 if picture["kind"] == "logistic" else 1.7 for _, picture in pictures]
    figure = Figure(figsize=(6 * sum(widths), 5.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(pictures), width_ratios=widths, squeeze=False)[0]
    for axes, (title, picture) in zip(panels, pictures, strict=True):
        axes.set_title(title, loc="left", color=INK, fontweight="bold", pad=12)
        axes.spines[["top", "right"]].set_visible(False)
        if picture["kind"] == "logistic":
            _draw_logistic(axes, picture)
        else:
            _draw_gaussian_process(axes, picture)
    figure.savefig(path, format="png")


def _draw_logistic(axes, picture):
    """Held-out rows of the two classes by their score, and the probability over the score."""
    scores, labels, target = picture["scores"], picture["labels"], _plain(picture["target"])
    reach = max(4.0, 1.05 * float(np.quantile(np.abs(scores), 0.99)))
    edges = np.linspace(-reach, reach, 31)
    shown = np.clip(scores, -reach, reach)
    for label, colour in ((0, BLUE), (1, ORANGE)):
        chosen = shown[labels == label]
        name = f"{target} = {label} ({len(chosen)} held-out rows)"
        axes.hist(chosen, bins=edges, color=colour, alpha=0.65, label=name)
    axes.set_xlabel("score (log-odds)")
    axes.set_ylabel("held-out rows")
    axes.axvline(0.0, color=GREY, linestyle=":", linewidth=1)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(top=1.35 * axes.get_ylim()[1])

    probability = axes.twinx()
    line = np.linspace(-reach, reach, 400)
    curve = np.exp(-np.logaddexp(0.0, -line))
    probability.plot(line, curve, color=INK, linewidth=1.5, label=f"probability of {target} = 1")
    probability.set_ylim(0.0, 1.35)
    probability.set_yticks(np.linspace(0.0, 1.0, 6))
    probability.set_ylabel("probability")
    probability.spines["top"].set_visible(False)
    handles = axes.get_legend_handles_labels()[0] + probability.get_legend_handles_labels()[0]
    axes.legend(handles=handles, loc="upper left", frameon=False)


def _draw_gaussian_process(axes, picture):
    """The observations, those held out, and what the model predicts, with its 95% band."""
    x_name, y_name = map(_plain, picture["names"])
    x, mean, deviation = picture["future"]
    band = 1.96 * deviation
    axes.fill_between(
        x, mean - band, mean + band, color=BLUE, alpha=0.2, linewidth=0, label="95% band"
    )
    axes.plot(x, mean, color=BLUE, linewidth=1.0, label="prediction")
    axes.plot(*picture["known"], ".", color=INK, markersize=3, label="training data")
    axes.plot(*picture["new"], ".", color=ORANGE, markersize=3, label="held-out data")
    axes.axvline(picture["new"][0][0], color=GREY, linestyle=":", linewidth=1)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    axes.set_xlim(x[0], x[-1])
    axes.legend(loc="upper left", frameon=False, markerscale=3)


def _plain(name):
    """A name from somebody's file, safe from being read as a formula."""
    return name.replace("$", r"\$")
