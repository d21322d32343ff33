"""Forward mode with the rules alone: each value brings its tangent along."""

import operator

import numpy as np

import chainrules  # noqa: F401 - its rules
from chainrules_core import engine as core


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """A value and its tangent, which NumPy's functions hand to `call`."""

    def __init__(self, value, dot):
        self.value, self.dot = value, dot

    __array__ = __reduce__ = __reduce_ex__ = None  # no plain array is made of it, and no copy
    shape = property(lambda self: np.shape(self.value))
    ndim = property(lambda self: np.ndim(self.value))
    dtype = property(lambda self: np.asarray(self.value).dtype)

    def __getitem__(self, index):
        return call(operator.getitem, self, index)

    def __array_ufunc__(self, ufunc, method, *args, **options):
        return call(ufunc if method == "__call__" else getattr(ufunc, method), *args, **options)

    def __array_function__(self, f, types, args, options):
        return call(f, *args, **options)


def plain(x):
    if isinstance(x, (list, tuple)) and any(isinstance(part, Dual) for part in x):
        raise TypeError("this engine does not look into lists: it is a toy")
    return x.value if isinstance(x, Dual) else x


def dot_of(x):
    return x.dot if isinstance(x, Dual) else core.ZeroTangent()


def dual(y, dot):
    """Return an output with its tangent; one without a tangent as it is."""
    if isinstance(dot, core.NotImplementedTangent):
        raise dot.error()
    if isinstance(dot, core.AbstractZero):
        return y
    if isinstance(y, (tuple, list)):
        dots = dot if isinstance(dot, core.Tangent) else [core.ZeroTangent()] * len(y)
        return tuple(dual(part, dots[i]) for i, part in enumerate(y))
    return Dual(y, dot)


def call(f, *args, **options):
    """Compute ``f(*args, **options)`` and its tangent."""
    values = tuple(map(plain, args)), {name: plain(v) for name, v in options.items()}
    if not any(isinstance(a, Dual) for a in (*args, *options.values())):
        return f(*values[0], **values[1])
    found = core.frule.resolve(f, *values, ENGINE)
    if found is None:
        raise TypeError(f"{f} has no rule for these arguments")
    rule, bound, known = found
    duals, rest = rule.bind(f, args, options)  # the places of the duals
    if any(isinstance(v, Dual) for v in rest.values()) and rule.kind != "non_differentiable":
        raise TypeError(f"{rule.name} is not differentiated by its options {list(rest)}")
    with core.quiet():
        y, dot = rule.push(tuple(map(dot_of, duals)), bound, known, ENGINE)
    return dual(y, dot)


def pushforward(f, args, dots):
    """Return ``f(*args)`` and its derivative along the tangents `dots`."""
    y = f(*[a if isinstance(d, core.AbstractZero) else Dual(a, d)
            for a, d in zip(args, dots, strict=True)])  # fmt: skip
    return plain(y), dot_of(y)


class ToyForward(core.RuleConfig):
    """What the engine can do: push tangents through what a rule gives it."""

    capabilities = frozenset({core.HasForwardMode})

    def frule_via_ad(self, dots, f, *args, **options):
        return pushforward(lambda *duals: f(*duals, **options), args, dots[1:])


ENGINE = ToyForward()
