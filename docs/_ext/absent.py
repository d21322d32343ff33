"""The other systems, which need not be installed for their docstrings to be read.

Sphinx imports the modules that use them with stand-ins. Those of JAX are also written into, as the
tables are in which a primitive has its derivatives.
"""

from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import _MockObject

SYSTEMS = ["autograd", "jax", "nutpie", "pytensor", "torch"]


def accept(self: Any, key: Any, value: Any) -> None:
    """Take an entry, and forget it."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Name the systems to Sphinx."""
    _MockObject.__setitem__ = accept  # type: ignore[attr-defined]
    app.config.autodoc_mock_imports = SYSTEMS
    return {"parallel_read_safe": True, "parallel_write_safe": True}
