"""Products of vectors and matrices as source, given their subscripts."""

from __future__ import annotations


def adjoint_of(subscripts: str, j: int) -> tuple[str, str, str]:
    """Return the subscripts of ȳ, of the other factor, and of the cotangent of factor `j`.

    Examples
    --------
    >>> adjoint_of("ij,j->i", 1)  # x̄_j = Σ_i ȳ_i a_ij
    ('i', 'ij', 'j')
    """
    factors, y = subscripts.split("->")
    a, b = factors.split(",")
    return (y, b, a) if j == 0 else (y, a, b)


def is_outer(xs: str, ys: str) -> bool:
    """Whether a product is the outer product of two vectors."""
    return len(xs) == len(ys) == 1 and xs != ys


def product(x: str, xs: str, y: str, ys: str, out: str) -> str | None:
    """Return the source of a product whose factors have at most two axes.

    Parameters
    ----------
    x, y : str
        The source of the factors.
    xs, ys, out : str
        Their subscripts and those of the product, as for `numpy.einsum`.

    Returns
    -------
    str or None
        The source; None if there is no simple expression.

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
