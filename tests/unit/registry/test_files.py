"""Subscription files: ids, languages, faults with their place."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.model.subscription import Subscription
from triplecast.registry.files import (
    describe_unread,
    find_subscription_files,
    load_subscriptions,
    read_subscription_file,
)

ASK = "ASK { ?s ?p ?o }"


def test_a_folder_gives_relative_ids_and_a_file_its_name(tmp_path: Path) -> None:
    (tmp_path / "news" / "de").mkdir(parents=True)
    (tmp_path / "news" / "a.rq").write_text(ASK)
    (tmp_path / "news" / "de" / "b.rdql").write_text("SELECT ?x")
    (tmp_path / "c.rule").write_text("search")
    (tmp_path / "README.md").write_text("not a query")
    (tmp_path / ".d.rq").write_text(ASK)
    (tmp_path / "e.rq.tmp").write_text(ASK)
    folder = load_subscriptions([tmp_path])
    assert folder.subscriptions == (
        Subscription("c.rule", "search", "rule"),
        Subscription("news/a.rq", ASK),
        Subscription("news/de/b.rdql", "SELECT ?x", "rdql"),
    )
    assert folder.faults == ()
    assert load_subscriptions([tmp_path / "news" / "a.rq"]).subscriptions == (Subscription("a.rq", ASK),)


def test_lines_have_their_own_ids_and_fields(tmp_path: Path) -> None:
    rows = [
        {"id": "one", "language": "sparql", "text": ASK},
        {"id": "two", "language": "rule", "text": "x", "owner": "me", "entailment": "rdfs", "scope": "repository"},
        {"id": "drei é", "text": "# triplecast: entailment=taxonomy\n" + ASK},
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    assert load_subscriptions([tmp_path]).subscriptions == (
        Subscription("one", ASK),
        Subscription("two", "x", "rule", "repository", "rdfs", "me"),
        Subscription("drei é", rows[2]["text"]),
    )


BAD_LINES = {
    "not json": "is not JSON",
    "[1]": "no JSON object",
    '{"id": "x"}': "no field 'text'",
    '{"text": "x"}': "no field 'id'",
    '{"id": "", "text": "x"}': "empty id",
    '{"id": 1, "text": "x"}': "'id' is no string",
    '{"id": "x", "text": null}': "'text' is no string",
    '{"id": "x", "text": "x", "entailement": "rdfs"}': "unknown field 'entailement'",
    '{"id": "x", "text": "\\ud800"}': "surrogate",
    "[" * 100_000: "is not JSON",
}


@pytest.mark.parametrize(("bad", "said"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_a_bad_line_is_a_fault_with_its_place_and_its_neighbours_load(tmp_path: Path, bad: str, said: str) -> None:
    good = json.dumps({"id": "good", "text": ASK})
    better = json.dumps({"id": "better", "text": ASK})
    (tmp_path / "s.jsonl").write_text(f"{good}\n{bad}\n{better}\n")
    found = load_subscriptions([tmp_path])
    assert [subscription.name for subscription in found.subscriptions] == ["good", "better"]
    (fault,) = found.faults
    assert fault.place == f"{tmp_path}/s.jsonl:2"
    assert said in fault.reason
    assert fault.hint


def test_text_that_is_no_utf8_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.rq").write_bytes(b"ASK { ?s ?p 'caf\xe9' }")
    (tmp_path / "b.jsonl").write_bytes(b'{"id": "x", "text": "caf\xe9"}\n')
    (tmp_path / "c.rq").write_text("\ufeff" + ASK)
    found = load_subscriptions([tmp_path])
    assert [fault.place for fault in found.faults] == [f"{tmp_path}/a.rq", f"{tmp_path}/b.jsonl:1"]
    assert all("is not UTF-8" in fault.reason for fault in found.faults)
    assert found.subscriptions == (Subscription("c.rq", ASK),)


def test_an_id_given_twice_names_both_places_and_the_first_stands(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({"id": "x", "text": "first"}) + "\n")
    (tmp_path / "two.jsonl").write_text("\n" + json.dumps({"id": "x", "text": "second"}) + "\n")
    found = load_subscriptions([tmp_path])
    assert [subscription.text for subscription in found.subscriptions] == ["first"]
    (fault,) = found.faults
    assert fault.place == f"{tmp_path}/two.jsonl:2"
    assert f"{tmp_path}/one.jsonl:1" in fault.reason


def test_what_is_missing_or_empty_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no subscription"):
        load_subscriptions([tmp_path])
    with pytest.raises(InputError, match="there is no file or folder"):
        load_subscriptions([tmp_path / "nowhere"])
    (tmp_path / "q.txt").write_text(ASK)
    with pytest.raises(InputError, match=r"its extension is \.txt.*\.sparql"):
        load_subscriptions([tmp_path / "q.txt"])
    with pytest.raises(InputError, match=r"holds no subscription, only files of other kinds: q\.txt; .* \.rq") as fault:
        load_subscriptions([tmp_path])
    assert ".rule" in str(fault.value)


def test_files_beside_subscriptions_that_are_not_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("a.rq", "below/b.sql", "notes.txt", ".hidden", "c.tmp"):
        (tmp_path / name).write_text(ASK)
    found = load_subscriptions([tmp_path])
    assert found.ignored == ("below/b.sql", "notes.txt")
    assert [subscription.name for subscription in found.subscriptions] == ["a.rq"]
    assert "read from .rq, .sparql, .rdql, .rule, .jsonl files: below/b.sql, notes.txt" in describe_unread(
        found.ignored
    )


def test_a_path_given_twice_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "a.rq").write_text(ASK)
    found = load_subscriptions([tmp_path, tmp_path / ".." / tmp_path.name])
    assert (len(found.subscriptions), found.faults) == (1, ())


def test_a_hundred_thousand_lines_load_in_about_a_second(tmp_path: Path) -> None:
    rows = (f'{{"id": "s{number}", "text": "SELECT ?a {{ ?a <http://e/p> {number} }}"}}\n' for number in range(100_000))
    (tmp_path / "s.jsonl").write_text("".join(rows))
    began = time.process_time()
    found = load_subscriptions([tmp_path])
    assert len(found.subscriptions) == 100_000
    assert time.process_time() - began < 3  # 0.5 s on an idle machine


def test_what_cannot_be_looked_at_is_a_fault_of_its_place_alone(tmp_path: Path) -> None:
    (tmp_path / "a.rq").write_text(ASK)
    (tmp_path / "loop.rq").symlink_to("loop.rq")
    (tmp_path / "lost.rq").symlink_to("nowhere")
    (tmp_path / "zero.rq").symlink_to("/dev/zero")
    (tmp_path / "folder.rq").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with (tmp_path / "big.rq").open("wb") as big:
        big.truncate(8 << 30)
    with (tmp_path / "big.jsonl").open("wb") as big:
        big.truncate(8 << 30)
    found = load_subscriptions([tmp_path])
    assert found.subscriptions == (Subscription("a.rq", ASK),)
    assert [(Path(fault.place).name, fault.reason) for fault in found.faults] == [
        ("big.jsonl", "it has more than 268435456 bytes, the limit of a .jsonl file"),
        ("big.rq", "it has more than 4194304 bytes, the limit of a .rq file"),
        ("folder.rq", "is no regular file"),
        ("loop.rq", "is a link that leads to no file"),
        ("lost.rq", "is a link that leads to no file"),
        ("pipe.jsonl", "is no regular file"),
        ("zero.rq", "is no regular file"),
    ]


def test_a_link_out_of_the_folder_is_neither_followed_nor_quoted(tmp_path: Path) -> None:
    """A fault quotes a query's first line. No test saw it, since each linked to what is no file; now one links to a
    secret, directly and through a folder that became a link."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.rq").write_text("the secret key")
    named = tmp_path / "subscriptions"
    (named / "..2026").mkdir(parents=True)
    (named / "..2026" / "a.rq").write_text(ASK)
    (named / "a.rq").symlink_to("..2026/a.rq")  # as mounted configuration is
    (named / "key.rq").symlink_to(tmp_path / "secret" / "key.rq")
    (named / "below").symlink_to(tmp_path / "secret")
    found = load_subscriptions([named])
    assert found.subscriptions == (Subscription("a.rq", ASK),)
    assert [fault.reason for fault in found.faults] == ["is a link that leads out of the folder"]
    listed = find_subscription_files([named]).files
    (named / "below").unlink()
    (named / "below").mkdir()
    (named / "below" / "key.rq").write_text(ASK)
    (inside,) = [file for file in find_subscription_files([named]).files if file not in listed]
    (named / "below" / "key.rq").unlink()
    (named / "below").rmdir()
    (named / "below").symlink_to(tmp_path / "secret")
    assert read_subscription_file(inside).loaded.subscriptions == ()
    assert load_subscriptions([named / "key.rq"]).subscriptions == (Subscription("key.rq", "the secret key"),)


def test_a_pipe_and_a_loop_that_are_named_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.rq")
    with pytest.raises(InputError, match="is no regular file"):
        load_subscriptions([tmp_path / "pipe.rq"])
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="there is no file or folder"):
        load_subscriptions([tmp_path / "loop" / "a.rq"])


def test_a_file_name_that_is_no_utf8_is_written_with_its_bytes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"d\xff.rq")).write_text(ASK)
    (tmp_path / "turned\u202e\x1b[2J.rq").write_text(ASK)
    found = load_subscriptions([tmp_path])
    assert [subscription.name for subscription in found.subscriptions] == ["d\\xff.rq", "turned\u202e\x1b[2J.rq"]
    assert [Path(place).name for place in found.places] == ["d\\xff.rq", "turned\\u202E\\u001B[2J.rq"]


def test_folders_may_be_nested_as_deep_as_the_system_lets_them(tmp_path: Path) -> None:
    """Deeper, they are a fault; and they are removed as they were made, since nothing else reaches them."""
    descriptors = [os.open(tmp_path, os.O_RDONLY)]
    for _ in range(2100):
        os.mkdir("d", dir_fd=descriptors[-1])
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptors[-1])
        os.close(descriptors.pop())
        descriptors.append(deeper)
    os.close(descriptors.pop())
    (tmp_path / "z.rq").write_text(ASK)
    (tmp_path / ("d/" * 1200) / "deep.rq").write_text(ASK)
    found = load_subscriptions([tmp_path])
    assert [subscription.name for subscription in found.subscriptions] == ["d/" * 1200 + "deep.rq", "z.rq"]
    assert [fault.reason for fault in found.faults] == ["cannot be read: File name too long"]
    assert found.faults[0].place.startswith(f"{tmp_path}/d/d/d/")
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)


def test_a_folder_that_cannot_be_listed_is_a_fault_of_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "z.rq").write_text(ASK)
    refuse_to_list(monkeypatch, tmp_path / "secret")
    found = load_subscriptions([tmp_path])
    assert [subscription.name for subscription in found.subscriptions] == ["z.rq"]
    assert [str(fault) for fault in found.faults] == [
        f"{tmp_path}/secret: cannot be read: Permission denied; make it readable to this user"
    ]


def refuse_to_list(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As permissions do, but for whoever runs the tests as root too."""
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if Path(path) == folder:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
