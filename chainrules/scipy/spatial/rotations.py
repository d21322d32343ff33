"""Rotations and rigid transforms: SciPy's Python code is differentiated in place of its C code.

Since version 1.17, the functions behind `Rotation` and `RigidTransform` exist twice, compiled and
written in Python for the array API. Derivatives are those of the Python code. In older versions
there are only compiled classes, and traced values are refused.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from scipy import linalg
from scipy.spatial import transform

from chainrules.refused import refuse
from chainrules.scipy.private import Private
from chainrules_core import decompose, non_differentiable


def found(name: str) -> ModuleType | None:
    """Return a module of SciPy, if this version has it."""
    module = Private(f"spatial.transform.{name}")
    return module.module() if module.has() else None


FROM_MATRIX = "_from_matrix_orthogonal"

for _kind in ("rotation", "rigid_transform"):
    _compiled, _python = found(f"_{_kind}_cy"), found(f"_{_kind}_xp")
    if _compiled is None or _python is None:
        continue
    for _name in dir(_python):
        _body = getattr(_python, _name)
        _target = getattr(_compiled, _name, None)
        is_own = getattr(_body, "__module__", "") == _python.__name__ and _name != "inv"
        is_from_matrix = _name == "from_matrix" and hasattr(_python, FROM_MATRIX)
        if _kind == "rotation" and (is_from_matrix or _name == "reduce"):
            continue  # below
        if (is_own or (_name == "inv" and _kind != "rotation")) and callable(_target):
            decompose(_target)(_body)

for _module in (found("_rotation_cy"), found("_rotation_xp")):
    if hasattr(_module, "inv"):

        @decompose(_module.inv)
        def inv_body(quat):
            return quat * np.array([-1.0, -1.0, -1.0, 1.0])  # SciPy writes into a copy


if hasattr(_python := found("_rotation_xp"), FROM_MATRIX):

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


if found("_rotation_xp") is None:  # constructors made in C say themselves that a value is lost
    refuse(
        transform.Rotation.apply,
        "this version of SciPy computes it in C. Use SciPy 1.17 or newer.",
    )
