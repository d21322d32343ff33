"""The tool: ``python -m benchmarks.gradbench`` reads GradBench's messages and responds to them."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.gradbench.protocol import ProtocolError, serve


def main() -> int:
    """Serve standard input; return the exit status."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    # Whatever prints must not get between the messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    try:
        serve(sys.stdin, out)
    except ProtocolError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (BrokenPipeError, KeyboardInterrupt):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
