"""A service in the place of a folder: the option `--url` of commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import inf
from pathlib import Path

from triplecast.errors import InputError

URL = "--url"


class ServiceUrl(str):
    """The address of a service, where a folder is expected."""

    __slots__ = ()


def folder_or_url(text: str) -> Path | ServiceUrl:
    """The type of an argument that is a folder or the address of a service."""
    return ServiceUrl(text) if text.startswith(("http://", "https://")) else Path(text)


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which service does what a command does with a folder. Its folder comes first of all that
    it takes without an option, and has the type `folder_or_url`."""
    parser.add_argument(URL, metavar="URL", help="ask this service, in the place of a folder: http://127.0.0.1:8000")
    parser.add_argument("--token", help="who asks it; default: that in the variable TRIPLECAST_TOKEN, unseen by others")
    parser.set_defaults(takes_url=True)


def place_url(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """The arguments with the value of `--url` where the folder is expected. Raises `InputError` for what is no URL."""
    arguments = [*given]
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    place = next((place for place, each in enumerate(own) if each.partition("=")[0] == URL), None)
    if place is None or own[place:] == [URL]:
        return arguments
    url = arguments.pop(place).partition("=")[2] or arguments.pop(place)
    if not isinstance(folder_or_url(url), ServiceUrl):
        raise InputError(f"{url!r} is no address of a service", "write it as http://127.0.0.1:8000")
    arguments.insert(_first_free(parser, arguments), url)
    return arguments


def _first_free(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """The place of the first argument that belongs to no option; 0 where there is none."""
    left = 0.0
    for place, each in enumerate(arguments):
        if each.startswith("-") and each != "-":
            action = parser._option_string_actions.get(each)
            left = 0 if "=" in each or (action and action.nargs == 0) else inf if action and action.nargs == "+" else 1
        elif left <= 0:
            return place
        else:
            left -= 1
    return 0
