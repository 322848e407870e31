"""The files that `match`, `explain` and `preview` are given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.operators import say_faults
from triplecast.cli.terminal import say
from triplecast.errors import InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.registry.admission import Admitted
    from triplecast.taxonomy import Taxonomy


_NO_ORDER = "no rdfs:subClassOf or rdfs:subPropertyOf (--broader takes skos:broader too)"


def load_admitted(paths: list[Path], datasets: bool = True) -> Admitted:
    """The subscriptions that can be asked (of datasets, or not). Each of the others is told on stderr, and so are files
    that are skipped.
    """
    from triplecast.registry.admission import admit_all
    from triplecast.registry.files import describe_unread, load_subscriptions

    admitted = admit_all(load_subscriptions(paths), datasets)
    say_faults()
    if admitted.ignored:
        say(describe_unread(admitted.ignored))
    for fault in admitted.faults:
        say(str(fault))
    if not admitted.subscriptions:
        raise InputError("not one subscription can be asked", "fix those named above")
    return admitted


def add_taxonomy(parser: argparse.ArgumentParser) -> None:
    """The options by which a command is given a taxonomy."""
    parser.add_argument(
        "--taxonomy", metavar="PATH", nargs="+", type=Path, default=[], help="what is known of classes and properties"
    )
    parser.add_argument("--broader", action="store_true", help="skos:broader is part of the taxonomy")


def load_taxonomy(paths: list[Path], broader: bool) -> Taxonomy:
    """The taxonomy that is given; one in which nothing is under anything is told on stderr, since no subscription could
    see a difference between its classes."""
    from triplecast.ingest.taxonomy_documents import read_taxonomy_files
    from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, SUB_PROPERTY

    taxonomy = read_taxonomy_files(paths, broader)
    if paths and not any(map(taxonomy.count, (SUB_CLASS, SUB_PROPERTY, BROADER))):
        taken = "no rdfs:subClassOf, rdfs:subPropertyOf or skos:broader" if broader else _NO_ORDER
        say(f"nothing is under anything in the taxonomy: there is {taken} between IRIs (skos:narrower is not read)")
    return taxonomy


def check_publications(paths: list[Path]) -> int:
    """How many files in the folders are no documents; a few of them are told on stderr. Raises InputError for two
    documents with one name.
    """
    from triplecast.ingest.inbox import describe_ignored
    from triplecast.offline import check_places

    ignored = check_places(paths)
    if ignored:
        say(describe_ignored(ignored))
    return len(ignored)


def choose_subscription(path: Path, name: str | None) -> Subscription:
    """The one subscription of a file, or the one called `name`. Raises InputError where there is not exactly one."""
    admitted = load_admitted([path])
    chosen = [s for s in admitted.subscriptions if name is None or s.name == name]
    if len(chosen) != 1:
        wanted = f"no subscription {name}" if name else f"{len(chosen)} subscriptions"
        known = ", ".join(printable_name(s.name) for s in admitted.subscriptions[:5])
        raise InputError(f"{wanted} in {path}", f"name one with --id, e.g. {known}")
    return chosen[0]
