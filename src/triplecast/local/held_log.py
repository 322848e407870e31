"""What a local repository holds of a provider, event by event, as RDF Patch: computed where the provider's folder is.

The provider tells each subscription what its rows gain and lose. Resources that its rows name are *roots*; held is what
strong references reach from them, each resource with its description as of the event.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from triplecast.journal import JournalFile
from triplecast.local.closure import HeldSet, Node
from triplecast.local.descriptions import Description, describe, held_graph
from triplecast.local.held_state import (
    CONTROL,
    HELD_BY,
    NOTHING,
    STRONG_KEY,
    Digests,
    Held,
    bucket_of,
    log_id,
    written_buckets,
)
from triplecast.local.record_log import LogGap
from triplecast.model.events import Event, Removal, SchemaVersion
from triplecast.model.publication import DOCUMENTS, Publication
from triplecast.outbox import Notification, OutboxReader
from triplecast.patch import Patch, PatchRow, literal, rows_between
from triplecast.repository import Repository
from triplecast.schema.schema import STRONG, TRUE


class _RowsTold(NamedTuple):
    """What one event did to the rows of one registration."""

    registration: int
    name: str
    added: Counter[Node]
    """How many rows more name a resource."""
    removed: Counter[Node]
    is_whole: bool
    """Whether `added` is all of the answer: of a first one, and of one that is told again."""


class HeldLog:
    """The log of one owner's subscriptions, from a position on. For one thread at a time."""

    def __init__(
        self, journal: JournalFile, outbox: OutboxReader, folder: Path, owner: str, position: int, pruned: int
    ) -> None:
        """No notification up to sequence `pruned` is one of a registration that is live at the position. Raises
        `LogGap` where more was pruned meanwhile, and `StorageFault`."""
        self._journal = journal
        self._outbox = outbox
        self._owner = owner
        self._seen = pruned
        """Notifications up to this sequence were read, or are not needed."""
        self._epoch = outbox.state.epoch
        self._coming: dict[int, list[_RowsTold]] = {}
        """What was told of positions beyond `position`."""
        self._rows: dict[Node, Counter[int]] = {}
        """In how many rows of each registration a resource is."""
        self._names: dict[int, str] = {}
        """Of the registrations that have told rows."""
        self._held = HeldSet()
        self._documents: dict[Node, Held] = {}
        """What is held, by resource."""
        self._inside: dict[Node, frozenset[bytes]] = {}
        self._around: dict[bytes, set[Node]] = {}
        """The resources whose descriptions follow a blank node."""
        self.digests = Digests()
        self._repository = Repository(journal, folder, upto=position)
        self._repository.follow(position)
        self._strong: frozenset[str] = frozenset()
        self.position = position
        self._id = self.id_at(position)
        self._begin()

    def id_at(self, position: int) -> str:
        """What identifies a place in this log: another journal has another one there."""
        return log_id(self._owner, position, self._journal.mark_at(position))

    def follow(self, upto: int) -> Iterator[Patch]:
        """The events up to a position that change what is held; where the last one is no such event, an empty patch
        that says how far this came. It may be left after a patch, and called again; an exception ends the log."""
        self._read_notifications()
        ends = {int(position): int(id) for id, position in self._journal.registry_changes(self.position, upto).removed}
        quiet = sorted({*self._coming, *ends})
        for event in chain.from_iterable(self._repository.coming(upto)):
            yield from self._told_between(quiet, event.position, ends)
            yield from self._step(event.position, ends, [event.position], event)
        yield from self._told_between(quiet, upto + 1, ends)
        if self.position < upto:
            yield self._patch(upto, ())

    def snapshot(self, buckets: Collection[int] | None = None) -> Patch:
        """All that is held, or what is in some buckets, as one patch that adds it."""
        rows: list[PatchRow] = []
        if buckets is None or bucket_of(STRONG_KEY) in buckets:
            rows += _strong_rows(frozenset(), self._strong)
        for node in sorted(self._documents):
            graph = held_graph(node)
            if buckets is None or bucket_of(graph) in buckets:
                rows += _rows_of(node, NOTHING, self._documents[node])
        more = {} if buckets is None else {"buckets": literal(written_buckets([*buckets]))}
        return Patch(self._header(self.position, {"snapshot": literal("true"), **more}), tuple(rows))

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Come to the position by all that was told until then."""
        self._read_notifications()
        told = [self._coming.pop(position) for position in sorted(self._coming) if position <= self.position]
        all_told = [each for some in told for each in some]
        known = self._journal.registrations(sorted({each.registration for each in all_told}))
        ended = {int(each.id) for each in known if each.removed is not None and each.removed <= self.position}
        self._take_schema(self.position)
        self._count(each for each in all_told if each.registration not in ended)
        self._settle({*self._rows}, (), {*self._rows})

    def _read_notifications(self) -> None:
        """Raises `LogGap` where some were pruned that were not read, or the outbox is another one."""
        state = self._outbox.state
        if state.epoch != self._epoch:
            raise LogGap
        last = state.sequence
        for each in self._outbox.notifications(self._seen, owner=self._owner):
            self._coming.setdefault(each.position, []).append(_told(each, self._owner))
            last = max(last, each.sequence)
        state = self._outbox.state
        if state.epoch != self._epoch or state.pruned > self._seen:
            raise LogGap
        self._seen = last

    def _told_between(self, quiet: list[int], before: int, ends: dict[int, int]) -> Iterator[Patch]:
        """What was told between two events, at once: one registration takes another's place there."""
        some = [position for position in quiet if position < before]
        del quiet[: len(some)]
        if some:
            yield from self._step(some[-1], ends, some, None)

    def _step(
        self, position: int, ends: dict[int, int], positions: Sequence[int], event: Event | None
    ) -> Iterator[Patch]:
        changed = set() if event is None else self._take(event)
        before = {node: self._names_of(node) for node in self._touched(positions, ends)}
        for each in positions:
            self._count(self._coming.pop(each, ()))
            if each in ends:
                self._end(ends[each])
        gained = {node for node, names in before.items() if not names and node in self._rows}
        lost = {node for node, names in before.items() if names and node not in self._rows}
        rows = self._take_schema(position) if isinstance(event, SchemaVersion) else []
        rows += self._settle(gained, lost, changed | {*before})
        if rows:
            yield self._patch(position, rows)

    def _take(self, event: Event) -> set[Node]:
        """Bring the store past an event; return the held resources that it may have changed."""
        if isinstance(event, SchemaVersion):
            self._repository.take([event])
            return {*self._held.members}
        change = self._repository.take([event]).of(0)
        if not isinstance(event, Publication | Removal):
            return set()
        bank = self._repository.store.bank
        found: set[Node] = set()
        for id in {*change.added[:, 0].tolist(), *change.removed[:, 0].tolist()}:
            term = bank.term(id)
            found |= self._around.get(term, set())
            if (node := term.decode()) in self._held:
                found.add(node)
        return found

    def _take_schema(self, position: int) -> list[PatchRow]:
        strong = self._journal.schema(position).strong
        rows = _strong_rows(self._strong, strong)
        self.digests.replace(STRONG_KEY, _strong_held(self._strong), _strong_held(strong))
        self._strong = strong
        return rows

    def _touched(self, positions: Sequence[int], ends: dict[int, int]) -> set[Node]:
        told = [each for position in positions for each in self._coming.get(position, ())]
        ended = {ends[position] for position in positions if position in ends}
        ended |= {each.registration for each in told if each.is_whole and each.registration in self._names}
        found = {node for each in told for node in (*each.added, *each.removed)}
        if ended:
            found |= {node for node, rows in self._rows.items() if not ended.isdisjoint(rows)}
        return found

    def _count(self, told: Iterable[_RowsTold]) -> None:
        for each in told:
            if each.is_whole and each.registration in self._names:
                self._end(each.registration)
            self._names[each.registration] = each.name
            for node, more in each.added.items():
                self._rows.setdefault(node, Counter())[each.registration] += more
            for node, fewer in each.removed.items():
                rows = self._rows.setdefault(node, Counter())
                rows[each.registration] -= fewer
                self._forget_empty(node, each.registration)

    def _forget_empty(self, node: Node, registration: int) -> None:
        rows = self._rows[node]
        if rows[registration] <= 0:
            del rows[registration]
        if not rows:
            del self._rows[node]

    def _end(self, registration: int) -> None:
        for node in [node for node, rows in self._rows.items() if registration in rows]:
            self._rows[node][registration] = 0
            self._forget_empty(node, registration)

    def _names_of(self, node: Node) -> tuple[str, ...]:
        return tuple(sorted({self._names[each] for each in self._rows.get(node, ())}))

    def _settle(self, gained: Iterable[Node], lost: Iterable[Node], changed: Iterable[Node]) -> list[PatchRow]:
        """Bring what is held up to the store: roots came and went, and these resources may have changed."""
        described: dict[Node, Description] = {}

        def references(node: Node) -> frozenset[Node]:
            described[node] = describe(self._repository.store, node)
            return described[node].references(self._strong)

        touched = {*changed}
        change = self._held.change(gained, lost, touched, references)
        rows: list[PatchRow] = []
        for node in sorted(touched | change.gained | change.dropped):
            before, after = self._documents.get(node, NOTHING), NOTHING
            if node in self._held:
                after = self._describe(node, described.get(node), before)
            else:
                self._follow_inside(node, frozenset())
            if before == after:
                continue
            rows += _rows_of(node, before, after)
            self.digests.replace(held_graph(node), before, after)
            if after == NOTHING:
                self._documents.pop(node, None)
            else:
                self._documents[node] = after
        return rows

    def _describe(self, node: Node, found: Description | None, before: Held) -> Held:
        if found is None:
            return before._replace(names=self._names_of(node))
        self._follow_inside(node, found.inside)
        draft = found.draft(node)
        return Held(b"" if draft is None else draft.quads, self._names_of(node))

    def _follow_inside(self, node: Node, inside: frozenset[bytes]) -> None:
        before = self._inside.pop(node, frozenset())
        if inside:
            self._inside[node] = inside
        for blank in before - inside:
            self._around[blank].discard(node)
            if not self._around[blank]:
                del self._around[blank]
        for blank in inside - before:
            self._around.setdefault(blank, set()).add(node)

    def _patch(self, position: int, rows: Sequence[PatchRow]) -> Patch:
        return Patch(self._header(position), tuple(rows))

    def _header(self, position: int, more: dict[str, str] | None = None) -> dict[str, str]:
        """Of the patch that comes to a position."""
        before, self._id, self.position = self._id, self.id_at(position), position
        header = {"id": self._id, "prev": before} if more is None else {"id": self._id}
        return {
            **header,
            "position": literal(str(position)),
            "digest": literal(self.digests.text_at(position, self._id)),
            **(more or {}),
        }


def _told(notification: Notification, owner: str) -> _RowsTold:
    rows = json.loads(notification.json)
    if isinstance(rows, dict):
        added, removed = rows.get("added", ()), rows.get("removed", ())
    else:
        added, removed = ([], rows) if notification.change == "removed" else (rows, [])
    name = notification.subscription.removeprefix(f"{owner}/")
    is_whole = notification.publication == DOCUMENTS
    return _RowsTold(notification.registration, name, _resources(added), _resources(removed), is_whole)


def _resources(rows: Iterable[dict[str, str]]) -> Counter[Node]:
    """In how many of the rows each resource is."""
    return Counter(term for row in rows for term in {*row.values()} if term.startswith(("<", "_:")))


def _rows_of(node: Node, before: Held, after: Held) -> list[PatchRow]:
    """The rows that make what is held of a resource what it is now."""
    rows = []
    for is_added, names in ((False, {*before.names} - {*after.names}), (True, {*after.names} - {*before.names})):
        for name in sorted(names):
            rows.append(_control_row(is_added, f"<{held_graph(node)}>", HELD_BY, literal(name)))
    return [*rows, *rows_between(held_graph(node), before.lines, after.lines)]


def _strong_held(strong: frozenset[str]) -> Held:
    return Held(b"", tuple(sorted(strong)))


def _strong_rows(before: frozenset[str], after: frozenset[str]) -> list[PatchRow]:
    rows = [_control_row(False, each, STRONG, TRUE) for each in sorted(before - after)]
    return rows + [_control_row(True, each, STRONG, TRUE) for each in sorted(after - before)]


def _control_row(is_added: bool, subject: str, predicate: str, end: str) -> PatchRow:
    return PatchRow(is_added, f"{subject} {predicate} {end} <{CONTROL}> .\n".encode())
