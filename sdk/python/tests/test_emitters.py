"""Emitters for programs with a server of their own, and what tools give as components."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from turnloom import ComponentUpdate, SessionEventEmitter, on_tool_result


def read(frame: str) -> tuple[int, dict[str, Any]]:
    lines = dict(line.split(": ", 1) for line in frame.strip().split("\n"))
    assert set(lines) == {"id", "data"}
    return int(lines["id"]), json.loads(lines["data"])


async def test_readers_with_positions_of_their_own() -> None:
    emitter = SessionEventEmitter()
    await emitter.emit_component("sales", "chart", "chat", {"data": []})
    await emitter.emit_component("sales", "chart", "chat", {"data": [1]}, mode="append")
    await emitter.emit(ComponentUpdate.create("c", "table", "panel", {}, True))
    first, second = emitter.stream(), emitter.stream(after=2)
    told = [read(await anext(first)) for _ in range(3)]
    assert [position for position, _ in told] == [1, 2, 3]
    assert told[0][1]["data"] == {
        "component_id": "sales",
        "name": "chart",
        "surface": "chat",
        "props": {"data": []},
        "merge": False,
    }
    assert (told[1][1]["data"]["mode"], told[1][1]["data"]["merge"]) == ("append", True)
    assert read(await anext(second))[0] == 3
    waiting = asyncio.ensure_future(anext(first))
    await asyncio.sleep(0)
    threading.Thread(target=emitter.emit_now, args=({"type": "status", "data": {"state": "tool"}},)).start()
    assert read(await waiting)[1]["type"] == "status"
    await emitter.remove_component("sales")
    emitter.close()
    assert [read(frame)[0] async for frame in second] == [4, 5]
    with pytest.raises(RuntimeError, match="closed"):
        await emitter.emit_component("x", "y", "chat", {})
    await first.aclose()
    assert not emitter._readers


async def test_heartbeats_names_and_what_is_kept() -> None:
    emitter = SessionEventEmitter()
    stream: AsyncGenerator[str, None] = emitter.stream(heartbeat=0.01, named=True)
    assert await anext(stream) == ": still there\n\n"
    await emitter.remove_component("x")
    assert (await anext(stream)).startswith("id: 1\nevent: component_remove\ndata: {")
    for _ in range(1500):
        await emitter.remove_component("x")
    emitter.close()
    assert len([frame async for frame in emitter.stream()]) == 1000
    await stream.aclose()


COMPONENTS = {"get_weather": ("weather", "chat")}


@pytest.mark.parametrize(
    ("result", "props"),
    [
        ({"sky": "clear"}, {"sky": "clear"}),
        ('{"sky": "clear"}', {"sky": "clear"}),
        ("sunny", {"raw": "sunny"}),
        ([1, 2], {"raw": [1, 2]}),
        ("[1]", {"raw": [1]}),
    ],
)
async def test_what_a_tool_gave_is_a_component(result: Any, props: dict[str, Any]) -> None:
    emitter = SessionEventEmitter()
    await on_tool_result(emitter, "get_weather", "t1", result, COMPONENTS)
    await on_tool_result(emitter, "other", "t2", result, COMPONENTS)
    emitter.close()
    (event,) = [read(frame)[1] async for frame in emitter.stream()]
    assert event["data"] == {
        "component_id": "get_weather-t1",
        "name": "weather",
        "surface": "chat",
        "props": props,
        "merge": False,
    }
