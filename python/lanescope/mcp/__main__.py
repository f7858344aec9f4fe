# SPDX-License-Identifier: Apache-2.0
"""The command line of the door."""

import argparse
import os
import signal
import sys


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lanescope.mcp",
        description="Tools over the Model Context Protocol, on standard input and output, that ask traces.")
    parser.add_argument("--root", action="append", metavar="FOLDER",
                        help="folder whose files may be read, several times for several; default: the working folder")
    parser.add_argument("--program", metavar="FILE",
                        help="the program lanescope; default: the one beside this Python, or on PATH")
    parser.add_argument("--time-limit", type=float, default=120, metavar="SECONDS",
                        help="a call that takes longer is ended (default: 120)")
    return parser.parse_args()


def fail(code: str, message: str) -> int:
    print(f"error: {code}: {message}", file=sys.stderr)
    return 1


def main() -> int:
    given = arguments()
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError:
        return fail("FailedPrecondition", "the package mcp (version 2 or later) is missing; pip install 'lanescope[mcp]'")
    from lanescope.mcp.program import Refusal
    from lanescope.mcp.server import serve

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leaves nothing behind, as Ctrl-C does
    try:
        serve(given.root or ["."], given.program, given.time_limit)
    except Refusal as refusal:
        return fail(refusal.code, refusal.message)
    except KeyboardInterrupt:
        os._exit(130)  # a thread of the library still waits for standard input, and Python would wait for it
    return 0


if __name__ == "__main__":
    sys.exit(main())
