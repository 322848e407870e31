"""What operators say of constant arguments before any publication does: asked once, when a query is subscribed, of the
`check` that a declaration carries, in a worker of the operator's module."""

from __future__ import annotations

import atexit
import json
import threading
from functools import cache, lru_cache

from triplecast.errors import SandboxFailed
from triplecast.model.terms import from_ntriples
from triplecast.operators.answers import Unanswerable, told_reason
from triplecast.operators.declaration import Operator
from triplecast.operators.perform import START_SECONDS
from triplecast.operators.registry import find_operator
from triplecast.sandbox import Limits, Sandbox

REMEMBERED = 20_000
"""Answers that a process remembers."""
MOST_SECONDS = 10.0
"""Of one check, unless the operator has less."""
_ANSWER_BYTES = 1 << 16
_FUNCTION = "triplecast.operators.checking:answer"


class Checker:
    """The workers that check, one for each module; they start when first needed and end with the process. Used by any
    thread."""

    def __init__(self) -> None:
        self._sandboxes: dict[str, Sandbox] = {}
        self._lock = threading.Lock()
        self.objection = lru_cache(maxsize=REMEMBERED)(self._objection)

    def close(self) -> None:
        with self._lock:
            for sandbox in self._sandboxes.values():
                sandbox.close()
            self._sandboxes.clear()

    def _objection(self, declared: Operator, arguments: tuple[str | None, ...]) -> str | None:
        """Why a call with these bound arguments (None: a variable) can never be answered; None where it may be, and
        where the check itself fails: what is known of an operator then is what it says of publications."""
        with self._lock:
            sandbox = self._sandboxes.get(declared.source)
            if sandbox is None:
                limits = Limits(
                    min(declared.seconds, MOST_SECONDS),
                    declared.memory,
                    _ANSWER_BYTES,
                    trusted=True,
                    start=START_SECONDS,
                )
                sandbox = self._sandboxes[declared.source] = Sandbox(_FUNCTION, limits, modules=(declared.source,))
        try:
            (answered,) = sandbox.map([json.dumps([declared.iri, arguments]).encode()], once=(0,))
        except SandboxFailed:
            return None
        told: str | None = json.loads(answered) if isinstance(answered, bytes) else None
        return told


@cache
def shared_checker() -> Checker:
    """This process's own."""
    checker = Checker()
    atexit.register(checker.close)
    return checker


def answer(request: bytes) -> bytes:
    """In the worker. What a check raises but `Unanswerable`, the sandbox tells."""
    iri, arguments = json.loads(request)
    declared = find_operator(iri)
    if declared is None or not declared.check:
        return b"null"
    try:
        declared.load(declared.check)(*(None if each is None else from_ntriples(each) for each in arguments))
    except Unanswerable as refused:
        return json.dumps(told_reason(str(refused))).encode()
    return b"null"
