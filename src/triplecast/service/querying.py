"""Queries of a service, one after the other: in a process of their own, within time, memory and rows."""

from __future__ import annotations

import json

from triplecast.engine import Engine
from triplecast.repository import QUERY_STEPS
from triplecast.sandbox import Limits, RequestFailure, Sandbox
from triplecast.service.problems import Problem
from triplecast.service.query_worker import Question, write_answer
from triplecast.service.settings import ServiceSettings


class Queries:
    """Answers queries over the current documents; what was acknowledged before is in the answer."""

    def __init__(self, engine: Engine, settings: ServiceSettings) -> None:
        self._engine = engine
        self._rows = settings.query_rows
        self._seconds = settings.query_seconds
        limits = Limits(settings.query_opening, settings.query_memory, settings.query_bytes, trusted=True)
        self._sandbox = Sandbox("triplecast.service.query_worker:answer", limits)

    def close(self) -> None:
        self._sandbox.close()

    def answer(self, text: str, form: str) -> bytes:
        """The answer in a form of `answer_text.WRITERS`. Raises `Problem`, and `SandboxFailed`."""
        folder = self._engine.serving.folder
        if folder is None:
            return write_answer(self._engine.serving.answer(text, QUERY_STEPS), form, self._rows)
        question = Question(str(folder), text, form, QUERY_STEPS, self._rows, self._seconds)
        (found,) = self._sandbox.map([json.dumps(question).encode()], once=range(1))
        if isinstance(found, RequestFailure):
            raise Problem(422, "the query takes more than it may", f"{found.kind}: {found.detail}", "ask for less")
        if found[:1] == b"+":
            return found[1:]
        kind, what, mend = json.loads(found[1:])
        status, title = {
            "too large": (422, "the query takes more than it may"),
            "form": (406, "the answer cannot be written so"),
        }.get(kind, (503, "the folder cannot be used"))
        raise Problem(status, title, what, mend)
