"""Wrong calls show right ones, and shells complete what the parsers know."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from triplecast.cli import EXAMPLES, build_parser, main
from triplecast.cli.terminal import Exit

COMMANDS = build_parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]


def test_every_command_has_an_example_that_is_right() -> None:
    assert list(EXAMPLES) == sorted(EXAMPLES, key=list(COMMANDS).index)
    assert set(EXAMPLES) == set(COMMANDS)
    for name, example in EXAMPLES.items():
        words = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))
        assert words[:2] == ["triplecast", name]
        assert build_parser().parse_args(words[1:]).command == name


def wrong_calls() -> Iterator[list[str]]:
    """Each command with words that a newcomer tries: none, paths in any number, an option that is not there."""
    for name in COMMANDS:
        yield [name, "--unknown"]
        for count in range(4):
            words = ["rail.rq", "feed.atom", "inbox"][:count]
            try:
                build_parser().parse_args([name, *words])
            except SystemExit:
                yield [name, *words]


def test_a_wrong_call_shows_a_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Drawn from the parsers. The tests had one wrong call, of an unknown command; one that makes the wrong calls of
    every command sees which help nobody."""
    calls = list(wrong_calls())
    assert ["match", "rail.rq", "feed.atom"] in calls
    capsys.readouterr()
    for call in calls:
        with pytest.raises(SystemExit) as end:
            main(call)
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert said.endswith(f"; for example: {EXAMPLES[call[0]]}\n"), call


@pytest.mark.parametrize(
    ("between", "behind"),
    [
        ("subscribe news --lease forever a.rq b.rq", "subscribe news a.rq b.rq --lease forever"),
        ("subscribe news a.rq --leas=1d --json b.rq", "subscribe news a.rq b.rq --leas=1d --json"),
        ("subscribe news --lease 1d -- -a.rq", "subscribe --lease 1d -- news -a.rq"),
        ("unsubscribe news --ticket t rail.rq", "unsubscribe news rail.rq --ticket t"),
        ("publish news a.ttl --graph urn:g b.ttl", "publish news a.ttl b.ttl --graph urn:g"),
        ("sources news --title T add http://e", "sources news add http://e --title T"),
        ("targets news add --secret s x --command echo --json", "targets news add x --secret s --command echo --json"),
        ("taxonomy news --broader a.ttl", "taxonomy news a.ttl --broader"),
        ("schema news --json a.ttl", "schema news a.ttl --json"),
        ("show a.ttl --json b.ttl", "show a.ttl b.ttl --json"),
        ("replicate --into b a", "replicate a --into b"),
    ],
)
def test_options_may_stand_anywhere(between: str, behind: str) -> None:
    """`argparse` alone takes what follows an option for a file too many: all examples had their options last."""
    found, wanted = (vars(build_parser().parse_args(call.split())) for call in (between, behind))
    assert found == wanted


def completed(script: Path, *words: str) -> list[str]:
    given = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}"
    line = f'source {script}; {given}; _triplecast; echo "${{COMPREPLY[@]}}"'
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_bash_completes_commands_options_and_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "triplecast.bash"
    script.write_text(capsys.readouterr().out)
    assert set(completed(script, "triplecast", "")) == set(COMMANDS)
    assert completed(script, "triplecast", "no") == ["notifications"]
    assert completed(script, "triplecast", "notifications", "--su") == ["--subscription"]
    assert completed(script, "triplecast", "subscribe", "news", "--language", "") == ["sparql", "rdql", "rule"]
    assert completed(script, "triplecast", "completion", "z") == ["zsh"]
    assert completed(script, "triplecast", "publish", "news", "feed") == []  # files, by the shell


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_names_every_option(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, parser in COMMANDS.items():
        assert name in script
        for option in (each for action in parser._actions for each in action.option_strings if each.startswith("--")):
            assert (f"-l {option[2:]}" if shell == "fish" else option) in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, "-n", tmp_path / "script"], check=False).returncode == 0


@pytest.mark.parametrize(
    "call",
    [
        "match --subscriptions a.rq --publications a.ttl --broader",
        "explain a.ttl a.rq --broader",
        "run --subscriptions a.rq --inbox inbox --output out --once --broader",
    ],
)
def test_broader_without_a_taxonomy_is_an_error(
    call: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was ignored: no test called an option without the one that it belongs to."""
    if call.startswith("run"):
        pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    monkeypatch.chdir(tmp_path)
    Path("a.rq").write_text("ASK { ?s ?p ?o }")
    Path("a.ttl").write_text("<urn:s> <urn:p> 1 .")
    assert main(call.split()) == Exit.FAILED
    assert "--taxonomy" in capsys.readouterr().err
    assert not Path("out").exists()
