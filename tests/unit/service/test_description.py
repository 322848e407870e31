"""The service's description of itself is true."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from tests.properties.service import check_service


def test_requests_made_of_the_description_are_answered_as_it_says(tmp_path: Path) -> None:
    statuses = check_service(240, tmp_path / "folder")
    assert statuses.total() >= 150
    assert {200, 201} <= statuses.keys()


def test_it_is_openapi_3_1_with_every_address(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    assert {"/documents", "/subscriptions", "/subscriptions/{id}", "/sparql", "/preview", "/healthz"} <= {
        *described["paths"]
    }
    for methods in described["paths"].values():
        for operation in methods.values():
            assert "4XX" in operation["responses"]
