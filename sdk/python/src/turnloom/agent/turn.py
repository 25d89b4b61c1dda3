"""One turn: what is asked for, and how its work is ended. Not here: what is said in it."""

from __future__ import annotations

import asyncio
import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import AgentSession

working: ContextVar[Prompt | None] = ContextVar("turnloom_prompt", default=None)
"""The turn that a task or thread works for. What it says belongs to that turn, also when the turn is over: then nobody hears it."""


@dataclass(frozen=True)
class Message:
    """What a person, or whatever stands for one, has said."""

    message_id: str
    content: list[dict[str, Any]]
    origin: str = "user"
    by: str | None = None

    @classmethod
    def of(cls, said: dict[str, Any]) -> Message:
        return cls(said["message_id"], said.get("content", []), said.get("origin", "user"), said.get("by"))

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self.content if part.get("type") == "text")


@dataclass(eq=False)
class Prompt:
    """A turn to work on. `async with` ends it: completed, failed with the exception, or interrupted by a stop."""

    session: AgentSession
    turn_id: str
    messages: list[Message]
    more: list[Message] = field(default_factory=list)
    """What was said while the turn ran (steers), unless the agent has its own way of hearing it."""
    stopping: bool = False
    ended: bool = False
    blocks: int = 0
    """How many stretches of text there were: what comes after something else is a new one."""
    is_compaction: bool = False
    _task: asyncio.Task[Any] | None = None

    @property
    def text(self) -> str:
        """The words of all messages."""
        return "\n".join(message.text for message in self.messages)

    def begin(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task
        working.set(self)

    def stop(self) -> None:
        """Somebody wants it to end: its task is cancelled. Without a task, as in a thread, it is ended here."""
        if self.stopping or self.ended:
            return
        self.stopping = True
        if self._task is None:
            self.end("interrupted")
        else:
            self._task.cancel()

    def end(self, outcome: str, failure: BaseException | None = None) -> None:
        """Says how it ended, once."""
        if not self.ended:
            self.ended = True
            self.session.turn_has_ended(self, outcome, failure)
        if working.get() is self:
            working.set(None)

    async def absorb_stop(self) -> bool:
        """Takes back the cancellation that a stop made; not those of others. Whether there are no others."""
        task, self._task = self._task, None
        if task is None:
            return True
        if sys.version_info >= (3, 11):
            return task.uncancel() == 0
        return True

    async def __aenter__(self) -> Prompt:
        self.begin(asyncio.current_task())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self.stopping and (error is None or not isinstance(error, asyncio.CancelledError)):
            # It was stopped in its last moment: the cancellation is still on its way.
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError as late:
                error = error or late
        if self.stopping:
            self.end("interrupted")
            return await self.absorb_stop() and isinstance(error, asyncio.CancelledError)
        self._task = None
        if error is None:
            self.end("completed")
        elif isinstance(error, asyncio.CancelledError):
            self.end("interrupted")
        else:
            self.end("failed", error)
        return False


def failure_of(error: BaseException) -> dict[str, Any]:
    """An exception as the log tells it. Notes, such as the name of a node, are kept."""
    notes = getattr(error, "__notes__", [])
    text = "\n".join([f"{type(error).__name__}: {error}".rstrip(": "), *notes])
    return {"message": text, "code": getattr(error, "code", None) or "agent_failed", "retryable": False}
