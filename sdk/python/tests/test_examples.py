"""Every example, as somebody would run it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from contract import Contract
from playing import serving
from support import Daemon, eventually

from turnloom import Agent

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.asynccontextmanager
async def working(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Contract]:
    async with Contract() as daemon:
        monkeypatch.setenv("TURNLOOM_URL", daemon.url)
        monkeypatch.setenv("TURNLOOM_TOKEN", "secret")
        async with serving(agent):
            await daemon.open()
            yield daemon


def test_a_chat_in_the_terminal(daemon: Daemon) -> None:
    typed = "echo hello you\npermission\ny\ndemo\ny\nSilk\nWeld\n2026-12-24\n\n"
    told = subprocess.run(
        [sys.executable, str(EXAMPLES / "chat.py")],
        input=typed,
        env={**os.environ, "TURNLOOM_URL": daemon.url, "TURNLOOM_TOKEN": daemon.token},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert told.returncode == 0, told.stderr
    assert "hello you" in told.stdout and "May it use Bash" in told.stdout and "That was all" in told.stdout


async def test_a_page_with_a_server_of_its_own() -> None:
    import uvicorn

    page = load("page")
    server = uvicorn.Server(uvicorn.Config(page.app, port=0, log_level="warning"))
    task = asyncio.create_task(server.serve())
    await eventually("it listens", lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        assert "EventSource" in (await client.get("/")).text
        values: list[Any] = []

        async def read(after: int, count: int) -> None:
            async with client.stream("GET", f"/events?after={after}") as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        values.append(json.loads(line[6:])["data"]["props"]["value"])
                        if len(values) == count:
                            return

        reading = asyncio.create_task(read(0, 4))
        assert (await client.post("/build?steps=3")).json() == {"steps": 3}
        await reading
        assert values == [0, 1, 2, 3]
        values.clear()
        await read(2, 2)
        assert values == [2, 3]
        await eventually("readers that left are gone", lambda: not page.emitter._readers)
    server.should_exit = True
    page.emitter.close()
    await task


async def test_an_agent_that_draws_bar_by_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len((EXAMPLES / "chart_agent.py").read_text().splitlines()) <= 31
    async with working(load("chart_agent").agent, monkeypatch) as daemon:
        await daemon.prompt("sales")
        ask = await daemon.until("ask")
        updates = [message["data"] for message in daemon.said("component_update")]
        assert [update.get("mode") for update in updates] == [None, *["append"] * 4]
        await daemon.order(
            "answer", key=ask["data"]["key"], interrupt={"value": {"choice": "approve", "approved": True}}
        )
        await daemon.until("turn_ended")
        assert "".join(message["data"]["text"] for message in daemon.said("delta")).endswith("Sent.")


async def test_a_graph_as_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("async nodes need 3.11")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from turnloom.langgraph import GraphAgent

    model = GenericFakeChatModel(messages=iter([AIMessage("one two three")]))
    agent = GraphAgent("research", load("graph_agent").make_graph(model), share=("plan",))
    async with working(agent, monkeypatch) as daemon:
        await daemon.prompt("looms", "t1")
        ask = await daemon.until("ask")
        assert daemon.said("state_delta")[-1]["data"]["patch"][0]["value"] == ["Search", "Read", "Write"]
        await daemon.order("interrupt", turn_id="t1", reason="stopped")
        assert (await daemon.until("turn_ended"))["data"] == {"outcome": "interrupted"}
        await daemon.prompt("looms again", "t2")
        ask = await daemon.until("ask", count=2)
        await daemon.order("answer", key=ask["data"]["key"], question={"answers": [["Yes"]]})
        assert (await daemon.until("turn_ended", turn_id="t2"))["data"] == {"outcome": "completed"}
        texts = [message["data"]["text"] for message in daemon.said("delta")]
        assert len(texts) > 3 and "".join(texts) == "one two three"


async def test_tools_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async with working(load("plain_loop").agent, monkeypatch) as daemon:
        await daemon.prompt("Ghent")
        await daemon.until("turn_ended")
        kinds = [message["type"] for message in daemon.said()[1:]]
        each = ["tool_start", "tool_result", "component_update"]
        assert kinds == [*each, *each, "delta", "turn_ended"]
        plan, weather = [message["data"] for message in daemon.said("component_update")]
        assert (plan["name"], plan["surface"]) == ("plan_editor", "sidebar")
        assert weather["props"]["location"] == "Ghent"
        assert weather["component_id"].startswith("get_weather-")
