"""Calls of NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tools.calls.draw import Call, Draw, Maker, masked, of_one, of_two, reduction, table_of

LINES, calls = table_of(np)
METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
Reader = Callable[[Draw, tuple], Any]


def method(name: str) -> Callable:
    """Return a function that calls a method."""
    return lambda x, *args, **options: getattr(x, name)(*args, **options)


def written(f: Callable) -> Callable:
    """Return a function of an array that calls `f`, which writes into one, on a copy."""

    def copied(x: Any, *args: Any, **options: Any) -> Any:
        y = x.copy()
        f(y, *args, **options)
        return y

    return copied


def of_array(f: Reader, least: int = 1, ndim: int | None = None) -> Maker:
    """Return what draws an array and, by its shape, the rest of a call."""

    def make(r: Draw) -> Call:
        shape = tuple([n + least - 1 for n in r.shape(ndim or r.integer(1, 4))])
        rest = f(r, shape)
        args, options = rest if isinstance(rest, tuple) else ((), rest)
        return Call((r.array(*shape), *args), options)

    return make


def one_axis(r: Draw, shape: tuple) -> dict:
    return r.some(axis=lambda: r.axis(len(shape), several=False))


# ------------------------------------------------------------------------------------- elementwise

calls(
    "sin cos tanh exp expm1 sinh cosh arctan arcsinh square negative positive sinc cbrt exp2 "
    "degrees radians i0 conj real angle absolute fabs",
    of_one,
)
calls("log log2 log10 log1p sqrt reciprocal", partial(of_one, positive=True))
calls(
    "add subtract multiply maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2 copysign "
    "fmod remainder",
    of_two,
)
calls("divide power float_power floor_divide", partial(of_two, positive=True))
calls("clip", lambda r: Call((r.array(*r.shape()), -0.7 if r.flip() else None, 0.9)))
calls("clip", lambda r: Call((r.array(3, 2), r.array(2) - 1.5, r.array(3, 1) + 1.5)))
calls("where", lambda r: Call((r.mask(2, 3), r.array(2, 3), r.one(r.number(), r.array(2, 1)))))
calls("select", lambda r: Call(([r.mask(3), r.mask(3)], [r.array(3), r.array(3)], r.number())))
calls("choose", lambda r: Call((r.integers(0, 2, 3), [r.array(3), r.array(3)])))
calls("unwrap", lambda r: Call((3 * r.array(6),), r.some(period=5, discont=3)))
calls("nan_to_num", lambda r: Call((r.array(3, 2),), r.some(nan=1.0)))

# -------------------------------------------------------------------------------------- reductions

calls("sum mean nansum nanmean prod nanprod", masked)
calls("max amax nanmax", partial(masked, initial=-9.0))
calls("min amin nanmin", partial(masked, initial=9.0))
calls("var std nanvar nanstd", lambda r: reduction(r, keepdims=r.flip, ddof=lambda: r.one(0, 1)))
calls("ptp median nanmedian", lambda r: reduction(r, keepdims=r.flip))
for _name in ["sum", "mean", "prod", "max", "min", "var", "std"]:
    calls(f"ndarray.{_name}", lambda r: reduction(r, keepdims=r.flip), method(_name))
calls("cumsum cumprod nancumsum nancumprod sort", lambda r: reduction(r, several=False))
for _name in ["add", "multiply", "maximum", "logaddexp", "hypot"]:
    calls(f"{_name}.reduce", lambda r: reduction(r, keepdims=r.flip))
    calls(f"{_name}.accumulate", of_array(one_axis))
    calls(f"{_name}.outer", lambda r: Call((r.array(*r.shape(1)), r.array(*r.shape(2)))))
    calls(f"{_name}.reduceat", lambda r: Call((r.array(6), [0, 2, 4, 1])))


def quantile(r: Draw, hundred: float = 1.0) -> Call:
    call = reduction(r, keepdims=r.flip, method=lambda: r.one(*METHODS))
    q = r.one(0.0, 0.25, 0.5, 1.0, r.rng.uniform(0, 1, r.shape(r.integer(1, 3))))
    return Call(call.args, {**call.options, "q": q * hundred})


def average(r: Draw) -> Call:
    shape = r.shape(3)
    axes = r.order(3)
    weights = r.positive(*shape) if r.flip() else r.positive(*[shape[a] for a in axes])
    return Call((r.array(*shape),), {"axis": axes, "weights": weights, **r.some(keepdims=True)})


def covariance(r: Draw) -> Call:
    options = r.some(rowvar=r.flip, bias=r.flip, ddof=lambda: r.one(0, 1))
    n = 4 if options.get("rowvar", True) else 3
    options |= r.some(0.3, aweights=lambda: r.positive(n), fweights=lambda: r.integers(1, 4, n))
    return Call((r.array(3, 4), *[r.array(3, 4)] * r.flip(0.3)), options)


calls("quantile nanquantile", quantile)
calls("percentile nanpercentile", partial(quantile, hundred=100.0))
calls("average", average)
calls("cov", covariance)
calls("corrcoef", lambda r: Call((r.array(3, 5), *[r.array(2, 5)] * r.flip())))
calls("partition", lambda r: Call((r.array(3, 4), r.integer(0, 4)), r.some(axis=-1)))

# ------------------------------------------------------------------------ differences and integrals


def spaced(r: Draw) -> Call:
    shape, axes = tuple([n + 2 for n in r.shape(3)]), r.order(3)
    spacing = [r.one(r.number() + 3, r.rising(shape[a])) for a in axes]
    return Call((r.array(*shape), *spacing), {"axis": axes, **r.some(edge_order=2)})


def ended(r: Draw, shape: tuple) -> dict:
    axis = r.axis(len(shape), none=False, several=False)
    end = [*shape]
    end[axis] = 1
    ends = r.some(0.3, prepend=lambda: r.array(*end), append=lambda: r.array(*end))
    return {"axis": axis, **r.some(n=lambda: r.integer(0, 3)), **ends}


def sampled(r: Draw, shape: tuple) -> dict:
    axis = r.axis(len(shape), none=False, several=False)
    places = r.one({}, {"dx": 0.7}, {"x": r.rising(shape[axis])})
    return {"axis": axis, **places}


calls("gradient", spaced)
calls("gradient", of_array(lambda r, s: r.some(edge_order=2), least=3))
calls("diff", of_array(ended, least=3))
calls("trapezoid", of_array(sampled, least=2))
calls("ediff1d", lambda r: Call((r.array(2, 3),), r.some(to_end=r.array(2), to_begin=r.number())))
calls("interp", lambda r: Call((r.array(4), r.rising(5) - 2, r.array(5)), r.some(left=r.number())))
calls("interp", lambda r: Call((3 * r.array(4), r.rising(5), r.array(5)), {"period": 7.3}))

# ------------------------------------------------------------------------------------------ shapes


def padding(r: Draw) -> Call:
    shape = tuple([n + 1 for n in r.shape(r.integer(1, 3))])
    width = r.one(2, (1, 3), tuple([(r.integer(0, 4), r.integer(0, 4)) for _ in shape]))
    modes: dict[str, dict] = {
        "constant": {"constant_values": r.number()},
        "linear_ramp": {"end_values": r.number()},
        "edge": {},
        "wrap": {},
        **{name: {"stat_length": 2} for name in ("maximum", "minimum", "mean", "median")},
        **{name: {"reflect_type": "odd"} for name in ("reflect", "symmetric")},
    }
    mode = r.one(*modes)
    return Call((r.array(*shape), width), {"mode": mode, **r.some(**modes[mode])})


def joined(r: Draw) -> Call:
    shape, n = [*r.sized()], r.integer(1, 4)
    axis = r.axis(len(shape), none=False, several=False)
    arrays = []
    for _ in range(n):
        shape[axis] = r.integer(1, 4)
        arrays.append(r.array(*shape))
    return Call((r.one(list, tuple)(arrays),), {"axis": axis})


def alike(r: Draw, ndim: int | None = None) -> list:
    shape = r.shape(ndim)
    return [r.array(*shape) for _ in range(r.integer(1, 4))]


calls("concatenate", joined)
calls("stack", lambda r: Call((alike(r, 2),), r.some(axis=lambda: r.integer(-3, 3))))
calls("vstack hstack dstack column_stack", lambda r: Call((alike(r, r.integer(0, 3)),)))
calls("pad", padding)
calls("reshape", of_array(lambda r, s: ((-1,), r.some(order=lambda: r.one("C", "F")))))
calls("ravel", of_array(lambda r, s: r.some(order=lambda: r.one("C", "F"))))
calls("transpose", of_array(lambda r, s: r.some(axes=lambda: r.order(len(s), len(s)))))
calls("moveaxis", of_array(lambda r, s: ((r.order(len(s), 1), r.order(len(s), 1)), {})))
calls("swapaxes", of_array(lambda r, s: ((*r.order(3, 2),), {}), ndim=3))
calls("roll", of_array(lambda r, s: ((r.integer(-4, 5),), one_axis(r, s))))
calls("roll", of_array(lambda r, s: (((1, -1, 2),), {"axis": r.order(3, 3)}), ndim=3))
calls("flip", of_array(lambda r, s: r.some(axis=lambda: r.axis(len(s)))))
calls(
    "rot90", of_array(lambda r, s: {"k": r.integer(-3, 4), "axes": r.one((2, 0), (0, 1))}, ndim=3)
)
calls("repeat", of_array(lambda r, s: ((r.integer(0, 4),), one_axis(r, s))))
calls("tile", of_array(lambda r, s: ((tuple(r.integers(1, 3, 2).tolist()),), {})))
calls("triu tril diag", of_array(lambda r, s: ((r.integer(-2, 3),), {}), ndim=2))
calls(
    "trace diagonal",
    of_array(lambda r, s: {"offset": r.one(-1, 1), "axis1": 2, "axis2": 0}, ndim=3),
)
calls("take", of_array(lambda r, s: ((r.integers(-1, 1, 2, 2),), one_axis(r, s))))
calls("insert", of_array(lambda r, s: ((s[0] - 1, r.number()), {"axis": 0})))
calls("delete", lambda r: Call((r.array(5, 2), r.one([1, 3], slice(0, 2), 2)), r.some(axis=0)))
calls("append", lambda r: Call((r.array(2, 3), r.array(1, 3)), r.some(axis=0)))
calls("split array_split", lambda r: Call((r.array(6, 2), r.one(3, [1, 4]))))
calls("put", lambda r: Call((r.array(5), [1, 3], r.array(2))), written(np.put))
calls("copyto", lambda r: Call((r.array(3, 2), r.array(2))), written(np.copyto))
calls("fill_diagonal", lambda r: Call((r.array(4, 3), r.number())), written(np.fill_diagonal))
calls("meshgrid", lambda r: Call((r.array(2), r.array(3)), r.some(indexing="ij", sparse=True)))
calls("linspace", lambda r: Call((r.array(2), r.array(2), 3), r.some(axis=-1, endpoint=False)))
calls("geomspace", lambda r: Call((r.number() + 3, r.number() + 3, 4)))

# ---------------------------------------------------------------------------------- linear algebra

EINSUMS = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ii": ((3, 3),),
    "...i,i": ((2, 2, 3), (3,)),
    "ij,ij,j->": ((2, 3), (2, 3), (3,)),
    "iij->j": ((2, 2, 3),),
    "i,j": ((2,), (3,)),
}
DOTS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 2))]
PRODUCTS = [((2, 3, 4), (4, 2)), ((4,), (2, 4, 3)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (4,))]


def arrays_of(r: Draw, shapes: Any) -> tuple:
    return tuple([r.array(*shape) for shape in shapes])


def einsum(r: Draw) -> Call:
    subscripts = r.one(*EINSUMS)
    options = r.some(optimize=lambda: r.one(True, "greedy"))
    return Call((subscripts, *arrays_of(r, EINSUMS[subscripts])), options)


def norm(r: Draw) -> Call:
    if r.flip():
        order = r.one(None, 1, 2, np.inf, -np.inf, 0, 3, -1)
        return Call(
            (r.array(2, 3),), {"ord": order, "axis": r.integer(-2, 2), **r.some(keepdims=True)}
        )
    order = r.one(None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    options = {"ord": order, "axis": r.order(3, 2), **r.some(keepdims=True)}
    return Call((r.array(2, 3, 3),), options)


def system(r: Draw) -> Call:
    n = r.integer(1, 5)
    return Call((r.square(n, False), r.one(r.array(n), r.array(n, 2))))


calls("dot", lambda r: Call(arrays_of(r, r.one(*DOTS))))
calls("matmul", lambda r: Call(arrays_of(r, r.one(*PRODUCTS))))
calls("inner", lambda r: Call((r.array(2, 3), r.array(4, 3))))
calls("outer kron", lambda r: Call((r.array(*r.shape(2)), r.array(*r.shape(1)))))
calls("vdot vecdot", lambda r: Call((r.array(2, 3), r.array(2, 3))))
calls(
    "tensordot",
    lambda r: Call(
        (r.array(2, 3, 4), r.array(4, 3, 2)), {"axes": r.one(([2, 1], [0, 1]), 1, ([2, 0], [0, 2]))}
    ),
)
calls("cross", lambda r: Call((r.array(4, 3), r.one(r.array(3), r.array(4, 3)))))
calls("einsum", einsum)
calls(
    "convolve correlate",
    lambda r: Call(
        (r.array(r.integer(1, 6)), r.array(r.integer(1, 4))),
        r.some(mode=lambda: r.one("full", "same", "valid")),
    ),
)
calls("linalg.inv linalg.det linalg.slogdet linalg.eigvals", lambda r: Call((r.square(),)))
calls("linalg.cond", lambda r: Call((r.square(), r.one(None, 1, -1, 2, -2, "fro"))))
calls("linalg.pinv linalg.svdvals", lambda r: Call((r.matrix(),)))
calls("linalg.cholesky", lambda r: Call((r.definite(),), r.some(upper=r.flip)))
calls("linalg.eigvalsh", lambda r: Call((r.definite(),), r.some(UPLO="U")))
calls("linalg.solve", system)
calls("linalg.lstsq", lambda r: Call((r.array(5, 3), r.array(5)), {"rcond": None}))
calls("linalg.matrix_power", lambda r: Call((r.square(), r.integer(-2, 4))))
calls("linalg.norm", norm)
calls(
    "linalg.qr",
    lambda r: Call((r.array(*r.one((4, 3), (2, 4, 3))),), {"mode": r.one("r", "reduced")}),
)
calls("linalg.multi_dot", lambda r: Call(([r.array(2, 3), r.array(3, 4), r.array(4, 2)],)))
calls("polyval", lambda r: Call((r.array(4), r.array(3))))
calls("polyfit", lambda r: Call((r.rising(6), r.array(6), 2), r.some(w=lambda: r.positive(6))))

# --------------------------------------------------------------------------------------------- fft


def transformed(r: Draw) -> Call:
    shape = tuple([n + 1 for n in r.sized()])
    axis = r.axis(len(shape), none=False, several=False)
    norms = r.some(norm=lambda: r.one("ortho", "forward", "backward"))
    return Call((r.array(*shape),), {"axis": axis, **norms, **r.some(n=lambda: r.integer(2, 7))})


def transformed_axes(r: Draw) -> Call:
    axes = r.order(3)
    lengths = r.some(s=lambda: tuple(r.integers(2, 6, len(axes)).tolist()))
    return Call((r.array(3, 4, 2),), {"axes": axes, **lengths, **r.some(norm="ortho")})


calls("fft.fft fft.ifft fft.rfft fft.hfft fft.ihfft", transformed)
calls("fft.fftn fft.ifftn fft.rfftn", transformed_axes)
calls("fft.irfft", lambda r: Call((r.complex(4),), r.some(n=lambda: r.integer(3, 9), norm="ortho")))
calls(
    "fft.fftshift fft.ifftshift", lambda r: Call((r.array(3, 4),), r.some(axes=lambda: r.order(2)))
)
