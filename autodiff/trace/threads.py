"""Whether this Python runs one thread at a time, on which the engine relies.

What is remembered about calls, functions and types is kept in dicts and lists that several threads
read and write without a lock: `intercept.sites` (what is called in place of a function),
`intercept.expressions` (the table of expressions), `plans`, `ways`, the caches of `structures`, and
the places of nodes on a `tape`, where an append and a look at what stands there are each one step.
The global interpreter lock makes each of these steps whole. Reference counts that say who holds an
array (`chainrules_core.references`) rely on it as well.
"""

from __future__ import annotations

import sys


def check_one_at_a_time() -> None:
    """Raise if threads of this Python run at the same time.

    Raises
    ------
    ImportError
        If there is no global interpreter lock, or it is switched off.
    """
    is_locked = getattr(sys, "_is_gil_enabled", None)
    if is_locked is not None and not is_locked():
        raise ImportError(
            "autodiff relies on Python's global interpreter lock, which is off in this process: "
            "gradients taken by several threads could be wrong. Start Python with PYTHON_GIL=1 in "
            "the environment, or with python -X gil=1, or use a Python with the lock."
        )


check_one_at_a_time()
