"""Emitters: the same few methods, for programs with a server of their own, for agents, and for scripts beside a running session."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from . import calls
from .errors import TurnloomError
from .events import ComponentRemove, ComponentUpdate, Envelope
from .model import given, now
from .request import Access
from .shell import AsyncShell
from .streams import Reconnect

if TYPE_CHECKING:
    from .agent import AgentSession

KEPT = 1000
"""How many events a stream can go back."""


class Emitter(ABC):
    """What all of them have."""

    @abstractmethod
    async def emit(self, event: Envelope | dict[str, Any]) -> None:
        """Tells one event: a model, or an object with `type` and `data`."""

    async def emit_component(
        self,
        component_id: str,
        name: str,
        surface: str,
        props: dict[str, Any],
        merge: bool = False,
        mode: str | None = None,
    ) -> None:
        """Shows a component, or changes one."""
        event = ComponentUpdate.create(component_id, name, surface, props, merge if mode is None else mode != "replace")
        said = event.model_dump()
        said["data"] |= given(mode=mode)
        await self.emit(said)

    async def remove_component(self, component_id: str) -> None:
        """Takes a component away."""
        await self.emit(ComponentRemove.create(component_id))


class SessionEventEmitter(Emitter):
    """Keeps events and streams them to any number of readers, each with a position of its own. Threads may emit, too."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, str, str]] = deque(maxlen=KEPT)
        self._last = 0
        self._closed = False
        self._lock = threading.Lock()
        self._readers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    async def emit(self, event: Envelope | dict[str, Any]) -> None:
        self.emit_now(event)

    def emit_now(self, event: Envelope | dict[str, Any]) -> int:
        """The same for functions that are not async. Gives its position."""
        said = event.model_dump() if isinstance(event, Envelope) else {"ts": now(), **event}
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            if self._closed:
                raise RuntimeError("this emitter is closed")
            self._last += 1
            self._events.append((self._last, str(said.get("type", "message")), text))
            position = self._last
        self._wake()
        return position

    async def stream(self, after: int = 0, heartbeat: float = 15, named: bool = False) -> AsyncGenerator[str, None]:
        """Server-sent events after a position, and then whatever comes, until it is closed. `named` adds an `event:` line."""
        reader = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._readers.add(reader)
        try:
            while True:
                reader[1].clear()
                with self._lock:
                    fresh = [event for event in self._events if event[0] > after]
                    closed = self._closed
                for position, kind, text in fresh:
                    after = position
                    name = f"event: {kind}\n" if named else ""
                    yield f"id: {position}\n{name}data: {text}\n\n"
                if closed:
                    return
                if not fresh:
                    try:
                        await asyncio.wait_for(reader[1].wait(), heartbeat)
                    except asyncio.TimeoutError:
                        yield ": still there\n\n"
        finally:
            with self._lock:
                self._readers.discard(reader)

    def close(self) -> None:
        """Nothing more will come: readers are told what is left, and end."""
        with self._lock:
            self._closed = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            readers = list(self._readers)
        for loop, event in readers:
            with contextlib.suppress(RuntimeError):  # a reader whose loop has ended
                loop.call_soon_threadsafe(event.set)


class AgentEmitter(Emitter):
    """The same methods for a session of an agent: what is emitted stands in its log."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def emit(self, event: Envelope | dict[str, Any]) -> None:
        """An `interrupt` is an ask with that id as its key: `resolution` gives its value."""
        said = calls.pick(event)
        data = dict(said["data"])
        if said["type"] != "interrupt":
            await self._session.say(said["type"], data)
            return
        key = data.pop("interrupt_id")
        if key not in self._asked:
            _, self._asked[key] = await self._session.begin_ask("interrupt", data, key)

    async def resolution(self, interrupt_id: str) -> Any:
        """The value that an interrupt is answered with. `Withdrawn` when its turn ends first."""
        from .agent.session import value_of

        if interrupt_id not in self._asked:
            raise KeyError(f"nobody has emitted the interrupt {interrupt_id}")
        return value_of(await asyncio.shield(self._asked[interrupt_id]))


class RemoteEmitter(Emitter):
    """Adds facts to a running session, from a script or a tool beside it. It needs a token with the scope `emit:SESSION`.

    What is left out comes from `TURNLOOM_URL`, `TURNLOOM_TOKEN` and `TURNLOOM_SESSION`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        session: str | None = None,
        *,
        turn_id: str | None = None,
        attempts: int = 8,
    ) -> None:
        found = session or os.environ.get("TURNLOOM_SESSION")
        if not found:
            raise ValueError("which session? Name it, or set TURNLOOM_SESSION")
        access = Access.of(url, token, None)
        self._shell = AsyncShell(access.url, access.token)
        self._session = found
        self._turn = turn_id
        self._attempts = attempts
        self._pace = Reconnect()

    async def emit(self, event: Envelope | dict[str, Any]) -> None:
        await self.emit_all([event])

    async def emit_all(self, events: list[Envelope | dict[str, Any]]) -> int:
        """Several at once, all or none. Gives the position of the last. A call whose answer was lost is made again, and counts once."""
        request = calls.emit(self._session, events, self._turn, uuid.uuid4().hex)
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._shell.send(request)
            except TurnloomError as error:
                if not error.transient or attempt == self._attempts:
                    raise
                await asyncio.sleep(self._pace.delay(attempt))
        raise AssertionError("unreachable")

    async def close(self) -> None:
        await self._shell.close()

    async def __aenter__(self) -> RemoteEmitter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def on_tool_result(
    session: AgentSession | Emitter,
    tool_name: str,
    tool_use_id: str,
    result: Any,
    components: Mapping[str, tuple[str, str]],
) -> None:
    """Shows what a tool gave as a component, if there is one for it: a JSON object is its props, anything else is `{"raw": …}`."""
    known = components.get(tool_name)
    if known is None:
        return
    name, surface = known
    if isinstance(result, str):
        with contextlib.suppress(ValueError):
            result = json.loads(result)
    props = result if isinstance(result, dict) else {"raw": result}
    emitter = session if isinstance(session, Emitter) else session.emitter
    await emitter.emit_component(f"{tool_name}-{tool_use_id}", name, surface, props)
