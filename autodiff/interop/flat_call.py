"""Flat calls: functions of n arrays that return m arrays, with all derivatives of the engine.

Other systems know arrays, and tuples of them. A call of the user's has pytrees of arrays and other
values as arguments and as its result. :func:`flat_call` takes the arrays out and leaves a function
of them alone. Its pullback, its pushforward and its batched form are flat calls again, so a system
that can do one of these steps has derivatives of every order.

Conventions, which the adapters translate where their system has others:

* Arrays are ``np.ndarray``. The user's function gets an array without axes as a NumPy scalar, which
  behaves as a number and keeps its dtype.
* Outputs are arrays in the dtype that the function has computed. A float in the result is an array
  without axes of float64; an int, a bool or a string is no array and stays in the structure.
* The cotangent of a complex value is ``∂f/∂re + i ∂f/∂im``: a pullback is the adjoint for the inner
  product ``Re(conj(a)·b)``. PyTorch does the same; JAX and autograd use the conjugate.
* Arrays of integers and booleans are inputs and outputs without derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np

from autodiff.api.gradients import pullback
from autodiff.closures.captured_values import Hole
from autodiff.errors import ArgumentError, MutationError, OutputError
from autodiff.intercept import intercept
from autodiff.interop.structures import Structure, is_array, taken_out
from autodiff.mutation.held_arrays import COPIED, Watched, owner_of
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.linearize import Linearised
from chainrules_core.rules import name_of

_OF_UFUNCS = (Hole, int, float, complex, np.ndarray, np.generic)
Arrays = Sequence[Any]
Pull = Callable[[Sequence[Any]], list]


def flat_call(
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    is_array: Callable[[Any], bool] = is_array,
    are_values: bool = False,
) -> tuple[list, FlatCall]:
    """Return the arrays of a call, and the call as a function of them.

    Parameters
    ----------
    f : callable
        The function.
    args, kwargs
        Its arguments: pytrees of arrays, numbers and anything else. What is no array is static.
    is_array : callable
        Whether a leaf is an array, maybe of another system.
    are_values : bool
        Whether that system's arrays are values: the same one in two places is two arrays to `f`.

    Returns
    -------
    arrays : list
        The arrays in the arguments, as the other system has them.
    call : FlatCall
        The function of these arrays, given as NumPy arrays.
    """
    arrays, inputs = taken_out((args, kwargs) if kwargs else args, is_array, are_values)
    return arrays, FlatCall(f, inputs, bool(kwargs))


class FlatCall:
    """A function of n arrays that returns m arrays.

    Parameters
    ----------
    f : callable
        The user's function.
    inputs : Structure
        Its arguments ``args``, or ``(args, kwargs)``, with the arrays taken out.
    is_named : bool
        Whether there are keyword arguments.

    Attributes
    ----------
    outputs : Structure
        The result of the latest run, with the arrays taken out.
    is_untraced : bool
        Whether :meth:`plain` runs the function as it is, not within a derivative, which copies or
        holds what it needs.
    """

    outputs: Structure
    is_untraced = True

    def __init__(self, f: Callable, inputs: Structure, is_named: bool) -> None:
        self.f = f
        self.inputs = inputs
        self.is_named = is_named

    def copy(self) -> FlatCall:
        """Return a call that keeps outputs of its own."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    @property
    def name(self) -> str:
        """The name of the user's function."""
        return name_of(self.f)

    # -- with plain arrays -----------------------------------------------------------------------

    def value(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Return the outputs.

        The function may write into its arguments, so it gets copies of small arrays. Large ones are
        not copied; to write into one is an error.
        """
        if not self.is_untraced:
            return own(self.plain(*map(as_scalar, arrays)), arrays)
        given, large = _lent(arrays)
        outputs = self.plain(*given)
        self._check_writes(large)
        return own(outputs, arrays)

    def _check_writes(self, large: list[Watched]) -> None:
        """Raise if the function has written into a large array that is no copy."""
        if large and any(watched.has_changed() for watched in large):
            raise MutationError(
                f"{self.name} has written into a large array that it was given by another system, "
                "which does not see that. Use a copy of the array (c = c.copy())."
            )

    def recorded(
        self, arrays: Sequence[np.ndarray], wanted: tuple[int, ...], is_frozen: bool
    ) -> tuple[list[np.ndarray], Pull]:
        """Return the outputs and the pullback at this point, from one run.

        Parameters
        ----------
        arrays : sequence of numpy.ndarray
            The inputs.
        wanted : tuple of int
            The positions of the inputs to differentiate with respect to.
        is_frozen : bool
            Whether the other system sees to it that nobody writes into inputs and outputs before
            the last call of the pullback. Then large arrays are not copied.

        Returns
        -------
        outputs : list of numpy.ndarray
            The outputs.
        back : callable
            Takes a cotangent, or None for zero, for each output; those left out at the end are
            zero. Returns an array for each wanted input.
        """
        given, large = _lent(arrays, wanted)
        if not is_frozen:
            found, back = pullback(self._run_bare, *given, argnums=wanted)
        else:
            traced = Linearised(self._run_bare, given, {}, wanted, at_once=True)
            traced.check_paths()
            found, back = traced.value, traced.cotangents
        self._check_writes(large)
        is_one = type(found) is not tuple
        outputs = (found,) if is_one else found

        def own_back(y_bars: Sequence[Any]) -> list[np.ndarray]:
            if is_one:
                return own(back(y_bars[0] if y_bars else None), y_bars)
            rest = (None,) * (len(outputs) - len(y_bars))
            return own(back((*y_bars, *rest)), y_bars)

        return own(outputs, arrays), own_back

    def pushed(
        self, arrays: Sequence[np.ndarray], perturbed: tuple[int, ...], dots: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the outputs, and the tangents of those in floating point, from one run.

        Parameters
        ----------
        arrays : sequence of numpy.ndarray
            The inputs.
        perturbed : tuple of int
            The positions of the inputs that have tangents.
        dots : sequence of numpy.ndarray
            These tangents.
        """
        given, large = _lent(arrays, perturbed)
        outputs, found = Pushed(self.run, given, {}, perturbed).push(tuple(map(as_scalar, dots)))
        self._check_writes(large)
        y_dots = [y_dot for y_dot in found if y_dot is not None]
        theirs = [*arrays, *dots]
        return own(outputs, theirs), own(y_dots, [*theirs, *outputs])

    # -- what the engine differentiates ----------------------------------------------------------

    def run(self, *arrays: Any) -> tuple:
        """Return the outputs of inputs that may be traced."""
        return self._called(intercept(self.f), arrays)

    def _run_bare(self, *arrays: Any) -> Any:
        """Return one output as it is, and several in a tuple: the engine does less for one."""
        found = self.run(*arrays)
        return found[0] if len(found) == 1 else found

    def plain(self, *arrays: Any) -> tuple:
        """Return the outputs of plain inputs."""
        return self._called(self.f, arrays)

    def arguments(self, arrays: Arrays) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of the user's function with these arrays in them."""
        filled = self.inputs.filled(arrays)
        return filled if self.is_named else (filled, {})

    def _called(self, f: Callable, arrays: tuple) -> tuple:
        args, kwargs = self.arguments(arrays)
        found, self.outputs = taken_out(f(*args, **kwargs))
        return tuple(found)

    def rows(self, rows: list[list], is_plain: bool) -> list[tuple]:
        """Return the outputs for each row of inputs."""
        run = self.plain if is_plain else self.run
        found: list[tuple] = []
        before: list[Any] | None = None
        for row in rows:
            found.append(run(*row))
            constants = self.outputs.constants()
            if before is None:
                before = constants
            if not are_equal(before, constants):
                raise OutputError(
                    f"{self.name} is called for each row of a batch, and what it returns beside "
                    f"arrays differs among the rows: {before} and {constants}. Return arrays."
                )
        return found

    # -- batches ---------------------------------------------------------------------------------

    @property
    def takes_rows(self) -> bool:
        """Whether all rows of a batch can be computed by one call: the function is a ufunc."""
        f, args = self.f, self.inputs.tree
        return (
            isinstance(f, np.ufunc)
            and f.signature is None
            and not self.is_named
            and len(args) == f.nin
            and all(isinstance(a, _OF_UFUNCS) for a in args)
        )

    def is_kept_for(self, axes: tuple[int | None, ...]) -> bool:
        """Whether the rows of a batch are cotangents for one kept pullback."""
        return False

    def over_rows(self, arrays: Sequence[Any]) -> tuple:
        """Return the outputs for all rows, which are axis 0 of each array, from one call.

        For calls that take rows only.
        """
        constants = [np.ndim(c) for c in self.inputs.constants() if not isinstance(c, int)]
        ndim = max(*constants, *(np.ndim(x) - 1 for x in arrays), 0)
        return self.run(*[_with_axes(x, ndim) for x in arrays])

    # -- derivatives -----------------------------------------------------------------------------

    def pullback(
        self, wanted: tuple[int, ...], given: tuple[int, ...], kept: Pull | None = None
    ) -> FlatCall:
        """Return the pullback, a flat call of the inputs and of cotangents of outputs.

        Parameters
        ----------
        wanted : tuple of int
            The positions of the inputs whose cotangents are returned.
        given : tuple of int
            The positions of the outputs whose cotangents follow the inputs; others are zero.
        kept : callable, optional
            What :meth:`recorded` returned for these inputs and the same `wanted`. It gives the
            value; the derivatives of the pullback run the function again.
        """
        return _PullbackCall(self, wanted, given, kept)

    def pushforward(self, perturbed: tuple[int, ...]) -> FlatCall:
        """Return the pushforward, a flat call of the inputs and of tangents of some of them.

        It returns the tangents of the outputs in floating point, in their order.

        Parameters
        ----------
        perturbed : tuple of int
            The positions of the inputs whose tangents follow the inputs; others are zero.
        """
        return _PushforwardCall(self, perturbed)

    def batched(self, axes: Sequence[int | None], size: int) -> FlatCall:
        """Return the call that is made for each row of a batch; outputs are stacked on axis 0.

        Parameters
        ----------
        axes : sequence of int or None
            For each input the axis of the batch; None for an input that all rows share.
        size : int
            The number of rows.
        """
        return _BatchedCall(self, tuple(axes), size)


class _DerivedCall(FlatCall):
    """A flat call that is made of another one, `call`."""

    def __init__(self, call: FlatCall) -> None:
        super().__init__(call.f, call.inputs, call.is_named)
        self.call = call
        self.is_untraced = False

    def plain(self, *arrays: Any) -> tuple:
        return self.run(*arrays)

    def rows(self, rows: list[list], is_plain: bool) -> list[tuple]:
        return [self.plain(*row) if is_plain else self.run(*row) for row in rows]

    @property
    def takes_rows(self) -> bool:
        return self.call.takes_rows

    def _of_rows(self, *arrays: Any) -> tuple:
        return self.call.over_rows(arrays)


class _PullbackCall(_DerivedCall):
    """The pullback of a flat call; see :meth:`FlatCall.pullback`."""

    def __init__(
        self, call: FlatCall, wanted: tuple[int, ...], given: tuple[int, ...], kept: Pull | None
    ) -> None:
        super().__init__(call)
        self.wanted = wanted
        self.given = given
        self.kept = kept

    def run(self, *arrays: Any) -> tuple:
        return self.rows([list(arrays)], is_plain=False)[0]

    def plain(self, *arrays: Any) -> tuple:
        return self.rows([list(arrays)], is_plain=True)[0]

    def rows(self, rows: list[list], is_plain: bool) -> list[tuple]:
        n = len(rows[0]) - len(self.given)
        point = rows[0][:n]
        if not all(x is y for row in rows for x, y in zip(row, point, strict=False)):
            return [self.rows([row], is_plain)[0] for row in rows]
        back, count = self.kept, 1 + max(self.given, default=-1)
        if back is None or not is_plain:
            outputs, back = pullback(self.call.run, *point, argnums=self.wanted)
            count = len(outputs)
        found = []
        for row in rows:
            y_bars = placed(self.given, row[n:], count)
            found.append(tuple(back(tuple(y_bars))))
        return found

    def is_kept_for(self, axes: tuple[int | None, ...]) -> bool:
        n = len(axes) - len(self.given)
        return self.kept is not None and all(axis is None for axis in axes[:n])

    def over_rows(self, arrays: Sequence[Any]) -> tuple:
        n = len(arrays) - len(self.given)
        outputs, back = pullback(self._of_rows, *arrays[:n], argnums=self.wanted)
        return tuple(back(tuple(placed(self.given, arrays[n:], len(outputs)))))


class _PushforwardCall(_DerivedCall):
    """The pushforward of a flat call; see :meth:`FlatCall.pushforward`."""

    def __init__(self, call: FlatCall, perturbed: tuple[int, ...]) -> None:
        super().__init__(call)
        self.perturbed = perturbed

    def run(self, *arrays: Any) -> tuple:
        n = len(arrays) - len(self.perturbed)
        y_dots = Pushed(self.call.run, arrays[:n], {}, self.perturbed).push(arrays[n:])[1]
        return tuple(y_dot for y_dot in y_dots if y_dot is not None)

    def over_rows(self, arrays: Sequence[Any]) -> tuple:
        n = len(arrays) - len(self.perturbed)
        y_dots = Pushed(self._of_rows, tuple(arrays[:n]), {}, self.perturbed).push(
            tuple(arrays[n:])
        )[1]
        return tuple(y_dot for y_dot in y_dots if y_dot is not None)


class _BatchedCall(_DerivedCall):
    """A flat call that is made for each row of a batch; see :meth:`FlatCall.batched`."""

    def __init__(self, call: FlatCall, axes: tuple[int | None, ...], size: int) -> None:
        super().__init__(call)
        self.is_untraced = call.is_untraced
        self.axes = axes
        self.size = size

    @property
    def outputs(self) -> Structure:  # type: ignore[override]
        """The result of the call for one row, with the arrays taken out."""
        return self.call.outputs

    def run(self, *arrays: Any) -> tuple:
        return self._stacked(arrays, is_plain=False)

    def plain(self, *arrays: Any) -> tuple:
        return self._stacked(arrays, is_plain=True)

    def _stacked(self, arrays: tuple, is_plain: bool) -> tuple:
        if self.takes_rows and not self.call.is_kept_for(self.axes):
            return self.call.over_rows(self._with_rows(arrays, 0))
        if not self.size:
            raise OutputError(
                f"{self.name} is called for each row of a batch, and there is none: the shapes of "
                "its results are not known."
            )
        rows = [
            [
                x if axis is None else x[(*(slice(None),) * axis, i)]
                for x, axis in zip(arrays, self.axes, strict=True)
            ]
            for i in range(self.size)
        ]
        return tuple(np.stack(y) for y in zip(*self.call.rows(rows, is_plain), strict=True))

    def over_rows(self, arrays: Sequence[Any]) -> tuple:
        n = len(arrays[0])
        found = self.call.over_rows(
            [np.reshape(x, (-1, *x.shape[2:])) for x in self._with_rows(arrays, 1)]
        )
        return tuple(np.reshape(y, (n, self.size, *y.shape[1:])) for y in found)

    def _with_rows(self, arrays: Sequence[Any], place: int) -> list:
        """Return the inputs with the axis of the batch behind those of outer batches."""
        found = []
        for x, axis in zip(arrays, self.axes, strict=True):
            if axis is not None:
                found.append(np.moveaxis(x, axis + place, place))
            else:
                outer = x.shape[:place]
                spread = np.reshape(x, (*outer, 1, *x.shape[place:]))
                found.append(np.broadcast_to(spread, (*outer, self.size, *x.shape[place:])))
        return found


def _with_axes(x: Any, ndim: int) -> Any:
    """Return an array of rows with axes of length 1 behind axis 0, `ndim` for each row."""
    missing = ndim + 1 - x.ndim
    return np.reshape(x, (len(x), *(1,) * missing, *x.shape[1:])) if missing else x


def own(values: Iterable[Any], given: Iterable[Any]) -> list[np.ndarray]:
    """Return values as arrays that share no memory with each other, or with arrays in `given`."""
    owners = {id(owner_of(x)) for x in given if x is not None}
    found = []
    for value in values:
        y = np.asarray(value)
        owner = id(owner_of(y))
        if owner in owners:
            y = y.copy("K")
        owners.add(owner)
        found.append(y)
    return found


def check_function(f: Any, wrapper: str) -> None:
    """Raise if what is to be wrapped is not a function."""
    if not callable(f):
        raise ArgumentError(
            f"{wrapper} takes a function, not {type(f).__name__}. It returns a function to call: "
            f"{wrapper}(f)(x)."
        )


def array_of(x: Any, convert: Callable[[Any], np.ndarray], call: FlatCall, instead: str) -> Any:
    """Return the NumPy array of another system's array; raise if it has none."""
    try:
        return convert(x)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(
            f"{call.name} is given a {type(x).__name__} that has no NumPy array: "
            f"{str(error).partition('.')[0]}. {instead}"
        ) from error


def _lent(arrays: Sequence[np.ndarray], traced: Container[int] = ()) -> tuple[tuple, list[Watched]]:
    """Return what a function is given for arrays of another system, and what it must not write.

    It may write into its arguments: small arrays are copied. The engine copies those at the places
    `traced` itself.
    """
    given, large = [], []
    for i, x in enumerate(arrays):
        if i not in traced:
            if x.nbytes <= COPIED:
                x = x.copy("K")
            else:
                large.append(Watched(x, 0))
        given.append(x if x.ndim else x[()])
    return tuple(given), large


def as_scalar(x: np.ndarray) -> Any:
    """Return an array without axes as a NumPy scalar."""
    return x[()] if not x.ndim else x


def placed(places: Sequence[int], bars: Iterable[Any], count: int) -> list[Any]:
    """Return cotangents for `count` outputs, of which those at `places` are given."""
    found: list[Any] = [None] * count
    for place, bar in zip(places, bars, strict=True):
        found[place] = bar
    return found


def for_some(back: Pull, recorded: tuple[int, ...], wanted: tuple[int, ...]) -> Pull:
    """Return a pullback for some of the inputs that it was recorded for."""
    if wanted == recorded:
        return back
    return functools.partial(_chosen, back, [recorded.index(i) for i in wanted])


def _chosen(back: Pull, places: list[int], y_bars: Sequence[Any]) -> list:
    bars = back(y_bars)
    return [bars[i] for i in places]


def are_equal(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of constants are equal; what cannot be compared is not."""
    if len(a) != len(b):
        return False
    return all(
        x is y or (type(x) is type(y) and np.array_equal(x, y)) for x, y in zip(a, b, strict=True)
    )
