"""Full text in subscriptions: words, phrases, distances, scores, and what other stores write."""

from __future__ import annotations

from pathlib import Path

import triplecast

FEED = Path(__file__).parent / "inbox" / "news" / "courier.atom"
ASKED = {
    "hearing": """FILTER(ft:contains(?text, '"public hearing" ftand ("residents" ftor "readers")'))""",
    "figures": """FILTER(ft:contains(?text, '("council" ftand "data") distance at most 8 words ordered'))""",
    "calmly": """FILTER(ft:contains(?text, '"public hearing" ftand ftnot "disagreed"'))""",
    "cost": """FILTER(ft:score(?text, "cost planned longer") >= 0.4)""",
    "rtf": """FILTER ftcontains(?text, "open" ftNEAR[0,0] "data")""",
}
WHERE = "SELECT ?item ?text WHERE { ?item rss:description ?text "

with triplecast.Engine() as engine:
    for name, condition in ASKED.items():
        subscription = engine.subscribe(WHERE + condition + " }", id=name)
        print(f"{name}: {', '.join(subscription.warnings) or 'as written'}")
    receipt = engine.publish(
        FEED.read_bytes(), media_type="application/atom+xml", graph="https://courier.example.org/feed.atom"
    )
    found = [match.subscription for match in receipt.matches]
    print("; ".join(f"{name} {found.count(name)}" for name in ASKED))
