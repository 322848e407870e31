"""Read the files given to `match`, `explain` and `preview`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.operators import say_faults
from triplecast.cli.service_url import ServiceUrl
from triplecast.cli.terminal import say
from triplecast.errors import InputError, StorageFault
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.registry.admission import Admitted
    from triplecast.schema import RdfSchema
    from triplecast.taxonomy import Taxonomy


_NO_ORDER = "no rdfs:subClassOf or rdfs:subPropertyOf (--broader reads skos:broader too)"


def load_admitted(
    paths: list[Path], datasets: bool = True, taxonomy: Taxonomy | None = None, schema: list[Path] | None = None
) -> Admitted:
    """Load the valid subscriptions (for datasets, or not). Report the others, and files that are skipped, on stderr."""
    from triplecast.operators.operator_set import declared_operators
    from triplecast.registry.admission import admit_all
    from triplecast.registry.files import describe_unread, load_subscriptions

    has_taxonomy = None if taxonomy is None else bool(taxonomy.lines)
    known = load_schema(schema or [])
    admitted = admit_all(load_subscriptions(paths), datasets, declared_operators(), has_taxonomy, known)
    say_faults()
    if admitted.ignored:
        say(describe_unread(admitted.ignored))
    for fault in admitted.faults:
        say(str(fault))
    if not admitted.subscriptions:
        raise InputError("no valid subscription found", "fix the errors listed above")
    return admitted


def has_journal(folder: Path) -> bool:
    """Whether there is a journal in `folder`. Raises `StorageFault` where it is missing beside what belongs to one."""
    from triplecast.journal.records import DATABASE, END
    from triplecast.outbox.reader import DATABASE as OUTBOX

    if (folder / DATABASE).exists():
        return True
    if any((folder / name).exists() for name in (END, OUTBOX)):
        raise StorageFault(str(folder), f"{DATABASE} is missing", "restore it from a copy")
    return False


def check_journal(folder: Path | ServiceUrl) -> None:
    """Raises InputError for a folder without one, `StorageFault` as `has_journal` does; a service says it itself."""
    if not isinstance(folder, ServiceUrl) and not has_journal(folder):
        raise InputError(f"no journal in {folder}", "name the folder of a run, of a service or of Engine.open")


def is_new_journal(folder: Path) -> bool:
    """Whether a journal would be made in `folder`. Raises InputError where it holds other files, or is a file, and
    `StorageFault` as `has_journal` does."""
    from triplecast.journal.writer_lock import LOCK

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file", "name a folder first")
    if has_journal(folder):
        return False
    held = [path.name for path in folder.glob("[!.]*") if path.is_file() and path.name != LOCK]
    if held:
        found = f"{folder} holds no journal, but other files, such as {printable_name(min(held))}"
        raise InputError(found, "name the folder of a run or of Engine.open, or an empty one")
    return True


def say_unknown(folder: Path | ServiceUrl, owner: str | None, subscription: str | None = None) -> None:
    """Say on stderr which of the names no subscription of the folder ever had, and the nearest that one had; of a
    service, that it shows none of them."""
    if isinstance(folder, ServiceUrl):
        say(f"{folder} has nothing of {printable_name(subscription or owner or '')} for this token")
        return
    from triplecast.journal import JournalFile
    from triplecast.terms.nearness import nearest_names

    with JournalFile.read_only(folder) as journal:
        parts = journal.registry_slices(0, journal.head(), 1000)
        known = {(each.subscription.owner, each.subscription.name) for part in parts for each in part.changes.added}
    for place, (what, wanted) in enumerate((("owner", owner), ("id", subscription))):
        names = {each for pair in known if (each := pair[place])}
        if wanted is not None and wanted not in names:
            near = nearest_names(wanted, sorted(names), 1)
            meant = f"; was {printable_name(near[0])} meant?" if near else ""
            say(f"no subscription in {folder} has the {what} {printable_name(wanted)}{meant}")


def add_paths(parser: argparse.ArgumentParser, *options: str, required: bool = True) -> None:
    """Add options that take files and folders."""
    for option in options:
        parser.add_argument(option, metavar="PATH", nargs="+", type=Path, required=required, help="files and folders")


def add_cutting(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what of a document is a publication."""
    parser.add_argument("--dataset", action="store_true", help="publish a dataset as one publication with named graphs")
    parser.add_argument(
        "--split",
        metavar="CLASS",
        type=_split,
        help="publish each instance of CLASS (dcat:Dataset, <iri>) or result of a SELECT query",
    )


def _split(text: str) -> str:
    """The type of an option that says where documents are cut."""
    from triplecast.languages.roots import read_split

    try:
        return read_split(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_taxonomy(parser: argparse.ArgumentParser) -> None:
    """Add the options that give a command a taxonomy."""
    parser.add_argument(
        "--taxonomy", metavar="PATH", nargs="+", type=Path, default=[], help="a taxonomy of classes and properties"
    )
    parser.add_argument("--broader", action="store_true", help="read skos:broader as part of the taxonomy")


def add_schema(parser: argparse.ArgumentParser) -> None:
    """Add the option that gives a command a schema."""
    parser.add_argument("--schema", metavar="PATH", nargs="+", type=Path, default=[], help="the schema of rules")


def load_schema(paths: list[Path]) -> RdfSchema:
    """Read the schema given."""
    from triplecast.ingest.document_files import read_schema_files

    return read_schema_files(paths)


def absolute_iri(text: str) -> str:
    """The type of an option that takes an IRI."""
    from pyoxigraph import NamedNode

    try:
        return NamedNode(text).value
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no absolute IRI") from None


def load_taxonomy(paths: list[Path], broader: bool) -> Taxonomy:
    """Read the taxonomy given. Warn on stderr of one that puts nothing under anything, which has no effect."""
    from triplecast.ingest.document_files import read_taxonomy_files
    from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, SUB_PROPERTY

    taxonomy = read_taxonomy_files(paths, broader)
    if paths and not any(map(taxonomy.count, (SUB_CLASS, SUB_PROPERTY, BROADER))):
        taken = "no rdfs:subClassOf, rdfs:subPropertyOf or skos:broader" if broader else _NO_ORDER
        say(f"the taxonomy has no effect: it states {taken} between IRIs (skos:narrower is not read)")
    return taxonomy


def check_publications(paths: list[Path]) -> int:
    """Count the files in the folders that are no documents, and report some on stderr. Raises InputError for two
    documents with one name, and for a path that is missing."""
    from triplecast.ingest.document_files import check_path
    from triplecast.ingest.inbox import describe_ignored
    from triplecast.offline import check_places

    for path in paths:
        check_path(path)
    ignored = check_places(paths)
    if ignored:
        say(describe_ignored(ignored))
    return len(ignored)


def choose_subscription(path: Path, name: str | None, schema: list[Path]) -> Subscription:
    """Return the one subscription of a file, or the one with id `name`. Raises InputError unless there is one."""
    admitted = load_admitted([path], schema=schema)
    chosen = [s for s in admitted.subscriptions if name is None or s.name == name]
    if len(chosen) != 1:
        wanted = f"no subscription {name}" if name else f"{len(chosen)} subscriptions"
        known = ", ".join(printable_name(s.name) for s in admitted.subscriptions[:5])
        raise InputError(f"{wanted} in {path}", f"choose one with --id, e.g. {known}")
    return chosen[0]
