"""`triplecast operators`: which operators are known here."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from triplecast.cli.exits import Exit
from triplecast.cli.terminal import print_json, say, table, tell
from triplecast.errors import InputError
from triplecast.model.schedules import SCHEDULE, SCHEDULES


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "operators",
        help="list the operators that queries may use here",
        description="Lists the operators of installed packages (entry points of the group triplecast.operators) and of "
        "the modules named with --operators.",
    )
    add_operators(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object an operator")
    parser.set_defaults(run=run)


def add_operators(parser: argparse.ArgumentParser) -> None:
    """The option by which a command is told of modules that declare operators."""
    parser.add_argument(
        "--operators",
        metavar="MODULE",
        action="append",
        default=[],
        help="a Python module that declares operators, found from here too; several: a,b, or the option again",
    )


def add_schedule(parser: argparse.ArgumentParser) -> None:
    """The option that names the order in which operators are asked."""
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default=SCHEDULE,
        help="in which order operators are asked: the answers are the same (%(default)s unless given)",
    )


def load_operators(named: Sequence[str]) -> None:
    """Imports modules that declare operators, those in the current folder too. Raises `InputError`."""
    modules = [module for each in named for module in each.split(",") if module]
    if not modules:
        return
    for module in modules:
        if module.endswith(".py") or os.sep in module:
            path = Path(module).with_suffix("")
            name = path.name if path.is_absolute() or ".." in path.parts else ".".join(path.parts)
            raise InputError(
                f"--operators {module} names a file, and modules are named as `import` names them",
                f"write --operators {name}, in the folder from which Python finds it",
            )
    from triplecast.operators.operator_set import import_operators

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    import_operators(modules)


def say_faults() -> None:
    """Operators of installed packages that cannot be imported: no query that asks them is understood."""
    from triplecast.operators import declared_operators

    for fault in declared_operators().faults:
        say(f"operators of an entry point cannot be imported: {fault}")


def run(arguments: argparse.Namespace) -> int:
    from triplecast.operators import declared_operators

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
        tell(table([("operator", "version", "arguments", "cost", ""), *rows], "<<<><"))
    if not declared:
        say("no operator is known; name the modules that declare some with --operators, or install a package of them")
        return Exit.NOTHING
    return Exit.PARTLY if declared.faults else Exit.DONE
