"""From ready files to groups: each file once, long ones by parts, grown ones from where they were."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from triplecast.ingest import Parser, inbox_files
from triplecast.ingest.inbox import QUIET, InboxFile, scan_inbox
from triplecast.ingest.inbox_files import DocumentGroup, is_whole, read_groups
from triplecast.model.publication import FileState


def line(name: str, text: str = "<a> <b> <c> .") -> str:
    return json.dumps({"id": f"http://e/{name}", "media_type": "text/turtle", "data": text}) + "\n"


def ready(folder: Path) -> tuple[InboxFile, ...]:
    return scan_inbox(folder, {}, scan_inbox(folder, {}, {}, 0.0).looks, QUIET).ready


def groups(folder: Path, known: Mapping[str, FileState] | None = None, dataset: bool = False) -> list[DocumentGroup]:
    return list(read_groups(folder, ready(folder), known or {}, dataset))


def graphs(found: list[DocumentGroup]) -> list[str | None]:
    return [document.graph for group in found for document in group.documents]


def states(found: list[DocumentGroup]) -> dict[str, FileState]:
    return {source: state for group in found for source, state in group.sources.items()}


def test_files_are_grouped_in_order_and_each_is_remembered(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.ttl").write_text(f"document {number}")
    (group,) = groups(tmp_path)
    assert [(document.source, document.data) for document in group.documents] == [
        (f"{number}.ttl", f"document {number}".encode()) for number in range(5)
    ]
    assert sorted(group.sources) == [f"{number}.ttl" for number in range(5)]


def test_a_group_is_closed_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_files, "GROUP_DOCUMENTS", 2)
    for number in range(5):
        (tmp_path / f"{number}.ttl").write_text("x")
    assert [len(group.documents) for group in groups(tmp_path)] == [2, 2, 1]


def test_a_touched_file_with_the_same_bytes_is_remembered_but_not_parsed_again(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("x")
    known = states(groups(tmp_path))
    os.utime(tmp_path / "a.ttl", ns=(5, 5))
    (again,) = groups(tmp_path, known)
    assert again.documents == []
    assert again.sources["a.ttl"].mtime_ns == 5
    rejected = {"a.ttl": known["a.ttl"]._replace(outcome="rejected")}
    assert len(groups(tmp_path, rejected)[0].documents) == 1


def test_a_document_beyond_the_gate_is_rejected_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "big.nt").open("wb") as file:
        file.truncate(inbox_files.GATE.bytes + 1)
    (group,) = groups(tmp_path)
    assert group.documents == []
    assert "limit of bytes" in group.rejects[0].reason
    assert group.sources["big.nt"].outcome == "rejected"


def test_lines_are_documents_with_their_own_graph(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(line("1") + "\n" + line("2") + "not json\n" + line("3").rstrip("\n"))
    found = groups(tmp_path, dataset=True)
    assert graphs(found) == ["http://e/1", "http://e/2", "http://e/3"]
    assert all(document.dataset for group in found for document in group.documents)
    assert [reject.line for group in found for reject in group.rejects] == [4]
    assert is_whole(states(found)["a.jsonl"])


def test_a_long_file_goes_in_by_parts_and_a_restart_goes_on_where_the_last_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_files, "GROUP_DOCUMENTS", 3)
    monkeypatch.setattr(inbox_files, "_PIECE", 50)
    (tmp_path / "a.jsonl").write_text("".join(line(str(number)) for number in range(10)))
    whole = groups(tmp_path)
    assert [len(group.documents) for group in whole] == [3, 3, 3, 1]
    for taken, group in enumerate(whole[:-1], 1):
        state = group.sources["a.jsonl"]
        assert not is_whole(state)
        assert graphs(groups(tmp_path, {"a.jsonl": state})) == [f"http://e/{number}" for number in range(3 * taken, 10)]


@pytest.mark.parametrize("ended", [True, False])
def test_a_file_that_has_grown_gives_its_new_lines_alone(tmp_path: Path, ended: bool) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line("1") + line("2") + (line("3") if ended else ""))
    known = states(groups(tmp_path))
    with path.open("a") as more:
        more.write(line("4"))
    found = groups(tmp_path, known)
    assert graphs(found) == ["http://e/4"]
    assert found[0].documents[0].source == f"a.jsonl:{4 if ended else 3}"
    assert is_whole(states(found)["a.jsonl"])


def test_a_last_line_that_went_on_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = line("1") + line("2")
    path.write_text(whole[:-20])
    first = groups(tmp_path)
    assert graphs(first) == ["http://e/1"]
    assert [reject.line for group in first for reject in group.rejects] == [2]
    path.write_text(whole)
    assert graphs(groups(tmp_path, states(first))) == ["http://e/2"]


def test_a_file_that_was_rewritten_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line("1") + line("2"))
    known = states(groups(tmp_path))
    path.write_text(line("9") + line("2") + line("3"))
    assert graphs(groups(tmp_path, known)) == ["http://e/9", "http://e/2", "http://e/3"]
    path.write_text(line("1"))
    assert graphs(groups(tmp_path, known)) == ["http://e/1"]


def test_a_file_that_changes_while_it_is_read_is_taken_up_to_the_last_good_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_files, "GROUP_DOCUMENTS", 2)
    monkeypatch.setattr(inbox_files, "_PIECE", 64)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(line(str(number)) for number in range(8)))
    reading = read_groups(tmp_path, ready(tmp_path), {}, False)
    first = next(reading)
    with path.open("a") as more:
        more.write(line("8"))
    rest = list(reading)
    taken = [first, *rest]
    assert not is_whole(states(taken)["a.jsonl"])
    again = groups(tmp_path, states(taken))
    assert graphs(taken) + graphs(again) == [f"http://e/{number}" for number in range(9)]


def test_too_long_a_line_is_told_and_ends_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_files, "LINE_BYTES", 500)
    monkeypatch.setattr(inbox_files, "_PIECE", 100)
    (tmp_path / "a.jsonl").write_text(line("1") + line("2", "x" * 1000) + line("3"))
    found = groups(tmp_path)
    assert graphs(found) == ["http://e/1"]
    assert [reject.line for group in found for reject in group.rejects] == [2]
    assert is_whole(states(found)["a.jsonl"])


def test_every_message_about_a_line_names_its_id(tmp_path: Path) -> None:
    lines = (
        {"id": "http://e/1", "data": ""},
        {"id": "http://e/2", "media_type": "text/turtle", "data": "", "attachment": {}},
        {"id": "http://e/3", "media_type": "text/turtle", "data": "\ud800"},
        {"id": "http://e/4", "media_type": "text/turtle", "data": "", "attachments": {"urn:a": "?"}},
        {"id": "http://e/5", "media_type": "text/turtle", "data": "<a> <b> "},
    )
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    (group,) = groups(tmp_path)
    with Parser() as parser:
        rejects = [*group.rejects, *(reject for each in parser.parse(group.documents) for reject in each.rejects)]
    assert [reject.reason.partition(": ")[0] for reject in rejects] == [str(each["id"]) for each in lines]
