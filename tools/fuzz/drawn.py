"""What programs with loops draw beside their statements, by dice of its own.

So the statements of a seed stay as they are.
"""

from __future__ import annotations

import random
import re


def argnums(seed: int, n: int) -> tuple[int, ...]:
    """Return by which of its `n` arguments a program is differentiated: often by all."""
    rng = random.Random(f"arguments {seed}")
    if rng.random() < 0.5:
        return tuple(range(n))
    return tuple(sorted(rng.sample(range(n), rng.randint(1, n))))


def with_views(body: str, vectors: tuple[str, ...], seed: int) -> str:
    """Return the statements of some programs with views of elements, ``a[..., i]`` for ``a[i]``."""
    rng = random.Random(f"views {seed}")
    if rng.random() < 0.75:
        return body
    names = "|".join(vectors)

    def one(found: re.Match[str]) -> str:
        return f"{found[1]}[..., {found[2]}]" if rng.random() < 0.4 else found[0]

    return re.sub(rf"\b({names})\[([^\[\]:,]+)\]", one, body)
