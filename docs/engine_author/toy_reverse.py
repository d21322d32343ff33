"""Reverse mode with the rules alone: a tape, and what asks chainrules_core for each call."""

import operator

import numpy as np

import chainrules  # noqa: F401 - its rules
from chainrules_core import engine as core


class Box(np.lib.mixins.NDArrayOperatorsMixin):
    """A value on the tape, which NumPy's functions hand to `call` instead of computing with it."""

    def __init__(self, value, tape, pull):
        self.value, self.tape, self.pull = value, tape, pull
        tape.append(self)

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
    if isinstance(x, (list, tuple)) and any(isinstance(part, Box) for part in x):
        raise TypeError("this engine does not look into lists: it is a toy")
    return x.value if isinstance(x, Box) else x


def call(f, *args, **options):
    """Compute ``f(*args, **options)``, and put it on the tape if it has a Box for an argument."""
    values = tuple(map(plain, args)), {name: plain(v) for name, v in options.items()}
    tapes = [a.tape for a in (*args, *options.values()) if isinstance(a, Box)]
    found = core.rrule.resolve(f, *values, ENGINE)
    if not tapes or (found and found[0].kind == "non_differentiable"):
        return f(*values[0], **values[1])
    if found is None or any(tape is not tapes[0] for tape in tapes):
        raise TypeError(f"{f} has no rule for these arguments, or they are on two tapes")
    rule, bound, known = found
    boxes, rest = rule.bind(f, args, options)  # the places of the boxes
    if any(isinstance(v, Box) for v in rest.values()):
        raise TypeError(f"{rule.name} is not differentiated by its options {list(rest)}")
    wanted = tuple(i for i, a in enumerate(boxes) if isinstance(a, Box))
    y, pull = rule.record(bound, known, wanted, ENGINE)

    def pull_back(y_bar):
        for i, bar in zip(wanted, pull(y_bar), strict=True):
            space = core.ProjectTo(bound[i])
            yield boxes[i], core.unthunk(core.named_projection(rule, i, space, bar))

    whole = Box(y, tapes[0], pull_back)
    if not isinstance(y, (tuple, list)):
        return whole

    def of_part(i):  # each output has a Box of its own, which pulls back to the whole
        zeros = [core.ZeroTangent()] * len(y)
        return lambda y_bar: [(whole, core.Tangent[type(y)](*zeros[:i], y_bar, *zeros[i + 1 :]))]

    return tuple(Box(part, tapes[0], of_part(i)) for i, part in enumerate(y))


def pullback(f, *args):
    """Return ``f(*args)``, and a function from its cotangent to those of the arguments."""
    tape, zero = [], core.ZeroTangent()
    boxes = [Box(a, tape, lambda y_bar: ()) for a in args]
    y = f(*boxes)

    def back(y_bar):
        bars = {id(y): y_bar}
        for box in reversed(tape if isinstance(y, Box) else []):
            if not isinstance(bars.get(id(box), zero), core.AbstractZero):
                for parent, x_bar in box.pull(bars[id(box)]):
                    if isinstance(x_bar, core.NotImplementedTangent):
                        raise x_bar.error()  # a derivative that nobody has written
                    bars[id(parent)] = core.add(bars.get(id(parent), zero), x_bar)
        return tuple(bars.get(id(box), zero) for box in boxes)

    return plain(y), back


class ToyReverse(core.RuleConfig):
    capabilities = frozenset({core.HasReverseMode})  # of what a rule gives it, run on boxes

    def rrule_via_ad(self, f, *args, **options):
        y, back = pullback(lambda *boxes: f(*boxes, **options), *args)
        return y, lambda y_bar: (core.NoTangent(), *back(core.unthunk(y_bar)))


ENGINE = ToyReverse()
