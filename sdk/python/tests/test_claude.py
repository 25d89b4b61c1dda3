"""The Claude Agent SDK: its hooks and messages, with a program that plays what Claude Code says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk.types import (
    AssistantMessage,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
    TextBlock,
    ToolPermissionContext,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from contract import Contract
from playing import serving
from support import QUICK

from turnloom import SessionEventEmitter
from turnloom.claude import ClaudeAgent, component_hooks, plain_name, result_of

COMPONENTS = {"get_weather": ("weather", "chat"), "update_plan": ("plan_editor", "sidebar")}


async def test_hooks_show_what_tools_give() -> None:
    emitter = SessionEventEmitter()
    (matcher,) = component_hooks(emitter, COMPONENTS)["PostToolUse"]
    assert matcher.matcher is not None
    for name in ("get_weather", "mcp__app__get_weather", "mcp__a__b__update_plan"):
        assert re.fullmatch(matcher.matcher, name), name
    assert not re.fullmatch(matcher.matcher, "Bash")
    told: Any = {
        "hook_event_name": "PostToolUse",
        "tool_name": "mcp__app__get_weather",
        "tool_input": {"city": "Ghent"},
        "tool_use_id": "toolu_1",
        "tool_response": [{"type": "text", "text": '{"temp":'}, {"type": "text", "text": " 7}"}],
    }
    assert await matcher.hooks[0](told, "toolu_1", {"signal": None}) == {}
    emitter.close()
    (frame,) = [frame async for frame in emitter.stream()]
    assert '"component_id":"get_weather-toolu_1"' in frame and '"props":{"temp":7}' in frame
    assert plain_name("Bash") == "Bash"
    assert result_of([{"type": "text", "text": "plain"}]) == "plain"
    assert result_of({"a": 1}) == {"a": 1}


def event(**fields: Any) -> StreamEvent:
    return StreamEvent(uuid="u", session_id="c1", event=fields)


def result(**more: Any) -> ResultMessage:
    fields: dict[str, Any] = {"subtype": "success", "is_error": False, "result": "Done."}
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7}
    return ResultMessage(
        **(fields | more),
        duration_ms=1,
        duration_api_ms=1,
        num_turns=1,
        session_id="c1",
        total_cost_usd=0.5,
        usage=usage,
    )


class Playing:
    """Stands for the SDK's client."""

    made: list[Playing]

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self.options = options
        self.said: list[str] = []
        self.interrupted = asyncio.Event()
        self.left = False
        Playing.made.append(self)

    async def connect(self) -> None:
        pass

    async def query(self, text: str) -> None:
        self.said.append(text)

    async def interrupt(self) -> None:
        self.interrupted.set()

    async def disconnect(self) -> None:
        self.left = True

    async def receive_response(self) -> AsyncIterator[Any]:
        if self.said[-1] == "hang":
            yield event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
            await self.interrupted.wait()
            self.interrupted.clear()
            self.said.append("stopped")
            yield result(subtype="error_during_execution", is_error=True, result=None)
            return
        if self.said[-1] == "stopped":
            yield result(subtype="error_during_execution", is_error=True, result=None)
            return
        if self.said[-1] == "fail":
            yield result(is_error=True, result="API Error: no credit")
            return
        yield event(type="message_start", message={"id": "msg_1"})
        yield event(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."})
        yield event(type="content_block_delta", index=1, delta={"type": "text_delta", "text": "Let me "})
        yield event(type="content_block_delta", index=1, delta={"type": "text_delta", "text": "look."})
        answer = await self.options.can_use_tool("Bash", {"command": "ls"}, ToolPermissionContext(tool_use_id="t1"))  # type: ignore[misc]
        assert isinstance(answer, PermissionResultAllow)
        content: list[Any] = [TextBlock("Let me look."), ToolUseBlock("t1", "Task", answer.updated_input or {})]
        yield AssistantMessage(content, "m", message_id="msg_1")
        inside: list[Any] = [TextBlock("inside"), ToolUseBlock("t2", "Read", {})]
        yield AssistantMessage(inside, "m", parent_tool_use_id="t1", message_id="msg_2")
        yield UserMessage([ToolResultBlock("t2", "text")], parent_tool_use_id="t1")
        yield UserMessage(
            [ToolResultBlock("t1", [{"type": "text", "text": "a.txt"}])],
            tool_use_result={"structuredContent": {"n": 1}},
        )
        yield result()


async def test_a_turn_of_claude_code_a_stop_and_a_failure() -> None:
    Playing.made = []
    async with Contract() as daemon:
        agent = ClaudeAgent(
            "mine", ClaudeAgentOptions(model="m"), client=Playing, url=daemon.url, token="secret", reconnect=QUICK
        )
        async with serving(agent):
            await daemon.open(opening={"cwd": "/tmp"})
            await daemon.prompt("look", "t1")
            ask = await daemon.until("ask")
            assert ask["data"]["permission"]["tool_name"] == "Bash"
            await daemon.order("answer", key=ask["data"]["key"], permission={"reply": "once"})
            assert (await daemon.until("turn_ended", turn_id="t1"))["data"] == {"outcome": "completed"}
            await daemon.prompt("hang", "t2")
            await daemon.until("delta", turn_id="t2")
            await daemon.order("interrupt", turn_id="t2", reason="stopped")
            assert (await daemon.until("turn_ended", turn_id="t2"))["data"] == {"outcome": "interrupted"}
            await daemon.prompt("fail", "t3")
            failed = (await daemon.until("turn_ended", turn_id="t3"))["data"]
            assert failed["outcome"] == "failed" and "no credit" in failed["failure"]["message"]
            await daemon.tell({"type": "close", "session_id": "s1", "reason": "idle"})
            await daemon.until("closed")
        said = [(m["type"], m["data"], m.get("subagent_id")) for m in daemon.said() if m.get("turn_id") == "t1"]
        kinds = [kind for kind, *_ in said]
        assert kinds == [
            "thinking",
            "delta",
            "delta",
            "ask",
            "tool_start",
            "subagent_started",
            "delta",
            "tool_start",
            "tool_result",
            "subagent_ended",
            "tool_result",
            "usage",
            "result",
            "renamed",
            "turn_ended",
        ]
        assert [m[2] for m in said if m[0] == "tool_start"] == [None, "t1"]
        assert said[10][1] == {"tool_use_id": "t1", "output": "a.txt", "is_error": False, "structured": {"n": 1}}
        assert said[11][1] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "cost_usd": 0.5}
        # A function that failed is called again, with a program that goes on where the other was.
        assert Playing.made[0].options.include_partial_messages and str(Playing.made[0].options.cwd) == "/tmp"
        assert all(client.left for client in Playing.made)
