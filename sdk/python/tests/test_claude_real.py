"""The Claude Agent SDK with the Claude Code that it brings and a model that plays a script: hooks, tools of one's own, a whole turn."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool
from contract import Contract
from playing import serving
from support import PROGRAM, QUICK

from turnloom import AgentSession
from turnloom.claude import ClaudeAgent, component_hooks

SCRIPT = """
[[reply]]
when = { user = "weather" }
step = [{ text = "Let me look." }, { tool = { name = "mcp__app__get_weather", input = { city = "Ghent" } } }]

[[reply]]
when = { user = "count" }
step = [{ text = "one two three four five six seven eight nine ten", every_ms = 2000 }]

[[reply]]
when = { user = "again" }
step = [{ text = "Here I am." }]

[[reply]]
when = { tool_result = "" }
step = [{ text = "It is clear." }]
"""


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "weather.toml"
        script.write_text(SCRIPT)
        process = subprocess.Popen(
            [PROGRAM, "scripted", "--script", str(script), "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            told = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stdout)
            found = next((address for address in told if address), None)
            try:
                assert found is not None, "the scripted model does not listen"
                yield found.group(0)
            finally:
                process.terminate()


@tool("get_weather", "The sky over a city", {"city": str})
async def get_weather(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps({"location": given["city"], "condition": "clear"})}]}


def made_for(daemon: Contract, model: str, tmp_path: Path) -> ClaudeAgent:
    quiet = (
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )
    env = {
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "dummy",
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path),
    }
    path = {"PATH": os.environ["PATH"]}

    def options(session: AgentSession) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(
            env={**env, **path, **dict.fromkeys(quiet, "1")},
            cwd=tmp_path,
            mcp_servers={"app": create_sdk_mcp_server("app", tools=[get_weather])},
            hooks=component_hooks(session, {"get_weather": ("weather", "chat")}),
            setting_sources=[],
        )

    return ClaudeAgent("mine", options, url=daemon.url, token="secret", reconnect=QUICK)


async def close(daemon: Contract) -> None:
    await daemon.tell({"type": "close", "session_id": "s1", "reason": "idle"})
    await daemon.until("closed")


async def test_a_stop_and_the_turn_after_it(model: str, tmp_path: Path) -> None:
    async with Contract() as daemon, serving(made_for(daemon, model, tmp_path)):
        await daemon.open()
        await daemon.prompt("Please count", "t1")
        await daemon.until("delta")
        await daemon.order("interrupt", turn_id="t1", reason="stopped")
        assert (await daemon.until("turn_ended", turn_id="t1"))["data"] == {"outcome": "interrupted"}
        await daemon.prompt("And again", "t2")
        assert (await daemon.until("turn_ended", turn_id="t2"))["data"] == {"outcome": "completed"}
        words = [message["data"]["text"] for message in daemon.said("delta") if message["turn_id"] == "t2"]
        assert "".join(words) == "Here I am."
        await close(daemon)


async def test_a_turn_with_a_tool_that_is_shown(model: str, tmp_path: Path) -> None:
    async with Contract() as daemon:
        async with serving(made_for(daemon, model, tmp_path)):
            await daemon.open()
            await daemon.prompt("How is the weather?", "t1")
            ask = await daemon.until("ask")
            assert ask["data"]["permission"]["tool_name"] == "mcp__app__get_weather"
            await daemon.order("answer", key=ask["data"]["key"], permission={"reply": "once"})
            ended = await daemon.until("turn_ended")
            assert ended["data"] == {"outcome": "completed"}
            await close(daemon)
        (update,) = [message["data"] for message in daemon.said("component_update")]
        assert (update["name"], update["surface"]) == ("weather", "chat")
        assert update["props"] == {"location": "Ghent", "condition": "clear"}
        (call,) = [message["data"] for message in daemon.said("tool_start")]
        assert (call["tool"], call["input"]) == ("mcp__app__get_weather", {"city": "Ghent"})
        assert update["component_id"] == f"get_weather-{call['tool_use_id']}"
        assert [r["data"]["tool_use_id"] for r in daemon.said("tool_result")] == [call["tool_use_id"]]
        words = "".join(message["data"]["text"] for message in daemon.said("delta"))
        assert words == "Let me look.It is clear."
        assert daemon.said("usage") and daemon.said("renamed")
