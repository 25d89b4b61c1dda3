"""Every piece of Python that the documentation shows, run as it stands, in the order of its page."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from contract import Contract
from playing import serving
from support import ROOT, Daemon

from turnloom import Agent

PAGES = ["docs/python.md", "sdk/python/README.md"]


def blocks(page: str) -> list[tuple[int, str]]:
    text = (ROOT / page).read_text()
    return [
        (text[: found.start()].count("\n") + 2, found.group(1))
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)
    ]


async def run(page: str, line: int, code: str, names: dict[str, Any]) -> None:
    tree = ast.parse("\n" * (line - 1) + code, page)
    result = eval(compile(tree, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if asyncio.iscoroutine(result):
        await result


@pytest.mark.parametrize("page", PAGES)
async def test_a_page(page: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Agent] = []
    monkeypatch.setattr(Agent, "run", lambda self, **_: made.append(self))
    monkeypatch.setenv("TURNLOOM_URL", daemon.url)
    monkeypatch.setenv("TURNLOOM_TOKEN", daemon.token)
    names: dict[str, Any] = {"token": daemon.token}
    ran = 0
    for line, code in blocks(page):
        if code.startswith("state = await"):
            # What a reader has from the block before.
            from turnloom import AsyncTurnloom

            async with AsyncTurnloom() as loom:
                names["session"] = await loom.session("daily", runtime="mock")
                await run(page, line, code, names)
        else:
            await run(page, line, code, names)
        ran += 1
        while made:
            await work(made.pop(), monkeypatch)
            monkeypatch.setenv("TURNLOOM_URL", daemon.url)
            monkeypatch.setenv("TURNLOOM_TOKEN", daemon.token)
    assert ran > 0 and Path(ROOT / page).exists()


async def work(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent of a page does a turn, and is answered whatever it asks."""
    async with Contract() as daemon:
        monkeypatch.setenv("TURNLOOM_URL", daemon.url)
        monkeypatch.setenv("TURNLOOM_TOKEN", "secret")
        async with serving(agent):
            await daemon.open()
            await daemon.prompt("sales")
            if agent.handlers.session is not None:
                ask = await daemon.until("ask")
                answer = {"value": {"choice": "approve", "approved": True}}
                await daemon.order("answer", key=ask["data"]["key"], interrupt=answer)
            ended = await daemon.until("turn_ended")
            assert ended["data"] == {"outcome": "completed"}
            if "approve_step" in agent.handlers.callbacks:
                pressed: dict[str, Any] = {
                    "component_id": "plan",
                    "action": "approve_step",
                    "payload": {"step_index": 1},
                    "by": "x",
                }
                await daemon.order("callback", **pressed)
                await daemon.until("component_update")
