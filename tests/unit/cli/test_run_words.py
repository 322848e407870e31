"""What `triplecast run` says of a run, and with which code it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triplecast.cli import build_parser
from triplecast.cli.run import describe_notice, describe_progress, describe_summary, exit_code
from triplecast.outbox import UndecidedPair
from triplecast.pipeline.report import Phase, Progress, Summary

DONE = Summary(
    subscriptions=2,
    accepted=400,
    unchanged=0,
    publications=400,
    matches=9,
    undecided=0,
    rejects=(),
    reject_count=0,
    faults=(),
    ignored=(),
    seconds=12.0,
    matching_seconds=2.0,
    interrupted=False,
    left=0,
)


def test_a_run_that_was_done_says_what_and_how_fast() -> None:
    assert describe_summary(DONE).splitlines() == [
        "400 publications matched against 2 subscriptions: 9 notifications",
        "400 accepted, 0 unchanged, 0 rejected, 0 undecided, 0 subscriptions refused",
        "12.0 s in all, 2.0 s of matching (200 publications/s)",
    ]
    assert exit_code(DONE) == 0
    assert exit_code(replace(DONE, matches=0)) == 3
    assert exit_code(replace(DONE, reject_count=1)) == 1


def test_a_few_publications_have_no_rate() -> None:
    told = describe_summary(replace(DONE, publications=1, subscriptions=1, matches=1, matching_seconds=0.0))
    assert told.startswith("1 publication matched against 1 subscription: 1 notification\n")
    assert "/s" not in told


def test_what_was_passed_over_is_counted() -> None:
    assert describe_summary(replace(DONE, ignored=("a.csv", "b.csv"))).splitlines()[1].endswith(", 2 files skipped")
    more = replace(DONE, ignored=("a.csv",), ignored_subscriptions=("b.sparql",), warnings=1)
    assert describe_summary(more).splitlines()[1].endswith("refused, 2 files skipped, 1 warning on subscriptions")


def test_an_interrupt_that_left_something_says_what_was_done_and_what_is_left() -> None:
    stopped = replace(DONE, publications=100, matches=0, interrupted=True, left=300)
    assert describe_summary(stopped).startswith("100 publications matched")
    assert describe_summary(stopped).endswith(
        "interrupted with 300 accepted publications not matched yet; the next run continues there"
    )
    assert exit_code(stopped) == 130
    early = replace(stopped, left=0)
    assert "documents not read yet" in describe_summary(early)
    assert exit_code(early) == 130


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("matches", [0, 1])
@pytest.mark.parametrize("rejected", [0, 1])
def test_a_run_that_follows_ends_with_0_whatever_it_saw(interrupted: bool, matches: int, rejected: int) -> None:
    """systemd takes any other code after SIGTERM for a failure. The tests knew codes of ``--once`` alone; this one
    makes every combination of what a summary says."""
    summary = replace(DONE, interrupted=interrupted, left=int(interrupted), matches=matches, reject_count=rejected)
    assert exit_code(summary, once=False) == 0
    assert exit_code(summary) == (130 if interrupted else 1 if rejected else 0 if matches else 3)


def test_an_undecided_pair_is_a_line() -> None:
    pair = UndecidedPair(7, "id", "urn:graph", 1, 3, "a.rq", None, "out of steps")
    assert describe_notice(pair) == "undecided urn:graph a.rq: out of steps"


def test_progress_has_a_rate_when_there_is_one() -> None:
    progress = Progress(Phase.RUNNING, 2, 10, 1, 1, 0, 0, 0.0, 9)
    assert describe_progress(progress) == "running: 1 publication, 1 match, 0 rejected, 0 undecided, 9 behind"
    assert ", 250 publications/s, " in describe_progress(replace(progress, rate=250.4))


def test_a_run_may_have_no_subscription_files() -> None:
    assert build_parser().parse_args(["run", "--inbox", "inbox", "--output", "out"]).subscriptions == []
