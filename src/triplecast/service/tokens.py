"""Tokens: 256 random bits that a client sends; a file has their hashes, owners and scopes, one a line."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from triplecast.errors import InputError
from triplecast.service.problems import Problem
from triplecast.service.settings import ADMIN, SCOPES, TAXONOMY, Access
from triplecast.service.state import service_of
from triplecast.storage_faults import storage_faults

EVERYTHING = Access(None, frozenset(SCOPES))
"""Of a service without tokens."""
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="triplecast"'}
_SEND = "send Authorization: Bearer TOKEN"
_LINE = '{"owner": "ada", "scopes": ["publish", "subscribe", "read"], "sha256": "…"}'
bearer = HTTPBearer(auto_error=False, scheme_name="token", description="as `triplecast token` printed it")


def hash_token(token: str) -> bytes:
    """SHA-256: a guess costs 2^255 of them, so none slower is needed."""
    return hashlib.sha256(token.encode("utf-8", "backslashreplace")).digest()


def read_tokens(path: Path) -> Mapping[bytes, Access]:
    """The tokens of a file. Raises `InputError`, naming the line, for one that is none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read tokens from {path}: {error}", "make one with `triplecast token`") from None
    found: dict[bytes, Access] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            digest, access = _read_line(line, f"{path}:{number}")
            found[digest] = access
    if not found:
        raise InputError(f"{path} holds no token", "make one with `triplecast token`")
    owners = {each.owner for each in found.values()}
    for owner in sorted(map(str, owners)):
        above = next((owner[:at] for at, each in enumerate(owner) if each == "/" and owner[:at] in owners), None)
        if above is not None:  # who would read what the other has
            raise InputError(f"{path}: {owner} is an owner below {above}, who may use its ids", "rename one")
    return found


def _read_line(line: str, place: str) -> tuple[bytes, Access]:
    try:
        row = json.loads(line)
        owner, scopes, digest = row["owner"], row["scopes"], bytes.fromhex(row["sha256"])
        if not isinstance(owner, str) or not owner or not isinstance(scopes, list) or len(digest) != 32:
            raise ValueError("a field is of another type")
        if not scopes or not set(scopes) <= set(SCOPES):
            raise ValueError(f"scopes are {', '.join(SCOPES)}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{place}: {error}", f"write {_LINE}") from None
    return digest, Access(owner, frozenset(scopes))


def add_token(path: Path, owner: str, scopes: Iterable[str]) -> str:
    """Add a new token to a file that only this user reads; return it: the file has its hash alone."""
    token = secrets.token_urlsafe(32).replace("-", ".")  # it may be the value of an option
    row = {"owner": owner, "scopes": sorted({*scopes}), "sha256": hash_token(token).hex()}
    with storage_faults(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
    return token


def access_of(tokens: Mapping[bytes, Access] | None, token: str | None) -> Access | None:
    """What a token opens; None for one that is unknown or missing. Nothing but a hash is looked up, which no guess
    comes nearer to by how long that takes."""
    if tokens is None:
        return EVERYTHING
    digest = hash_token(token or "")
    return next((access for known, access in tokens.items() if hmac.compare_digest(known, digest)), None)


def allow(scope: str) -> Callable[..., Coroutine[Any, Any, Access]]:
    """A dependency that gives whoever has a token of this scope, or of `ADMIN`. Raises `Problem` 401 and 403."""

    async def check(
        request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)] = None
    ) -> Access:
        tokens = service_of(request).settings.tokens
        request.state.access = opened(tokens, sent.credentials if sent else "", scope)  # for the log
        return request.state.access  # type: ignore[no-any-return]

    return check


def opened(tokens: Mapping[bytes, Access] | None, token: str, scope: str) -> Access:
    """What a token of a scope opens. Raises `Problem` 401 and 403."""
    access = access_of(tokens, token)
    if access is None:
        found = "the token was not in the file of tokens when the server started" if token else "no token was sent"
        mend = "check it; add it with `triplecast token`, and start the server again" if token else _SEND
        raise Problem(401, "a token is needed", found, mend, _CHALLENGE)
    if scope not in access.scopes and ADMIN not in access.scopes:
        lacks = f"the token's scopes lack {scope}"
        raise Problem(403, "the token does not open this", lacks, "ask for a token that has it")
    return access


can_publish = allow("publish")
CanPublish = Annotated[Access, Depends(can_publish)]
CanSubscribe = Annotated[Access, Depends(allow("subscribe"))]
CanRead = Annotated[Access, Depends(allow("read"))]
CanTeach = Annotated[Access, Depends(allow(TAXONOMY))]
CanAdmin = Annotated[Access, Depends(allow("admin"))]
