"""One daemon for the tests of a file."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from support import Daemon

from turnloom import AsyncSession, AsyncTurnloom

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    running = Daemon()
    yield running
    running.stop()


@pytest.fixture
async def loom(daemon: Daemon) -> AsyncIterator[AsyncTurnloom]:
    async with AsyncTurnloom(daemon.url, daemon.token, client="tests") as client:
        yield client


@pytest.fixture
async def session(loom: AsyncTurnloom) -> AsyncSession:
    """A mock session that talks as fast as it can."""
    return await loom.session(f"py:{next(_numbers)}", runtime="mock", pace_ms=0)
