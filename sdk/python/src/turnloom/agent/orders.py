"""What the daemon tells an agent, and what becomes of it. Not here: the line it comes on (`link.py`, `stdio.py`)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from ..model import given
from .blocking import BlockingSession
from .outbox import Outbox
from .session import AgentSession, Press
from .turn import Message, Prompt

log = logging.getLogger("turnloom.agent")

CLOSE_SECONDS = 5.0
"""What is still done when a session is closed has so long."""

Function = Callable[..., Any]


class Handlers:
    """The functions of an agent, as they were given."""

    def __init__(self) -> None:
        self.session: Function | None = None
        self.turn: Function | None = None
        self.callbacks: dict[str | None, Function] = {}
        self.steer: Function | None = None
        self.open: Function | None = None
        self.settings: Function | None = None
        self.rollback: Function | None = None
        self.compact: Function | None = None

    def take(self, owner: Any) -> None:
        """The methods of an object that are called like these."""
        for name in ("session", "turn"):
            setattr(self, name, getattr(owner, name, getattr(self, name)))
        for name in ("steer", "open", "settings", "rollback", "compact"):
            setattr(self, name, getattr(owner, f"on_{name}", getattr(self, name)))
        press = getattr(owner, "on_callback", None)
        if press is not None:
            self.callbacks[None] = press


async def call(function: Function, session: AgentSession, *args: Any) -> Any:
    """Calls a function of an agent. A plain one runs in a thread, with a session that blocks."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(session, *args)
    blocking = BlockingSession(session, asyncio.get_running_loop())
    return await asyncio.to_thread(function, blocking, *args)


class Sessions:
    """The sessions of an agent, by id, and one task for each."""

    def __init__(self, name: str, handlers: Handlers, capabilities: dict[str, bool], wake: Callable[[], None]) -> None:
        self.name = name
        self.handlers = handlers
        self.capabilities = capabilities
        self.wake = wake
        self.by_id: dict[str, AgentSession] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def order(self, message: dict[str, Any], outbox: Callable[[], Outbox]) -> None:
        """Does what the daemon says. What is not known is ignored."""
        kind = message.get("type")
        if kind == "open":
            self._open(message, outbox())
            return
        session = self.by_id.get(message.get("session_id") or "") or self._only(message)
        if session is None:
            return
        number = message.get("o")
        if isinstance(number, int):
            if number <= session.heard:
                return  # it came again
            session.heard = number
        known = getattr(self, f"_on_{kind}", None)
        if known is not None:
            known(session, message)

    def _only(self, message: dict[str, Any]) -> AgentSession | None:
        """On a pipe there is one session, and nobody has to name it."""
        return next(iter(self.by_id.values()), None) if not message.get("session_id") else None

    def forget(self, session: AgentSession) -> None:
        """Another instance has it, or it has ended: its task goes without a word."""
        session.die()
        if self.by_id.get(session.id) is session:
            del self.by_id[session.id]
        for task in [*session.tasks, self._tasks.pop(session.id, None)]:
            if task is not None:
                task.cancel()

    def is_over(self, session: AgentSession) -> bool:
        """Whether its function has ended, and `closed` was said."""
        task = self._tasks.get(session.id)
        return task is None or task.done()

    async def all_over(self) -> None:
        """Waits until every session has ended that was told to."""
        tasks = [task for session_id, task in self._tasks.items() if self.by_id[session_id].closing]
        if tasks:
            await asyncio.wait(tasks, timeout=2 * CLOSE_SECONDS)

    async def leave(self) -> None:
        """Everything ends."""
        tasks = [task for task in self._tasks.values()]
        for session in list(self.by_id.values()):
            self.forget(session)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _open(self, message: dict[str, Any], outbox: Outbox) -> None:
        known = self.by_id.get(message.get("session_id") or "")
        if known is not None:
            if message.get("epoch", 1) <= known.epoch:
                return
            self.forget(known)
        session = AgentSession(message, outbox, self.name, self.wake)
        self.by_id[session.id] = session
        self._tasks[session.id] = asyncio.ensure_future(self._serve(session))

    async def _serve(self, session: AgentSession) -> None:
        """The life of a session: it begins, its function is called for its turns, and again when it has ended, until it is closed."""
        try:
            await self._begin(session)
        except Exception as error:
            log.exception("%s could not begin %s", self.name, session.id)
            code = getattr(error, "code", None) or "start_failed"
            session.put("start_failed", given(message=str(error), code=code, fix=getattr(error, "fix", None)))
            return
        waits_for_prompt = self.handlers.session is None
        while not session.closing:
            if waits_for_prompt:
                await self._until_asked(session)
                if session.closing:
                    break
            waits_for_prompt = True
            await self._work(session)
        session.put("closed", {})

    async def _begin(self, session: AgentSession) -> None:
        beginning = session.opening.get("beginning") or {"kind": "fresh"}
        resumes = beginning.get("kind") == "resume"
        remembers = resumes and bool(self.capabilities.get("resume"))
        ready: dict[str, Any] = {"resumed": remembers}
        if resumes and not remembers:
            ready["reason"] = f"{self.name} does not remember conversations"
        if self.capabilities.get("resume"):
            ready["provider_session_id"] = beginning.get("provider_session_id") or session.id
        if self.handlers.open is not None:
            ready |= await call(self.handlers.open, session) or {}
        session.put("ready", ready)

    @staticmethod
    async def _until_asked(session: AgentSession) -> None:
        while not session.prompts and not session.closing:
            await session.changed()

    async def _work(self, session: AgentSession) -> None:
        """Calls the function once. A stop that it did not take care of ends it, and the turn."""
        task = asyncio.current_task()
        assert task is not None
        asked = bool(session.prompts)
        try:
            if self.handlers.session is not None:
                await call(self.handlers.session, session)
            else:
                await self._each_turn(session)
            session.leave_turn("completed")
        except asyncio.CancelledError:
            prompt = session.open_turn
            if prompt is None or not prompt.stopping:
                raise
            prompt.end("interrupted")
            if not await prompt.absorb_stop():
                raise
        except Exception as error:
            log.exception("%s failed in %s", self.name, session.id)
            session.leave_turn("failed", error)
            if asked and session.prompts and not session.prompts[0].ended:
                # It did not even take the turn that waits: called again it would fail again.
                session.prompts.popleft().end("failed", error)

    async def _each_turn(self, session: AgentSession) -> None:
        async for prompt in session:
            async with prompt:
                if prompt.is_compaction:
                    await self._compact(session, prompt)
                elif self.handlers.turn is not None:
                    await call(self.handlers.turn, session, prompt)
                else:
                    raise RuntimeError("this agent has no function: give it one with @agent.turn or @agent.session")

    async def _compact(self, session: AgentSession, prompt: Prompt) -> None:
        if self.handlers.compact is None:
            raise RuntimeError(f"{self.name} cannot make its memory smaller")
        await call(self.handlers.compact, session, prompt)

    # Each is called like the order that it takes

    def _on_prompt(self, session: AgentSession, message: dict[str, Any]) -> None:
        messages = [Message.of(said) for said in message.get("messages", [])]
        session.prompts.append(Prompt(session, message["turn_id"], messages))
        session.tell()

    def _on_compact(self, session: AgentSession, message: dict[str, Any]) -> None:
        session.prompts.append(Prompt(session, message["turn_id"], [], is_compaction=True))
        session.tell()

    def _on_interrupt(self, session: AgentSession, message: dict[str, Any]) -> None:
        turn_id = message.get("turn_id")
        waiting = next((prompt for prompt in session.prompts if prompt.turn_id == turn_id), None)
        if waiting is not None:
            session.prompts.remove(waiting)
            waiting.end("interrupted")
        elif session.open_turn is not None and turn_id in (None, session.open_turn.turn_id):
            session.open_turn.stop()

    def _on_steer(self, session: AgentSession, message: dict[str, Any]) -> None:
        said = Message.of(message["message"])
        if self.handlers.steer is not None:
            session.run_aside(self._steer(session, said))
        elif session.steered(said):
            session.put("steer_delivered", {"message_id": said.message_id})
        else:
            session.put("steer_rejected", {"message_id": said.message_id, "reason": "the turn is over"})

    async def _steer(self, session: AgentSession, said: Message) -> None:
        assert self.handlers.steer is not None
        try:
            await call(self.handlers.steer, session, said)
        except Exception as error:
            session.put("steer_rejected", {"message_id": said.message_id, "reason": str(error)})
        else:
            session.put("steer_delivered", {"message_id": said.message_id})

    def _on_answer(self, session: AgentSession, message: dict[str, Any]) -> None:
        for kind in ("permission", "question", "interrupt", "tool"):
            if isinstance(message.get(kind), dict):
                session.answered(message["key"], message[kind])

    def _on_callback(self, session: AgentSession, message: dict[str, Any]) -> None:
        press = Press(
            message["component_id"],
            message.get("name"),
            message["action"],
            message.get("payload"),
            message.get("by"),
        )
        function = self.handlers.callbacks.get(press.action) or self.handlers.callbacks.get(None)
        if function is None:
            session.pressed(press)
        else:
            session.run_aside(call(function, session, press))

    def _on_state(self, session: AgentSession, message: dict[str, Any]) -> None:
        for work in session.state.changed_by_others(message.get("state")):
            session.run_aside(work)

    def _on_set_model(self, session: AgentSession, message: dict[str, Any]) -> None:
        session.model = message.get("model")
        self._settings(session)

    def _on_set_mode(self, session: AgentSession, message: dict[str, Any]) -> None:
        session.mode = message.get("mode")
        self._settings(session)

    def _on_configure(self, session: AgentSession, message: dict[str, Any]) -> None:
        settings = message.get("settings") or {}
        session.params = {**session.params, **settings}
        session.client_tools = settings.get("client_tools", session.client_tools)
        self._settings(session)

    def _settings(self, session: AgentSession) -> None:
        if self.handlers.settings is not None:
            session.run_aside(call(self.handlers.settings, session))

    def _on_rollback(self, session: AgentSession, message: dict[str, Any]) -> None:
        session.run_aside(self._rollback(session, message))

    async def _rollback(self, session: AgentSession, message: dict[str, Any]) -> None:
        if self.handlers.rollback is None:
            session.put("rollback_refused", {"reason": f"{self.name} cannot go back"})
            return
        try:
            done = await call(self.handlers.rollback, session, message) or {}
        except Exception as error:
            session.put("rollback_refused", {"reason": str(error)})
        else:
            session.put("rolled_back", {"files_restored": False, "branched": False, **done})

    def _on_close(self, session: AgentSession, message: dict[str, Any]) -> None:
        session.closing = True
        session.tell()
        task = self._tasks.get(session.id)
        if task is not None:
            session.run_aside(self._hurry(session, task))

    @staticmethod
    async def _hurry(session: AgentSession, task: asyncio.Task[None]) -> None:
        done, _ = await asyncio.wait({task}, timeout=CLOSE_SECONDS)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)
            session.put("closed", {})
