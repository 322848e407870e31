"""The command line: data on stdout, all else on stderr, exit codes as in `terminal.Exit`."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from triplecast.cli import (
    completion,
    deliver,
    demo,
    doctor,
    explain,
    follow,
    match,
    notifications,
    operators,
    preview,
    publish,
    query,
    run,
    serve,
    show,
    sources,
    subscriptions,
    taxonomy,
)
from triplecast.cli.service_url import arrange
from triplecast.cli.terminal import Exit, say
from triplecast.errors import InputError, ServiceRefused, TriplecastError

COMMANDS = (
    demo,
    match,
    run,
    subscriptions,
    publish,
    serve,
    notifications,
    explain,
    preview,
    query,
    follow,
    sources,
    deliver,
    taxonomy,
    show,
    operators,
    doctor,
    completion,
)
EXAMPLES = MappingProxyType(
    {
        "demo": "triplecast demo",
        "match": "triplecast match --subscriptions rail.rq --publications feed.atom inbox",
        "run": "triplecast run --subscriptions subscriptions --inbox inbox --output news",
        "subscribe": "triplecast subscribe news rail.rq --owner ada --lease forever",
        "unsubscribe": "triplecast unsubscribe news rail.rq",
        "resync": "triplecast resync news rail.rq",
        "subscriptions": "triplecast subscriptions news --owner ada",
        "status": "triplecast status news",
        "publish": "triplecast publish news feed.atom",
        "serve": "triplecast serve news --port 8000",
        "token": "triplecast token tokens.jsonl --owner ada --scope publish subscribe read",
        "notifications": "triplecast notifications news --since 8 --follow",
        "explain": "triplecast explain feed.atom rail.rq",
        "preview": "triplecast preview rail.rq --publications feed.atom inbox",
        "query": "triplecast query news 'SELECT ?title { ?item rss:title ?title }'",
        "follow": "triplecast follow catalogue --into mine --subscriptions datasets.rq",
        "replicate": "triplecast replicate catalogue --into second",
        "gc": "triplecast gc mine --dry-run",
        "sources": "triplecast sources news add https://example.org/feed.xml",
        "poll": "triplecast poll news",
        "deliver": "triplecast deliver news --once",
        "targets": "triplecast targets news add rail.rq --webhook https://example.org/hook",
        "schema": "triplecast schema catalogue schema.ttl",
        "taxonomy": "triplecast taxonomy catalogue themes.ttl --broader",
        "show": "triplecast show feed.atom",
        "operators": "triplecast operators --operators boats",
        "doctor": "triplecast doctor",
        "completion": 'eval "$(triplecast completion bash)"',
    }
)
"""A right call of each command, which its help and a wrong call show."""
STDOUT = 1
NO_TOKEN = 401


class CommandParser(argparse.ArgumentParser):
    """The parser of one command: a wrong call shows a right one."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace
    ) -> tuple[argparse.Namespace, list[str]]:
        try:
            arranged = arrange(self, args)
        except argparse.ArgumentTypeError as error:
            self.error(str(error))
        parsed, unknown = super().parse_known_args(arranged, namespace)
        if unknown:  # or the usage of all commands is shown
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(Exit.FAILED, f"{self.prog}: error: {message}; for example: {EXAMPLES[self.prog.split()[-1]]}\n")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="triplecast",
        description="Publish/subscribe for RDF: match standing SPARQL queries against every publication.",
        epilog="Exit codes: 0 done; 1 done, but something was rejected, refused or undecided; 2 wrong usage, or "
        "nothing could be done; 3 done, but nothing matched.",
    )
    parser.add_argument("--version", action="version", version=f"triplecast {version('triplecast')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for command in COMMANDS:
        command.add_parser(commands)
    for name, example in EXAMPLES.items():
        commands.choices[name].epilog = f"Example: {example}"
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    _open_closed_streams()
    _escape_what_cannot_be_encoded()
    arguments = build_parser().parse_args(argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return Exit.UNREAD
    except OSError as error:
        _drop_output()
        lost = "stdout is closed; redirect it to a file, a pipe or /dev/null"
        other = f"{error}; check the disk space and the right to write"
        say(f"triplecast {arguments.command}: {lost if error.errno == errno.EBADF else other}")
        return Exit.FAILED
    return code


def _run(arguments: argparse.Namespace) -> int:
    try:
        _refuse_stdin_twice(arguments)
        operators.load_operators(getattr(arguments, "operators", ()))
        code: int = arguments.run(arguments)
    except TriplecastError as error:
        token = getattr(arguments, "token", None) or os.environ.get("TRIPLECAST_TOKEN")
        if isinstance(error, ServiceRefused) and error.status == NO_TOKEN and not token:
            error.mend = "give a token with --token, or in the variable TRIPLECAST_TOKEN"
        say(f"triplecast {arguments.command}: {error}")
        return Exit.FAILED
    except KeyboardInterrupt:
        say(f"triplecast {arguments.command}: interrupted")
        return Exit.INTERRUPTED
    return code


def _refuse_stdin_twice(arguments: argparse.Namespace) -> None:
    values = [each for value in vars(arguments).values() for each in (value if isinstance(value, list) else [value])]
    if values.count(Path("-")) > 1:
        raise InputError("standard input (-) is given twice, and can be read once", "save one of them as a file")


def _open_closed_streams() -> None:
    """Open the null device for closed streams, so that no file of ours gets their numbers. For stdout it is not
    writable (EBADF): lost data must be an error."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == STDOUT else os.O_RDWR)  # the lowest free number is this
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _escape_what_cannot_be_encoded() -> None:
    """Write data as UTF-8 in any locale and messages in the terminal's encoding, with escapes for what it lacks."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard what is still buffered, on which the interpreter would fail at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
