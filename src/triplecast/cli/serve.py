"""`triplecast serve`: a folder over HTTP. `triplecast token`: a token for it."""

from __future__ import annotations

import argparse
import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.deliver import add_delivery, read_rules
from triplecast.cli.inputs import is_new_journal
from triplecast.cli.operators import add_operators, say_faults
from triplecast.cli.partition import PARTITIONS, add_cluster
from triplecast.cli.run import describe_notice, need_spark
from triplecast.cli.terminal import Exit, print_text, say
from triplecast.errors import InputError
from triplecast.model.extras import how_to_install

if TYPE_CHECKING:
    from triplecast.pipeline.matching import EngineOnSpark

NEEDED = ("fastapi", "uvicorn", "prometheus_client")
SCOPES = ("publish", "subscribe", "read", "taxonomy", "admin")
HOST, PORT = "127.0.0.1", 8000


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="serve a folder over HTTP",
        description="Publish, subscribe and query over HTTP in DIR, until SIGTERM or Ctrl-C. Without --token-file only "
        "this machine is served, without credentials. Every option may also be set as TRIPLECAST_HOST and so on.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder, which is made if it is missing")
    parser.add_argument("--host", default=_given("HOST", HOST), help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=_given("PORT", str(PORT)), help="0: a free one (%(default)s)")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        type=Path,
        default=_given("TOKEN_FILE", "") or None,
        help="answer only requests with a token of it; needed for other --host",
    )
    parser.add_argument(
        "--name",
        metavar="HOST",
        nargs="+",
        default=_given("NAME", "").split(),
        help="names of this server; default: with tokens any, else localhost",
    )
    parser.add_argument(
        "--public-url",
        metavar="URL",
        default=_given("PUBLIC_URL", ""),
        help="the address by which hubs reach it, which then send what is new",
    )
    add_delivery(parser)
    add_operators(parser)
    parser.add_argument("--spark", action="store_true", help="match on Apache Spark, as `triplecast run` does")
    add_cluster(parser)
    parser.set_defaults(run=run)

    parser = commands.add_parser(
        "token",
        help="make a token for `triplecast serve`",
        description="Add a token to FILE, which holds its hash alone, and print it.",
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the --token-file, which is made if it is missing")
    parser.add_argument("--owner", required=True, help="who has it, and owns the subscriptions made with it")
    parser.add_argument("--scope", choices=SCOPES, nargs="+", required=True, help="what it opens")
    parser.set_defaults(run=make_token)


def _given(name: str, default: str) -> str:
    return os.environ.get(f"TRIPLECAST_{name}", default)


def run(arguments: argparse.Namespace) -> int:
    _need_service()
    from triplecast.egress import read_url
    from triplecast.service.server import serve
    from triplecast.service.settings import ServiceSettings, is_loopback
    from triplecast.service.tokens import read_tokens

    tokens = None
    if arguments.token_file is not None:
        tokens = read_tokens(arguments.token_file)
    elif not is_loopback(arguments.host):
        found = f"{arguments.host} can be reached from other machines, and nobody would be asked who they are"
        raise InputError(found, "make a token with `triplecast token FILE`, and name FILE with --token-file")
    rules, mail = read_rules(arguments)
    public_url = read_url(arguments.public_url) and arguments.public_url if arguments.public_url else ""
    settings = ServiceSettings(tokens=tokens, egress=rules, mail=mail, public_url=public_url)
    if arguments.name or tokens is not None:
        settings = replace(settings, hosts=frozenset(name.lower() for name in arguments.name))
    spark = read_spark(arguments)
    if is_new_journal(arguments.folder):
        say(f"{arguments.folder} held no journal: a new one is made there")
    say_faults()
    serve(arguments.folder, arguments.host, arguments.port, settings, say, spark)
    return Exit.DONE


def read_spark(arguments: argparse.Namespace) -> EngineOnSpark | None:
    """What matches in the place of the server's process. Raises `InputError` for options without --spark, and where
    PySpark is missing."""
    how = {name: getattr(arguments, name) for name in ("master", "partition", "shards", "snapshots")}
    if not arguments.spark:
        if how != {"master": None, "partition": PARTITIONS[0], "shards": 1, "snapshots": None}:
            raise InputError("options of Spark are given, but nothing is matched there", "add --spark")
        return None
    need_spark("leave --spark out")
    from triplecast.pipeline.matching import EngineOnSpark, SparkSettings

    return EngineOnSpark(SparkSettings(**how), lambda notice: say(describe_notice(notice)))


def make_token(arguments: argparse.Namespace) -> int:
    _need_service()
    from triplecast.service.tokens import add_token

    print_text(add_token(arguments.file, arguments.owner, arguments.scope))
    return Exit.DONE


def _need_service() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"the service needs {', '.join(missing)}", how_to_install("service"))
