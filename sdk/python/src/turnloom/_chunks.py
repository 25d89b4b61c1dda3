"""What the chunks of a LangGraph stream mean, as things that an agent says. Not here: running the graph (`langgraph.py`)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from pydantic import BaseModel

from .agent import AgentSession
from .events import KINDS
from .model import given

Namespace = tuple[str, ...]


class Run:
    """One turn of a graph, chunk by chunk."""

    def __init__(self, session: AgentSession, share: tuple[str, ...], before: Any) -> None:
        self._session = session
        self._share = share
        self._known = {message.id for message in _messages_of(before)}
        """Messages that were there before, or that were said."""
        self._streamed: set[str] = set()
        self._texts: set[str] = set()
        self._calls: dict[tuple[str, Any], dict[str, Any]] = {}
        self._started: set[str] = set()
        self._results: set[str] = set()
        self._subagents: dict[str, Namespace] = {}
        self._ended: set[str] = set()
        self._tools_of: dict[str, int] = {}
        self._usage: dict[str, int] = {}
        self._usage_told: dict[str, int] = {}

    async def take(self, chunk: dict[str, Any]) -> None:
        namespace: Namespace = tuple(chunk.get("ns") or ())
        data = chunk["data"]
        kind = chunk["type"]
        if kind == "messages":
            await self._message(data[0], await self._subagent(namespace))
        elif kind == "custom":
            await self._custom(data, await self._subagent(namespace))
        elif kind == "updates":
            await self._update(namespace, data)
        elif kind == "values" and not namespace:
            await self._share_values(data)

    async def told(self) -> None:
        """What was used, if it is more than was told."""
        if self._usage and self._usage != self._usage_told:
            self._usage_told = dict(self._usage)
            self._session.put("usage", {"input_tokens": 0, "output_tokens": 0, **self._usage})

    async def finish(self, values: Any) -> None:
        """What no chunk had: a node that gives tuples streams nothing."""
        for message in _messages_of(values):
            if message.id not in self._known and message.id not in self._streamed:
                await self._message(message, None)
        for subagent, namespace in list(self._subagents.items()):
            await self._end_subagent(subagent, namespace)
        await self.told()

    # Messages

    async def _message(self, message: BaseMessage, subagent: str | None) -> None:
        if isinstance(message, AIMessageChunk):
            await self._piece(message, subagent)
        elif isinstance(message, ToolMessage):
            await self._result(message, subagent)
        elif isinstance(message, AIMessage) and message.id not in self._streamed:
            await self._whole(message, subagent)

    async def _piece(self, chunk: AIMessageChunk, subagent: str | None) -> None:
        block = chunk.id or "answer"
        self._streamed.add(block)
        self._known.add(chunk.id)
        last = chunk.chunk_position == "last"
        for voice, text in _texts(chunk.content):
            await self._say(voice, {"block_id": _block(block, voice), "text": text}, subagent)
            self._texts.add(block)
        for piece in chunk.tool_call_chunks:
            call = self._calls.setdefault((block, piece.get("index")), {"id": None, "name": "", "args": ""})
            call["id"] = call["id"] or piece.get("id")
            call["name"] += piece.get("name") or ""
            call["args"] += piece.get("args") or ""
        self._count(chunk)
        if last:
            if block in self._texts:
                await self._say("delta", {"block_id": _block(block, "delta"), "text": "", "done": True}, subagent)
            for key in [key for key in self._calls if key[0] == block]:
                call = self._calls.pop(key)
                await self._start(call["id"] or f"{block}-{key[1]}", call["name"], _json(call["args"]), subagent)

    async def _whole(self, message: AIMessage, subagent: str | None) -> None:
        block = message.id or self._session.fresh("answer")
        self._streamed.add(block)
        self._known.add(message.id)
        for voice, text in _texts(message.content):
            await self._say(voice, {"block_id": _block(block, voice), "text": text, "done": True}, subagent)
        for call in message.tool_calls:
            await self._start(call.get("id") or block, call["name"], call["args"], subagent)
        self._count(message)

    async def _start(self, tool_use_id: str, name: str, input: Any, subagent: str | None) -> None:
        if tool_use_id in self._started:
            return
        self._started.add(tool_use_id)
        if subagent is not None:
            self._tools_of[subagent] = self._tools_of.get(subagent, 0) + 1
        await self._say("tool_start", {"tool_use_id": tool_use_id, "tool": name, "input": input}, subagent)

    async def _result(self, message: ToolMessage, subagent: str | None) -> None:
        self._known.add(message.id)
        if message.tool_call_id in self._results:
            return
        self._results.add(message.tool_call_id)
        await self._start(message.tool_call_id, message.name or "tool", {}, subagent)
        content = message.content
        output = content if isinstance(content, str) else "".join(text for _, text in _texts(content)) or _text(content)
        told = {"tool_use_id": message.tool_call_id, "output": output, "is_error": message.status == "error"}
        structured = plain(message.artifact) if _is_json(message.artifact) else None
        await self._say("tool_result", told | given(structured=structured), subagent)

    def _count(self, message: AIMessage) -> None:
        used = message.usage_metadata
        if not used:
            return
        details = {
            "cached_tokens": (used.get("input_token_details") or {}).get("cache_read"),
            "reasoning_tokens": (used.get("output_token_details") or {}).get("reasoning"),
        }
        counted = {"input_tokens": used["input_tokens"], "output_tokens": used["output_tokens"], **given(**details)}
        for name, count in counted.items():
            self._usage[name] = self._usage.get(name, 0) + count

    # The rest

    async def _custom(self, data: Any, subagent: str | None) -> None:
        is_event = isinstance(data, dict) and data.get("type") in KINDS and isinstance(data.get("data"), dict)
        if is_event and data["type"] == "interrupt":
            await self._session.emitter.emit(data)
        elif is_event:
            await self._say(data["type"], data["data"], subagent)
        else:
            await self._say("status", {"state": "responding", "detail": plain(data)}, subagent)

    async def _update(self, namespace: Namespace, data: dict[str, Any]) -> None:
        # What was cached is a repeat of an earlier run.
        if (data.get("__metadata__") or {}).get("cached"):
            return
        nodes = [name for name in data if not name.startswith("__")]
        for node in nodes:
            for subagent, inside in list(self._subagents.items()):
                if inside[:-1] == namespace and inside[-1].split(":")[0] == node:
                    await self._end_subagent(subagent, inside)
        if nodes:
            label = ", ".join(nodes)
            await self._say("status", {"state": "responding", "label": label}, await self._subagent(namespace))

    async def _share_values(self, values: Any) -> None:
        if not isinstance(values, dict):
            return
        for key in self._share:
            if key in values:
                self._session.state[key] = plain(values[key])
        await self._session.state.flush()

    async def _subagent(self, namespace: Namespace) -> str | None:
        """The graph inside the graph that this comes from, if it does; told when it is first heard."""
        if not namespace:
            return None
        parent = await self._subagent(namespace[:-1])
        name = namespace[-1]
        if name not in self._subagents and name not in self._ended:
            self._subagents[name] = namespace
            started = given(subagent_id=name, name=name.split(":")[0], parent_subagent_id=parent)
            await self._session.say("subagent_started", started)
        return name

    async def _end_subagent(self, subagent: str, namespace: Namespace) -> None:
        del self._subagents[subagent]
        self._ended.add(subagent)
        counts = {"tool_calls": self._tools_of.get(subagent, 0), "file_changes": 0}
        await self._session.say("subagent_ended", {"subagent_id": subagent, "status": "completed", **counts})

    async def _say(self, type: str, data: dict[str, Any], subagent: str | None) -> None:
        await self._session.say(type, data, subagent_id=subagent)


def _messages_of(values: Any) -> list[BaseMessage]:
    found = values.get("messages") if isinstance(values, dict) else getattr(values, "messages", None)
    return [message for message in found if isinstance(message, BaseMessage)] if isinstance(found, list) else []


def _texts(content: Any) -> Iterable[tuple[str, str]]:
    """The texts of a content, with the voice that says them."""
    blocks = content if isinstance(content, list) else [content]
    for block in blocks:
        if isinstance(block, str):
            if block:
                yield "delta", block
        elif isinstance(block, dict) and block.get("type") == "text" and block.get("text"):
            yield "delta", block["text"]
        elif isinstance(block, dict) and block.get("type") in ("reasoning", "thinking"):
            text = block.get("reasoning") or block.get("thinking")
            if text:
                yield "thinking", text


def _block(message: str, voice: str) -> str:
    return message if voice == "delta" else f"{message}-{voice}"


def _json(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {"raw": text}


def _text(content: Any) -> str:
    return json.dumps(plain(content), ensure_ascii=False)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return value is not None


def plain(value: Any) -> Any:
    """A value as JSON: models, messages and data classes become objects."""
    return json.loads(json.dumps(value, default=_object, ensure_ascii=False))


def _object(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return list(value) if isinstance(value, (set, frozenset, tuple)) else str(value)
