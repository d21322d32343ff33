"""Derivatives along a direction, by differences, of all floats among the arguments of a call."""

import numpy as np

STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # central differences of sixth order
STEP = 1e-3


def total(y, start=1.0):
    """A number that depends on every part of an output, on each in another way."""
    if isinstance(y, dict):
        y = list(y.values())
    if hasattr(y, "__next__") or isinstance(y, (tuple, list)):
        return sum((total(part, start + 0.3 * i) for i, part in enumerate(y)), 0.0)
    if isinstance(y, str) or y is None:
        return 0.0
    if hasattr(y, "toarray"):
        y = y.toarray()
    weights = start + np.arange(np.size(y)).reshape(np.shape(y)) / 7
    return np.sum(weights * (np.real(y) + 0.7 * np.imag(y)))


def flat(args):
    """The floats in the arguments as one vector."""
    parts = [np.ravel(a) for a in args if varies(a)]
    return np.concatenate([p.view(float) if p.dtype.kind == "c" else p for p in parts])


def varies(a):
    return not isinstance(a, (int, str)) and np.asarray(a).dtype.kind in "fc"


def rebuilt(args, vector):
    """The arguments with other floats."""
    made, used = [], 0
    for a in args:
        if not varies(a):
            made.append(a)
            continue
        array = np.asarray(a)
        n = array.size * (2 if array.dtype.kind == "c" else 1)
        part = vector[used : used + n].copy().view(array.dtype).reshape(array.shape)
        used += n
        made.append(part if isinstance(a, np.ndarray) else part.tolist())
    return tuple(made)


def direction(args):
    """A direction in which to differentiate: of no symmetry."""
    x = flat(args)
    return np.cos(1.0 + 1.7 * np.arange(x.size)) + 0.3


def slope(loss, args):
    """The derivative along the direction, by differences."""
    x, v = flat(args), direction(args)
    v = v * min(1.0, 1.0 / np.abs(v).max())
    h = STEP

    def at(k):
        return loss(*rebuilt(args, x + k * h * v))

    return sum(c * (at(k) - at(-k)) for k, c in STENCIL.items()) / h, v
