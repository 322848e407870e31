"""The live rules of a journal: how one of them is taken apart, and what it shares with the others."""

from __future__ import annotations

from triplecast.errors import InputError
from triplecast.explain import RuleDecomposition, decompose
from triplecast.journal import JournalFile
from triplecast.registry.rule_bindings import RULE

_READ_AT_ONCE = 1_000
"""Registrations."""


def decompose_rule(journal: JournalFile, id: str) -> RuleDecomposition:
    """Raises `InputError` where there is no live rule `id`, and `StorageFault`."""
    found = journal.live_registration(id)
    if found is None or found.subscription.language != RULE:
        what = f"no live subscription {id!r}" if found is None else f"{id!r} is in {found.subscription.language}"
        raise InputError(what, "give the id of a live rule")
    live = (
        each
        for part in journal.registry_slices(0, journal.head(), _READ_AT_ONCE)
        for each in part.changes.added
        if each.removed is None and each.id != found.id
    )
    others = (each.subscription.text for each in live if each.subscription.language == RULE)
    return decompose(id, found.subscription.text, journal.schema(), others)
