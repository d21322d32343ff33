"""The tool: ``python -m benchmarks.gradbench`` reads GradBench's messages and responds to them."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.gradbench.protocol import ProtocolError, serve


def main() -> int:
    """Serve standard input; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="for elementwise work on large arrays (BLAS has its own: OPENBLAS_NUM_THREADS)",
    )
    options = parser.parse_args()

    from autodiff.compiler.tiling.tile_threads import set_threads

    set_threads(options.threads)
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
