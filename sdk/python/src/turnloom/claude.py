"""The Claude Agent SDK: components for what tools give, and an agent made of its client. Needs the extra `claude`.

Whoever only wants Claude Code takes the runtime `claude` of the daemon. Not here: what the messages mean (`_claude_messages.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from claude_agent_sdk.types import (
    HookContext,
    HookEvent,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
)

from ._claude_messages import ClaudeFailed, Run
from .agent import Agent, AgentSession, Prompt
from .emitters import Emitter, on_tool_result
from .errors import Withdrawn

__all__ = ["ClaudeAgent", "ClaudeFailed", "component_hooks"]

CAPABILITIES = (
    "components",
    "state",
    "questions",
    "permissions",
    "edit_input",
    "usage",
    "thinking",
    "subagents",
    "resume",
    "fork",
)

STOP_SECONDS = 10.0
"""A program that was interrupted has so long to say that it stopped; then it is ended."""

_OF_SERVER = re.compile(r"^mcp__.+?__(.+)$")


def component_hooks(
    session: AgentSession | Emitter, components: Mapping[str, tuple[str, str]]
) -> dict[HookEvent, list[HookMatcher]]:
    """Hooks for `ClaudeAgentOptions`: what these tools give is shown as a component. Names are as they are, or after `mcp__SERVER__`."""

    async def show(given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        told = cast(dict[str, Any], given)
        name = plain_name(told["tool_name"])
        result = result_of(told.get("tool_response"))
        await on_tool_result(session, name, told.get("tool_use_id") or tool_use_id or "", result, components)
        return {}

    names = "|".join(re.escape(name) for name in components)
    return {"PostToolUse": [HookMatcher(matcher=f"({names})|mcp__.+__({names})", hooks=[show])]}


def plain_name(tool_name: str) -> str:
    """The name of a tool without that of its MCP server."""
    found = _OF_SERVER.match(tool_name)
    return found.group(1) if found else tool_name


def result_of(response: Any) -> Any:
    """What a tool gave. Those of MCP servers give content blocks: their texts are joined, and read as JSON where they are."""
    if not isinstance(response, list):
        return response
    text = "".join(block.get("text", "") for block in response if isinstance(block, dict))
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return text


class ClaudeAgent(Agent):
    """Claude Code as an agent of one's own, with options of one's own. `options` may be a function of the session, for hooks and tools that need it."""

    def __init__(
        self,
        name: str,
        options: ClaudeAgentOptions | Callable[[AgentSession], ClaudeAgentOptions] | None = None,
        *,
        capabilities: Iterable[str] = CAPABILITIES,
        client: Callable[[ClaudeAgentOptions], Any] = ClaudeSDKClient,
        **about: Any,
    ) -> None:
        super().__init__(name, capabilities=capabilities, **about)
        self._options = options
        self._make = client
        self._clients: WeakKeyDictionary[AgentSession, Any] = WeakKeyDictionary()
        self._conversations: WeakKeyDictionary[AgentSession, str] = WeakKeyDictionary()
        self.handlers.session = self._session
        self.handlers.open = self._open

    async def _open(self, session: AgentSession) -> dict[str, Any]:
        beginning = session.opening.get("beginning") or {}
        provider = beginning.get("provider_session_id")
        if beginning.get("kind") in ("resume", "fork") and provider:
            self._conversations[session] = provider
            return {"resumed": True, "provider_session_id": provider}
        return {"resumed": False}

    async def _session(self, session: AgentSession) -> None:
        try:
            async for prompt in session:
                async with prompt:
                    await self._turn(session, prompt)
        finally:
            await self._leave(session)

    async def _turn(self, session: AgentSession, prompt: Prompt) -> None:
        client = self._clients.get(session)
        if client is None:
            client = self._make(self._options_for(session))
            await client.connect()
            self._clients[session] = client
        run = Run(session)
        await client.query(prompt.text)
        try:
            await self._receive(session, client, run)
        except asyncio.CancelledError:
            await self._interrupt(session, client)
            raise
        run.check()

    async def _receive(self, session: AgentSession, client: Any, run: Run) -> None:
        async for message in client.receive_response():
            await run.take(message)
            if isinstance(message, ResultMessage) and self._conversations.get(session) != message.session_id:
                self._conversations[session] = message.session_id
                renamed = {"provider_session_id": message.session_id, "reason": "Claude Code calls it so"}
                await session.say("renamed", renamed)

    async def _interrupt(self, session: AgentSession, client: Any) -> None:
        """What it says of the turn that was stopped is read away, so that the next one begins clean."""

        async def drain() -> None:
            await client.interrupt()
            async for _ in client.receive_response():
                pass

        try:
            await asyncio.wait_for(drain(), STOP_SECONDS)
        except Exception:
            await self._leave(session)

    async def _leave(self, session: AgentSession) -> None:
        client = self._clients.pop(session, None)
        if client is not None:
            await client.disconnect()

    def _options_for(self, session: AgentSession) -> ClaudeAgentOptions:
        given = self._options(session) if callable(self._options) else self._options or ClaudeAgentOptions()
        changes: dict[str, Any] = {"include_partial_messages": True}
        if given.can_use_tool is None and given.permission_prompt_tool_name is None:
            changes["can_use_tool"] = self._asker(session)
        if given.cwd is None and session.cwd:
            changes["cwd"] = session.cwd
        if given.model is None and session.model:
            changes["model"] = session.model
        if session in self._conversations:
            changes["resume"] = self._conversations[session]
            changes["fork_session"] = (session.opening.get("beginning") or {}).get("kind") == "fork"
        return dataclasses.replace(given, **changes)

    @staticmethod
    def _asker(session: AgentSession) -> Any:
        async def ask(
            name: str, input: dict[str, Any], context: ToolPermissionContext
        ) -> PermissionResultAllow | PermissionResultDeny:
            try:
                answer = await session.permission(name, input, tool_use_id=context.tool_use_id, title=context.title)
            except Withdrawn:
                return PermissionResultDeny(message="nobody answered")
            if answer.allowed:
                return PermissionResultAllow(updated_input=answer.updated_input or input)
            return PermissionResultDeny(message=answer.message or "the person said no")

        return ask
