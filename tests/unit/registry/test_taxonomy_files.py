"""What stands in the taxonomy files is the taxonomy in the journal, once it stands still and can be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triplecast.errors import InputError, TaxonomyCycle
from triplecast.journal import Journal
from triplecast.registry.lines import SubscriptionFault
from triplecast.registry.taxonomy_files import QUIET, TaxonomyFiles

PREFIX = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "


def write(path: Path, turtle: str, at: int) -> None:
    path.write_text(PREFIX + turtle)
    os.utime(path, ns=(at, at))


def test_changes_are_taken_once_they_stand_still_and_faults_leave_what_holds(tmp_path: Path) -> None:
    file = tmp_path / "known.ttl"
    write(file, "<x:a> rdfs:subClassOf <x:b> .", 1)
    told: list[SubscriptionFault] = []
    with Journal.in_memory() as journal:
        files = TaxonomyFiles([file], False, journal, told.append)
        files.start()

        def ends() -> list[str]:
            return [end for _, _, end in journal.taxonomies(journal.head(), journal.head()).before(9**9).triples]

        assert ends() == ["<x:b>"]
        assert not files.look(10.0)
        write(file, "<x:a> rdfs:subClassOf <x:c> .", 2)
        assert not files.look(20.0)
        assert ends() == ["<x:b>"]
        assert files.look(20.0 + QUIET)
        assert ends() == ["<x:c>"]
        write(file, "<x:a> rdfs:subClassOf <x:a> .", 3)
        files.look(30.0)
        assert files.look(30.0 + QUIET)
        assert not files.look(40.0)
        assert [str(file) in fault.place and "cycle of classes" in fault.reason for fault in told] == [True]
        assert ends() == ["<x:c>"]


def test_at_the_start_a_fault_is_raised_and_without_paths_nothing_changes(tmp_path: Path) -> None:
    file = tmp_path / "known.ttl"
    with Journal.in_memory() as journal:
        with pytest.raises(InputError):
            TaxonomyFiles([file], False, journal, print).start()
        write(file, "<x:a> rdfs:subClassOf <x:a> .", 1)
        with pytest.raises(TaxonomyCycle):
            TaxonomyFiles([file], False, journal, print).start()
        files = TaxonomyFiles([], False, journal, print)
        files.start()
        assert not files.look(5.0)
        assert journal.head() == 0
