"""Subscriptions as JSON objects: the lines of ``.jsonl`` files, and requests to the control socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from triplecast.errors import InputError
from triplecast.languages.keywords import with_query
from triplecast.model.printable import printable_name
from triplecast.model.subscription import Subscription

_FIELDS = frozenset({"id", "language", "text", "entailment", "scope", "owner", "notify", "initial", "key"})


@dataclass(frozen=True, slots=True)
class SubscriptionFault:
    """A subscription that was not loaded, or not accepted."""

    place: str
    """The file as the user named it, with ``:line`` inside a ``.jsonl`` file; of a query's fault, then ``:line:column``
    in its text."""
    reason: str
    hint: str
    """Empty where the reason says it."""

    def __str__(self) -> str:
        if not self.hint:
            return f"{self.place}: {self.reason}"
        end = "\n" if "\n" in self.reason else "; "
        return f"{self.place}: {self.reason}{end}{self.hint}"


@dataclass(frozen=True, slots=True)
class LoadedSubscriptions:
    """All subscriptions of some paths, in the order of the paths, then of file names, then of lines; names are
    unique.
    """

    subscriptions: tuple[Subscription, ...]
    places: tuple[str, ...]
    """Where each of them is (`SubscriptionFault.place`)."""
    faults: tuple[SubscriptionFault, ...]
    ignored: tuple[str, ...] = ()
    """`FoundFiles.ignored` of the paths."""


class FileContent(NamedTuple):
    """What one file holds; ids may still repeat inside it (`join_contents`)."""

    loaded: LoadedSubscriptions
    lines: Mapping[bytes, Subscription] = {}
    """Of a ``.jsonl`` file: what each good line says, so that reading it again after a small change costs little."""


def read_lines(content: bytes, path: str, known: Mapping[bytes, Subscription]) -> FileContent:
    """The lines of a file called `path`; `known`: what good lines said when it was read last."""
    lines: dict[bytes, Subscription] = {}
    subscriptions: list[Subscription] = []
    places: list[str] = []
    faults: list[SubscriptionFault] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line or line.isspace():
            continue
        place = f"{path}:{number}"
        found = known.get(line) or _read_line(line, place)
        if isinstance(found, SubscriptionFault):
            faults.append(found)
        else:
            subscriptions.append(found)
            places.append(place)
            lines[line] = found
    return FileContent(LoadedSubscriptions(tuple(subscriptions), tuple(places), tuple(faults)), lines)


def _read_line(line: bytes, place: str) -> Subscription | SubscriptionFault:
    try:
        fields = json.loads(line)
    except UnicodeDecodeError as error:
        return not_utf8(place, error)
    except (ValueError, RecursionError) as error:
        return SubscriptionFault(
            place, f"is not JSON: {error}", 'write one object a line: {"id": …, "language": …, "text": …}'
        )
    return subscription_of(fields, place)


def subscription_of(fields: object, place: str) -> Subscription | SubscriptionFault:
    """The subscription in a JSON object, or what is wrong with it, named by its `place`."""
    if not isinstance(fields, dict):
        return SubscriptionFault(
            place, "is no JSON object", 'write one object a line: {"id": …, "language": …, "text": …}'
        )
    if "words" in fields:
        try:
            fields = with_query(fields)
        except InputError as fault:
            return SubscriptionFault(place, fault.what, fault.hint)
    name, text, language = fields.get("id"), fields.get("text"), fields.get("language", "sparql")
    notify, initial, key = fields.get("notify"), fields.get("initial"), fields.get("key", [])
    entailment, scope, owner = fields.get("entailment"), fields.get("scope", ""), fields.get("owner")
    if (
        type(name) is str
        and name
        and type(text) is str
        and type(language) is str
        and type(scope) is str
        and (entailment is None or type(entailment) is str)
        and (owner is None or type(owner) is str)
        and (notify is None or type(notify) is str)
        and (initial is None or type(initial) is str)
        and type(key) is list
        and all(type(each) is str for each in key)
        and fields.keys() <= _FIELDS
    ):
        try:
            f"{name}{text}{language}{scope}{entailment}{owner}{notify}{initial}{key}".encode()
        except UnicodeEncodeError:
            hint = "write both halves, or the character itself"
            return SubscriptionFault(place, f"{printable_name(name[:200])}: holds half a surrogate pair", hint)
        return Subscription(name, text, language, scope, entailment, owner, notify, initial, tuple(key))
    return _wrong_field(fields, place)


def _wrong_field(fields: dict[str, Any], place: str) -> SubscriptionFault:
    name = fields.get("id")
    named = f"{printable_name(name[:200])}: " if isinstance(name, str) and name else ""
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        known = f"known are {', '.join(sorted(_FIELDS))}"
        return SubscriptionFault(place, f"{named}has an unknown field {unknown[0]!r}", known)
    for field in ("id", "text"):
        if field not in fields:
            return SubscriptionFault(place, f"{named}has no field {field!r}", f"add {field!r}, a string")
    if name == "":
        return SubscriptionFault(place, "has an empty id", "give it an id of its own")
    key = fields.get("key", [])
    if type(key) is not list or not all(type(each) is str for each in key):
        return SubscriptionFault(place, f"{named}the field 'key' is no list of strings", 'write ["item"]')
    wrong = next(field for field in sorted(fields) if type(fields[field]) is not str and field != "key")
    return SubscriptionFault(place, f"{named}the field {wrong!r} is no string", "write it as a JSON string")


def not_utf8(place: str, error: UnicodeDecodeError) -> SubscriptionFault:
    return SubscriptionFault(
        place, f"is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}", "save it as UTF-8"
    )
