"""Requests to the control socket and their answers: the registry, the outbox and the state of a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from triplecast.driver import check_progress
from triplecast.errors import InputError, QueryRefused, QuerySyntaxError, StorageFault, TriplecastError
from triplecast.journal import Clock, Journal, JournalFile, system_clock
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import API, FOREVER, Lease, Subscription, read_lease
from triplecast.outbox import Outbox, OutboxReader
from triplecast.registry.admission import AdmittedSubscription
from triplecast.registry.lines import SubscriptionFault, subscription_of
from triplecast.registry.listing import read_page
from triplecast.registry.registry import DOCUMENTS, Refusal, Registry, Subscribed

PAGE = 1000
"""Most subscriptions that one answer lists."""

Fields = Mapping[str, object]
Answer = dict[str, object]


class ReadingRequests:
    """Answers to requests that change nothing, which need not come from the folder's writer."""

    def __init__(
        self,
        journal: JournalFile,
        outbox: OutboxReader,
        operators: Callable[[], OperatorSet],
        clock: Clock = system_clock,
    ) -> None:
        self._journal = journal
        self._outbox = outbox
        self._operators = operators
        self._clock = clock
        self.known: Mapping[str, Callable[[Fields], Answer]] = {"list": self._list, "status": self._status}

    def _list(self, fields: Fields) -> Answer:
        """A page of at most `PAGE` live subscriptions beyond registration ``after``, of one ``owner``."""
        owner = None if fields.get("owner") is None else _text(fields, "owner")
        page = read_page(self._journal, self._operators(), self._clock(), _number(fields, "after", 0), PAGE, owner)
        return {"subscriptions": [asdict(each) for each in page.subscriptions], "after": page.after}

    def _status(self, _: Fields) -> Answer:
        check_progress(self._journal, self._outbox)
        journal, state = self._journal, self._outbox.state
        return {
            "subscriptions": journal.count_live(self._clock()),
            "position": journal.head(),
            "decided": state.told,
            "settled": state.progress,
            "publications_left": journal.count_publications(state.told),
            "sequence": state.sequence,
            "documents": journal.settings().get(DOCUMENTS),
        }


class Requests:
    """Answers requests for one folder, for its writer."""

    def __init__(self, registry: Registry, journal: Journal, outbox: Outbox, clock: Clock = system_clock) -> None:
        self._registry = registry
        self._outbox = outbox
        self._known: Mapping[str, Callable[[Fields], Answer]] = {
            "subscribe": self._subscribe,
            "replace": self._replace,
            "unsubscribe": self._unsubscribe,
            "renew": self._renew,
            **ReadingRequests(journal, outbox, registry.index.operators, clock).known,
            "prune": self._prune,
        }

    def answer_line(self, line: bytes) -> bytes:
        """The answer to a request that came as a line of JSON, as a line."""
        try:
            fields = json.loads(line)
            answer = self.answer(fields)
        except (ValueError, RecursionError) as error:
            answer = {"error": f"the request is not JSON: {error}", "hint": 'send a line {"request": "status"}'}
        return json.dumps(answer).encode() + b"\n"

    def answer(self, fields: object) -> Answer:
        """The answer to a request: what it gives, or `error` and `hint`."""
        return answer_by(self._known, fields)

    def _subscribe(self, fields: Fields) -> Answer:
        """``subscriptions``: objects as in a ``.jsonl`` file, of which each may lack its ``id``; ``lease``."""
        wanted = fields.get("subscriptions")
        if not isinstance(wanted, list):
            raise InputError("'subscriptions' is no list", 'send [{"id": …, "text": …}]')
        lease = _lease_of(fields)
        found = [_subscription_of(each, number) for number, each in enumerate(wanted)]
        admitted = iter(self._registry.examine_all([each for each in found if isinstance(each, Subscription)]))
        candidates: list[AdmittedSubscription | Refusal] = []
        for each, given in zip(found, wanted, strict=True):
            candidate = next(admitted) if isinstance(each, Subscription) else each
            if isinstance(candidate, AdmittedSubscription) and "id" not in given:
                candidate = candidate._replace(named=False)
            candidates.append(candidate)
        outcomes = self._registry.change(API, candidates, lease=lease, tickets=True)
        return {"outcomes": [outcome_row(each) for each in outcomes]}

    def _replace(self, fields: Fields) -> Answer:
        """``subscriptions`` as objects, ``ended``: ids, ``within``: as `Registry.replace` and `Registry.bind` say."""
        wanted, ended = fields.get("subscriptions"), fields.get("ended")
        if not isinstance(wanted, list) or not isinstance(ended, list) or not all(isinstance(id, str) for id in ended):
            raise InputError("'subscriptions' and 'ended' are no lists", 'send [{"id": …, "text": …}] and ["id"]')
        found = []
        for number, each in enumerate(wanted):
            subscription = _subscription_of(each, number)
            if isinstance(subscription, InputError):
                raise subscription
            found.append(subscription)
        candidates = self._registry.examine_all(found, within=_text(fields, "within"))
        return {"outcomes": [*map(outcome_row, self._registry.replace(API, found, candidates, ended))]}

    def _unsubscribe(self, fields: Fields) -> Answer:
        """``id`` and perhaps its ``ticket``; or ``owner``: all of theirs."""
        if "owner" in fields:
            return {"ended": self._registry.end_all(API, _text(fields, "owner"))}
        return {"position": self._registry.unsubscribe(API, _text(fields, "id"), _ticket(fields))}

    def _renew(self, fields: Fields) -> Answer:
        lease = _lease_of(fields)
        return {"expires": self._registry.renew(API, _text(fields, "id"), _ticket(fields), lease)}

    def _prune(self, fields: Fields) -> Answer:
        """Notifications up to ``sequence``, which their subscribers have."""
        return {"pruned": self._outbox.prune(_number(fields, "sequence"))}


def answer_by(known: Mapping[str, Callable[[Fields], Answer]], fields: object) -> Answer:
    """The answer to a request by those that are `known`."""
    try:
        if not isinstance(fields, dict):
            raise InputError("the request is no JSON object", 'send {"request": "status"}')
        name = fields.get("request")
        answer = known.get(name) if isinstance(name, str) else None
        if answer is None:
            raise InputError(f"there is no request {name!r}", f"known are {', '.join(known)}")
        return answer(fields)
    except InputError as error:
        return {"error": error.what, "hint": error.hint}
    except StorageFault as error:
        return {"error": f"{error.path}: {error.found}", "hint": error.hint}
    except TriplecastError as error:
        return {"error": str(error), "hint": ""}


def _subscription_of(fields: object, number: int) -> Subscription | InputError:
    given = {"id": "new", **fields} if isinstance(fields, dict) else fields
    found = subscription_of(given, f"subscriptions[{number}]")
    return InputError(f"{found.place} {found.reason}", found.hint) if isinstance(found, SubscriptionFault) else found


def outcome_row(outcome: Subscribed | Refusal) -> Answer:
    """What was registered, or `error` and `hint`."""
    if isinstance(outcome, Subscribed):
        return {name: getattr(outcome, name) for name in Subscribed.__slots__}
    if isinstance(outcome, InputError):
        return {"error": outcome.what, "hint": outcome.hint}
    if isinstance(outcome, QueryRefused):
        place = {"line": outcome.line, "column": outcome.column}
        return {"error": f"{outcome.construct} is refused: {outcome.reason}", "hint": outcome.hint, **place}
    assert isinstance(outcome, QuerySyntaxError)
    hint = f"expected: {', '.join(outcome.expected)}" if outcome.expected else ""
    error = str(replace(outcome, name=None, expected=()))
    return {"error": error, "hint": hint, "line": outcome.line, "column": outcome.column}


def outcome_of(fields: Any) -> Subscribed | Refusal:
    """What `outcome_row` wrote; each refusal is an `InputError`."""
    if "error" in fields:
        return InputError(fields["error"], fields["hint"])
    return Subscribed(**{**fields, "warnings": tuple(fields["warnings"]), "matches": ()})


def _lease_of(fields: Fields) -> Lease:
    """``lease``: seconds from now on, ``"forever"``, or nothing for a day."""
    lease = fields.get("lease")
    if lease is not None and lease != "forever" and not isinstance(lease, int | float):
        raise InputError(f"a lease cannot be {lease!r}", 'give seconds, or "forever"')
    return read_lease(FOREVER if lease == "forever" else lease)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name!r} is no string", f"send {name!r}")
    return value


def _ticket(fields: Fields) -> str | None:
    return None if fields.get("ticket") is None else _text(fields, "ticket")


def _number(fields: Fields, name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise InputError(f"{name!r} is no number", f"send {name!r}: a whole number, 0 or more")
    return value
