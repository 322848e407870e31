"""`triplecast taxonomy`: give a folder a taxonomy, or show the one that holds."""

from __future__ import annotations

import argparse
from pathlib import Path

from triplecast.cli.inputs import has_journal, is_new_journal, load_taxonomy
from triplecast.cli.publish import open_engine, print_match
from triplecast.cli.terminal import Exit, print_json, print_text
from triplecast.errors import InputError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "taxonomy",
        help="load or show the taxonomy of a folder",
        description="Replace the taxonomy of DIR by that of the files given, for publications from then on, and print "
        "what that changes in repository scope. Without files, print the one that holds.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of `triplecast publish` or of Engine.open")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="documents; folders are searched")
    parser.add_argument("--broader", action="store_true", help="take skos:broader too, as an order of classes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import JournalFile
    from triplecast.model.operators import SCHEDULE

    if arguments.files:
        taxonomy = load_taxonomy(arguments.files, arguments.broader)
        is_new_journal(arguments.folder)
        instead = "a run takes --taxonomy; end a server, load it and start the server again"
        with open_engine(arguments.folder, SCHEDULE, instead) as engine:
            loaded = engine.load_taxonomy(taxonomy.lines, "application/n-triples", arguments.broader)
            counts = {name: getattr(loaded, name) for name in ("subclasses", "subproperties", "broader", "types")}
            if arguments.json:
                print_json({"position": loaded.position, **counts})
            else:
                said = ", ".join(f"{count} {name}" for name, count in counts.items())
                print_text(f"position {loaded.position}: {said}")
            for match in loaded.matches:
                print_match(match, arguments.json)
        return Exit.PARTLY if loaded.undecided else Exit.DONE
    if not has_journal(arguments.folder):
        raise InputError(f"{arguments.folder} holds no journal", "name the folder of a run or of Engine.open")
    with JournalFile.read_only(arguments.folder) as journal:
        head = journal.head()
        taxonomy = journal.taxonomies(head, head).before(head + 1)
    lines = taxonomy.lines.decode()
    if arguments.json:
        print_json({"taxonomy": lines, "broader": taxonomy.broader})
    elif lines:
        print_text(lines.rstrip("\n"))
    return Exit.DONE if lines else Exit.NOTHING
