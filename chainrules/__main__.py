"""``python -m chainrules``: what the package knows to say about itself."""

import sys

from chainrules.coverage.command import main

sys.exit(main())
