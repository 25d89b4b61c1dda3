"""An agent of a test: made for the daemon of the contract, and served for as long as a block lasts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from contract import Contract
from support import QUICK

from turnloom import Agent


def make(daemon: Contract, **more: Any) -> Agent:
    return Agent("research", url=daemon.url, token="secret", reconnect=QUICK, **more)


@contextlib.asynccontextmanager
async def serving(agent: Agent) -> AsyncIterator[None]:
    task = asyncio.create_task(agent.serve())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
