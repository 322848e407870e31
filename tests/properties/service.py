"""`python -m tests.properties.service N`: N requests that schemathesis makes of the service's own description.

Each is answered as the description says, and never with a 5xx. A seed in TRIPLECAST_SEED replays a run.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, seed, settings
from schemathesis.config import GenerationConfig, SchemathesisConfig

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.settings import ServiceSettings


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print(check_service(n), "requests answered as described")


if __name__ == "__main__":
    main()
