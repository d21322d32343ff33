"""A derivative that exists but that nobody has written yet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np

from chainrules_core.errors import MissingTangentAttributeError, NotImplementedTangentError
from chainrules_core.tangents.zero import AbstractTangent, AbstractZero


def not_implemented(reason: str, issue: str | None = None) -> NotImplementedTangent:
    """Mark a partial derivative as not written; it raises an error only if somebody needs it.

    Return it from a rule in place of the missing tangent. Use it for derivatives that exist, and
    `NoTangent` where there is none.

    Parameters
    ----------
    reason : str
        What is missing.
    issue : str, optional
        Where this is discussed.

    Returns
    -------
    NotImplementedTangent
        A tangent that remembers the file, line and function of the caller.

    Examples
    --------
    >>> order_bar = not_implemented("the derivative of jv with respect to its order")
    >>> from chainrules_core.tangents import ZeroTangent
    >>> order_bar * ZeroTangent()
    ZeroTangent()
    >>> 1.0 + order_bar
    NotImplementedTangent('the derivative of jv with respect to its order')
    """
    caller = sys._getframe(1)
    code = caller.f_code
    return NotImplementedTangent(reason, issue, code.co_filename, caller.f_lineno, code.co_qualname)


def _refusing(name: str) -> Callable:
    def refuse(self: NotImplementedTangent, *_: Any, **__: Any) -> NoReturn:
        raise self.error()

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


class NotImplementedTangent(AbstractTangent):
    """The tangent that `not_implemented` returns.

    Every sum that contains it is this tangent. Scaling, negation and conjugation return it, and its
    product with a zero is the zero. Everything else raises `NotImplementedTangentError`.

    Attributes
    ----------
    reason, issue, file, line, function
        Where it comes from.
    """

    __slots__ = ("file", "function", "issue", "line", "reason")

    __array_ufunc__ = None  # NumPy's operators step back, as for zeros

    def __init__(self, reason: str, issue: str | None, file: str, line: int, function: str) -> None:
        self.reason, self.issue = reason, issue
        self.file, self.line, self.function = file, line, function

    def error(self) -> NotImplementedTangentError:
        """Return the exception to raise if this derivative is needed."""
        return NotImplementedTangentError(
            self.reason, f"{self.file}:{self.line}", self.function, self.issue
        )

    def _itself(self, other: Any = None) -> Self:
        return self

    def _itself_unless_zero(self, other: Any) -> Any:
        return other if isinstance(other, AbstractZero) else self

    __add__ = __radd__ = __neg__ = __pos__ = conj = conjugate = _itself
    __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _itself_unless_zero

    __sub__, __rsub__ = _refusing("__sub__"), _refusing("__rsub__")
    __truediv__, __rtruediv__ = _refusing("__truediv__"), _refusing("__rtruediv__")
    __pow__, __rpow__, __abs__ = _refusing("__pow__"), _refusing("__rpow__"), _refusing("__abs__")
    __lt__, __le__, __gt__, __ge__ = map(_refusing, ("__lt__", "__le__", "__gt__", "__ge__"))
    __getitem__, __iter__, __len__ = map(_refusing, ("__getitem__", "__iter__", "__len__"))
    __bool__, __int__, __float__ = map(_refusing, ("__bool__", "__int__", "__float__"))
    __complex__, __index__ = map(_refusing, ("__complex__", "__index__"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype == np.dtype(object):
            return self._as_object_()
        raise self.error()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingTangentAttributeError(*self.error().args)

    def __reduce__(self) -> tuple:
        return type(self), (self.reason, self.issue, self.file, self.line, self.function)

    def __repr__(self) -> str:
        return f"NotImplementedTangent({self.reason!r})"
