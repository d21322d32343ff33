"""Read a CSV file of numbers, and say in one sentence what is wrong with it."""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LARGEST = 1e100  # its square is still a number
SEPARATORS = ",;\t"
MOST_NAMES = 40  # that a message lists


class DataError(Exception):
    """A data set that cannot be used; the message says why, in words for its owner."""


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes
    ----------
    name : str
        The file's name.
    columns : tuple of str
    values : ndarray, shape (rows, columns)
    """

    name: str
    columns: tuple[str, ...]
    values: np.ndarray

    def __len__(self):
        return len(self.values)

    def position(self, column):
        """Where `column` stands; a `DataError` that lists the columns if there is none."""
        if column not in self.columns:
            known = ", ".join(self.columns[:MOST_NAMES])
            known += ", …" if len(self.columns) > MOST_NAMES else ""
            raise DataError(f"{self.name} has no column {column!r}; its columns are {known}")
        return self.columns.index(column)

    def column(self, column):
        """The values of `column`."""
        return self.values[:, self.position(column)]

    def without(self, column):
        """Names and values of all columns but `column`."""
        rest = [i for i in range(len(self.columns)) if i != self.position(column)]
        return tuple(self.columns[i] for i in rest), self.values[:, rest]


def read_table(path):
    """Read a CSV file whose first line names the columns and whose cells are numbers.

    Parameters
    ----------
    path : str or Path
        Commas, semicolons or tabs may separate the cells. Blank lines do not count.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        No such file, not a text file, nothing in it, a cell that is not a finite number, …
    """
    path = Path(path)
    lines = _read_lines(path)
    if not lines:
        raise DataError(f"{path} is empty")
    columns = _header(path, lines[0][1])
    rows = [_numbers(path, columns, i, *line) for i, line in enumerate(lines[1:], start=1)]
    if not rows:
        raise DataError(f"{path} holds a header and no rows")
    return Table(path.name, columns, np.array(rows, dtype=float))


def _read_lines(path):
    """Line number and cells of each line that is not blank."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a directory; pass a CSV file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text file in UTF-8; pass a CSV file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    first = text.lstrip().partition("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not a CSV file ({error})") from None


def _header(path, cells):
    """The names of the columns."""
    names = tuple(cell.strip() for cell in cells)
    if any(_number(name) is not None for name in names):
        raise DataError(
            f"{path}: the first line must name the columns, but it holds {_shorten(cells)}"
        )
    if "" in names:
        raise DataError(f"{path}: column {names.index('') + 1} of the header has no name")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}: two columns are named {name!r}")
    return names


def _numbers(path, columns, row, line, cells):
    """The cells of one row as numbers."""
    where = f"row {row} (line {line})"
    if len(cells) != len(columns):
        raise DataError(
            f"{path}, {where}: {len(cells)} cells, but the header names {len(columns)} columns"
        )
    numbers = []
    for column, cell in zip(columns, cells, strict=True):
        number, place = _number(cell), f"{path}, column {column!r}, {where}"
        if not cell.strip():
            raise DataError(f"{place}: the cell is empty")
        if number is None:
            raise DataError(f"{place}: {_shorten([cell])} is not a number")
        if not math.isfinite(number):
            raise DataError(f"{place}: {cell.strip()} is not a finite number")
        if abs(number) > LARGEST:
            raise DataError(f"{place}: {cell.strip()} is too large (at most {LARGEST:g})")
        numbers.append(number)
    return numbers


def _number(cell):
    """The number that is written in `cell`, NaN and infinity included, or None."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _shorten(cells, width=40):
    """The cells as they may be shown in a message."""
    text = ", ".join(repr(cell.strip()) for cell in cells)
    return text if len(text) <= width else text[: width - 1] + "…"
