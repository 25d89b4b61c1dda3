"""Tools that run here when an agent of the daemon calls them: what they are called and take, and who runs them. Not here: tools of agents."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from typing_extensions import Self

from . import calls
from .errors import TurnloomError
from .events import Interrupt
from .request import Access
from .shell import AsyncShell
from .streams import EventStream

Functions = dict[str, Callable[..., Any]]


def describe(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """A function as agents see it: its docstring says what it does, its annotations what it takes."""
    described: dict[str, Any] = {"name": name, "input_schema": schema_of(function)}
    text = inspect.getdoc(function)
    if text and getattr(function, "__name__", "") != "<lambda>":
        described["description"] = text
    return described


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of the object that a function is called with."""
    hints = _hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        kind = hints.get(name)
        properties[name] = {} if kind is None or kind is Any else TypeAdapter(kind).json_schema()
        if parameter.default is parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


async def run(function: Callable[..., Any], given: Any) -> tuple[Any, bool]:
    """What a function gives, and whether it failed."""
    try:
        named = given if isinstance(given, dict) else {}
        if inspect.iscoroutinefunction(function):
            return await function(**named), False
        return await asyncio.to_thread(function, **named), False
    except Exception as error:
        return f"{type(error).__name__}: {error}", True


class AsyncToolRunner:
    """Tells the daemon of some functions, and runs them when the agent calls them, until it is left.

    They are all the client's tools that the session has meanwhile: a session has one list of them.
    """

    def __init__(self, shell: AsyncShell, session_id: str, functions: Functions) -> None:
        self._shell = shell
        self._session = session_id
        self._functions = functions
        self._task: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        session = await self._shell.send(calls.get_session(self._session))
        await self._declare([describe(name, function) for name, function in self._functions.items()])
        # A call that waits already is found, too: it stands after the last turn's beginning at the earliest.
        waiting = [ask.seq for ask in await self._shell.send(calls.list_asks()) if ask.session_id == self._session]
        after = min([session.head, *(seq - 1 for seq in waiting)])
        self._task = asyncio.create_task(self._follow(after))
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for task in (self._task, *self._running) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._declare([])
        except TurnloomError:
            pass  # the session is gone, or ended: then nobody calls them

    async def _declare(self, tools: list[dict[str, Any]]) -> None:
        await self._shell.send(calls.update_session(self._session, settings={"client_tools": tools}))

    async def _follow(self, after: int) -> None:
        async for event in self._shell.follow(EventStream(self._session, after, ["interrupt"])):
            if isinstance(event, Interrupt) and event.data.tool_use_id and event.data.component_name in self._functions:
                task = asyncio.create_task(self._serve(event))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _serve(self, event: Interrupt) -> None:
        output, is_error = await run(self._functions[event.data.component_name], event.data.props)
        tool_use_id = event.data.tool_use_id or ""
        while True:
            try:
                await self._shell.send(calls.give_tool_result(self._session, tool_use_id, output, is_error))
                return
            except TurnloomError as error:
                if not error.transient:
                    return  # somebody else was faster, or the turn has ended
                await asyncio.sleep(0.25)


class SyncToolRunner:
    """The same for programs that block: it lives in a thread of its own."""

    def __init__(self, access: Access, session_id: str, functions: Functions) -> None:
        self._access = access
        self._session = session_id
        self._functions = functions
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnloom-tools", daemon=True)
        self._runner: AsyncToolRunner | None = None
        self._shell: AsyncShell | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._wait(self._begin())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._wait(self._end())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _begin(self) -> None:
        self._shell = AsyncShell(self._access.url, self._access.token, self._access.client)
        runner = AsyncToolRunner(self._shell, self._session, self._functions)
        await runner.__aenter__()
        self._runner = runner

    async def _end(self) -> None:
        if self._runner is not None:
            await self._runner.__aexit__()
        if self._shell is not None:
            await self._shell.close()

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()
