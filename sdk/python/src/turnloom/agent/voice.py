"""Everything that an agent can say, by names that one can guess. Each is one event of the log. Not here: how it gets there."""

from __future__ import annotations

import asyncio
import itertools
import json
from types import TracebackType
from typing import Any

from ..model import given
from ..patch import Operation
from .turn import Prompt, working


class Voice:
    """The words. Whoever has them decides what becomes of them in `say`."""

    id: str

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._shown: dict[str, tuple[str, str]] = {}

    async def say(self, type: str, data: dict[str, Any], *, subagent_id: str | None = None) -> None:
        """Any event that an agent may say. It waits for room in the window, not for the acknowledgement."""
        raise NotImplementedError

    def current(self) -> Prompt | None:
        """The turn that the one who asks works for."""
        return working.get()

    async def text(self, text: str, *, block_id: str | None = None, done: bool = False) -> None:
        """Some words. Those that follow each other are one stretch; what comes after something else is another."""
        await self.say("delta", given(block_id=block_id or self._block("t"), text=text, done=done or None))

    async def thinking(self, text: str, *, block_id: str | None = None, done: bool = False) -> None:
        await self.say("thinking", given(block_id=block_id or self._block("k"), text=text, done=done or None))

    async def status(self, label: str, state: str = "responding", detail: Any = None) -> None:
        """What it is doing, for the person who waits."""
        await self.say("status", given(state=state, label=label, detail=detail))

    async def usage(self, input_tokens: int, output_tokens: int, **more: Any) -> None:
        """What this turn has used so far: also `cached_tokens`, `reasoning_tokens`, `cost_usd`, `context_used`, `context_window`."""
        await self.say("usage", given(input_tokens=input_tokens, output_tokens=output_tokens, **more))

    async def plan(self, steps: list[str | dict[str, str]], explanation: str | None = None) -> None:
        """What it is going to do: texts, or `{"text", "status"}` with `pending`, `running` or `done`."""
        told = [{"text": step, "status": "pending"} if isinstance(step, str) else step for step in steps]
        await self.say("plan_updated", given(steps=told, explanation=explanation))

    async def artifact(
        self, title: str, content: str, *, media_type: str = "text/markdown", artifact_id: str | None = None
    ) -> str:
        """Something to keep. Gives its id."""
        name = artifact_id or self.fresh("artifact")
        await self.say(
            "artifact_created", {"artifact_id": name, "title": title, "media_type": media_type, "content": content}
        )
        return name

    async def error(
        self, message: str, *, code: str = "agent_error", retryable: bool = False, fix: str | None = None
    ) -> None:
        """Something went wrong, and the turn goes on."""
        await self.say("error", given(message=message, code=code, retryable=retryable, fix=fix))

    async def result(self, text: str, structured_output: Any = None) -> None:
        """What the turn comes to."""
        await self.say("result", given(text=text, structured_output=structured_output))

    def tool(self, name: str, input: Any = None, *, tool_use_id: str | None = None) -> Tool:
        """A call of a tool of its own, from its start to its result: `async with`."""
        return Tool(self, name, input, tool_use_id or self.fresh("tool"))

    async def component(
        self, component_id: str, name: str, surface: str = "chat", props: dict[str, Any] | None = None, **more: Any
    ) -> None:
        """Shows a component, or another one in its place. `more` is `status`, `error`, `bind`, `tool_use_id`."""
        self._shown[component_id] = (name, surface)
        await self._update(component_id, {"props": props or {}, "merge": False, **given(**more)})

    async def merge(self, component_id: str, /, **props: Any) -> None:
        """Puts props over those that are there, key by key."""
        await self._update(component_id, {"props": props, "merge": True, "mode": "shallow"})

    async def append(self, component_id: str, /, **props: Any) -> None:
        """Adds to lists and texts; replaces all else."""
        await self._update(component_id, {"props": props, "merge": True, "mode": "append"})

    async def deep(self, component_id: str, /, **props: Any) -> None:
        """Merges objects in objects; `None` removes."""
        await self._update(component_id, {"props": props, "merge": True, "mode": "deep"})

    async def patch(self, component_id: str, patch: list[Operation]) -> None:
        """Changes props by a JSON Patch, all of it or nothing."""
        await self._update(component_id, {"props": {}, "merge": True, "mode": "patch", "patch": patch})

    async def remove(self, component_id: str) -> None:
        """Takes a component away."""
        self._shown.pop(component_id, None)
        await self.say("component_remove", {"component_id": component_id})

    async def _update(self, component_id: str, change: dict[str, Any]) -> None:
        # What is not known here is written by the session: the name and the surface that stand.
        name, surface = self._shown.get(component_id, (None, None))
        await self.say("component_update", given(component_id=component_id, name=name, surface=surface) | change)

    def fresh(self, kind: str) -> str:
        """A name that was not used before."""
        prompt = self.current()
        turn = prompt.turn_id if prompt is not None else "none"
        return f"{kind}-{turn}-{next(self._numbers)}"

    def _block(self, voice: str) -> str:
        prompt = self.current()
        if prompt is None:
            return f"{voice}-0"
        return f"{prompt.turn_id}-{voice}{prompt.blocks}"


class Tool:
    """A call of a tool. Its result is what was given to `result`; an exception is a failure."""

    def __init__(self, voice: Voice, name: str, input: Any, tool_use_id: str) -> None:
        self._voice = voice
        self._name = name
        self._input = input
        self.id = tool_use_id
        self._result: dict[str, Any] = {"output": "", "is_error": False}

    async def progress(self, text: str | None = None, fraction: float | None = None) -> None:
        await self._voice.say("tool_progress", given(tool_use_id=self.id, text=text, fraction=fraction))

    def result(self, value: Any, *, is_error: bool = False) -> None:
        """What the tool gave: a text, or any JSON."""
        self._result = result_of(value, is_error)

    async def __aenter__(self) -> Tool:
        await self._voice.say("tool_start", given(tool_use_id=self.id, tool=self._name, input=self._input))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            return  # the session closes what a turn leaves open
        if error is not None:
            self.result(f"{type(error).__name__}: {error}", is_error=True)
        await self._voice.say("tool_result", {"tool_use_id": self.id, **self._result})


def result_of(value: Any, is_error: bool = False) -> dict[str, Any]:
    """A tool's result as the log has it: as text, and as it is where it is an object."""
    if isinstance(value, str):
        return {"output": value, "is_error": is_error}
    told: dict[str, Any] = {"output": json.dumps(value, ensure_ascii=False, default=str), "is_error": is_error}
    if isinstance(value, dict):
        told["structured"] = json.loads(told["output"])
    return told
