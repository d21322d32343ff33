"""Series and DataFrames of pandas whose columns are traced.

A column is an array of pandas' own extension-array interface, which holds a traced array: pandas
aligns, selects, groups and labels as ever, and asks the column for arithmetic and reductions. What
would turn the column into plain numbers is an error. Imported once pandas is, see
:mod:`autodiff.intercept.libraries.packages`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pandas.api.indexers import check_array_indexer
from pandas.arrays import FloatingArray

from autodiff.closures.captured_values import Hole
from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import innermost, is_constant
from autodiff.dispatch.call import as_array
from autodiff.errors import ArgumentError, DifferentiationError, SeedError, lost_value
from autodiff.numpy_api.array_subclasses import CONVERTED
from autodiff.trace.labelled_data import TABLES, Table
from autodiff.trace.pytree import OPAQUE
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import Tracer, bare, is_tracer
from chainrules_core.tangents.fields import dict_of


class TracedDtype(ExtensionDtype):
    """The dtype of a column that is traced; ``s.dtype`` in a traced function is NumPy's."""

    name = "traced"
    type: Any = float
    kind = "f"
    na_value = np.nan
    numpy_dtype = np.dtype(float)  # of what is put beside it
    _is_numeric = True

    @classmethod
    def construct_array_type(cls) -> Any:
        """Return the class of the columns."""
        return TracedColumn

    def _get_common_dtype(self, dtypes: list) -> Any:
        """A column with traced values is traced, whatever numbers are put beside them."""
        kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
        return self if kinds <= set("biuf") else None


_DTYPE = TracedDtype()


class TracedColumn(ExtensionArray):
    """A column that holds a traced array of one axis.

    Parameters
    ----------
    values : Tracer or ndarray
        The numbers; NaN stands for a missing one.
    """

    __array_priority__ = 2000

    def __init__(self, values: Any) -> None:
        program = program_tape()
        if program is not None:
            program.spoil("pandas looks at the numbers of a column, and at which are missing")
        self.values = values

    # -- what pandas asks of a column ------------------------------------------------------------

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> TracedColumn:
        if isinstance(scalars, TracedColumn):
            return scalars.copy() if copy else scalars
        if is_tracer(scalars):
            return cls(scalars)
        items = [np.nan if x is pd.NA or x is None else x for x in scalars]
        return cls(as_array(items) if items else np.zeros(0))

    @classmethod
    def _empty(cls, shape: Any, dtype: Any) -> TracedColumn:
        return cls(np.full(shape, np.nan))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[TracedColumn]) -> TracedColumn:
        return cls(np.concatenate([column.values for column in to_concat]))

    @property
    def dtype(self) -> TracedDtype:
        """The dtype of all traced columns."""
        return _DTYPE

    @property
    def nbytes(self) -> int:
        """The size of the numbers in bytes."""
        return bare(self.values).nbytes

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, tuple):
            item = item[-1]
        item = check_array_indexer(self, item)
        found = self.values[item]
        return TracedColumn(found) if np.ndim(bare(found)) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if not is_tracer(self.values):
            self.values = Tracer(self.values, CONSTANT, -1)
        given = _numbers(value)
        given = as_array(given) if isinstance(given, (list, tuple)) else given
        self.values = self.values.copy()
        self.values[check_array_indexer(self, key)] = given

    def __iter__(self) -> Any:
        """Yield Python's numbers, as pandas does: functions of each are given these."""
        return (self.values[i].item() for i in range(len(self)))

    def isna(self) -> np.ndarray:
        """Return which numbers are missing."""
        return np.isnan(bare(self.values))

    def take(
        self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None
    ) -> TracedColumn:
        """Take numbers by their places; -1 stands for a missing one if `allow_fill` is true."""
        places = np.asarray(indices, dtype=np.intp)
        if not allow_fill:
            return TracedColumn(self.values[places])
        missing = places < 0
        if (places < -1).any():
            raise ValueError("a place below -1")
        if not len(self):
            if not missing.all():
                raise IndexError("cannot take from an empty column")
            return TracedColumn(np.full(places.shape, np.nan))
        taken = self.values[np.where(missing, 0, places)]
        fill = np.nan if fill_value is None or fill_value is pd.NA else fill_value
        return TracedColumn(np.where(missing, fill, taken) if missing.any() else taken)

    def copy(self) -> TracedColumn:
        """Return a copy."""
        return TracedColumn(self.values.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Convert: to floats it remains traced."""
        dtype = pd.api.types.pandas_dtype(dtype)
        if isinstance(dtype, TracedDtype):
            return self.copy() if copy else self
        kind = getattr(dtype, "kind", "O")
        if isinstance(dtype, np.dtype) and kind in "fc":
            return TracedColumn(self.values.astype(dtype))
        if isinstance(dtype, np.dtype) and kind in "biu":
            return bare(self.values).astype(dtype)  # constant in pieces
        cells = np.empty(len(self), object)
        for i, value in enumerate(self):
            cells[i] = value
        if kind == "O" and isinstance(dtype, np.dtype):
            return cells
        return pd.array([str(v) for v in cells], dtype=dtype)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise lost_value("Converting to an array", "column of pandas")

    def _values_for_argsort(self) -> np.ndarray:
        return bare(self.values)  # the order of numbers is constant in pieces

    def _values_for_factorize(self) -> Any:
        raise lost_value("Finding equal numbers", "column of pandas")

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **options: Any
    ) -> Any:
        values = self.values
        if skipna and self.isna().any():
            values = values[~self.isna()]
        y = reduced(name, values, options.get("ddof", 1), options.get("min_count", 0))
        return TracedColumn(np.reshape(y, (1,))) if keepdims else y

    def _accumulate(self, name: str, *, skipna: bool = True, **options: Any) -> TracedColumn:
        if name not in _ACCUMULATING:
            raise _refused(name)
        f, neutral = _ACCUMULATING[name]
        missing = self.isna()
        if not (skipna and missing.any()):
            return TracedColumn(f(self.values))
        return TracedColumn(np.where(missing, np.nan, f(np.where(missing, neutral, self.values))))

    def _groupby_op(
        self, *, how: str, ngroups: int, ids: Any, min_count: int = -1, **options: Any
    ) -> Any:
        if how in ("rank", "ohlc", "idxmin", "idxmax"):
            raise _refused(f"groupby(...).{how}")
        if how in _ACCUMULATING:
            order = np.argsort(ids, kind="stable")
            sizes = np.cumsum([np.sum(ids == i) for i in range(-1, ngroups)])[:-1]
            skipna = bool(options.get("skipna", True))
            made = [
                self.take(places)._accumulate(how, skipna=skipna).values
                for places in np.split(order, sizes)[1:]
            ]
            outside = np.full(np.sum(ids < 0), np.nan)  # rows whose key is missing
            return TracedColumn(np.concatenate([outside, *made])[np.argsort(order)])
        there = ~self.isna()
        least = max(min_count, 0)
        groups = [self.values[(ids == i) & there] for i in range(ngroups)]
        made = [reduced(how, v, options.get("ddof", 1), least) for v in groups]
        if all(not is_tracer(y) for y in made):
            return np.array(made)
        return TracedColumn(as_array(made))

    def round(self, decimals: int = 0, *args: Any, **kwargs: Any) -> TracedColumn:
        """Round: the derivative is zero."""
        return TracedColumn(np.round(self.values, decimals))

    def interpolate(self, **options: Any) -> Any:
        """Raise, unless there is nothing to interpolate."""
        if self.isna().any():
            raise _refused("interpolate")
        return self.copy() if options.get("copy") else self

    def _quantile(self, qs: Any, interpolation: str) -> TracedColumn:
        values = self.values[~self.isna()]
        if not len(values):
            return TracedColumn(np.full(len(qs), np.nan))
        quantile: Any = np.quantile
        return TracedColumn(quantile(values, np.asarray(qs), method=interpolation))

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """Return what a function makes of each number."""
        if not callable(mapper):
            raise lost_value("Looking numbers up", "column of pandas")
        f = calls.body_of(mapper)
        made = [v if na_action == "ignore" and np.isnan(bare(v)) else f(v) for v in self]
        if innermost((made,), {}) is None:
            return np.array(made)
        return TracedColumn(as_array(made))

    # -- operators and NumPy's protocols ---------------------------------------------------------

    def __array_ufunc__(self, f: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, (pd.Series, pd.DataFrame, pd.Index)) for x in inputs):
            return NotImplemented
        return _column(getattr(f, method)(*map(_numbers, inputs), **kwargs))

    def __array_function__(self, f: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return f(*map(_numbers, args), **{name: _numbers(v) for name, v in kwargs.items()})


def _operator(apply: Callable, is_reflected: bool) -> Callable:
    def method(self: TracedColumn, other: Any) -> Any:
        if isinstance(other, (pd.Series, pd.DataFrame, pd.Index)):
            return NotImplemented
        other = _numbers(other)
        return _column(apply(other, self.values) if is_reflected else apply(self.values, other))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(TracedColumn, f"__{_name}__", _operator(getattr(operator, _name), False))
    setattr(TracedColumn, f"__r{_name}__", _operator(getattr(operator, _name), True))
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(TracedColumn, f"__{_name}__", _operator(getattr(operator, _name), False))
for _name in ("neg", "pos", "abs"):
    _apply = getattr(operator, _name)
    setattr(TracedColumn, f"__{_name}__", lambda self, f=_apply: TracedColumn(f(self.values)))


def _numbers(x: Any) -> Any:
    """Return the traced array of a column, the numbers of another one; anything else as it is."""
    if isinstance(x, TracedColumn):
        return x.values
    if isinstance(x, ExtensionArray):
        return x.to_numpy(dtype=float, na_value=np.nan)
    return [_numbers(v) for v in x] if isinstance(x, (list, tuple)) else x


def _column(y: Any) -> Any:
    """Return an array of floats as a column; a truth value or a number as it is."""
    is_column = np.ndim(bare(y)) == 1 and bare(y).dtype.kind in "fc"
    return TracedColumn(y) if is_column else y


# -- reductions --------------------------------------------------------------------------------


def _variance(v: Any, ddof: int) -> Any:
    return np.var(v, ddof=ddof) if len(v) > ddof else np.nan


def _skewness(v: Any) -> Any:
    """Return the unbiased estimate of the skewness, as pandas has it."""
    n = len(v)
    if n < 3:
        return np.nan
    d = v - np.mean(v)
    m2 = np.sum(d**2)
    return n * np.sqrt(n - 1.0) / (n - 2) * np.sum(d**3) / m2**1.5 if bare(m2) > 0 else 0.0


def _kurtosis(v: Any) -> Any:
    """Return the unbiased estimate of the excess kurtosis, as pandas has it."""
    n = len(v)
    if n < 4:
        return np.nan
    d = v - np.mean(v)
    m2 = np.sum(d**2)
    if not bare(m2) > 0:
        return 0.0
    share = (n - 1.0) / ((n - 2) * (n - 3))
    return share * (n * (n + 1) * np.sum(d**4) / m2**2 - 3 * (n - 1))


_ACCUMULATING: dict[str, tuple[Callable, float]] = {
    "cumsum": (np.cumsum, 0.0),
    "cumprod": (np.cumprod, 1.0),
    "cummax": (np.maximum.accumulate, -np.inf),
    "cummin": (np.minimum.accumulate, np.inf),
}
_REDUCING: dict[str, Callable[[Any, int], Any]] = {
    "sum": lambda v, ddof: np.sum(v),
    "prod": lambda v, ddof: np.prod(v),
    "mean": lambda v, ddof: np.mean(v) if len(v) else np.nan,
    "median": lambda v, ddof: np.median(v) if len(v) else np.nan,
    "min": lambda v, ddof: np.min(v) if len(v) else np.nan,
    "max": lambda v, ddof: np.max(v) if len(v) else np.nan,
    "first": lambda v, ddof: v[0] if len(v) else np.nan,
    "last": lambda v, ddof: v[-1] if len(v) else np.nan,
    "var": _variance,
    "std": lambda v, ddof: np.sqrt(_variance(v, ddof)),
    "sem": lambda v, ddof: np.sqrt(_variance(v, ddof) / max(len(v), 1)),
    "skew": lambda v, ddof: _skewness(v),
    "kurt": lambda v, ddof: _kurtosis(v),
    "any": lambda v, ddof: bool(np.any(bare(v))),
    "all": lambda v, ddof: bool(np.all(bare(v))),
}


def reduced(name: str, values: Any, ddof: int = 1, least: int = 0) -> Any:
    """Return a statistic of the numbers of a column, none of which is missing."""
    f = _REDUCING.get(name)
    if f is None:
        raise _refused(name)
    return f(values, ddof) if len(values) >= least else np.nan


def _refused(name: str) -> DifferentiationError:
    return DifferentiationError(
        f"{name} of a traced column of pandas is not followed. Followed are "
        f"{', '.join([*_REDUCING, *_ACCUMULATING])}; for others take the array "
        "(s.to_numpy()), and a function of NumPy or SciPy."
    )


# -- what stands for functions of pandas ---------------------------------------------------------


def _traced_data(data: Any) -> Any:
    """Return data for a column as a traced array; None if nothing in it is traced."""
    if is_constant(data) or innermost((data,), {}) is None:
        return None
    if is_tracer(data):
        return data
    return as_array(data) if isinstance(data, (list, tuple)) else None


def sanitize_array(body: Callable) -> Callable:
    """Return what makes a column of data that may be traced."""

    def called(data: Any, index: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        values = _traced_data(data)
        if values is None:
            plain = data._value.copy() if is_constant(data) else data
            return body(plain, index, dtype, *args, **kwargs)
        if np.ndim(bare(values)) == 0:
            values = np.broadcast_to(values, (1 if index is None else len(index),))
        if np.ndim(bare(values)) > 1 and isinstance(data, (list, tuple)):
            cells = np.empty(len(data), object)  # pandas makes a column of objects of arrays
            for i, cell in enumerate(data):
                cells[i] = cell
            return body(cells, index, dtype, *args, **kwargs)
        if np.ndim(bare(values)) != 1:
            raise ValueError("Data must be 1-dimensional")
        if isinstance(dtype, np.dtype) and dtype != bare(values).dtype:
            values = values.astype(dtype)
        return TracedColumn(values)

    return called


def ndarray_to_mgr(body: Callable) -> Callable:
    """Return what makes the columns of a DataFrame of an array that may be traced."""

    def called(values: Any, index: Any, columns: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        if is_constant(values):
            values = values._value.copy()
        if not is_tracer(values):
            return body(values, index, columns, dtype, *args, **kwargs)
        table = np.reshape(values, (-1, 1)) if np.ndim(bare(values)) == 1 else values
        names = pd.RangeIndex(table.shape[1]) if columns is None else columns
        made = {i: TracedColumn(table[:, i]) for i in range(table.shape[1])}
        frame = pd.DataFrame(made, index=index, copy=False)
        frame.columns = names
        return frame._mgr

    return called


def array_of(x: Any) -> Any:
    """Return the numbers of a Series or DataFrame as an array, traced if they are."""
    if isinstance(x, pd.DataFrame):
        if not any(isinstance(t, TracedDtype) for t in x.dtypes):
            return None
        columns = [_numbers(x.iloc[:, i].array) for i in range(x.shape[1])]
        return np.stack([np.asarray(c) if not is_tracer(c) else c for c in columns], axis=1)
    column = x.array
    return column.values if isinstance(column, TracedColumn) else None


def as_plain_array(body: Callable) -> Callable:
    """Return what gives the numbers of a Series or DataFrame as an array."""

    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        values = array_of(x)
        return body(x, *args, **kwargs) if values is None else values

    return called


def dtype(body: Callable) -> Callable:
    """Return what says the dtype of a Series: that of the numbers."""

    def called(x: Any) -> Any:
        values = array_of(x)
        return body(x) if values is None else bare(values).dtype

    return called


# -- Series and DataFrames as nests of arrays ----------------------------------------------------


def _columns(x: Any) -> list:
    """Return the arrays in which pandas keeps the columns; [] for an object that is being made.

    No code of the object's class runs, and the memory of an array is the same each time.
    """
    manager = dict_of(x).get("_mgr")
    if manager is None:
        return []
    if isinstance(x, pd.Series):
        return [manager.blocks[0].values]
    found: dict[int, Any] = {}
    for block in manager.blocks:
        values = block.values
        rows = [values] if values.ndim == 1 else [values[i] for i in range(len(values))]
        found.update(zip(block.mgr_locs.as_array.tolist(), rows, strict=True))
    return [found[i] for i in sorted(found)]


def _floats(column: Any) -> Any:
    """Return the numbers of a column of floats, None for another one.

    They are the column's own memory: a column of nullable floats in which some are missing has
    none that would do.
    """
    if isinstance(column, TracedColumn):
        return column.values
    if isinstance(column, FloatingArray):
        return None if column._mask.any() else column._data
    return column if type(column) is np.ndarray and column.dtype.kind == "f" else None


def _series_parts(x: pd.Series) -> list[tuple[Any, Any]] | None:
    values = [_floats(column) for column in _columns(x)]
    return [("values", values[0])] if values and values[0] is not None else None


def _series_with(x: pd.Series, parts: list) -> pd.Series:
    return pd.Series(_held(parts[0], _columns(x)[0]), index=x.index, name=x.name, copy=False)


def _held(values: Any, column: Any) -> Any:
    """Return a column with other numbers, of the kind of one that is there."""
    if isinstance(column, ExtensionArray) and _floats(column) is None:
        return None if values is None else column
    if type(values) is Hole:
        raise ArgumentError(
            "a Series or DataFrame of pandas is an argument or a result of a function that another "
            "system calls, and which has arrays for its values. Give and return its numbers: "
            "s.to_numpy()."
        )
    if np.ndim(bare(values)) > 1:
        raise ArgumentError(
            "a Jacobian or a Hessian with respect to a Series or DataFrame of pandas has more axes "
            "than that. Differentiate with respect to its numbers: a function of v that calls "
            "f(pd.Series(v, index=s.index)), at s.to_numpy()."
        )
    if is_tracer(values):
        return TracedColumn(values)
    if isinstance(column, FloatingArray) and type(values) is np.ndarray:
        return FloatingArray(values, np.zeros(values.shape, bool))
    return values


def _frame_parts(x: pd.DataFrame) -> list[tuple[Any, Any]] | None:
    """Return all columns, unless none holds floats; those that do not are leaves as they are."""
    columns = _columns(x)
    floats = [_floats(column) for column in columns]
    if all(values is None for values in floats):
        return None
    OPAQUE.update(type(c) for c, f in zip(columns, floats, strict=True) if f is None)
    both = zip(columns, floats, strict=True)
    # Those of dates are made anew each time; the array inside has the same memory.
    return [(i, getattr(c, "_ndarray", c) if f is None else f) for i, (c, f) in enumerate(both)]


def _frame_with(x: pd.DataFrame, parts: list) -> pd.DataFrame:
    columns = dict(enumerate(map(_held, parts, _columns(x))))
    made = pd.DataFrame(columns, index=x.index, copy=False)
    made.columns = x.columns
    return made


def _seed(x: Any, given: Any, key: Any) -> Any:
    """Return the numbers for a column of `x` in a tangent or cotangent."""
    if not all(map(pd.Index.equals, given.axes, x.axes)):
        raise SeedError(
            f"a tangent or cotangent is a {type(x).__name__} whose labels are not those of the "
            "argument or output that it belongs to, in the same order. Give it these: "
            "seed.reindex_like(x)."
        )
    column = _columns(given)[0 if key == "values" else key]
    numbers = _floats(column)
    return column if numbers is None else numbers


TABLES[pd.Series] = Table(_series_parts, _series_with, _seed)
TABLES[pd.DataFrame] = Table(_frame_parts, _frame_with, _seed)
CONVERTED[pd.Series] = CONVERTED[pd.DataFrame] = array_of
CONVERTED[TracedColumn] = lambda column: column.values if is_tracer(column.values) else None


def python_engine(check: Callable) -> Callable:
    """Have texts (``df.eval``) computed by pandas, not by numexpr, which has no derivatives."""

    def checked(engine: str | None) -> str:
        found = check(engine)
        return "python" if found == "numexpr" else found

    return checked
