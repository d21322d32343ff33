"""Rotations and rigid transforms: SciPy's Python code is differentiated in place of its C code.

Since version 1.17, the functions behind `Rotation` and `RigidTransform` exist twice, compiled and
written in Python for the array API. Derivatives are those of the Python code. In older versions
there are only compiled classes, and traced values are refused.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from scipy import linalg, spatial
from scipy.spatial import transform

from chainrules.refused import refuse
from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules_core import decompose, ignore_derivatives, non_differentiable


def found(name: str) -> ModuleType | None:
    """Return a module of SciPy, if this version has it."""
    module = Private(f"spatial.transform.{name}")
    return module.module() if module.has() else None


FROM_MATRIX = "_from_matrix_orthogonal"
CANONICAL = "_quat_canonical"
POWERS = ("from_rotvec", "as_rotvec", "pow")

for _kind in ("rotation", "rigid_transform"):
    _compiled, _python = found(f"_{_kind}_cy"), found(f"_{_kind}_xp")
    if _compiled is None or _python is None:
        continue
    for _name in dir(_python):
        _body = getattr(_python, _name)
        _target = getattr(_compiled, _name, None)
        is_own = getattr(_body, "__module__", "") == _python.__name__ and _name != "inv"
        is_from_matrix = _name == "from_matrix" and hasattr(_python, FROM_MATRIX)
        is_power = _name in POWERS and hasattr(_python, CANONICAL)
        if _kind == "rotation" and (is_from_matrix or is_power or _name == "reduce"):
            continue  # below
        if (is_own or (_name == "inv" and _kind != "rotation")) and callable(_target):
            decompose(_target)(_body)

_python = found("_rotation_xp")

for _module in (found("_rotation_cy"), _python):
    if hasattr(_module, "inv"):

        @decompose(_module.inv)
        def inv_body(quat):
            return quat * np.array([-1.0, -1.0, -1.0, 1.0])  # SciPy writes into a copy


SMALL = 1e-6
"""Below this square of an angle, SciPy takes series in it. So do these, but of the square itself:
by its root, second derivatives at the identity would be lost."""


def squared(vector):
    return np.sum(vector * vector, axis=-1, keepdims=True)


def from_rotvec_body(rotvec, degrees=False):
    rotvec = np.deg2rad(rotvec) if degrees else rotvec
    square = squared(rotvec)
    small = square <= SMALL
    half = np.sqrt(np.where(small, 1.0, square)) / 2
    t = np.where(small, square, 0.0)
    sine = np.where(small, 0.5 - t / 48 + t * t / 3840, np.sin(half) / (2 * half))
    cosine = np.where(small, 1 - t / 8 + t * t / 384, np.cos(half))
    return np.concatenate([rotvec * sine, cosine], axis=-1)


def as_rotvec_body(quat, degrees=False):
    quat = _python._quat_canonical(quat)
    vector, real = quat[..., :3], quat[..., 3:]
    square = squared(vector)
    small = 4 * square <= SMALL * real * real
    t = np.where(small, square, 0.0) / np.where(small, real * real, 1.0)
    half = np.arctan2(np.sqrt(np.where(small, 1.0, square)), real)
    scale = np.where(small, 2 + t / 3 - 11 * t * t / 60, 2 * half / np.sin(half))
    return vector * (np.rad2deg(scale) if degrees else scale)


def pow_body(quat, n):
    # SciPy has no powers to compute for the exponents 0, 1 and -1, but the slope is that of others.
    n = np.reshape(n, ())
    power = from_rotvec_body(n * as_rotvec_body(quat))
    known = _python.pow(ignore_derivatives(quat), ignore_derivatives(n))
    turned = np.sum(ignore_derivatives(power) * known, axis=-1, keepdims=True) < 0
    return with_value(known, np.where(turned, -power, power))


for _name, _body in zip(POWERS, (from_rotvec_body, as_rotvec_body, pow_body), strict=True):
    for _module in (found("_rotation_cy"), found("_rotation_xp")):
        if hasattr(_module, _name) and hasattr(_python, CANONICAL):
            decompose(getattr(_module, _name))(_body)


if hasattr(_python, FROM_MATRIX):

    @non_differentiable
    def checked(matrix):
        _python.from_matrix(np.array(matrix))  # a copy, since it writes into its argument

    @decompose(found("_rotation_cy").from_matrix)
    def from_matrix_body(matrix, assume_valid=False):
        # SciPy does not project a matrix that is a rotation already, but the derivative must
        # include the projection. SciPy's goes by singular values, which here are all equal to 1.
        if not assume_valid:
            checked(matrix)
            matrix = linalg.polar(matrix)[0]
        return _python._from_matrix_orthogonal(matrix)


if hasattr(found("_rotation_xp"), "reduce"):
    IDENTITY = np.array([[0.0, 0.0, 0.0, 1.0]])

    @decompose(found("_rotation_cy").reduce)
    def reduce_body(quat, left=None, right=None):
        # For a group that is not given, SciPy takes four ones, which also rotate.
        left = IDENTITY if left is None else left
        return _python.reduce(quat, left, IDENTITY if right is None else right)


_slerp = Private("spatial._geometric_slerp")._geometric_slerp


@decompose(spatial.geometric_slerp)
def geometric_slerp_body(start, end, t, tol=1e-7):
    known = spatial.geometric_slerp(*map(ignore_derivatives, (start, end, t)), tol)
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    t = np.asarray(t, dtype=float)[..., None]
    if not np.array_equal(start, end):
        return np.reshape(_slerp(start, end, np.reshape(t, -1)), np.shape(known))
    # SciPy computes nothing where both are the same. With the square w of the angle between them,
    # sin(tω)/sin ω = t (1 + (1-t²) w/6 + ...).
    rest, w = 1 - t, squared(end - start)
    y = rest * (1 + (1 - rest * rest) * w / 6) * start + t * (1 + (1 - t * t) * w / 6) * end
    return with_value(known, np.reshape(y, np.shape(known)))


if found("_rotation_xp") is None:  # constructors made in C say themselves that a value is lost
    refuse(
        transform.Rotation.apply,
        "this version of SciPy computes it in C. Use SciPy 1.17 or newer.",
    )
