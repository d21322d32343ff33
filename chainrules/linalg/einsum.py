"""einsum: the cotangent of an operand is another einsum.

The product of ȳ and the conjugates of the other operands, summed over all indices but the
operand's own. Three things need care: an index that stands twice in the operand reads a diagonal,
so its cotangent stands on the diagonal; an index that only this operand has was summed, so its
cotangent is repeated; and a length of one that was broadcast is summed over.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from chainrules.linalg.matrices import conj
from chainrules_core import (
    AbstractZero,
    NoTangent,
    ProjectTo,
    Tangent,
    ZeroTangent,
    frule,
    non_differentiable,
    rrule,
    thunk,
    unbroadcast,
)
from chainrules_core.authoring import EVERY, array_of, contraction, fit, natural

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Sum(NamedTuple):
    """An einsum taken apart.

    Attributes
    ----------
    places : tuple of int
        Where among the arguments the operands stand.
    labels : tuple of str
        For each operand one letter for each axis.
    output : str
        The letters of the output.
    """

    places: tuple[int, ...]
    labels: tuple[str, ...]
    output: str


def places_of(args: tuple) -> tuple[int, ...]:
    """The positions of the operands, in either form of the call."""
    if isinstance(args[0], str):
        return tuple(range(1, len(args)))
    return tuple(range(0, len(args) - len(args) % 2, 2))


def taken_apart(args: tuple) -> Sum:
    """Return the operands and their letters, the dots written out, for both forms of the call."""
    places = places_of(args)
    if isinstance(args[0], str):
        text = args[0]
    else:
        text = ",".join([as_letters(args[p + 1]) for p in places])
        text += "->" + as_letters(args[-1]) if len(args) % 2 else ""
    labels, output = read(text, tuple([np.ndim(args[p]) for p in places]))
    return Sum(places, labels, output)


@functools.lru_cache(maxsize=256)
def read(text: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """Return the letters of operands with given numbers of axes, and of the output.

    Examples
    --------
    >>> read("...i,i", (2, 1))
    (('zi', 'i'), 'z')
    """
    inputs, arrow, output = text.replace(" ", "").partition("->")
    subscripts = inputs.split(",")
    dots = [n - len(s) + 3 if "..." in s else 0 for n, s in zip(ndims, subscripts, strict=True)]
    used = "".join(subscripts)
    spare = "".join([c for c in reversed(LETTERS) if c not in used])[: max(dots, default=0)]
    if not arrow:
        once = [c for c in sorted(set(used) - {"."}) if used.count(c) == 1]
        output = "..." * ("..." in used) + "".join(once)
    labels = [
        s.replace("...", spare[len(spare) - n :]) for s, n in zip(subscripts, dots, strict=True)
    ]
    return tuple(labels), output.replace("...", spare)


def as_letters(sublist: Sequence) -> str:
    """The list form of subscripts (integers and an Ellipsis) as letters, in the same order."""
    return "".join(["..." if i is Ellipsis else LETTERS[i] for i in sublist])


def with_arrays(args: tuple) -> tuple:
    """Make arrays of operands that are lists."""
    places = places_of(args)
    return tuple([array_of(a) if i in places else a for i, a in enumerate(args)])


@rrule.register(np.einsum, shaped_by=EVERY)
def einsum_rrule(*args, optimize=False, **kwargs):
    given, args = args, with_arrays(args)
    y = np.einsum(*args, optimize=optimize, **kwargs)
    parts = taken_apart(args)
    operands = [args[p] for p in parts.places]
    shapes = [np.shape(x) for x in operands]
    lists = {p: ProjectTo(given[p]) for p in parts.places if isinstance(given[p], (list, tuple))}

    def einsum_pullback(y_bar):
        bars: list[Any] = [NoTangent()] * len(args)
        for i, place in enumerate(parts.places):
            way = plain_way(i, parts.labels, parts.output, tuple(shapes))
            if way is not None:
                others = [conj(x) for j, x in enumerate(operands) if j != i]
                bar = thunk(functools.partial(contraction, way, y_bar, *others))
            else:
                bar = thunk(functools.partial(of_operand, i, y_bar, operands, shapes, parts))
            bars[place] = lists[place](bar) if place in lists else bar
        return (NoTangent(), *bars)

    return y, einsum_pullback


@functools.lru_cache(maxsize=256)
def plain_way(i: int, inputs: tuple[str, ...], output: str, shapes: tuple) -> str | None:
    """The subscripts of the einsum that is the cotangent of operand `i`, where it is that alone.

    So it is if ȳ is no number, none of its letters stands twice, all are in ȳ or another operand,
    and no length of one is broadcast.

    Examples
    --------
    >>> plain_way(1, ("ij", "j"), "i", ((2, 3), (3,)))
    'i,ij->j'
    """
    mine, others = inputs[i], [s for j, s in enumerate(inputs) if j != i]
    if not output or len(set(mine)) < len(mine):
        return None
    if not set(mine).issubset(output + "".join(others)):
        return None
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, n in zip(labels, shape, strict=True):
            if sizes.setdefault(label, n) != n:
                return None
    return ",".join([output, *others]) + "->" + mine


def of_operand(i: int, y_bar: Any, operands: list, shapes: list, parts: Sum) -> Any:
    """The cotangent of operand `i`."""
    mine = parts.labels[i]
    others = [(x, s) for j, (x, s) in enumerate(zip(operands, parts.labels, strict=True)) if j != i]
    known = set(parts.output).union(*[s for _, s in others])
    own = "".join(dict.fromkeys(mine))  # each letter once
    found = "".join([c for c in own if c in known])
    if not parts.output and [s for _, s in others] == [found]:  # a number times the other operand
        x_bar = y_bar * conj(others[0][0])
    else:
        way = ",".join([parts.output, *[s for _, s in others]]) + "->" + found
        x_bar = contraction(way, y_bar, *[conj(x) for x, _ in others])
    sizes = dict(zip(mine, shapes[i], strict=True))
    x_bar = unbroadcast(x_bar, broadcastable(x_bar, found, sizes))
    if found != own:  # indices that only this operand has
        x_bar = np.expand_dims(x_bar, tuple([k for k, c in enumerate(own) if c not in known]))
    shape = tuple([sizes[c] for c in own])
    if np.shape(x_bar) != shape:  # these, and others that have length one elsewhere
        x_bar = np.broadcast_to(x_bar, shape)
    return x_bar if own == mine else on_diagonals(x_bar, own, mine)


def broadcastable(x_bar: Any, labels: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape that `x_bar` is to have: one where the operand has one."""
    return tuple([1 if sizes[c] == 1 else n for c, n in zip(labels, np.shape(x_bar), strict=True)])


def on_diagonals(x_bar: Any, own: str, mine: str) -> Any:
    """Put the cotangent of ``i`` on the diagonal of ``ii``."""
    size = dict(zip(own, np.shape(x_bar), strict=True))
    seen: dict[str, int] = {}
    order, masks = [], []
    for k, c in enumerate(mine):
        if c in seen:
            shape = [1] * len(mine)
            shape[seen[c]] = shape[k] = size[c]
            masks.append(np.eye(size[c], dtype=bool).reshape(shape))
            order.append(k)
        seen.setdefault(c, k)
    spread = np.expand_dims(x_bar, tuple(order))
    return np.where(np.logical_and.reduce(np.broadcast_arrays(*masks)), spread, 0)


@frule.register(np.einsum)
def einsum_frule(dots, *args, **kwargs):
    given, args = args, with_arrays(args)
    y_dot = ZeroTangent()
    for place in places_of(args):
        dot = dots[place]
        if isinstance(dot, AbstractZero):
            continue
        if isinstance(dot, Tangent):
            dot = array_of(natural(dot, given[place]))
        moved = [dot if k == place else a for k, a in enumerate(args)]
        y_dot = y_dot + np.einsum(*moved, **kwargs)
    y = np.einsum(*args, **kwargs)
    return y, fit(y_dot, y)


non_differentiable(np.einsum_path)
