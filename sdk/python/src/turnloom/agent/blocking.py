"""A session for plain functions, which run in a thread: the same names, and each call blocks. A thread cannot be stopped; it can ask `stopping`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from .session import AgentSession
from .turn import Prompt, working
from .voice import Tool


class Blocking:
    """Stands for something async: what is awaited there blocks here."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if inspect.iscoroutinefunction(found):
            return self._blocking(found)
        return found

    def _blocking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(function(*args, **named), self._loop).result()

        return call


class BlockingTool(Blocking):
    def __enter__(self) -> BlockingTool:
        self._blocking(self._target.__aenter__)()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocking(self._target.__aexit__)(kind, error, trace)


class BlockingState(Blocking):
    def __getitem__(self, name: str) -> Any:
        return self._target[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._target[name] = value

    def __delitem__(self, name: str) -> None:
        del self._target[name]


class BlockingPrompt:
    """A turn to work on: `with` ends it."""

    def __init__(self, prompt: Prompt, loop: asyncio.AbstractEventLoop) -> None:
        self._prompt = prompt
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._prompt, name)

    def __enter__(self) -> BlockingPrompt:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outcome = "completed" if error is None else "failed"
        self._loop.call_soon_threadsafe(self._prompt.end, outcome, error)


class BlockingSession(Blocking):
    """What a plain function is given."""

    _target: AgentSession

    @property
    def stopping(self) -> bool:
        """Whether somebody wants this turn to end."""
        return self._target.stopping

    @property
    def state(self) -> BlockingState:
        return BlockingState(self._target.state, self._loop)

    def tool(self, name: str, input: Any = None, *, tool_use_id: str | None = None) -> BlockingTool:
        tool: Tool = self._target.tool(name, input, tool_use_id=tool_use_id)
        return BlockingTool(tool, self._loop)

    def __iter__(self) -> Iterator[BlockingPrompt]:
        while True:
            try:
                prompt = asyncio.run_coroutine_threadsafe(self._next(), self._loop).result()
            except StopAsyncIteration:
                return
            # What this thread says from now on belongs to this turn.
            working.set(prompt)
            yield BlockingPrompt(prompt, self._loop)

    async def _next(self) -> Prompt:
        try:
            prompt = await self._target.__anext__()
        except StopAsyncIteration:
            raise StopAsyncIteration from None
        # There is no task to cancel: a stop ends the turn here, and the thread finds out.
        prompt.begin(None)
        return prompt
