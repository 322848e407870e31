"""`python -m tests.properties.guesses N --seed S`: requests for what is another owner's, or with a wrong secret.

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
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from fastapi import FastAPI

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.properties.service import whole_service
from triplecast import Engine
from triplecast.service.notifications import FORMS
from triplecast.service.settings import Access
from triplecast.service.tokens import hash_token
from triplecast.syndication.turtle import SUBSCRIPTION

OWNERS, EACH = 4, 2
AT_ONCE = 16
ROUND = 10_000
"""Guesses, after which owners are asked again."""
AGAIN = 50
"""Of so many requests one asks again for what does not exist."""
FOLLOWING = 0.05
"""Of requests, at doors where a log has to be read first."""
SCOPES = frozenset({"publish", "subscribe", "read"})
TEXT, TURTLE, FORM = b"<a:s> <a:p> 1 .", "text/turtle", "application/x-www-form-urlencoded"
HOOK = '{"webhook": "https://hooks.example/1"}'
SEPA = "WEBSOCKET"


class Door(NamedTuple):
    """A request; ``{id}``, ``{name}`` and ``{owner}`` are somebody's, ``{key}`` the secret of a feed."""

    method: str
    path: str
    opened_by: str = "both"
    """The owner's token with the ticket; ``any`` of them; a ``key``; the ``token``, which is never another's here; a
    token of ``nobody``: with their own, everybody does something else there."""
    body: str = ""
    accept: str = "*/*"
    media_type: str = "application/json"


_S, _F, _NAMED = "/subscriptions/{id}", "/followers/{name}", "?subscription={id}"
_TOPIC = "http%3A%2F%2Flocalhost%2Fsubscriptions%2F{quoted}%2Ffeed.atom%3Fkey%3D{key}"
DOORS = (
    Door("GET", _S), Door("PATCH", _S, body='{"lease": 60}'), Door("POST", f"{_S}/resync"),
    Door("POST", f"{_S}/explain", body=TEXT.decode(), media_type=TURTLE), Door("GET", f"{_S}/delivery"),
    Door("POST", f"{_S}/delivery", body=HOOK),
    Door("PATCH", f"{_S}/delivery", body='{"target": "{target}", "action": "remove"}'),
    Door("GET", f"{_S}/feed"),
    *(Door("GET", f"{_S}/{part}key={{key}}", "key") for part in ("feed.atom?", "feed.json?", "ldes?", "stream?")),
    Door("POST", "/hub", "key", f"hub.mode=subscribe&hub.callback=https://a.example/1&hub.topic={_TOPIC}", "*/*", FORM),
    Door("GET", f"{_S}/ldes", "any"), Door("GET", f"{_S}/stream?offset=-1", "any"), Door("HEAD", f"{_S}/stream", "any"),
    Door("GET", f"{_S}/stream?offset=now&live=sse", "any"),
    *(Door("GET", f"/notifications{_NAMED}", "any", accept=form) for form in FORMS),
    Door("GET", f"/notifications{_NAMED}&owner={{owner}}", "any"), Door("GET", f"/undecided{_NAMED}", "any"),
    *(Door("GET", f"/{part}?owner={{owner}}", "token") for part in ("notifications", "subscriptions", "undecided")),
    *(Door("GET", f"{_F}/{part}", "token") for part in ("snapshot", "digests", "subscriptions", "undecided")),
    Door("GET", f"{_F}/log?after=0&id=", "token"), Door("GET", "/log/records?after=0&id=", "token"),
    Door("POST", f"{_F}/subscriptions", "token", '{"ended": ["held"]}'),
    Door(SEPA, "/subscribe", "token", f'{{"unsubscribe": {{"spuid": "{SUBSCRIPTION}{{quoted}}"}}}}'),
    Door(SEPA, "/subscribe", "nobody", '{"subscribe": {"sparql": "SELECT ?mark_sepa { ?s <a:p> ?mark_sepa }"}}'),
    Door("DELETE", f"{_S}/feed"), Door("DELETE", _S),
)  # fmt: skip
"""Those that end something come last."""
_OWN = {"/log/records?after=0&id=": 403, f"{_F}/log?after=0&id=": 410, f"{_S}/explain": 400}
"""What an owner is answered who may not, or where nothing is to be shown."""
_TOKENS = ("token", "nobody")
_FADING = (b"content-length", b"etag", b"stream-cursor")
"""Headers that follow from a body, or from the time."""
_NAMES = re.compile(rb'urn:uuid:[0-9a-f-]{36}|\b[0-9a-f]{32}\b|"streamCursor":"\d+"')
"""Of a log, and its digest: made of the follower's own name. And a number that is made of the time."""


@dataclass
class Held:
    """A subscription of somebody's."""

    id: str
    owner: str
    ticket: str
    former: str
    """The ticket of an ended one of the same id."""
    target: str
    mark: bytes
    """In all that is told of it."""
    key: str = ""
    revoked: str = ""
    """The former secret of its feed."""


class Answer(NamedTuple):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def without(self, whose: Held) -> Answer:
        """The same, but for what names who was asked for."""
        body = self.body
        for name in (whose.id, quote(whose.id, safe=""), whose.owner):
            body = body.replace(name.encode(), b"?")
        return Answer(self.status, self.headers, _NAMES.sub(b"?", body))


@dataclass
class World:
    app: FastAPI
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
        door, victim = self._door(), chance.choice(self.held)
        attacker = chance.choice([each for each in self.tokens if each != victim.owner])
        others = [each for each in self.held if each.owner == attacker]
        token, whose = self._token(door, victim, attacker)
        ticket = self._ticket(door, victim, others, whose)
        key = self._wrong(victim.key, [victim.revoked, victim.ticket, *(each.key for each in others)])
        answer = await self.ask(door, victim, token, ticket, key)
        self.seen[answer.status] += 1
        kind = (door, whose, ticket is None, len(key) > 64)
        if kind not in self.nothing or chance.random() < 1 / AGAIN:
            nobody = _nobody(victim)
            nothing = (await self.ask(door, nobody, token, ticket, key)).without(nobody)
            assert self.nothing.setdefault(kind, nothing) == nothing, (kind, nothing, self.nothing[kind])
        assert answer.without(victim) == self.nothing[kind], (door, victim, token, ticket, key, answer)
        assert not any(each.mark in answer.body for each in self.held), (door, victim, attacker, answer)

    def _door(self) -> Door:
        follows = self.has_tokens and self.chance.random() < FOLLOWING
        doors = [each for each in DOORS if (_F in each.path) == follows]
        return self.chance.choice([each for each in doors if self.has_tokens or each.opened_by not in _TOKENS])

    def _token(self, door: Door, victim: Held, attacker: str) -> tuple[str | None, str]:
        """What is sent, and what that is."""
        kind = self.chance.choice(("own", "own", "own", "wrong", "none", "another")) if self.has_tokens else "no tokens"
        kind = "wrong" if door.opened_by == "nobody" and kind == "own" else kind
        if kind == "own":
            return self.tokens[attacker], kind
        if kind == "another" and door.opened_by in ("both", "any"):  # the right one, which needs the ticket too
            return self.tokens[victim.owner], kind
        if kind in ("another", "wrong"):
            return self._wrong(self.tokens[victim.owner], [victim.ticket, victim.key]), "wrong"
        return None, kind

    def _ticket(self, door: Door, victim: Held, others: list[Held], whose: str) -> str | None:
        if door.opened_by in (*_TOKENS, "key"):
            return None
        if self.chance.random() < 0.1 and (door.opened_by == "both" or whose not in ("another", "no tokens")):
            return None
        if whose in ("own", "wrong", "none") and door.opened_by == "both" and self.chance.random() < 0.3:
            return victim.ticket  # stolen: without the token it opens nothing here
        return self._wrong(victim.ticket, [victim.former, victim.key, "", *(each.ticket for each in others)])

    def _wrong(self, right: str, others: list[str]) -> str:
        """Something near to a secret."""
        chance, at = self.chance, self.chance.randrange(len(right))
        near = (
            right[:at] or "x",
            right + chance.choice(("a", "=", ".", " x", "%00", "\u00e9")),
            right[:at] + chance.choice([each for each in "aB3._" if each != right[at]]) + right[at + 1 :],
            right.swapcase() if right.swapcase() != right else "x",
            right[::-1] if right[::-1] != right else "x",
            hashlib.sha256(right.encode()).hexdigest(),
            f"{chance.getrandbits(256):064x}",
        )
        return chance.choice((*near, *others))

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def ask(self, door: Door, whose: Held, token: str | None, ticket: str | None, key: str) -> Answer:
        quoted = quote(whose.id, safe="")
        values = {"id": quoted, "owner": quote(whose.owner), "key": quote(key, safe=""), "target": whose.target}
        values |= {"name": whose.id.rpartition("/")[2], "quoted": quoted if door.method == SEPA else quote(quoted)}
        path, body = door.path, door.body
        for name, value in values.items():
            path, body = path.replace(f"{{{name}}}", value), body.replace(f"{{{name}}}", value)
        headers = {"accept": door.accept} | ({"content-type": door.media_type} if body else {})
        headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        headers |= {} if ticket is None else {"triplecast-ticket": ticket}
        return await ask(self.app, door.method, path, headers, body.encode())

    async def ask_own(self, door: Door, held: Held) -> Answer:
        """As who may: at doors with two ways, with the ticket alone."""
        token = None if door.opened_by in ("any", "key") else self.tokens[held.owner]
        return await self.ask(door, held, token, None if door.opened_by in (*_TOKENS, "key") else held.ticket, held.key)


async def ask(app: FastAPI, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """An answer; of a stream its beginning: the client goes. Over a WebSocket, all that is said to one message."""
    path, _, query = target.partition("?")
    sent = [(b"host", b"localhost"), *((name.encode(), value.encode()) for name, value in headers.items())]
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": unquote(path), "raw_path": path.encode(),
        "query_string": query.encode(), "headers": sent, "scheme": "http", "server": ("localhost", 80),
        "client": ("127.0.0.1", 1), "root_path": "", "state": {"triplecast.hand_over": lambda: None},
    }  # fmt: skip
    said = [{"type": "http.request", "body": body, "more_body": False}]
    if method == SEPA:
        scope |= {"type": "websocket", "scheme": "ws", "subprotocols": []}
        said = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": body.decode()}]
    heard: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return said.pop(0) if said else {"type": f"{scope['type']}.disconnect", "code": 1000}

    async def send(message: MutableMapping[str, Any]) -> None:
        heard.append(message)

    await app(scope, receive, send)
    if method == SEPA:
        return Answer(101, (), "\n".join(each.get("text", "") for each in heard).encode())
    kept = tuple(each for each in heard[0]["headers"] if each[0].lower() not in _FADING)
    return Answer(heard[0]["status"], kept, b"".join(each.get("body", b"") for each in heard[1:]))


def _nobody(victim: Held) -> Held:
    """Of the same form, and not there."""
    name = re.sub(r"\d", "x", victim.id)
    return replace(victim, id=name, owner=name.partition("/")[0], target="t-0")


# ---- what there is --------------------------------------------------------------------------------------------------


async def make_world(engine: Engine, app: FastAPI, tokens: Mapping[str, str], chance: random.Random) -> World:
    """Owners with subscriptions, notifications, feeds, targets and what a local repository holds."""
    world = World(app, tokens, [], chance)
    for owner, number in product(tokens, range(EACH)):
        world.held.append(await _hold(engine, world, owner, f"{owner}-{number}", f"mark_{owner}_{number}"))
    engine.publish(TEXT, TURTLE, "a:g")
    return world


async def _hold(engine: Engine, world: World, owner: str, name: str, mark: str) -> Held:
    text = f"SELECT ?{mark} {{ ?s <a:p> ?{mark} }}"
    headers = {"authorization": f"Bearer {world.tokens[owner]}", "content-type": "application/json"}

    async def send(path: str, row: Mapping[str, Any]) -> Any:
        answer = await ask(world.app, "POST", path, headers, json.dumps(row).encode())
        assert answer.status in (200, 201), answer
        return json.loads(answer.body)

    wanted = {"id": name, "text": text, "scope": "repository", "delivery": {"webhook": f"https://h.example/{name}"}}
    former = await send("/subscriptions", wanted)
    engine.unsubscribe(former["id"], former["ticket"])
    row = await send("/subscriptions", wanted)
    held = Held(row["id"], owner, row["ticket"], former["ticket"], row["delivery"]["target"], mark.encode())
    for attribute in ("revoked", "key"):
        addresses = json.loads((await world.ask_own(Door("DELETE", f"{_S}/feed"), held)).body)
        setattr(held, attribute, addresses["atom"].rpartition("=")[2])
    await send(f"/followers/{name}/subscriptions", {"subscriptions": [{"id": "held", "text": text}]})
    return held


async def check_doors(engine: Engine, world: World) -> None:
    """Each door opens to the right owner, and shows what is theirs or does what it is to do."""
    shown = Counter[Door]()
    for owner in world.tokens:
        held = await _hold(engine, world, owner, f"{owner}-ends", f"mark_{owner}_ends")
        for door in DOORS:
            answer = await world.ask_own(door, held)
            assert answer.status == _OWN.get(door.path, answer.status if answer.status < 300 else 200), (door, answer)
            shown[door] += held.mark in answer.body or b"mark_sepa" in answer.body
    assert sum(count == len(world.tokens) for count in shown.values()) >= 14, shown


async def look(world: World) -> dict[tuple[str, Door], Answer]:
    """What each owner is answered, the same before and after; so a guess that was right would show."""
    doors = [each for each in DOORS if each.method in ("GET", "HEAD") and each.path not in _OWN]
    asked = product(world.held, doors)
    return {(held.id, door): (await world.ask_own(door, held)).without(held) for held, door in asked}


async def _guess_many(world: World, n: int) -> None:
    before = await look(world)
    for begun in range(0, n, ROUND):
        left = iter(range(begun, min(begun + ROUND, n)))

        async def work(left: Iterator[int] = left) -> None:
            for _ in left:
                await world.guess()

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        after = await look(world)
        assert after == before, [(key, before[key], after[key]) for key in before if before[key] != after[key]][:2]
        print(f"{world.seen.total()} guesses: {dict(sorted(world.seen.items()))}", file=sys.stderr, flush=True)


def check_guesses(n: int, folder: Path, seed: int) -> Counter[int]:
    """How often each status was answered. Raises AssertionError."""
    chance = random.Random(f"guesses/{seed}")
    tokens = {f"o{number}": f"{chance.getrandbits(256):x}" for number in range(OWNERS)}
    access = {hash_token(token): Access(owner, SCOPES) for owner, token in tokens.items()}

    async def live() -> Counter[int]:
        with whole_service(folder, tokens=access, hosts=frozenset(), threads=4) as (engine, app):
            async with app.router.lifespan_context(app):
                world = await make_world(engine, app, tokens, chance)
                await check_doors(engine, world)
                await _guess_many(world, n - n // 4)
        with whole_service(folder, threads=4) as (_, app):
            async with app.router.lifespan_context(app):
                world.app, world.has_tokens = app, False
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
