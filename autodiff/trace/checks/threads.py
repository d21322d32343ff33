"""A check that this Python has the global interpreter lock, on which the engine relies.

Several threads read and write the caches of the engine without a lock of their own: call sites and
replacements in `intercept`, the dispatch and plan caches, the classes in `trace.pytree`. They also
append nodes to a shared tape. The global interpreter lock makes each single step of this atomic.
Reference counts that tell who holds an array (`chainrules_core.interpreter.references`) rely on it
as well.
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
