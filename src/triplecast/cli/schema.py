"""`triplecast schema`: give the rules of a folder a schema, or show the one that holds."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from triplecast.cli.inputs import has_journal, is_new_journal, load_schema
from triplecast.cli.terminal import Exit, print_json, print_text
from triplecast.errors import InputError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "schema",
        help="load or show the schema that rules are read with",
        description="Replace the schema of DIR by that of the files given: rules registered from then on are read with "
        "it. Without files, print the one that holds.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of a run or of Engine.open")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="documents of RDFS; folders are searched")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.engine import LoadedSchema
    from triplecast.journal import Journal, JournalFile

    if arguments.files:
        schema = load_schema(arguments.files)
        is_new_journal(arguments.folder)
        with Journal.open(arguments.folder) as writer:
            loaded = LoadedSchema.of(schema, writer.load_schema(schema))
        if arguments.json:
            print_json(asdict(loaded))
        else:
            print_text(
                f"position {loaded.position}: {loaded.classes} classes, {loaded.properties} properties, "
                f"{loaded.set_valued} set-valued, {loaded.strong} strong"
            )
        return Exit.DONE
    if not has_journal(arguments.folder):
        raise InputError(f"{arguments.folder} holds no journal", "name the folder of a run or of Engine.open")
    with JournalFile.read_only(arguments.folder) as journal:
        lines = journal.schema().lines.decode()
    print_text(lines.rstrip("\n")) if lines and not arguments.json else print_json({"schema": lines})
    return Exit.DONE if lines else Exit.NOTHING
