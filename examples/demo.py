"""Train two real models on real data, with gradients of ordinary NumPy functions.

Run ``python examples/demo.py`` for the data sets of ``examples/data``, and for a table larger than
the memory that the demo allows itself; or ``python examples/demo.py --data my.csv`` for your own.
``logistic.py`` and ``gaussian_process.py`` hold the models, in plain NumPy; ``training.py`` is
where ``autodiff`` comes in. ``larger.py`` fits the large table with worker processes.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tables import DataError, read_table

HERE = Path(__file__).resolve().parent
SHIPPED = {
    "logistic": (HERE / "data" / "breast_cancer.csv", "malignant"),
    "gp": (HERE / "data" / "mauna_loa_co2.csv", "co2"),
}
NEEDED = ("autodiff", "scipy", "rich", "matplotlib")


def main(arguments=None):
    """Run the demo.

    Parameters
    ----------
    arguments : list of str, optional
        The command line without the program's name.

    Returns
    -------
    int
        Exit code: 0, or 2 for data that cannot be used, or 130 after Ctrl-C.
    """
    options = parse(arguments)
    try:
        run(options)
    except DataError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        print(
            f"demo: {error.name} is not installed; make demo installs it",
            file=sys.stderr,
        )
        return 2
    return 0


def parse(arguments):
    """The command line's options."""
    parser = argparse.ArgumentParser(
        prog="demo",
        description="Train a logistic regression and a Gaussian process with autodiff's gradients "
        "of ordinary NumPy functions, on the data shipped or on your own.",
    )
    parser.add_argument(
        "--data",
        metavar="CSV",
        help="your own data: a header with the columns' names, then rows of numbers",
    )
    parser.add_argument(
        "--model",
        choices=("auto", "logistic", "gp"),
        default="auto",
        help="auto: a target of 0 and 1 gets the logistic regression, two other columns the "
        "Gaussian process; without --data it means both",
    )
    parser.add_argument("--target", metavar="COLUMN", help="to predict (default: the last column)")
    parser.add_argument(
        "--output",
        type=Path,
        default=HERE / "output" / "demo.png",
        metavar="PNG",
        help="where the plot goes (default: examples/output/demo.png)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer points, for a quick look")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the random split and the gradient's check"
    )
    parser.add_argument(
        "--shards",
        type=int,
        metavar="N",
        help="parts of the generated table, 0 for none (default: 64; 0 with --quick, --data "
        "or --model)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes that fit it (default: 2)")
    parser.add_argument(
        "--memory",
        type=int,
        default=32,
        metavar="MB",
        help="what each process may take beyond its imports; the table is four times as large "
        "(default: 32)",
    )
    options = parser.parse_args(arguments)
    if options.shards is None:
        is_whole = options.data is None and options.model == "auto" and not options.quick
        options.shards = 64 if is_whole else 0
    if options.workers < 1 or options.memory < 1 or options.shards < 0:
        parser.error("--workers and --memory must be positive, --shards not negative")
    if options.target is not None and options.data is None:
        parser.error("--target needs --data")
    if options.seed < 0:
        parser.error("--seed must not be negative")
    return options


def run(options):
    """Train, show the table, write the plot."""
    jobs = list(find_jobs(options))
    prepare(options.output)
    import numpy as np
    from display import Bars, show
    from figure import draw
    from rich.console import Console
    from tasks import FIT

    reports = []
    with Bars(Console(stderr=True)) as bars:
        for model, table, target in jobs:
            rng = np.random.default_rng(options.seed)
            progress = bars.start(model)
            report = FIT[model](table, target, quick=options.quick, rng=rng, progress=progress)
            progress.finish()
            reports.append(report)
    console = Console()
    show(console, reports)
    if options.shards:
        fit_larger(options, console)
    titles = [f"{report.model}: {report.test_score}".replace("\n", " ") for report in reports]
    draw(list(zip(titles, (report.picture for report in reports), strict=True)), options.output)
    print(f"The plot is in {_shown(options.output)}")


def fit_larger(options, console):
    """Fit a table that is larger than memory."""
    import larger
    from rich.console import Console

    with tempfile.TemporaryDirectory() as folder:
        lines = larger.fit(
            Path(folder),
            shards=options.shards,
            workers=options.workers,
            memory=options.memory,
            console=Console(stderr=True),
        )
    larger.show(console, lines)


def find_jobs(options):
    """Which model is to be trained on which column of which table.

    Parameters
    ----------
    options : argparse.Namespace

    Yields
    ------
    (str, Table, str)
        Model, table, target.
    """
    if options.data is None:
        for model, (path, target) in SHIPPED.items():
            if options.model in ("auto", model):
                yield model, read_table(path), target
        return
    table = read_table(options.data)
    target = table.columns[-1] if options.target is None else options.target
    from tasks import choose_model

    yield choose_model(table, target, options.model), table, target


def prepare(output):
    """See to it, before the work, that the plot can be written."""
    if output.is_dir():
        raise DataError(f"--output {output} is a directory; pass the name of a PNG file")
    if output.suffix.lower() != ".png":
        raise DataError(f"--output {output}: the plot is a PNG; give it a name that ends in .png")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        is_new = not output.exists()
        with output.open("ab"):
            pass
        if is_new:
            output.unlink()
    except OSError as error:
        raise DataError(f"--output {output} cannot be written: {error.strerror}") from None


def _shown(path):
    """The path as seen from the current directory, where it lies below it."""
    path, here = path.resolve(), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


if __name__ == "__main__":
    sys.exit(main())
