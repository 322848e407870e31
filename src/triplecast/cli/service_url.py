"""A service in the place of a folder: the option `--url` of commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import inf
from pathlib import Path

URL = "--url"


class ServiceUrl(str):
    """The address of a service, where a folder is expected."""

    __slots__ = ()


def folder_or_url(text: str) -> Path | ServiceUrl:
    """The type of an argument that is a folder or the address of a service."""
    return ServiceUrl(text) if text.startswith(("http://", "https://")) else Path(text)


def _service_url(text: str) -> ServiceUrl:
    if not isinstance(url := folder_or_url(text), ServiceUrl):
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a service; write it as http://127.0.0.1:8000")
    return url


def add_service(parser: argparse.ArgumentParser, place: bool = True) -> None:
    """Add the options that say which service does what a command does with a folder. Its folder, in whose `place` that
    is, comes first of all that it takes without an option, and has the type `folder_or_url`."""
    what = "in the place of a folder: " if place else ""
    parser.add_argument(URL, metavar="URL", type=_service_url, help=f"ask this service, {what}http://127.0.0.1:8000")
    parser.add_argument("--token", help="who asks it; default: that in the variable TRIPLECAST_TOKEN, unseen by others")
    parser.set_defaults(takes_url=place)


def arrange(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """The arguments that belong to no option in one row, or `argparse` does not find them all; before them the value of
    `--url`, where a folder is expected. Raises `ArgumentTypeError` for what is no URL."""
    options, free, left, rest = list[str](), list[str](), 0.0, iter(given)
    for each in rest:
        name, equals, value = each.partition("=")
        if each == "--":
            return [*options, each, *free, *rest]
        if name == URL and parser.get_default("takes_url") and (equals or (value := next(rest, ""))):
            free.insert(0, _service_url(value))
        elif each.startswith("-") and each != "-" and " " not in each:
            options.append(each)
            values = _values_of(parser, each)
            left = 0 if equals else values if isinstance(values, int) else inf
            options += rest if values == argparse.REMAINDER else ()
        else:
            (options if left > 0 else free).append(each)
            left -= 1
    return [*free, *options]


def _values_of(parser: argparse.ArgumentParser, option: str) -> int | str:
    """How many values an option takes, which may be abbreviated."""
    known = parser._option_string_actions
    action = known.get(option) or next((each for name, each in known.items() if name.startswith(option)), None)
    return 1 if action is None or action.nargs is None else action.nargs
