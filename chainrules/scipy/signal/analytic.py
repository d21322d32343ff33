"""Analytic signals: ``hilbert`` and ``hilbert2``.

Both are F⁻¹ D F of a real signal, brought to N samples before, with a real diagonal D: F⁻¹ D F is
its own adjoint, so with H for the function the cotangent is Re H(ȳ) = Re H(Re ȳ) - Im H(Im ȳ). In
one dimension Re H is the identity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both
from chainrules.transforms.linear import fitted, linear_map


def hilbert_adjoint(y_bar, x, *, N=None, axis=-1):
    other = np.imag(signal.hilbert(np.imag(y_bar), axis=axis))
    return fitted(np.real(y_bar) - other, np.shape(x)[axis], axis)


def hilbert2_adjoint(y_bar, x, *, N=None, axes=(-2, -1)):
    options: dict[str, Any] = {} if tuple(axes) == (-2, -1) else {"axes": axes}
    real, imag = (signal.hilbert2(part, **options) for part in (np.real(y_bar), np.imag(y_bar)))
    x_bar = np.real(real) - np.imag(imag)
    for axis in axes:
        x_bar = fitted(x_bar, np.shape(x)[axis], axis)
    return x_bar


linear_map(both(signal.hilbert), hilbert_adjoint)
linear_map(both(signal.hilbert2), hilbert2_adjoint)
