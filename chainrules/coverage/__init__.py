"""Which public functions have rules: read from the live registry.

``python -m chainrules coverage [module …]`` prints it. What the registry cannot know (that a
function has no derivative, is out of scope, is traced, or stops with an error) is stated in the
files of the folder ``facts``.
"""

from chainrules.coverage.known import MODULES as MODULES
from chainrules.coverage.rows import Row as Row, coverage as coverage
