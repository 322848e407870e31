"""`triplecast operators`: list the operators that queries can use, and the options that add some."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from triplecast.cli.terminal import Exit, print_json, print_text, say, table
from triplecast.errors import InputError
from triplecast.model.operators import SCHEDULE, SCHEDULES


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "operators",
        help="list operators",
        description="List the operators of installed packages (entry points of the group triplecast.operators) and of "
        "the modules given with --operators.",
    )
    add_operators(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per operator")
    parser.set_defaults(run=run)


def add_operators(parser: argparse.ArgumentParser) -> None:
    """Add the option that names modules with operators."""
    parser.add_argument(
        "--operators",
        metavar="MODULE",
        action="append",
        default=[],
        help="import operators from this module, also in the current folder; or a,b",
    )


def add_schedule(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the order of operator calls."""
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default=SCHEDULE,
        help="the order of operator calls; results do not change (default: %(default)s)",
    )


def load_operators(named: Sequence[str]) -> None:
    """Import modules that declare operators, also from the current folder. Raises `InputError`."""
    modules = [module for each in named for module in each.split(",") if module]
    if not modules:
        return
    for module in modules:
        if module.endswith(".py") or os.sep in module:
            path = Path(module).with_suffix("")
            name = path.name if path.is_absolute() or ".." in path.parts else ".".join(path.parts)
            raise InputError(
                f"--operators {module} names a file, not a module",
                f"write --operators {name} in the folder from which Python finds it",
            )
    from triplecast.operators.operator_set import import_operators

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    import_operators(modules)


def say_faults() -> None:
    """Report installed operators that cannot be imported: queries that call them are refused."""
    from triplecast.operators.operator_set import declared_operators

    for fault in declared_operators().faults:
        say(f"installed operators cannot be imported: {fault}")


def run(arguments: argparse.Namespace) -> int:
    from triplecast.operators.operator_set import declared_operators

    declared = declared_operators()
    say_faults()
    if arguments.json:
        for each in declared:
            print_json(
                {
                    "iri": each.iri,
                    "version": each.version,
                    "arguments": each.arguments,
                    "cost": each.cost,
                    "batch": each.batch,
                    "pure": each.pure,
                    "seconds": each.seconds,
                    "memory": each.memory,
                    "module": each.module,
                    "name": each.name,
                    "about": each.about,
                }
            )
    elif declared:
        rows = [
            (each.iri, each.version, ", ".join(each.arguments), f"{each.cost:g} s", each.about) for each in declared
        ]
        print_text(table([("operator", "version", "arguments", "cost", ""), *rows], "<<<><"))
    if not declared:
        say("no operators found; name a module with --operators, or install a package of operators")
        return Exit.NOTHING
    return Exit.PARTLY if declared.faults else Exit.DONE
