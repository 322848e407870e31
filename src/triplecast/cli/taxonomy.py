"""`triplecast taxonomy` and `schema`: give a folder a taxonomy, or its rules a schema; or show the one that holds."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.inputs import check_journal, is_new_journal, load_schema, load_taxonomy
from triplecast.cli.publish import open_engine, print_match
from triplecast.cli.terminal import Exit, print_json, print_text, say

if TYPE_CHECKING:
    from triplecast.engine import Engine, LoadedSchema, LoadedTaxonomy
    from triplecast.journal import JournalFile

_TAXONOMY = ("subclasses", "subproperties", "broader", "types")
_SCHEMA = ("classes", "properties", "set_valued", "strong")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, run, what, effect in (
        ("schema", run_schema, "the schema that rules are read with", "rules registered from then on are read with it"),
        (
            "taxonomy",
            run_taxonomy,
            "the taxonomy of a folder",
            "for publications from then on; print what that changes",
        ),
    ):
        text = f"Replace the {name} of DIR by that of the files given: {effect}. Without files, print what holds."
        parser = commands.add_parser(name, help=f"load or show {what}", description=text)
        folder = "the folder of `triplecast publish` or of Engine.open"
        parser.add_argument("folder", metavar="DIR", type=Path, help=folder)
        parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="documents; folders are searched")
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.set_defaults(run=run)
    parser.add_argument("--broader", action="store_true", help="take skos:broader too, as an order of classes")


def run_taxonomy(arguments: argparse.Namespace) -> int:
    if not arguments.files:
        return _show(arguments, _taxonomy_row)
    lines = load_taxonomy(arguments.files, arguments.broader).lines
    with _open(arguments, "a run takes --taxonomy; put it to the /taxonomy of a server") as engine:
        loaded = engine.load_taxonomy(lines, "application/n-triples", arguments.broader)
        _say_loaded(loaded, _TAXONOMY, arguments.json)
        for match in loaded.matches:
            print_match(match, arguments.json)
    return Exit.PARTLY if loaded.undecided else Exit.DONE


def run_schema(arguments: argparse.Namespace) -> int:
    if not arguments.files:
        return _show(arguments, lambda journal: {"schema": journal.schema().lines.decode()})
    lines = load_schema(arguments.files).lines
    with _open(arguments, "end that process, load it and start it again") as engine:
        _say_loaded(engine.load_schema(lines, "application/n-triples"), _SCHEMA, arguments.json)
    return Exit.DONE


def _open(arguments: argparse.Namespace, instead: str) -> AbstractContextManager[Engine]:
    from triplecast.model.operators import SCHEDULE

    if is_new_journal(arguments.folder):
        say(f"{arguments.folder} held no journal: a new one is made there")
    return open_engine(arguments.folder, SCHEDULE, instead)


def _say_loaded(loaded: LoadedTaxonomy | LoadedSchema, names: Sequence[str], as_json: bool) -> None:
    counts = {name: getattr(loaded, name) for name in names}
    if as_json:
        print_json({"position": loaded.position, **counts})
    else:
        said = ", ".join(f"{count} {name.replace('_', '-')}" for name, count in counts.items())
        print_text(f"position {loaded.position}: {said}")


def _show(arguments: argparse.Namespace, read: Callable[[JournalFile], Mapping[str, object]]) -> int:
    """Print what holds: lines first of what `read` gives."""
    from triplecast.journal import JournalFile

    check_journal(arguments.folder)
    with JournalFile.read_only(arguments.folder) as journal:
        row = read(journal)
    lines = str(next(iter(row.values())))
    if arguments.json:
        print_json(row)
    elif lines:
        print_text(lines.rstrip("\n"))
    return Exit.DONE if lines else Exit.NOTHING


def _taxonomy_row(journal: JournalFile) -> dict[str, object]:
    head = journal.head()
    taxonomy = journal.taxonomies(head, head).before(head + 1)
    return {"taxonomy": taxonomy.lines.decode(), "broader": taxonomy.broader}
