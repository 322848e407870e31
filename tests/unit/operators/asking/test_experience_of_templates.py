"""What a process knows of templates, what of it is written, and what is forgotten: told by counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.unit.match.match_samples import registrations, snapshot_of
from triplecast.index import build_segment
from triplecast.journal import Journal
from triplecast.model.match import Learnt
from triplecast.operators.asking import Asker
from triplecast.operators.asking.experience import Experience
from triplecast.pipeline.matching import keep_statistics

ONE = (0.1, 1.0, 1.0, 1.0, 0.5)
"""Of a template that held once and took half a second."""


def learn(templates: Experience, *names: str) -> list[int]:
    numbers = [templates.number(name, 0.1) for name in names]
    templates.use(np.array(numbers, np.int32))
    for number in numbers:
        templates.learn(number, True, 0.5)
    return numbers


def test_only_what_was_learnt_since_is_written() -> None:
    templates = Experience([Learnt(name, *ONE) for name in "abcd"])
    templates.number("e", 0.2)
    assert templates.changes() == ([], [])
    learn(templates, "c", "f")
    rows, gone = templates.changes()
    assert [row.template for row in rows] == ["c", "f"]
    assert (rows[0].answered, rows[1], gone) == (pytest.approx(2.0, abs=0.01), Learnt("f", *ONE), [])
    assert templates.changes() == (rows, gone)
    templates.note_written()
    assert templates.changes() == ([], [])


def test_templates_asked_about_longest_ago_are_forgotten() -> None:
    templates = Experience([Learnt("old", *ONE)], known=8)
    for name in "abcdefg":
        learn(templates, name)
    learn(templates, "a")
    templates.forget()
    assert len(templates) == 8
    learn(templates, "h")
    templates.forget()
    rows, gone = templates.changes()
    assert sorted(row.template for row in rows) == ["a", "d", "e", "f", "g", "h"]
    assert gone == ["old"], "of the others the journal has no row"
    templates.note_written()
    learn(templates, "old", "b")
    assert templates.changes() == ([Learnt("old", *ONE), Learnt("b", *ONE)], [])


def test_what_is_forgotten_and_learnt_anew_before_it_was_written_is_written() -> None:
    templates = Experience([Learnt("old", *ONE)], known=4)
    learn(templates, *"abcd")
    templates.forget()
    learn(templates, "old")
    rows, gone = templates.changes()
    assert (rows[-1], gone) == (Learnt("old", *ONE), [])


def test_a_number_is_given_again_and_knows_nothing() -> None:
    templates = Experience(known=4)
    numbers = learn(templates, *"abcde")
    templates.forget(scheduled=numbers[:2])
    assert len(templates) == 3
    assert [templates.number(name, 0.1) for name in "abe"] == [numbers[at] for at in (0, 1, 4)]
    again = templates.number("new", 0.3)
    assert again in numbers[2:4]
    assert templates.holds(np.array([again], np.int32)).tolist() == [0.5]
    assert templates.costs(np.array([again], np.int32)).tolist() == [0.3]


def test_where_all_that_is_known_stands_it_is_not_looked_through_each_time() -> None:
    templates = Experience(known=4)
    numbers = learn(templates, *"abcde")
    templates.forget(scheduled=numbers)
    assert (len(templates), templates.crowded) == (5, False)
    learn(templates, "f", "g")
    assert templates.crowded


def test_a_run_s_journal_is_told_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def keep(journal: Journal, rows: Sequence[Learnt], gone: Sequence[str] = ()) -> None:
        written.append(len(rows))
        kept(journal, rows, gone)

    kept = Journal.keep_learnt
    with Journal.in_memory() as journal:
        journal.keep_learnt([Learnt(f"known {number}", *ONE) for number in range(100)])
        monkeypatch.setattr(Journal, "keep_learnt", keep)
        take = keep_statistics(journal)
        for batch in ([], [Learnt("a", *ONE), Learnt("known 7", *ONE)], [Learnt("b", *ONE)]):
            take(batch)
        assert written == [2, 1]
        found = {row.template: row.answered for row in journal.learnt()}
        assert len(found) == 102
        assert found["known 7"] == pytest.approx(2.0, abs=0.01)


def test_what_is_written_again_is_what_another_process_believes() -> None:
    """Learning goes on where the other left it, whatever is written in between."""
    at_once = Experience()
    kept: dict[str, Learnt] = {}
    for number in range(5):
        learn(at_once, "a", *("b" * (number % 2)))
        templates = Experience(kept.values())
        learn(templates, "a", *("b" * (number % 2)))
        kept.update({row.template: row for row in templates.changes().rows})
    assert list(kept.values()) == at_once.changes().rows


def test_operators_forget_before_a_batch() -> None:
    operators = Asker()
    operators.experience = Experience(known=4)
    learn(operators.experience, *"abcde")
    operators.forget_ended(snapshot_of([build_segment(registrations("ASK { ?a ?b ?c }"))]))
    operators.close()
    assert len(operators.experience) == 3
