"""`python -m tests.properties.guesses N --seed S`: N requests for what is another owner's, or with a secret that is none.

Each is answered as the same request for something that does not exist, byte for byte, and with no byte of another's.
Before, the right owner is answered at each door; afterwards everybody has what they had.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from fastapi import FastAPI

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.properties.service import whole_service
from triplecast import Engine
from triplecast.service.settings import Access
from triplecast.service.tokens import hash_token

OWNERS, EACH = 12, 4
AT_ONCE = 16
AGAIN = 50
"""Of so many requests one asks again for what does not exist."""
SCOPES = frozenset({"publish", "subscribe", "read"})
TEXT = b"<a:s> <a:p> 1 ."
HOOK = '{"webhook": "https://hooks.example/1"}'


class Door(NamedTuple):
    """A request; ``{id}`` and ``{owner}`` are somebody's, ``{key}`` the secret of a feed."""

    method: str
    path: str
    body: str = ""
    opened_by: str = "both"
    """``both``: the owner's token and the ticket; ``any`` of them; a ``key``; ``token``."""
    accept: str = "*/*"
    media_type: str = "application/json"


_S = "/subscriptions/{id}"
_F = "/followers/{name}"
DOORS = (
    Door("GET", _S), Door("DELETE", _S), Door("PATCH", _S, '{"lease": 60}'), Door("POST", f"{_S}/resync"),
    Door("POST", f"{_S}/explain", "<a:s> <a:p> 1 .", media_type="text/turtle"),
    Door("GET", f"{_S}/feed"), Door("DELETE", f"{_S}/feed"),
    Door("GET", f"{_S}/delivery"), Door("POST", f"{_S}/delivery", HOOK),
    Door("PATCH", f"{_S}/delivery", '{"target": "{target}", "action": "remove"}'),
    Door("GET", f"{_S}/feed.atom?key={{key}}", opened_by="key"),
    Door("GET", f"{_S}/feed.json?key={{key}}", opened_by="key"),
    Door("GET", f"{_S}/ldes?key={{key}}", opened_by="key"),
    Door("GET", f"{_S}/stream?key={{key}}&offset=-1", opened_by="key"),
    Door("POST", "/hub", "hub.mode=subscribe&hub.callback=https://hooks.example/1&hub.topic=http%3A%2F%2Flocalhost"
         "%2Fsubscriptions%2F{quoted}%2Ffeed.atom%3Fkey%3D{key}", "key", media_type="application/x-www-form-urlencoded"),
    Door("GET", f"{_S}/ldes", opened_by="any"), Door("GET", f"{_S}/stream?offset=-1", opened_by="any"),
    Door("GET", f"{_S}/stream?offset=now&live=sse", opened_by="any"), Door("HEAD", f"{_S}/stream", opened_by="any"),
    *(Door("GET", "/notifications?subscription={id}", opened_by="any", accept=accept)
      for accept in ("*/*", "text/event-stream", "text/turtle", "application/cloudevents-batch+json")),
    Door("GET", "/notifications?subscription={id}&owner={owner}", opened_by="any"),
    Door("GET", "/notifications?owner={owner}", opened_by="token"),
    Door("GET", "/subscriptions?owner={owner}", opened_by="token"),
    *(Door("GET", f"{_F}/{part}", opened_by="token")
      for part in ("log?after=0&id=", "snapshot", "digests", "subscriptions", "undecided")),
    Door("POST", f"{_F}/subscriptions", '{"ended": ["held"]}', "token"),
    Door("GET", "/log/records?after=0&id=", opened_by="token"), Door("GET", "/metrics", opened_by="token"),
    Door("GET", "/websub/{key}?hub.mode=subscribe&hub.challenge=x", opened_by="key"),
)  # fmt: skip


@dataclass
class Held:
    """A subscription of somebody's."""

    id: str
    owner: str
    ticket: str
    former: str
    """The ticket of an ended one of the same id;"""
    key: str
    revoked: str
    """the former secret of its feed."""
    target: str
    mark: bytes
    """In all that is told of it."""


class Answer(NamedTuple):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass
class World:
    app: FastAPI
    engine: Engine
    tokens: Mapping[str, str]
    """Of each owner."""
    held: list[Held]
    chance: random.Random
    has_tokens: bool = True
    nothing: dict[tuple[object, ...], Answer] = field(default_factory=dict)
    """What is answered for something that does not exist."""
    seen: Counter[int] = field(default_factory=Counter)

    # ---- guesses ----------------------------------------------------------------------------------------------------

    async def guess(self) -> None:
        """One request that opens nothing. Raises AssertionError."""
        chance = self.chance
        door, victim = self.door(), chance.choice(self.held)
        attacker = chance.choice([each for each in self.tokens if each != victim.owner])
        others = [each for each in self.held if each.owner == attacker]
        token, whose = self._token(door, victim, attacker)
        ticket = self._ticket(door, victim, others, whose)
        key = self._wrong(victim.key, [victim.revoked, victim.ticket, *(each.key for each in others)])
        answer = await self.ask(door, victim, token, ticket, key)
        self.seen[answer.status] += 1
        kind = (door, whose, ticket is None)
        if kind not in self.nothing or chance.random() < 1 / AGAIN:
            nobody = _nobody(victim)
            nothing = _nameless(await self.ask(door, nobody, token, ticket, self._wrong(key, [])), nobody)
            assert self.nothing.setdefault(kind, nothing) == nothing, (kind, nothing, self.nothing[kind])
        assert _nameless(answer, victim) == self.nothing[kind], (door, victim, token, ticket, key, answer)
        assert not any(each.mark in answer.body for each in self.held), (door, victim, attacker, answer)

    def door(self) -> Door:
        """Seldom one whose log has to be read first."""
        doors = DOORS if self.chance.random() < 0.05 else [each for each in DOORS if _F not in each.path]
        door = self.chance.choice(doors)
        return door if self.has_tokens or door.opened_by != "token" else self.door()

    def _token(self, door: Door, victim: Held, attacker: str) -> tuple[str | None, str]:
        """What is sent, and what that is."""
        kind = self.chance.choice(("own", "own", "own", "wrong", "none", "another")) if self.has_tokens else "no tokens"
        if kind == "own":
            return self.tokens[attacker], kind
        if kind == "another" and door.opened_by in ("both", "any"):  # the right one, which needs the ticket too
            return self.tokens[victim.owner], kind
        if kind == "another" or kind == "wrong":
            return self._wrong(self.tokens[victim.owner], [victim.ticket, victim.key]), "wrong"
        return None, kind

    def _ticket(self, door: Door, victim: Held, others: list[Held], whose: str) -> str | None:
        if door.opened_by in ("token", "key"):
            return None
        if self.chance.random() < 0.1 and (door.opened_by == "both" or whose not in ("another", "no tokens")):
            return None
        if whose in ("own", "wrong", "none") and door.opened_by == "both" and self.chance.random() < 0.3:
            return victim.ticket  # stolen: without the token it opens nothing here
        return self._wrong(victim.ticket, [victim.former, victim.key, "", *(each.ticket for each in others)])

    def _wrong(self, right: str, others: list[str]) -> str:
        """Something near to a secret."""
        chance, at = self.chance, self.chance.randrange(len(right))
        return chance.choice(
            (
                right[:at] or "x",
                right + chance.choice(("a", "=", ".", " x", "%00", "\u00e9")),
                right[:at] + chance.choice([each for each in "aB3._" if each != right[at]]) + right[at + 1 :],
                right.swapcase() if right.swapcase() != right else "x",
                right[::-1] if right[::-1] != right else "x",
                hashlib.sha256(right.encode()).hexdigest(),
                f"{chance.getrandbits(256):064x}",
                *others,
            )
        )

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def ask(self, door: Door, whose: Held, token: str | None, ticket: str | None, key: str) -> Answer:
        values = {
            "{id}": quote(whose.id, safe=""), "{owner}": quote(whose.owner), "{key}": quote(key, safe=""),
            "{name}": whose.id.rpartition("/")[2], "{target}": whose.target, "{quoted}": quote(quote(whose.id, safe=""),
            safe=""),
        }  # fmt: skip
        path, body = door.path, door.body
        for name, value in values.items():
            path, body = path.replace(name, value), body.replace(name, value)
        headers = [(b"host", b"localhost"), (b"accept", door.accept.encode())]
        headers += [(b"content-type", door.media_type.encode())] if body else []
        headers += [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        headers += [] if ticket is None else [(b"triplecast-ticket", ticket.encode())]
        return await ask(self.app, door.method, path, headers, body.encode())


async def ask(app: FastAPI, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes) -> Answer:
    """An answer that ends."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": unquote(path), "raw_path": path.encode(),
        "query_string": query.encode(), "headers": headers, "scheme": "http", "server": ("localhost", 80),
        "client": ("127.0.0.1", 1), "root_path": "", "state": {},
    }  # fmt: skip
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Answer(sent[0]["status"], tuple(sent[0]["headers"]), b"".join(each.get("body", b"") for each in sent[1:]))


def _nobody(victim: Held) -> Held:
    """Of the same form, and not there."""
    name = re.sub(r"\d", "x", victim.id)
    return replace(victim, id=name, owner=name.partition("/")[0], target="t-0")


def _nameless(answer: Answer, whose: Held) -> Answer:
    body = answer.body
    for name in (whose.id, whose.owner):
        body = body.replace(name.encode(), b"?")
    return Answer(answer.status, tuple(each for each in answer.headers if each[0] != b"content-length"), body)


# ---- what there is --------------------------------------------------------------------------------------------------


async def make_world(engine: Engine, app: FastAPI, tokens: Mapping[str, str], chance: random.Random) -> World:
    """Owners with subscriptions, notifications, feeds, targets and what a local repository holds."""
    world = World(app, engine, tokens, [], chance)
    for owner, number in product(tokens, range(EACH)):
        name, mark = f"{owner}-{number}", f"mark_{owner}_{number}".encode()
        text = f"SELECT ?{mark.decode()} {{ ?s <a:p> ?{mark.decode()} }}"
        bearer = [(b"authorization", f"Bearer {tokens[owner]}".encode()), (b"content-type", b"application/json")]
        wanted = {"id": name, "text": text, "notify": "every", "delivery": {"webhook": f"https://h.example/{name}"}}

        async def make() -> dict[str, Any]:
            made = await ask(app, "POST", "/subscriptions", bearer, json.dumps(wanted).encode())
            assert made.status == 201, made
            return json.loads(made.body)  # type: ignore[no-any-return]

        row = await make()
        engine.unsubscribe(row["id"], row["ticket"])
        held = Held(row["id"], owner, (again := await make())["ticket"], row["ticket"], "", "", "", mark)
        held.target = again["delivery"]["target"]
        for attribute in ("revoked", "key"):
            addresses = await world.ask(Door("DELETE", f"{_S}/feed"), held, tokens[owner], held.ticket, "")
            setattr(held, attribute, json.loads(addresses.body)["atom"].rpartition("=")[2])
        sent = json.dumps({"subscriptions": [{"id": "held", "text": text}]}).encode()
        assert (await ask(app, "POST", f"/followers/{name}/subscriptions", bearer, sent)).status == 200
        world.held.append(held)
    engine.publish(TEXT, "text/turtle", "a:g")
    return world


async def check_owners(world: World) -> list[Answer]:
    """What each owner is answered, the same before and after; so a guess that was right would show."""
    found, doors = [], Counter[Door]()
    for each, door in product(world.held, DOORS):
        if door.method != "GET" or "sse" in door.path or "event" in door.accept or "websub" in door.path:
            continue
        if door.path in ("/metrics", "/log/records?after=0&id="):
            continue
        answer = await world.ask(door, each, world.tokens[each.owner], each.ticket, each.key)
        assert answer.status == 200, (door, each, answer)
        doors[door] += each.mark in answer.body
        found.append(answer)
    assert sum(count == len(world.held) for count in doors.values()) >= 12, doors
    return found


async def check_names(world: World) -> None:
    """An id that another has is free, and an Idempotency-Key of another's is a new one."""
    for victim, attacker in product(world.held[::EACH], world.tokens):
        bearer = [(b"authorization", f"Bearer {world.tokens[attacker]}".encode())]
        if attacker == victim.owner:
            continue
        sent = json.dumps({"id": victim.id, "text": "ASK { <a:x> <a:y> <a:z> }"}).encode()
        made = await ask(world.app, "POST", "/subscriptions", [*bearer, (b"content-type", b"application/json")], sent)
        row = json.loads(made.body)
        assert (made.status, row["id"]) == (201, f"{attacker}/{victim.id}")
        world.engine.unsubscribe(row["id"], row["ticket"])
        answers = []
        for owner, key in ((victim.owner, victim.id), (attacker, victim.id), (attacker, f"{victim.id} of {attacker}")):
            bearer = [(b"authorization", f"Bearer {world.tokens[owner]}".encode()), (b"idempotency-key", key.encode())]
            bearer += [(b"content-type", b"text/turtle")]
            answers.append(await ask(world.app, "PUT", f"/documents?graph=a:{victim.owner}", bearer, TEXT))
        assert answers[1] == answers[2], answers
        assert answers[0].status == (201 if attacker == next(iter(world.tokens)) else answers[0].status), answers


async def _guess_many(world: World, n: int) -> None:
    left = iter(range(n))

    async def work() -> None:
        for number in left:
            await world.guess()
            if number % 20_000 == 19_999:
                print(f"{number + 1} guesses: {dict(sorted(world.seen.items()))}", file=sys.stderr, flush=True)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def check_guesses(n: int, folder: Path, seed: int) -> Counter[int]:
    """How often each status was answered. Raises AssertionError."""
    chance = random.Random(f"guesses/{seed}")
    tokens = {f"o{number}": f"{chance.getrandbits(256):x}" for number in range(OWNERS)}
    access = {hash_token(token): Access(owner, SCOPES) for owner, token in tokens.items()}

    async def live() -> Counter[int]:
        with whole_service(folder, tokens=access, hosts=frozenset(), threads=4) as (engine, app):
            async with app.router.lifespan_context(app):
                world = await make_world(engine, app, tokens, chance)
                before = await check_owners(world)
                await _guess_many(world, n - n // 4)
                await check_names(world)
                assert await check_owners(world) == before
        with whole_service(folder, threads=4) as (engine, app):
            async with app.router.lifespan_context(app):
                world.app, world.engine, world.has_tokens = app, engine, False
                await _guess_many(world, n // 4)
        return world.seen

    return asyncio.run(live())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.guesses")
    parser.add_argument("n", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED)))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = check_guesses(options.n, Path(folder) / "folder", options.seed)
    print(f"seed {options.seed}, {seen.total()} guesses opened nothing and told nothing: {dict(sorted(seen.items()))}")


if __name__ == "__main__":
    main()
