"""2,690 real queries of four corpora, a third of them in old dialects that are not SPARQL 1.1: what pyoxigraph accepts
parses or is refused by name, what it refuses is refused with line and column, and templates give every text back."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from tests.conformance.opinions import oracle_accepts, real_queries, verdict
from triplecast.languages import fill, parse_query, parse_template
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

MISREAD_BY_THE_ORACLE = ("(ec:1.-.-.-)", "ec:1.1.1.353")
"""pyoxigraph does not read a local name whose dots stand before digits or hyphens; the grammar allows both."""

REFUSED = {
    "SERVICE": 105,  # it reaches outside the publication
    "FROM": 9,  # a subscription cannot choose its dataset
    "DESCRIBE": 4,  # its answer is not defined
    "function <http://www.w3.org/2001/XMLSchema#date>": 4,  # SPARQL 1.1 has seven casts, and this is none
    "function <http://www.w3.org/2001/XMLSchema#int>": 1,
    "bif:xcontains": 1,  # a search in XML
    "a search with an open '": 1,  # "'university"
}
"""What is refused by name (semantics 1.5), in how many queries. Six of them pyoxigraph refuses for something else."""


@cache
def verdicts(shared_data: Path) -> dict[str, str]:
    """``parsed``, ``fault`` or what is refused, for each text; `verdict` has checked the place of the last two."""
    return {text: verdict(text) for text in real_queries(shared_data)}


def parsed_queries(shared_data: Path) -> list[str]:
    return [text for text, found in verdicts(shared_data).items() if found == "parsed"]


def test_they_parse_or_are_refused_as_pyoxigraph_accepts_them(shared_data: Path) -> None:
    found = verdicts(shared_data)
    counted = Counter(found.values())
    assert counted.pop("parsed") == 1_565
    assert counted.pop("fault") == 1_000
    assert counted == REFUSED
    different = [text for text, said in found.items() if said in ("parsed", "fault") and misjudged(text, said)]
    assert different == []


def misjudged(text: str, said: str) -> bool:
    return (said == "parsed") != oracle_accepts(text) and not any(part in text for part in MISREAD_BY_THE_ORACLE)


def test_filling_a_template_gives_each_back(shared_data: Path) -> None:
    """Twice over, so that the second round reads every text through a template that it knows."""
    keys = {}
    for text in parsed_queries(shared_data) * 2:
        template, constants = parse_template(text)
        assert fill(template.query, constants) == parse_query(text), text
        assert keys.setdefault(text, template.key) == template.key


def test_each_that_parses_can_be_subscribed(shared_data: Path) -> None:
    texts = parsed_queries(shared_data)
    decided = sum(admit(Subscription(f"q{number}", text)).decided for number, text in enumerate(texts))
    print(f"{decided} of {len(texts)} are decided in the index")
    assert decided >= len(texts) // 2


def test_none_is_taken_for_rdql(shared_data: Path) -> None:
    assert {verdict(text, "rdql") for text in real_queries(shared_data)} == {"fault"}
