"""Filters by a function of the user's: ``generic_filter`` and ``generic_filter1d``.

The function is called as SciPy calls it, at one place after the other, with what its window sees;
``generic_filter1d`` has it write into a line that it is given. The magnitude of a gradient is a
norm, whose derivative at 0 is 0.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from chainrules.scipy.delegated import both
from chainrules.scipy.ndimage.kernels import PADDING, kernel, typed
from chainrules.scipy.ndimage.selection import continued, windows
from chainrules.scipy.private import Private
from chainrules_core import decompose

_ni_support = Private("ndimage._ni_support")


@decompose(both(ndimage.generic_gradient_magnitude))
def generic_gradient_magnitude_body(
    input,
    derivative,
    output=None,
    mode="reflect",
    cval=0.0,
    extra_arguments=(),
    extra_keywords=None,
    *,
    axes=None,
):
    input = np.asarray(input)
    output = _ni_support._get_output(output, input)
    axes = _ni_support._check_axes(axes, np.ndim(input))
    modes = _ni_support._normalize_sequence(mode, len(axes))
    extra = extra_keywords or {}
    parts = [
        derivative(input, axis, output.dtype, mode, cval, *extra_arguments, **extra)
        for axis, mode in zip(axes, modes, strict=True)
    ]
    output[...] = root_of_squares(np.stack(parts)) if parts else input
    return output


def root_of_squares(parts):
    """Return √Σ p², the norm of real numbers: it has the gradient 0 where all of them are 0."""
    if not np.iscomplexobj(parts):
        return np.linalg.norm(parts, axis=0)
    level = np.all(np.equal(parts, 0), axis=0)
    squares = np.sum(parts * parts, axis=0)
    return np.where(level, 0, np.sqrt(np.where(level, 1, squares)))


@kernel("generic_filter")
def generic_filter_body(
    input, function, footprint, output, mode, cval, origins, extra_arguments, extra_keywords
):
    seen = windows(typed(input, output), footprint, mode, cval, origins)
    for place in np.ndindex(output.shape):
        output[place] = function(seen[(slice(None), *place)], *extra_arguments, **extra_keywords)


@kernel("generic_filter1d")
def generic_filter1d_body(
    input, function, size, axis, output, mode, cval, origin, extra_arguments, extra_keywords
):
    before = size // 2 + origin
    lines = np.moveaxis(typed(input, output), axis, -1)
    target = np.moveaxis(output, axis, -1)
    width, padding = (before, size - 1 - before), PADDING[mode]
    for place in np.ndindex(lines.shape[:-1]):
        line = continued(lines[place], [width], padding, cval)
        result = np.zeros(lines.shape[-1])
        function(line, result, *extra_arguments, **extra_keywords)
        target[place] = result
