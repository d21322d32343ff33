"""What the demo shows: progress bars while it works, and the table at the end."""

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

TITLES = {"logistic": "Logistic regression", "gp": "Gaussian process"}


class Bars:
    """Progress bars, two for each model: the training, and the check of its gradient.

    Parameters
    ----------
    console : rich.console.Console
        Without a terminal it gets the last state of the bars, once.
    """

    def __init__(self, console):
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._progress.live.is_started:
            self._progress.stop()

    def start(self, model):
        """Bars for one more model."""
        return ModelBars(self._progress, TITLES[model])


class ModelBars:
    """The bars of one model: a `tasks.Progress`."""

    def __init__(self, progress, title):
        self._progress, self._title = progress, title
        self._training = self._check = None

    def training(self, iteration, evaluations, loss):
        """Show how far the optimiser is; how far it has to go, nobody knows."""
        if self._training is None:
            self._training = self._add(self._title, None)
        state = f"step {iteration}, {evaluations} gradients, loss {loss:.5f}"
        self._progress.update(self._training, state=state)

    def checking(self, total):
        """End the bar of the training, begin that of the check."""
        self._end(self._training)
        self._check = self._add("  gradient's check", total)
        done = 0

        def advance():
            nonlocal done
            done += 1
            state = f"{done} of {total} finite differences"
            self._progress.update(self._check, completed=done, state=state)

        return advance

    def finish(self):
        """End the last bar."""
        self._end(self._check)

    def _add(self, title, total):
        self._progress.start()  # now, and not before there is something to show
        return self._progress.add_task(f"{title:<19}", total=total, state="")

    def _end(self, task):
        self._progress.update(task, total=1, completed=1)


def show(console, reports):
    """Print the table: a line for each quantity, a column for each model.

    Parameters
    ----------
    console : rich.console.Console
    reports : list of tasks.Report
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for report in reports:
        table.add_column(report.model, overflow="fold")
    lines = {
        "data": lambda r: r.data,
        "rows train / test": lambda r: r.rows,
        "parameters": lambda r: str(len(r.fit.theta)),
        "loss, start → end": lambda r: f"{r.fit.start:.6f} → {r.fit.end:.6f}",
        "on the training rows": lambda r: r.train_score,
        "on the held-out rows": lambda r: r.test_score,
        "learnt": lambda r: r.learnt,
        "optimiser": lambda r: f"{r.fit.ending}, {r.fit.iterations} iterations",
        "gradient evaluations": lambda r: str(r.fit.evaluations),
        "time": lambda r: f"{r.fit.seconds:.2f} s, {_per_call(r.fit)} ms a call",
        "largest relative\ndifference of the\ngradient from finite\ndifferences": lambda r: (
            "{:.1e} at the start\n{:.1e} at a random point\nnear it".format(*r.differences)
        ),
    }
    for name, cell in lines.items():
        table.add_row(name, *(Text(cell(report)) for report in reports))
    console.print(table)


def _per_call(fit):
    """Milliseconds for each evaluation."""
    milliseconds = 1e3 * fit.seconds / fit.evaluations
    return f"{milliseconds:.0f}" if milliseconds >= 10 else f"{milliseconds:.2g}"
