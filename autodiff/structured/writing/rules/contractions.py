"""Products of vectors and matrices, written by the subscripts that their rules give."""

from __future__ import annotations


def adjoint_of(subscripts: str, j: int) -> tuple[str, str, str]:
    """Return the subscripts of ȳ, of the other factor, and of the cotangent of a factor.

    Examples
    --------
    >>> adjoint_of("ij,j->i", 1)  # x̄_j = Σ_i ȳ_i a_ij
    ('i', 'ij', 'j')
    """
    factors, y = subscripts.split("->")
    a, b = factors.split(",")
    return (y, b, a) if j == 0 else (y, a, b)


def is_outer(xs: str, ys: str) -> bool:
    """Whether two vectors are multiplied, each element of one with each of the other."""
    return len(xs) == len(ys) == 1 and xs != ys


def product(x: str, xs: str, y: str, ys: str, out: str) -> str | None:
    """Return the expression of a product whose factors have at most two axes.

    Parameters
    ----------
    x, y : str
        The factors as they are written.
    xs, ys, out : str
        Their subscripts, and those of the product, as `numpy.einsum` takes them.

    Returns
    -------
    str or None
        The expression; None if there is none that is simple.

    Examples
    --------
    >>> product("g", "ij", "b", "kj", "ik")
    'g @ b.T'
    >>> product("g", "i", "b", "j", "ji")
    'b[:, None] * g'
    """
    if not xs:
        return f"{x} * {y}"
    if is_outer(xs, ys):
        left, right = (x, y) if out == xs + ys else (y, x)
        return f"{left}[:, None] * {right}"
    (summed, *others) = set(xs) & set(ys) or {""}
    if not summed or others or summed in out:
        return None
    if out != xs.replace(summed, "") + ys.replace(summed, ""):
        x, xs, y, ys = y, ys, x, xs
    left = x if xs.endswith(summed) else f"{x}.T"
    right = y if ys.startswith(summed) else f"{y}.T"
    return f"{left} @ {right}"
