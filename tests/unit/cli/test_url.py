"""Commands with `--url` print of a service what they print of a folder, and end with the same codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from tests.unit.service.served import served
from triplecast import Engine
from triplecast.cli import build_parser, main
from triplecast.cli.service_url import arrange
from triplecast.service.tokens import add_token, read_tokens
from triplecast.sources import Poller

COMMANDS = build_parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
RSS = "http://purl.org/rss/1.0/"
DOCUMENT = f'<urn:{{0}}> a <{RSS}item> ; <{RSS}title> "{{1}}"@en-GB , "{{1}}"^^<urn:t> ; <urn:n> {{2}} .'
FEED = """<rss version="2.0"><channel><title>N</title><link>https://e.org/</link><description>d</description>
<item><guid>urn:i:1</guid><title>One</title></item><item><guid>urn:i:2</guid><title>Two</title></item></channel></rss>"""
SELECT = "SELECT ?title ?n { ?item rss:title ?title OPTIONAL { ?item <urn:n> ?n } } ORDER BY ?title"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("titles.rq").write_text(SELECT.replace(" ORDER BY ?title", ""))
    Path("changes.rq").write_text("# triplecast: notify=changed\nSELECT ?n { ?item <urn:n> ?n }")
    Path("any.rq").write_text("ASK { ?s a rss:item }")
    Path("made.rq").write_text("CONSTRUCT { ?s <urn:is> ?n } { ?s <urn:n> ?n }")
    Path("wrong.rq").write_text("SELECT ?x {\n  ?x ?y")
    Path("refused.rq").write_text("ASK {\n  ?s ?p ?o SERVICE <urn:e> { ?s ?p ?o } }")
    for number in (1, 2):
        Path(f"{number}.ttl").write_text(DOCUMENT.format(number, f"T {number}", number))
    Path("feed.rss").write_text(FEED)
    Path("bad.ttl").write_text("<urn:x> wrong")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(each) for each in arguments])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with Engine.open(tmp_path / "served") as engine, served(engine) as url:
        yield url


def masked(told: tuple[int, str, str], *places: str) -> tuple[int, str, str]:
    """Without tickets, times, and where it was done."""
    code, out, err = told
    for each in places:
        err = err.replace(each, "PLACE")
    out = re.sub(r'(ticket |"ticket":")[\w.-]{43}', r"\1TICKET", out)
    err = err.replace("PLACE held no journal: a new one is made there\n", "")
    return code, re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+Z", "TIME", out), err


def test_each_command_says_of_a_service_what_it_says_of_a_folder(run: Run, url: str, tmp_path: Path) -> None:
    def both(command: str, *rest: object, code: int | None = None) -> str:
        remote = masked(run(command, "--url", url, *rest), url)
        local = masked(run(command, "folder", *rest), "folder")
        assert remote == local, (command, rest)
        assert code is None or remote[0] == code, remote
        return remote[1]

    both("subscribe", "titles.rq", "changes.rq", "any.rq", "made.rq", "--owner", "ada", "--lease", "2h", code=0)
    assert '"ticket":"TICKET"' in both(
        "subscribe", "titles.rq", "--id", "again", "--lease", "forever", "--json", code=0
    )
    both("subscribe", "titles.rq", "wrong.rq", "refused.rq", code=2)
    both("subscribe", "titles.rq", "wrong.rq", "--id", "more", code=2)
    both("subscribe", "any.rq", "--id", "all", "--scope", "repository", "--notify", "changed", code=0)
    assert both("subscriptions", code=0).count("\n") == 6
    assert both("subscriptions", "--owner", "ada", "--json", code=0).count("\n") == 4
    assert both("publish", "1.ttl", "2.ttl", "feed.rss", code=0).count("\n") > 8
    both("publish", "1.ttl", code=3)
    both("publish", "1.ttl", "bad.ttl", code=1)
    both("publish", "bad.ttl", code=2)
    Path("1.ttl").write_text(DOCUMENT.format(1, "T 1", 7))
    assert '"change":"changed"' in both("publish", "1.ttl", "--json", code=0)
    both("publish", "2.ttl", "--graph", "https://e.org/g", code=0)
    both("notifications", code=0)
    assert '"graph":"' in both("notifications", "--json", code=0)
    both("notifications", "--since", 3, "--subscription", "titles.rq", code=0)
    both("notifications", "--owner", "ada", "--json", code=0)
    code, _, err = run("notifications", "--url", url, "--subscription", "nobody")
    assert (code, err.startswith("there is no subscription of this id"), "GET " in err) == (3, True, False)
    for form in ("table", "json", "xml", "csv", "tsv"):
        both("query", SELECT, "--format", form, code=0)
    both("query", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", code=0)
    both("query", "ASK { <urn:1> ?p ?o }", code=0)
    both("query", "ASK { <urn:nothing> ?p ?o }", code=3)
    both("query", "SELECT ?x { ?x a <urn:nothing> }", "--json", code=3)


def test_what_was_not_told_and_how_far_a_folder_is_are_printed_alike(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    many = "".join(f"<urn:s{n}> <urn:p{n}> <urn:o{n}> .\n" for n in range(200))
    with Engine.open(folder) as engine, served(engine) as url:
        engine.subscribe("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", id="product", owner="ada")
        for number in range(2):
            engine.publish(f"<urn:{number}> wrong", "text/turtle", f"urn:{number}")
            engine.publish(f"{many}<urn:a> <urn:b> <urn:{number}> .", "text/turtle", f"urn:g{number}")
        assert len(engine.undecided()) == len(engine.rejects()) == 2
        for arguments in (
            ("notifications", "--rejects"),
            ("notifications", "--rejects", "--json", "--after", 4),
            ("notifications", "--undecided"),
            ("notifications", "--undecided", "--json"),
            ("notifications", "--undecided", "--after", 10**6),
            ("status",),
        ):
            command, *options = arguments
            assert run(command, "--url", url, *options) == run(command, folder, *options), arguments
        told, here = (json.loads(run("status", *place, "--json")[1]) for place in (("--url", url), (folder,)))
        assert told == {name: value for name, value in here.items() if name != "documents"}


def test_a_subscription_is_cancelled_with_its_ticket(run: Run, url: str) -> None:
    made = json.loads(run("subscribe", "any.rq", "--json", f"--url={url}")[1])
    code, _, err = run("unsubscribe", "--url", url, "any.rq")
    assert (code, "give --ticket" in err) == (2, True)
    assert run("unsubscribe", "--url", url, "any.rq", "--ticket", "wrong")[0] == 2
    cancelled = run("unsubscribe", "--url", url, "--ticket", made["ticket"], "any.rq")
    assert cancelled == (0, "any.rq is cancelled\n", "")
    assert run("subscriptions", "--url", url)[:2] == (0, "")


def test_a_local_repository_and_a_replica_follow_a_service(run: Run, url: str) -> None:
    run("publish", "--url", url, "1.ttl")
    follow = ("follow", url, "--into", "local", "--once", "--subscriptions", "any.rq", "titles.rq", "wrong.rq")
    code, out, err = run(*follow)
    assert (code, out.startswith("position "), "wrong.rq" in err) == (1, True, True)
    assert run("query", "local", "ASK { <urn:1> ?p ?o }")[0] == 3  # no row names a resource
    Path("titles.rq").write_text("SELECT ?item { ?item rss:title ?title }")
    assert run(*follow[:-1], "--json")[0] == 0
    assert run("query", "local", "ASK { <urn:1> ?p ?o }")[0] == 0
    code, out, _ = run("replicate", url, "--into", "replica", "--once", "--json")
    assert (code, json.loads(out)["behind"]) == (0, 0)
    assert run("query", "replica", "ASK { <urn:1> ?p ?o }")[0] == 0
    assert run("subscribe", "replica", "any.rq")[0] == 2


def test_a_misspelt_query_of_a_follower_is_shown_with_its_place(run: Run, url: str) -> None:
    Path("misspelt.rq").write_text("SELCT ?d { ?d a rss:item }")
    code, _, err = run("follow", url, "--into", "local", "--once", "--subscriptions", "misspelt.rq")
    assert code == 1
    assert "was SELECT meant?\n  SELCT ?d { ?d a rss:item }\n  ^\nexpected: " in err


def test_a_token_opens_what_it_says(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = {each: add_token(tmp_path / "tokens", "ada", [each]) for each in ("publish", "subscribe", "admin")}
    with Engine.open(tmp_path / "folder") as engine, served(engine, tokens=read_tokens(tmp_path / "tokens")) as url:
        code, _, err = run("subscribe", "--url", url, "any.rq")
        assert (code, "no token was sent; give a token with --token" in err) == (2, True)
        err = run("subscribe", "--url", url, "any.rq", "--token", "wrong")[2]
        assert "not in the file of tokens when the server started; check it; add it with `triplecast token`" in err
        code, _, err = run("subscribe", "--url", url, "any.rq", "--token", tokens["publish"])
        assert (code, "any.rq: the token's scopes lack subscribe; ask for" in err) == (2, True)
        monkeypatch.setenv("TRIPLECAST_TOKEN", tokens["subscribe"])
        assert run("subscribe", "--url", url, "any.rq")[0] == 0
        code, out, err = run("publish", "--url", url, "1.ttl", "--token", tokens["publish"])
        assert (code, out, "counted only" in err, "1 match" in err) == (0, "", True, True)
        code, out, _ = run("unsubscribe", "--url", url, "--owner", "ada", "--token", tokens["admin"])
        assert (code, out) == (0, "ada/any.rq is cancelled\n")
        assert run("unsubscribe", "--url", url, "--owner", "ada", "--token", tokens["admin"])[0] == 3


def test_what_a_service_does_not_do_is_refused_and_one_that_is_not_there_is_named(run: Run, url: str) -> None:
    for arguments in (
        ("query", "--url", url, "ASK {}", "--steps", 5),
        ("query", "--url", url, "ASK {}", "--language", "rdql"),
        ("publish", "--url", url, "1.ttl", "--dataset"),
        ("replicate", url, "--into", "-"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert "leave" in err or "name" in err
    nobody = "http://127.0.0.1:9"
    for arguments in (
        ("query", "--url", nobody, "ASK {}"),
        ("publish", "--url", nobody, "1.ttl"),
        ("subscribe", "--url", nobody, "any.rq"),
        ("notifications", "--url", nobody),
        ("follow", nobody, "--into", "local", "--once"),
    ):
        code, out, err = run(*arguments)
        assert (code, out, f"no answer from {nobody}" in err) == (2, "", True), (arguments, err)
    with pytest.raises(SystemExit):
        run("query", "--url", "folder", "ASK {}")


def test_a_document_is_explained_and_a_subscription_previewed_there(run: Run, url: str) -> None:
    ticket = json.loads(run("subscribe", "--url", url, "titles.rq", "--json")[1])["ticket"]
    for document in ("1.ttl", "feed.rss"):
        remote, local = (
            [run("explain", document, "titles.rq", *there, *form) for form in ((), ("--json",))]
            for there in (("--url", url, "--ticket", ticket), ())
        )
        assert remote[0] == local[0]
        assert remote[0][0] == remote[1][0] == 0
        rows, wanted = ([json.loads(line) for line in told[1][1].splitlines()] for told in (remote, local))
        for row in (*rows, *wanted):
            del row["answer"]["head"]  # variables that nothing binds are not known here
        assert rows == wanted
    one = run("explain", "feed.rss", "titles.rq", "--url", url, "--ticket", ticket, "--graph", "urn:i:2")
    assert (one[0], "urn:i:2" in one[1], "urn:i:1" in one[1]) == (0, True, False)
    assert run("explain", "1.ttl", "titles.rq", "--url", url)[2].endswith("send the header Triplecast-Ticket\n")
    assert "leave out --id, " in run("explain", "1.ttl", "x", "--url", url, "--ticket", ticket, "--dataset")[2]
    run("publish", "--url", url, "1.ttl", "2.ttl")
    code, out, _ = run("preview", "titles.rq", "--url", url, "--last", 2)
    local = run("preview", "titles.rq", "--publications", "1.ttl", "2.ttl")[1]
    assert (code, out) == (0, local.replace(", decided by the index", "").replace(", decided by the evaluator", ""))
    found = json.loads(run("preview", "titles.rq", "--url", url, "--json")[1])
    assert (found["matches"], len(found["examples"]), found["matches_per_1000"]) == (2, 2, 1000.0)
    assert run("preview", "refused.rq", "--url", url)[0] == run("preview", "titles.rq")[0] == 2


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Poller, "start", lambda *_: None)


@pytest.mark.usefixtures("idle")
def test_sources_are_kept_there(run: Run, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "served") as engine, served(engine) as url:
        check_sources(run, url)


def check_sources(run: Run, url: str) -> None:
    def both(*rest: object, code: int = 0) -> str:
        remote, local = (
            masked(run("sources", *place, *rest), url, "folder") for place in (("--url", url), ("folder",))
        )
        assert remote == local, rest
        assert remote[0] == code, remote
        return remote[1]

    both("add", "https://a.example/1", "--title", "A", "--folder", "X", "Y")
    both("add", "https://a.example/2", "--identity", "link", "--split", "dcat:Dataset")
    both("add", "https://a.example/2", "https://a.example/3")
    lines = both().replace("TIME", "").splitlines()
    assert [line.split()[0] for line in lines] == [f"https://a.example/{number}" for number in (1, 2, 3)]
    assert "in X/Y" in lines[0]
    rows = [json.loads(line) for line in both("--json").splitlines()]
    assert (rows[1]["split"], rows[1]["identity"]) == ("<http://www.w3.org/ns/dcat#Dataset>", "link")
    outline = both("export")
    Path("feeds.opml").write_text(outline.replace("a.example", "b.example"))
    assert both("import", "feeds.opml", "--dry-run").count("added") == 3
    assert both("import", "feeds.opml").count("added") == 3
    Path("one.opml").write_text(
        "<opml version='2.0'><body>"
        + "".join(
            f"<outline text='{each}'><outline type='rss' xmlUrl='https://c.example/'/></outline>" for each in "PQ"
        )
        + "</body></opml>"
    )
    both("import", "one.opml")
    assert both("export").count('xmlUrl="https://c.example/"') == 2
    both("remove", "https://a.example/3")
    both("provenance", "urn:g", code=3)
    assert run("sources", "--url", url, "check", "https://a.example/1")[0] == 0
    assert run("sources", "--url", url, "release", "https://a.example/1")[2].endswith("0 publications released\n")
    assert "does not list it" in run("sources", "--url", url, "held", "https://a.example/1")[2]
    assert run("sources", "--url", url, "add", "nowhere")[0] == run("sources", "--url", url, "remove", "urn:x")[0] == 2


@pytest.mark.parametrize(
    ("given", "arranged"),
    [
        (["--url", "http://e", "a.rq"], ["http://e", "a.rq"]),
        (["--owner", "ada", "a.rq", "--url", "http://e"], ["http://e", "a.rq", "--owner", "ada"]),
        (["--url=http://e", "--json", "a.rq", "--key", "x", "y"], ["http://e", "a.rq", "--json", "--key", "x", "y"]),
        (["--url", "http://e", "--key", "x", "y"], ["http://e", "--key", "x", "y"]),
        (["--url", "http://e"], ["http://e"]),
        (["a", "--", "--url", "b"], ["--", "a", "--url", "b"]),
        (["a", "--words", "-winter rail", "--jso", "b", "--lease=1d", "c"], None),
    ],
)
def test_the_address_takes_the_place_of_the_folder(given: list[str], arranged: list[str] | None) -> None:
    arranged = arranged or ["a", "b", "c", "--words", "-winter rail", "--jso", "--lease=1d"]
    assert arrange(COMMANDS["subscribe"], given) == arranged
