"""Write docs/errors.md: python -m tools.errors [FILE]."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.errors.entries import ROOT, entries, run
from tools.errors.page import page
from tools.errors.sites import sites


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or list what no entry reaches."""
    parser = argparse.ArgumentParser(prog="python -m tools.errors", description=__doc__)
    parser.add_argument("--missing", action="store_true", help="list what no entry reaches")
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "docs" / "errors.md")
    options = parser.parse_args(arguments)
    if not options.missing:
        options.file.write_text(page(), encoding="utf-8")
        return 0
    reached = {raised.site for entry in entries() if (raised := run(entry)) is not None}
    missing = [site for site in sites() if site not in reached]
    for site in missing:
        print(f"{site.file}:{site.first} {site.function} {site.kind}")
    print(f"{len(missing)} of {len(sites())} statements are reached by no entry")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
