"""Whether the count of references to an array tells who holds it.

An array that one variable alone holds may be written into: nobody would see it. `sys.getrefcount`
tells, if it counts every variable, as Python does up to 3.13. Python 3.14 lends references: two
variables may count as one holder. There, and in versions that nobody has looked at, no count ever
says that an array has one holder, which costs copies.
"""

from __future__ import annotations

import sys

COUNTING = ((3, 11), (3, 12), (3, 13))
"""The versions of Python that count every variable which holds an object."""

NEVER = -1000
"""What no count of references is equal to, nor are sums of it and a few more."""


def if_counted(n: int) -> int:
    """Return a number of references, counted as it will be when a decision hangs on it.

    It is `NEVER` in a version of Python where equal counts do not mean equally many holders.
    """
    return n if sys.version_info[:2] in COUNTING else NEVER
