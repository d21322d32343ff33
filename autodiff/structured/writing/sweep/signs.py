"""Signs of cotangents: subtracting ``x`` instead of adding ``-x`` saves a temporary array.

A negative expression is written ``(-x)``, where `x` is one operand: a name, a call, an element, or
an expression in parentheses.
"""

from __future__ import annotations


def without_sign(text: str) -> tuple[bool, str]:
    """Return whether an expression is negated, and the expression without its sign.

    Examples
    --------
    >>> without_sign("(-x)"), without_sign("((-y) / x)"), without_sign("(-x) * y")
    ((True, 'x'), (True, '(y / x)'), (False, '(-x) * y'))
    """
    if not (text.startswith("(") and _end(text) == len(text) - 1):
        return False, text
    inner = text[1:-1]
    if inner.startswith("-") and is_operand(inner[1:]):
        return True, inner[1:]
    first = inner[: _end(inner) + 1]
    rest = inner[len(first) :]
    if rest.startswith(" / ") and is_operand(rest[3:]):
        is_negative, first = without_sign(first)
        if is_negative:
            return True, f"({first}{rest})"
    return False, text


def negative(text: str) -> str:
    """Negate an expression."""
    is_negative, x = without_sign(text)
    if is_negative:
        return x
    return f"(-{x})" if is_operand(x) else f"(-({x}))"


def product(x: str, y: str) -> str:
    """Return the product of two expressions, with its sign in front of it.

    Examples
    --------
    >>> product("(-x)", "y"), product("(-x)", "(-2.0)"), product("x", "(-2.0)")
    ('(-(x * y))', 'x * 2.0', 'x * (-2.0)')
    >>> product("(-x)", "(1 / y)")
    '(-(x / y))'
    """
    is_negative, a = without_sign(x)
    if y.startswith("(1 / ") and is_operand(y[5:-1]):
        return negative(f"{a} / {y[5:-1]}") if is_negative else f"{a} / {y[5:-1]}"
    other_is, b = without_sign(y)
    if is_negative and other_is:
        return f"{a} * {b}"
    if is_negative:
        return negative(f"{a} * {y}")
    if other_is and b[0] not in "0123456789":
        return negative(f"{x} * {b}")
    return f"{x} * {y}"


def before_spreading(term: str, spread: dict[str, str]) -> str:
    """Return a number in place of the same spread over an array; return other terms unchanged.

    Examples
    --------
    >>> before_spreading("(-spread(s, n))", {"spread(s, n)": "s"})
    '(-s)'
    """
    is_negative, x = without_sign(term)
    found = spread.get(x, x)
    return negative(found) if is_negative else found


def total_cotangent(terms: list[str], spread: dict[str, str]) -> str:
    """Return the sum of the terms of a cotangent: NumPy spreads a number in a sum of arrays."""
    numbers = [before_spreading(term, spread) for term in terms]
    has_array = any(term == x for term, x in zip(terms, numbers, strict=True))
    return total(numbers if has_array else terms)


def total(terms: list[str]) -> str:
    """Return the sum of expressions.

    Examples
    --------
    >>> total(["(-x)", "y", "(-z)"]), total(["(-x)", "(-z)"])
    ('y - x - z', '(-(x + z))')
    """
    signed = list(map(without_sign, terms))
    added = [x for is_negative, x in signed if not is_negative]
    subtracted = [x for is_negative, x in signed if is_negative]
    if not added:
        return terms[0] if len(terms) == 1 else negative(" + ".join(subtracted))
    return " - ".join([" + ".join(added), *subtracted])


def added(place: str, text: str) -> str:
    """Return a statement that adds an expression to a place, or subtracts a negated one."""
    is_negative, x = without_sign(text)
    return f"{place} -= {x}" if is_negative else f"{place} += {text}"


def changed(place: str, text: str) -> str:
    """Return a statement that assigns an expression to an array, in place.

    Examples
    --------
    >>> changed("v", "v * 2.0"), changed("v", "v / (x + y)"), changed("v", "(-(v * x))")
    ('v *= 2.0', 'v /= (x + y)', 'v[...] = (-(v * x))')
    """
    for sign in "*/":
        operand = text.removeprefix(f"{place} {sign} ")
        if operand != text and is_operand(operand):
            return f"{place} {sign}= {operand}"
    return f"{place}[...] = {text}"


def _end(text: str) -> int:
    """Return the index of the bracket that closes the one at the start; -1 if there is none."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if not depth:
            return i if i else -1
    return -1


def is_operand(text: str) -> bool:
    """Whether an expression has no operator outside of brackets."""
    depth = 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if not depth and not (c.isalnum() or c in "_.)]"):
            return False
    return bool(text)
