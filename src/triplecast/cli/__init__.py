"""The command line. Data on stdout, progress on stderr and only at a terminal.

Exit codes: 0 done; 1 done, but something was rejected or undecided; 2 usage, or nothing could be done; 3 done, nothing
rejected, nothing matched.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from triplecast.cli import demo, doctor, explain, match, notifications, preview, run
from triplecast.errors import TriplecastError

COMMANDS = (demo, match, run, notifications, explain, preview, doctor)

DONE, PARTLY, FAILED, NOTHING = 0, 1, 2, 3


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="triplecast",
        description="Publish/subscribe for RDF: leave standing queries, be told what matches.",
        epilog="Exit codes: 0 done; 1 done, but something was rejected or undecided; 2 usage, or nothing could be "
        "done; 3 done, nothing rejected, nothing matched.",
    )
    parser.add_argument("--version", action="version", version=f"triplecast {version('triplecast')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except TriplecastError as error:
        print(f"triplecast {arguments.command}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"triplecast {arguments.command}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code
