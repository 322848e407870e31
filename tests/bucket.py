"""A bucket of a store that speaks as S3 does, on this machine (moto)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import pytest

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true"}


class Bucket:
    """An empty bucket."""

    def __init__(self, host: str, port: int) -> None:
        import boto3

        self._host = f"{host}:{port}"
        urlopen(Request(f"http://{self._host}/moto-api/reset", method="POST")).close()  # what an earlier server had
        resource: Any = boto3.resource("s3", endpoint_url=f"http://{self._host}", region_name="us-east-1")
        self.bucket = resource.create_bucket(Bucket="bucket")

    def address(self, below: str) -> str:
        return f"s3://bucket/{below}?scheme=http&endpoint_override={self._host}&region=us-east-1"

    def put(self, name: str, content: bytes) -> None:
        self.bucket.put_object(Key=name, Body=content)


@contextmanager
def running_bucket() -> Iterator[Bucket]:
    """Skips where moto is not installed."""
    server_of = pytest.importorskip("moto.server", reason="the store of the tests needs moto[s3] and flask")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        server = server_of.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        try:
            yield Bucket(*server.get_host_and_port())
        finally:
            server.stop()
