"""The command line. Data on stdout, progress on stderr and only at a terminal; exit codes as in `exits.Exit`."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper

from triplecast.cli import demo, doctor, explain, match, notifications, operators, preview, run
from triplecast.cli.exits import Exit
from triplecast.cli.terminal import say
from triplecast.errors import TriplecastError

COMMANDS = (demo, match, run, notifications, explain, preview, operators, doctor)
STDOUT = 1


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
    _open_closed_streams()
    _write_what_cannot_be_encoded_as_escapes()
    arguments = build_parser().parse_args(argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return Exit.UNREAD
    except OSError as error:
        _drop_output()
        lost = "stdout is closed, and there is something to print; give it a file, a pipe or /dev/null"
        other = f"{error}; see that there is space and the right to write"
        say(f"triplecast {arguments.command}: {lost if error.errno == errno.EBADF else other}")
        return Exit.FAILED
    return code


def _run(arguments: argparse.Namespace) -> int:
    try:
        operators.load_operators(getattr(arguments, "operators", ()))
        code: int = arguments.run(arguments)
    except TriplecastError as error:
        say(f"triplecast {arguments.command}: {error}")
        return Exit.FAILED
    except KeyboardInterrupt:
        say(f"triplecast {arguments.command}: interrupted")
        return Exit.INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """The number of a closed stream must not become that of a file of ours, and Python has no stream for it. Whoever
    closes stdin or stderr wants nothing of it; but data that cannot be written must not be lost in silence, so what
    stands for a closed stdout takes nothing (EBADF)."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == STDOUT else os.O_RDWR)  # the lowest free number is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _write_what_cannot_be_encoded_as_escapes() -> None:
    """Data is UTF-8 whatever the locale; messages are in the terminal's encoding."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What is still buffered goes nowhere: the interpreter would fail over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
