"""`triplecast completion`: a script with which a shell completes commands and options, made of the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from triplecast.cli.terminal import Exit

_BASH = """\
_triplecast() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}} $before" in
{choices}      *)
        case "$current" in -*)
          case "${{COMP_WORDS[1]}}" in
{options}          esac
        esac
    esac
  fi
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
}}
complete -o default -F _triplecast triplecast
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description='Print a completion script. For bash: eval "$(triplecast completion bash)" in ~/.bashrc; for zsh '
        "the same in ~/.zshrc, after compinit; for fish: triplecast completion fish | source.",
    )
    parser.add_argument("shell", choices=tuple(SCRIPTS))
    parser.set_defaults(run=lambda arguments: run(arguments, commands.choices, _summaries(commands)))


def run(
    arguments: argparse.Namespace, parsers: Mapping[str, argparse.ArgumentParser], summaries: Mapping[str, str]
) -> int:
    print(SCRIPTS[arguments.shell](parsers, summaries), end="")
    return Exit.DONE


def _summaries(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> dict[str, str]:
    return {action.dest: action.help or "" for action in commands._get_subactions()}


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.Action, str]]:
    """Each action of a parser, with each of its long options, or an empty text for what has none."""
    for action in parser._actions:
        for option in action.option_strings or ("",):
            if not option or option.startswith("--"):
                yield action, option


def _bash(parsers: Mapping[str, argparse.ArgumentParser], summaries: Mapping[str, str]) -> str:
    choices = options = ""
    for name, parser in parsers.items():
        options += f'            {name}) words="{" ".join(option for _, option in _options(parser) if option)}" ;;\n'
        for action, option in _options(parser):
            if action.choices:
                choices += f'      "{name} {option or name}") words="{" ".join(map(str, action.choices))}" ;;\n'
    return _BASH.format(commands=" ".join(parsers), choices=choices, options=options)


def _zsh(parsers: Mapping[str, argparse.ArgumentParser], summaries: Mapping[str, str]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(parsers, summaries)


def _fish(parsers: Mapping[str, argparse.ArgumentParser], summaries: Mapping[str, str]) -> str:
    lines = []
    for name, parser in parsers.items():
        about = shlex.quote(summaries[name])
        lines.append(f"complete -c triplecast -f -n __fish_use_subcommand -a {name} -d {about}")
        for action, option in _options(parser):
            line = f"complete -c triplecast -n '__fish_seen_subcommand_from {name}'"
            values = shlex.quote(" ".join(map(str, action.choices or ())))
            if option:
                value = f" -x -a {values}" if action.choices else " -r" if action.nargs != 0 else ""
                about = shlex.quote((action.help or "").replace("%(default)s", str(action.default)))
                lines.append(f"{line} -l {option[2:]}{value} -d {about}")
            elif action.choices:
                lines.append(f"{line} -f -a {values}")
    return "\n".join(lines) + "\n"


SCRIPTS: Mapping[str, Callable[[Mapping[str, argparse.ArgumentParser], Mapping[str, str]], str]] = MappingProxyType(
    {"bash": _bash, "zsh": _zsh, "fish": _fish}
)
