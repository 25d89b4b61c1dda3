"""What the messages of the Claude Agent SDK mean, as things that an agent says. Not here: running the program (`claude.py`)."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk.types import (
    AssistantMessage,
    Message,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StreamEvent,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from .agent import AgentSession
from .model import given


class ClaudeFailed(Exception):
    """Claude Code says that the turn has failed."""

    code = "agent_failed"


class Run:
    """One turn, message by message. What was streamed is not said again when its whole message comes."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._message: dict[str | None, str] = {}
        self._streamed: set[tuple[str, str]] = set()
        self._subagents: dict[str, int] = {}
        self._failure: str | None = None

    async def take(self, message: Message) -> None:
        if isinstance(message, StreamEvent):
            await self._event(message.event, message.parent_tool_use_id)
        elif isinstance(message, AssistantMessage):
            await self._assistant(message)
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    await self._result(block, message)
        elif isinstance(message, ResultMessage):
            await self._end(message)

    def check(self) -> None:
        """Raises what the program said of its failure."""
        if self._failure is not None:
            raise ClaudeFailed(self._failure)

    async def _event(self, event: dict[str, Any], parent: str | None) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._message[parent] = event["message"]["id"]
        elif kind == "content_block_delta":
            delta = event["delta"]
            block = f"{self._message.get(parent, 'answer')}-{event['index']}"
            for voice, name in (("delta", "text"), ("thinking", "thinking")):
                if delta.get("type") == f"{name}_delta" and delta.get(name):
                    self._streamed.add((self._message.get(parent, "answer"), voice))
                    await self._say(voice, {"block_id": block, "text": delta[name]}, parent)

    async def _assistant(self, message: AssistantMessage) -> None:
        parent = message.parent_tool_use_id
        name = message.message_id or "answer"
        for at, block in enumerate(message.content):
            if isinstance(block, TextBlock) and (name, "delta") not in self._streamed:
                await self._say("delta", {"block_id": f"{name}-{at}-whole", "text": block.text, "done": True}, parent)
            elif isinstance(block, ThinkingBlock) and (name, "thinking") not in self._streamed:
                whole = {"block_id": f"{name}-{at}-whole", "text": block.thinking, "done": True}
                await self._say("thinking", whole, parent)
            elif isinstance(block, (ToolUseBlock, ServerToolUseBlock)):
                if parent is not None:
                    self._subagents[parent] = self._subagents.get(parent, 0) + 1
                await self._say(
                    "tool_start", {"tool_use_id": block.id, "tool": block.name, "input": block.input}, parent
                )
            elif isinstance(block, ServerToolResultBlock):
                told = {"tool_use_id": block.tool_use_id, "output": str(block.content), "is_error": False}
                await self._say("tool_result", told, parent)

    async def _result(self, block: ToolResultBlock, message: UserMessage) -> None:
        content = block.content
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        structured = (
            (message.tool_use_result or {}).get("structuredContent")
            if isinstance(message.tool_use_result, dict)
            else None
        )
        told = {"tool_use_id": block.tool_use_id, "output": content or "", "is_error": bool(block.is_error)}
        if block.tool_use_id in self._subagents:
            counts = {"tool_calls": self._subagents.pop(block.tool_use_id), "file_changes": 0}
            ended = {"subagent_id": block.tool_use_id, "status": "failed" if block.is_error else "completed", **counts}
            await self._session.say("subagent_ended", ended)
        await self._say("tool_result", told | given(structured=structured), message.parent_tool_use_id)

    async def _end(self, message: ResultMessage) -> None:
        used = message.usage or {}
        read = used.get("cache_read_input_tokens") or 0
        fresh = (used.get("input_tokens") or 0) + (used.get("cache_creation_input_tokens") or 0) + read
        more = given(cached_tokens=read or None, cost_usd=message.total_cost_usd)
        await self._session.usage(fresh, used.get("output_tokens") or 0, **more)
        if message.is_error:
            self._failure = message.result or "; ".join(message.errors or []) or message.subtype
        elif message.result is not None:
            await self._session.result(message.result, message.structured_output)

    async def _say(self, type: str, data: dict[str, Any], parent: str | None) -> None:
        """What a sub-agent says has the call that started it as its name."""
        if parent is not None and parent not in self._subagents:
            self._subagents[parent] = 0
            started = {"subagent_id": parent, "name": "agent", "parent_tool_use_id": parent}
            await self._session.say("subagent_started", started)
        await self._session.say(type, data, subagent_id=parent)
