"""What can be followed: what to ask for after each connection, and what to make of what comes. Pure; `shell.py` holds the connections."""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from . import models
from .errors import TurnloomError
from .events import Event, EventType, parse
from .model import given
from .request import Answer, Request, path_of
from .sse import EventReader, Frame, LineReader
from .view import View, apply, reconcile

T = TypeVar("T")

SSE = "text/event-stream"


@dataclass(frozen=True)
class Reconnect:
    """How a stream comes back after its connection was lost, in seconds."""

    first_delay: float = 0.25
    """Before the first new attempt; doubled with each that fails."""
    longest_delay: float = 15.0
    silence: float | None = 38.0
    """A connection that says nothing for so long is dead, whatever the socket says. The daemon says something every 15 s."""

    def delay(self, attempt: int) -> float:
        """Not all clients of a daemon that comes back shall come in the same moment."""
        longest = min(self.longest_delay, self.first_delay * 2.0 ** min(attempt - 1, 32))
        return longest * (0.5 + random.random() / 2)


@dataclass(frozen=True)
class Connection:
    """What a stream's connection is doing: `connecting`, `live`, or `waiting` for `delay` seconds before the next attempt."""

    state: str
    attempt: int = 0
    delay: float = 0.0
    error: TurnloomError | None = None


@dataclass
class Following:
    """How a stream is followed, and how that goes."""

    reconnect: Reconnect = field(default_factory=Reconnect)
    on_connection: Callable[[Connection], None] | None = None
    attempt: int = 0

    def tell(self, connection: Connection) -> None:
        if self.on_connection is not None:
            self.on_connection(connection)

    def heard(self) -> None:
        """Only now: who is let in and thrown out again would otherwise come back without a pause."""
        self.attempt = 0

    def lost(self, error: TurnloomError | None) -> float:
        """How long to wait; an error that will not change is raised."""
        if error is not None and not error.transient:
            raise error
        self.attempt += 1
        delay = self.reconnect.delay(self.attempt)
        self.tell(Connection("waiting", self.attempt, delay, error))
        return delay


class Stream(Generic[T]):
    """Something to follow, over as many connections as it takes."""

    accept = SSE

    def __init__(
        self, reconnect: Reconnect | None = None, on_connection: Callable[[Connection], None] | None = None
    ) -> None:
        self.following = Following(reconnect or Reconnect(), on_connection)
        self.ended = False
        self.comes_back = True

    def open(self) -> Request[None]:
        """What to ask for, so that it goes on after what was given."""
        raise NotImplementedError

    def take(self, frames: list[Frame]) -> Iterator[T]:
        """What is given of what came."""
        raise NotImplementedError

    def reader(self, url: str) -> EventReader | LineReader:
        return EventReader(url)


class EventStream(Stream[Event]):
    """The log from a position on, and then whatever comes. Leaving the loop stops nothing."""

    def __init__(
        self,
        session_id: str,
        after: int = 0,
        types: Sequence[EventType] | None = None,
        reconnect: Reconnect | None = None,
        on_connection: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(reconnect, on_connection)
        self._session = session_id
        self._after = after
        self._types = list(types) if types is not None else None

    def open(self) -> Request[None]:
        return _stream(path_of(self._session, "events"), after=self._after, types=self._types)

    def take(self, frames: list[Frame]) -> Iterator[Event]:
        for fact in _facts(frames):
            if fact["seq"] > self._after:
                self._after = fact["seq"]
                yield parse(fact)


class TurnStream(Stream[Event]):
    """Sends a message and gives the events of its turn, until `done`. Leaving the loop does not stop the turn."""

    def __init__(
        self,
        session_id: str,
        message: models.MessageContent,
        message_id: str | None = None,
        when: str | None = None,
        on_accepted: Callable[[models.Receipt], None] | None = None,
        reconnect: Reconnect | None = None,
        on_connection: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(reconnect, on_connection)
        self._session = session_id
        # With an id, a message whose receipt was lost can be sent again: the daemon takes it once.
        self._body = given(message=message, message_id=message_id or str(uuid.uuid4()), when=when)
        self._on_accepted = on_accepted
        self._after = 0
        self._turn: str | None = None

    def open(self) -> Request[None]:
        if self._after:
            return _stream(path_of(self._session, "events"), after=self._after)
        return Request("POST", path_of(self._session, "turn"), _nothing, body=self._body, accept=SSE)

    def take(self, frames: list[Frame]) -> Iterator[Event]:
        receipt = next((frame.data for frame in frames if frame.name == "accepted"), None)
        if receipt is not None and self._on_accepted is not None:
            tell, self._on_accepted = self._on_accepted, None
            tell(models.Receipt.model_validate(receipt))
        for fact in _facts(frames):
            if fact["seq"] <= self._after:
                continue
            self._after = fact["seq"]
            self._turn = self._turn or fact.get("turn_id")
            # The log, where a lost stream goes on, tells of other things too.
            if fact.get("turn_id") != self._turn:
                continue
            self.ended = fact["type"] == "done"
            yield parse(fact)
            if self.ended:
                return
        problem = next((frame.data for frame in frames if frame.name == "problem"), None)
        if problem is not None:
            # A daemon that stops is waited for, as if the connection had been lost.
            raise TurnloomError(problem.get("status", 0), problem)


class ViewStream(Stream[View]):
    """The conversation as people read it, each time it has changed: always the same object, changed in place, unless `copies` are wanted."""

    def __init__(
        self,
        session_id: str,
        messages: int | None = None,
        view: View | None = None,
        copies: bool = False,
        on_changes: Callable[[list[dict[str, Any]]], None] | None = None,
        reconnect: Reconnect | None = None,
        on_connection: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(reconnect, on_connection)
        self._session = session_id
        self._messages = messages
        self._view = view
        self._copies = copies
        self._on_changes = on_changes

    def open(self) -> Request[None]:
        after = None if self._view is None else self._view.seq
        return _stream(path_of(self._session, "view", "stream"), after=after, messages=self._messages)

    def take(self, frames: list[Frame]) -> Iterator[View]:
        changed = [self._change(frame) for frame in frames]
        if self._view is not None and any(changed):
            yield copy.deepcopy(self._view) if self._copies else self._view

    def _change(self, frame: Frame) -> bool:
        if frame.name == "snapshot":
            if self._view is None:
                self._view = View(frame.data)
            else:
                reconcile(self._view, frame.data)
            return True
        # What is in the view already is never applied again: text is not doubled.
        if frame.name != "ops" or self._view is None or frame.data["seq"] <= self._view.seq:
            return False
        if self._on_changes is not None:
            self._on_changes(frame.data["ops"])
        for op in frame.data["ops"]:
            apply(self._view, op)
        self._view["seq"] = frame.data["seq"]
        return True


class SessionsStream(Stream[models.SessionList]):
    """The list of sessions, each time it has changed: newest activity first, a new list each time."""

    def __init__(
        self,
        archived: bool | None = None,
        runtime: str | None = None,
        limit: int | None = None,
        reconnect: Reconnect | None = None,
        on_connection: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(reconnect, on_connection)
        self._query = {"archived": archived, "runtime": runtime, "limit": limit}
        self._after: int | None = None
        self._known: dict[str, models.SessionInfo] = {}
        self._cursor: str | None = None

    def open(self) -> Request[None]:
        return _stream("/api/sessions", **self._query, after=self._after)

    def take(self, frames: list[Frame]) -> Iterator[models.SessionList]:
        changed = False
        for frame in frames:
            if frame.name not in ("snapshot", "changes"):
                continue
            if frame.name == "snapshot":
                self._known = {}
                self._cursor = frame.data.get("next_cursor")
            for session in frame.data["sessions"]:
                self._known[session["session_id"]] = models.SessionInfo.model_validate(session)
            for session_id in frame.data.get("removed", []):
                self._known.pop(session_id, None)
            self._after = frame.position
            changed = True
        if changed:
            sessions = sorted(self._known.values(), key=lambda session: session.updated_at, reverse=True)
            yield models.SessionList(**given(sessions=sessions, next_cursor=self._cursor))


class AsksStream(Stream[list[models.Ask]]):
    """What waits for a person, each time it has changed."""

    def open(self) -> Request[None]:
        return _stream("/api/asks")

    def take(self, frames: list[Frame]) -> Iterator[list[models.Ask]]:
        told = [frame.data for frame in frames if frame.name == "asks"]
        if told:
            yield [models.Ask.model_validate(ask) for ask in told[-1]["asks"]]


class TasksStream(Stream[models.TaskEvent]):
    """The turns of all sessions: what starts, goes on and ends."""

    def __init__(
        self, reconnect: Reconnect | None = None, on_connection: Callable[[Connection], None] | None = None
    ) -> None:
        super().__init__(reconnect, on_connection)
        self._after: int | None = None

    def open(self) -> Request[None]:
        return _stream("/api/tasks/events", after=self._after)

    def take(self, frames: list[Frame]) -> Iterator[models.TaskEvent]:
        for frame in frames:
            self._after = self._after if frame.position is None else frame.position
            kind = frame.data.get("type")
            if kind and kind != "heartbeat":
                yield models.TaskEvent.model_validate(frame.data)


class WireStream(Stream[models.WireLine]):
    """What the session and its agent write to each other, from now on. It ends with its connection: what was missed is written down nowhere."""

    accept = "application/x-ndjson"

    def __init__(self, session_id: str, until: str | None = None) -> None:
        super().__init__(Reconnect(silence=None))
        self.comes_back = False
        self._session = session_id
        self._until = until

    def open(self) -> Request[None]:
        query = {"until": self._until}
        return Request("GET", path_of(self._session, "wire"), _nothing, query=query, accept=self.accept)

    def take(self, frames: list[Frame]) -> Iterator[models.WireLine]:
        for frame in frames:
            yield models.WireLine.model_validate(frame.data)

    def reader(self, url: str) -> EventReader | LineReader:
        return LineReader(url)


def _stream(path: str, **query: Any) -> Request[None]:
    return Request("GET", path, _nothing, query=query, accept=SSE)


def _nothing(_: Answer) -> None:
    return None


def _facts(frames: list[Frame]) -> Iterator[dict[str, Any]]:
    """The frames that are events of the log."""
    for frame in frames:
        if frame.name not in ("accepted", "heartbeat", "problem"):
            yield frame.data
