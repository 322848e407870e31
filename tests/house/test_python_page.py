"""docs/python.md runs; it and docs/command-line.md leave no field and no key out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import triplecast
from triplecast.cli.match import Tally
from triplecast.cli.notifications import reject_row
from triplecast.model.match import MatchStats
from triplecast.model.publication import Reject
from triplecast.model.subscription import NamedRegistrations, SubscriptionCounts
from triplecast.outbox import Outbox, OutboxBatch, PublicationName
from triplecast.outbox.batch import OutboxRow
from triplecast.pipeline.report import Summary

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text("utf-8")
FIELDS = PAGE.split("\n## Fields\n")[1]
JSON = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text("utf-8")
NAMES = "Accepted Document Explanation LiveSubscription Match Notification Preview Receipt Reject Rejected Subscribed "
NAMES += "Statistics Subscription UndecidedMatch UndecidedPair"


def test_its_snippets_run_as_one_program(tmp_path: Path) -> None:
    program = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.S))
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("ships does not match ")


@pytest.mark.parametrize("name", NAMES.split())
def test_it_names_every_field_of_every_answer(name: str) -> None:
    assert name in triplecast.__all__
    kind = getattr(triplecast, name)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(kind._fields)
    names += [each for each, value in vars(kind).items() if isinstance(value, property)]
    assert f"`{name}`" in FIELDS
    assert [each for each in names if f"`{each}`" not in FIELDS + JSON] == []


def test_it_names_every_field_of_the_json() -> None:
    batch = OutboxBatch.of_rows([OutboxRow(1, 1, 0, "[{}]")], {1: PublicationName(1, "a:g", 1, "now")})
    with Outbox.in_memory() as outbox:
        outbox.commit(batch, 1, lambda ids: [NamedRegistrations(ids[0], ["name"], [None])])
        ((_, line),) = outbox.json_lines()
    rejected = triplecast.Rejected(1, "now", Reject("s", "gate", "r", "m"))
    pair = triplecast.UndecidedPair(1, "id", "a:g", 1, 1, "name", None, "reason")
    rows = (json.loads(line), reject_row(rejected), pair._asdict())
    keys = {key for row in rows for key in row} | set(Tally(0, True).counts(0))
    keys |= {field.name for kind in (Summary, SubscriptionCounts, MatchStats) for field in fields(kind)}
    assert sorted(key for key in keys if f"`{key}`" not in JSON) == []
