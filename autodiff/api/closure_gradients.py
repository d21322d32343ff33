"""Gradients with respect to the variables that a function has captured."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff.api.gradients import gradient
from autodiff.closures.captured_values import is_empty, with_cells
from autodiff.errors import ArgumentError
from autodiff.trace.pytree import has_variables, leaves_of, map_leaves
from chainrules_core.rules import name_of


def captured_gradient(f: Callable, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the gradient of a function with respect to the variables that it has captured.

    Parameters
    ----------
    f : function
        A function that returns a real number and that uses variables of an enclosing function.
    *args, **kwargs
        The arguments of `f`, which are constants.

    Returns
    -------
    dict
        The gradient of each captured variable that holds a float, a complex number, an array of
        them or a pytree of these, under the name of the variable, with its structure, shapes and
        dtypes. If a captured function ``g`` has captured variables in turn, their names look like
        ``"g.slope"``. The variables themselves do not change.

    Raises
    ------
    ArgumentError
        If `f` is not a Python function, or has captured nothing that can be perturbed.

    Examples
    --------
    >>> def model(slope, offset):
    ...     def loss(x):
    ...         return (slope * x + offset) ** 2
    ...     return loss
    >>> captured_gradient(model(2.0, 1.0), 3.0)
    {'offset': 14.0, 'slope': 42.0}
    """
    if type(f) is not types.FunctionType:
        raise ArgumentError(
            f"captured_gradient takes a function written in Python; {name_of(f)} is a "
            f"{type(f).__name__}. For an object, differentiate with respect to the object itself: "
            "gradient(lambda obj: obj(x), obj)."
        )
    cells = _cells(f, "", {})
    if not cells:
        raise ArgumentError(
            f"{name_of(f)} has captured no float and no array of floats of an enclosing function; "
            "what stands in globals does not count as captured. Define it in a function that has "
            "the parameters as variables, or make them arguments and use gradient(f, ...)."
        )

    def run(values: dict[str, Any]) -> Any:
        new = {id(cell): types.CellType(values[name]) for name, cell in cells.items()}
        return _with(f, new, {})(*args, **kwargs)

    return gradient(run, {name: cell.cell_contents for name, cell in cells.items()})


def _cells(f: types.FunctionType, prefix: str, seen: dict[int, Any]) -> dict[str, types.CellType]:
    """Return the cells of the captured variables that can be perturbed, by name.

    `prefix` names the captured function that has captured them.
    """
    seen[id(f)] = f
    found: dict[str, types.CellType] = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if id(cell) in seen or is_empty(cell):
            continue
        seen[id(cell)] = cell
        content = cell.cell_contents
        if has_variables(content):
            found[prefix + name] = cell
        for leaf in leaves_of(content):
            if type(leaf) is types.FunctionType and id(leaf) not in seen:
                found.update(_cells(leaf, f"{prefix}{name}.", seen))
    return found


def _with(x: Any, cells: dict[int, types.CellType], made: dict[int, Any]) -> Any:
    """Return a pytree in which all functions use new cells: `cells` maps old ones to them."""

    def changed(leaf: Any) -> Any:
        if type(leaf) is types.MethodType:
            return types.MethodType(changed(leaf.__func__), _with(leaf.__self__, cells, made))
        if type(leaf) is functools.partial:
            parts = _with((leaf.func, leaf.args, leaf.keywords), cells, made)
            return functools.partial(parts[0], *parts[1], **parts[2])
        if type(leaf) is not types.FunctionType or not leaf.__closure__:
            return leaf
        if id(leaf) not in made:
            inside = [cells.get(id(c)) or types.CellType() for c in leaf.__closure__]
            made[id(leaf)] = with_cells(leaf, inside)
            for cell, old in zip(inside, leaf.__closure__, strict=True):
                if id(old) not in cells and not is_empty(old):
                    cells[id(old)] = cell
                    cell.cell_contents = _with(old.cell_contents, cells, made)
        return made[id(leaf)]

    return map_leaves(x, changed)
