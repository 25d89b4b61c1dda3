"""A session as an agent sees it: prompts to work on, everything it can say, what it can wait for. Not here: the connection (`link.py`)."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import TurnloomError, Withdrawn
from ..model import given
from ..patch import Operation
from .outbox import Outbox
from .state import SharedState
from .turn import Message, Prompt, failure_of, working
from .voice import Voice, result_of

if TYPE_CHECKING:
    from ..emitters import AgentEmitter

log = logging.getLogger("turnloom.agent")

MOST_PRESSES = 1024
"""What was pressed and nobody reads is kept up to this; then the oldest is forgotten."""

_BREAKS_TEXT = {"tool_start", "component_update", "ask", "artifact_created", "plan_updated", "subagent_started"}


@dataclass(frozen=True)
class Press:
    """What somebody did in a component."""

    component_id: str
    name: str | None
    action: str
    payload: Any
    by: str | None


@dataclass(frozen=True)
class Permission:
    """What a person says about a call of a tool."""

    reply: str
    updated_input: Any = None
    message: str | None = None
    rule: str | None = None

    @property
    def allowed(self) -> bool:
        return self.reply in ("once", "always")


class AgentSession(Voice):
    """One conversation. `async for prompt in session` gives its turns."""

    def __init__(self, opened: dict[str, Any], outbox: Outbox, agent: str, wake: Callable[[], None]) -> None:
        super().__init__()
        opening: dict[str, Any] = opened.get("opening") or {}
        self.id: str = opened.get("session_id") or ""
        self.epoch: int = opened.get("epoch", 1)
        self.opening = opening
        """How it began: `beginning` says whether it is fresh, resumed or forked."""
        self.params: dict[str, Any] = opening.get("params") or {}
        self.cwd: str | None = opening.get("cwd")
        self.model: str | None = opening.get("model")
        self.mode: str | None = opening.get("mode")
        self.client_tools: list[dict[str, Any]] = opening.get("client_tools") or []
        self.state = SharedState(opened.get("state") or {}, self._tell_state)
        self.outbox = outbox
        self.heard = 0
        self.reported = 0
        """The last order that the daemon knows was heard."""
        self.open_turn: Prompt | None = None
        self.prompts: deque[Prompt] = deque()
        self.closing = False
        self.dead = False
        self.tasks: set[asyncio.Task[Any]] = set()
        self._agent = agent
        self._wake = wake
        self._asks: dict[str, tuple[asyncio.Future[dict[str, Any]], Prompt | None]] = {}
        self._keys = 0
        self._presses: deque[Press] = deque(maxlen=MOST_PRESSES)
        self._order = asyncio.Lock()
        self._news = asyncio.Event()
        self._emitter: AgentEmitter | None = None

    @property
    def stopping(self) -> bool:
        """Whether somebody wants the turn to end. For plain functions, which cannot be cancelled."""
        prompt = self.current()
        return self.dead or (prompt is not None and (prompt.stopping or prompt.ended))

    @property
    def emitter(self) -> AgentEmitter:
        """The same with the methods of emitters, for code that has one."""
        from ..emitters import AgentEmitter

        if self._emitter is None:
            self._emitter = AgentEmitter(self)
        return self._emitter

    def current(self) -> Prompt | None:
        prompt = working.get()
        return prompt if prompt is not None and prompt.session is self else self.open_turn

    # Saying things

    async def say(self, type: str, data: dict[str, Any], *, subagent_id: str | None = None) -> None:
        prompt = self.current()
        # One after the other, also when they have to wait.
        async with self._order:
            while not self.outbox.has_room and not self.dead:
                await self.changed()
            self._put(type, data, prompt, subagent_id)

    def put(self, type: str, data: dict[str, Any]) -> None:
        """Says something at once, whether there is room or not: for the few words that cannot wait."""
        self._put(type, data, self.current(), None)

    def _put(self, type: str, data: dict[str, Any], prompt: Prompt | None, subagent_id: str | None) -> None:
        if self.dead:
            return
        if prompt is not None and type in _BREAKS_TEXT:
            prompt.blocks += 1
        turn_id = prompt.turn_id if prompt is not None else None
        message = given(type=type, session_id=self.id, turn_id=turn_id, subagent_id=subagent_id)
        self.outbox.put({**message, "data": data})
        self._wake()

    async def committed(self) -> None:
        """Waits until the daemon has everything that was said so far."""
        n = self.outbox.said
        while self.outbox.acknowledged < n:
            if self.dead:
                raise TurnloomError(0, {"code": "gone", "detail": f"the session {self.id} is another agent's now"})
            await self.changed()

    async def anchor(self, anchor: str) -> None:
        """Where its own conversation stands, in its own words: what a fork or a rollback goes back to."""
        await self.say("anchor", {"anchor": anchor})

    async def _tell_state(self, patch: list[Operation]) -> None:
        await self.say("state_delta", {"patch": patch, "by": self._agent})

    # Turns

    def __aiter__(self) -> AgentSession:
        return self

    async def __anext__(self) -> Prompt:
        """The next turn; the one before is over then. Ends when the session is closed."""
        self.leave_turn("completed")
        while not self.prompts:
            if self.closing or self.dead:
                raise StopAsyncIteration
            await self.changed()
        prompt = self.prompts.popleft()
        self.open_turn = prompt
        prompt.begin(asyncio.current_task())
        return prompt

    def leave_turn(self, outcome: str, failure: BaseException | None = None) -> None:
        """Ends the turn that is open, if its prompt was not left by `async with`."""
        if self.open_turn is not None:
            self.open_turn.end(outcome, failure)

    def turn_has_ended(self, prompt: Prompt, outcome: str, failure: BaseException | None) -> None:
        failed = failure_of(failure) if failure is not None else None
        self._put("turn_ended", given(outcome=outcome, failure=failed), prompt, None)
        for key in [key for key, (_, of) in self._asks.items() if of is prompt]:
            self._settle(key, Withdrawn("the turn has ended"))
        if self.open_turn is prompt:
            self.open_turn = None
        self.tell()

    async def start_turn(self) -> Prompt:
        """Begins a turn that nobody asked for. Use it with `async with`."""
        name = f"own-{uuid.uuid4().hex}"
        prompt = Prompt(self, name, [])
        self.put("turn_started", {"origin": "agent", "turn": name})
        self.open_turn = prompt
        return prompt

    # Waiting for people

    async def wait_for(
        self,
        component: str,
        props: dict[str, Any] | None = None,
        *,
        surface: str = "chat",
        key: str | None = None,
        **more: Any,
    ) -> Any:
        """Shows a component and waits for its value. `more` is `component_id` (one that is shown), `actions`, `title`, `value_schema`."""
        shown = given(component_name=component, props=props or {}, surface=surface, **more)
        return value_of(await self.ask("interrupt", shown, key=key))

    async def question(
        self, prompt: str, options: list[str] | None = None, *, multiple: bool = False, header: str | None = None
    ) -> list[str] | None:
        """Asks a question: what was chosen or written, or nothing when the person declined."""
        choices = [{"label": option} for option in options or []]
        one = given(prompt=prompt, header=header, options=choices, multiple=multiple, free_text=not choices)
        answers = await self.questions([one])
        return answers[0] if answers else None

    async def questions(self, questions: list[dict[str, Any]], title: str | None = None) -> list[list[str]] | None:
        """Several at once: `{"prompt", "options": [{"label"}], "multiple", "free_text"}`."""
        answer = await self.ask("question", given(questions=questions, title=title))
        answers: list[list[str]] | None = answer.get("answers")
        return answers

    async def permission(
        self, tool_name: str, tool_input: Any, *, tool_use_id: str | None = None, title: str | None = None
    ) -> Permission:
        """Whether it may call a tool."""
        options = [{"reply": "once", "label": "Allow"}, {"reply": "reject", "label": "Reject"}]
        asked = given(tool_name=tool_name, tool_input=tool_input, tool_use_id=tool_use_id, title=title, options=options)
        answer = await self.ask("permission", asked)
        return Permission(
            answer.get("reply", "reject"), answer.get("updated_input"), answer.get("message"), answer.get("rule")
        )

    async def call_tool(self, name: str, input: dict[str, Any]) -> Any:
        """Calls one of the session's `client_tools`, which a client runs, and gives its result."""
        tool_use_id = self.fresh("call")
        await self.say("tool_start", {"tool_use_id": tool_use_id, "tool": name, "input": input, "client_tool": True})
        shown = {"component_name": name, "props": input, "surface": "chat", "tool_use_id": tool_use_id}
        answer = await self.ask("interrupt", shown)
        is_error = bool(answer.get("is_error"))
        await self.say("tool_result", {"tool_use_id": tool_use_id, **result_of(answer.get("output"), is_error)})
        if is_error:
            raise RuntimeError(f"{name}: {answer.get('output')}")
        return answer.get("output")

    async def ask(self, kind: str, asked: dict[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Asks anything and waits for the answer as it came. Its key is asked once: the same again waits for the same answer."""
        key, answer = await self.begin_ask(kind, asked, key)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            if not self.stopping and not answer.done():
                self.put("ask_withdrawn", {"key": key, "reason": "the agent does not wait any more"})
                self._asks.pop(key, None)
            raise

    async def begin_ask(
        self, kind: str, asked: dict[str, Any], key: str | None = None
    ) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        """Asks, and does not wait: the answer comes into the future."""
        if key is None:
            self._keys += 1
            key = f"{self.id}-{self.epoch}-{self._keys}"
        prompt = self.current()
        if key not in self._asks:
            self._asks[key] = (asyncio.get_running_loop().create_future(), prompt)
            await self.say("ask", {"key": key, kind: asked})
        future = self._asks[key][0] if key in self._asks else _withdrawn()
        return key, future

    def answered(self, key: str, answer: dict[str, Any]) -> None:
        """An answer has come, for whoever waits."""
        if key in self._asks:
            self._settle(key, answer)

    def _settle(self, key: str, answer: dict[str, Any] | Withdrawn) -> None:
        future, _ = self._asks.pop(key)
        if future.done():
            return
        if isinstance(answer, Withdrawn):
            future.set_exception(answer)
            future.exception()  # it may be that nobody waits any more
        else:
            future.set_result(answer)

    # What people do

    async def callbacks(self) -> AsyncIterator[Press]:
        """What was done in its components, for agents without a function for it. For ever."""
        while True:
            while not self._presses:
                if self.closing or self.dead:
                    return
                await self.changed()
            yield self._presses.popleft()

    def pressed(self, press: Press) -> None:
        self._presses.append(press)
        self.tell()

    def steered(self, message: Message) -> bool:
        """Something was said into the running turn: whether there is one."""
        if self.open_turn is None or self.open_turn.ended:
            return False
        self.open_turn.more.append(message)
        return True

    # What the agent does with it

    def tell(self) -> None:
        """Wakes whoever waits for something to change."""
        self._news.set()
        self._news = asyncio.Event()

    async def changed(self) -> None:
        """Waits until something has changed; whoever waits looks again."""
        await self._news.wait()

    def die(self) -> None:
        """Another instance has it: nothing that is said here reaches anybody."""
        self.dead = True
        for key in list(self._asks):
            self._settle(key, Withdrawn("the session is another agent's now"))
        self.tell()

    def run_aside(self, work: Any) -> None:
        """Does something beside the turns, and is not left alone with it."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a function of %s failed in %s", self._agent, self.id, exc_info=task.exception())


def value_of(answer: dict[str, Any]) -> Any:
    """The value that an interrupt was answered with."""
    if "value" not in answer:
        raise Withdrawn(answer.get("reason") or "nobody answered")
    return answer["value"]


def _withdrawn() -> asyncio.Future[dict[str, Any]]:
    future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    future.set_exception(Withdrawn("the turn has ended"))
    future.exception()
    return future
