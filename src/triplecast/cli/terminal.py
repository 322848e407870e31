"""Print to stdout, stderr and the terminal's status line, and format what commands print."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from triplecast.model.printable import json_line, printable, printable_name
from triplecast.model.publication import Reject


def say(text: str) -> None:
    """Print an error, reject or warning on stderr."""
    print(printable(text), file=sys.stderr)


def print_text(text: str) -> None:
    """Print text on stdout without terminal control characters."""
    print(printable(text))


class StatusLine:
    """A line on stderr that is rewritten in place, at a terminal only."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.live:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.live:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def print_json(row: Mapping[str, object]) -> None:
    print(json_line(row))


def describe_reject(reject: Reject) -> str:
    place = f":{reject.line}" if reject.line is not None else ""
    place += f":{reject.column}" if reject.line is not None and reject.column is not None else ""
    return f"rejected {printable_name(reject.source)}{place}: {reject.stage}: {reject.reason}; {reject.hint}"


def describe_undecided(graph: str, name: str, reason: str) -> str:
    return f"undecided {graph} {printable_name(name)}: {reason}"


def describe_answer(firsts: Iterable[tuple[str, int]]) -> str:
    """The first solution, of those added and of those removed, cut at a terminal, and how many more there are."""
    return "  ".join(clip(line) + (f" (+{more} more)" if more else "") for line, more in firsts)


def describe_match(publication: str, version: int, subscription: str, firsts: Iterable[tuple[str, int]]) -> str:
    return f"{publication} v{version}  {printable_name(subscription)}  {describe_answer(firsts)}"


def describe_notification(
    sequence: int, publication: str, version: int, subscription: str, firsts: Iterable[tuple[str, int]]
) -> str:
    return f"{sequence}  {printable_name(subscription)}  {publication} v{version}  {describe_answer(firsts)}"


def count_of(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def describe_rest(ignored: int, warnings: int) -> str:
    """Describe, at the end of a line of counts, what is named only if there is any."""
    passed = f", {count_of(ignored, 'file')} skipped" if ignored else ""
    return passed + (f", {count_of(warnings, 'warning')} on subscriptions" if warnings else "")


def clip(text: str, width: int = 120) -> str:
    """Text on one line, cut to `width` where stdout is a terminal: who reads a file or a pipe gets all of it."""
    line = " ".join(text.split())
    return line if len(line) <= width or not sys.stdout.isatty() else line[: width - 1] + "…"


def table(rows: Iterable[Sequence[object]], align: str) -> str:
    """Format rows as text columns; `align` holds ``<`` or ``>`` for each."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(len(align))]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)).rstrip()
        for row in cells
    )


class Exit(IntEnum):
    DONE = 0
    PARTLY = 1
    """Done, but something was rejected, refused or undecided."""
    FAILED = 2
    """Wrong usage, or nothing could be done."""
    NOTHING = 3
    """Done; nothing rejected, nothing matched."""
    INTERRUPTED = 130
    """Interrupted with work left; the shell's code."""
    UNREAD = 141
    """The reader of stdout has gone; the shell's code."""


def exit_of(found: object, failed: object) -> Exit:
    return Exit.PARTLY if failed else Exit.DONE if found else Exit.NOTHING
