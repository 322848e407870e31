"""Standing queries over classes that the publications do not name: a taxonomy says what is under what."""

from pathlib import Path

import triplecast

HERE = Path(__file__).parent
TURTLE = (HERE / "taxonomy" / "themes.ttl").read_text("utf-8")
DATASET = """@prefix c: <https://data.example.org/> . @prefix dcat: <http://www.w3.org/ns/dcat#> .
c:air-quality dcat:theme c:theme-%s ."""

with triplecast.Engine() as engine:
    for path in sorted((HERE / "taxonomy" / "subscriptions").glob("*.rq")):
        engine.subscribe(path.read_text("utf-8"), id=path.stem)

    def publish(theme: str) -> None:
        receipt = engine.publish(DATASET % theme, "text/turtle", "https://data.example.org/air-quality")
        print(f"{theme}: {[(match.subscription, match.change) for match in receipt.matches]}")

    publish("environment")
    engine.load_taxonomy(TURTLE, "text/turtle")
    publish("health")
    publish("transport")
    print(engine.explain(DATASET % "health", "living", "text/turtle")[0])
