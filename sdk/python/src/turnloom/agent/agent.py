"""An agent of one's own: give it a function, and run it. Not here: what a session can do (`session.py`)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeVar

from .. import __version__
from ..model import given
from ..request import Access
from ..streams import Reconnect
from .link import Link
from .orders import Handlers, Sessions
from .stdio import Pipe, take_over

F = TypeVar("F", bound=Callable[..., Any])


class Agent:
    """Connects to a daemon under a name and works in its sessions.

    `url` and `token` come from `TURNLOOM_URL` and `TURNLOOM_TOKEN` if they are left out. Instead of decorated functions, `handler` may be an object
    with the methods `session` or `turn`, and `on_callback`, `on_steer`, `on_open`, `on_settings`, `on_rollback`, `on_compact`.
    """

    def __init__(
        self,
        name: str,
        *,
        capabilities: Iterable[str] = (),
        title: str | None = None,
        version: str | None = None,
        modes: Iterable[str] = (),
        models: Iterable[dict[str, Any]] = (),
        commands: Iterable[dict[str, Any]] = (),
        max_sessions: int = 50,
        url: str | None = None,
        token: str | Callable[[], str] | None = None,
        reconnect: Reconnect | None = None,
        handler: Any = None,
    ) -> None:
        self.name = name
        self.handlers = Handlers()
        if handler is not None:
            self.handlers.take(handler)
        self._capabilities = dict.fromkeys(capabilities, True)
        self._about = given(
            agent=name,
            version=version,
            sdk=f"turnloom-py/{__version__}",
            title=title,
            modes=list(modes) or None,
            models=list(models) or None,
            commands=list(commands) or None,
            max_sessions=max_sessions,
        )
        self._url = url
        self._token = token
        self._reconnect = reconnect or Reconnect()
        self.link: Link | None = None
        """The connection, while it is served."""

    def session(self, function: F) -> F:
        """A function for each session: `async for prompt in session`. It is called again for the next prompt when it has ended."""
        self.handlers.session = function
        return function

    def turn(self, function: F) -> F:
        """A function for each turn, with the session and the prompt."""
        self.handlers.turn = function
        return function

    def on_callback(self, action: str | None = None) -> Callable[[F], F]:
        """A function for what is done in a component: for one action, or for all that have none of their own."""

        def keep(function: F) -> F:
            self.handlers.callbacks[action] = function
            return function

        return keep

    def on_steer(self, function: F) -> F:
        """A function for what is said into a running turn."""
        self.handlers.steer = function
        return function

    def on_open(self, function: F) -> F:
        """Called when a session begins; what it gives goes into `ready`: `provider_session_id`, `resumed`, `reason`, `model`, `mode`, `commands`."""
        self.handlers.open = function
        return function

    def on_settings(self, function: F) -> F:
        """Called when the session's model, mode or settings were changed."""
        self.handlers.settings = function
        return function

    def on_rollback(self, function: F) -> F:
        """Takes turns back; called with the session and the order (`turn_ids`, `kept`, `to`, `first_message`, `restore_files`)."""
        self.handlers.rollback = function
        return function

    def on_compact(self, function: F) -> F:
        """Makes the agent's memory of a conversation smaller, in a turn of its own."""
        self.handlers.compact = function
        return function

    async def serve(self) -> None:
        """Connects and works, for ever. A connection that is lost comes back; a refusal that will not change is raised."""
        sessions = self._sessions()
        access = Access.of(self._url, self._token, None)
        link = Link(access, {**self._about, "capabilities": self._capabilities}, sessions, self._reconnect)
        sessions.wake = link.wake
        self.link = link
        try:
            await link.run()
        finally:
            self.link = None
            await sessions.leave()

    async def serve_pipe(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        """Works in the one session of a pipe, until it is closed."""
        sessions = self._sessions()
        pipe = Pipe(sessions, incoming, outgoing)
        sessions.wake = pipe.wake
        try:
            await pipe.run()
        finally:
            await sessions.leave()

    def run(self, *, stdio: bool = False) -> None:
        """Works until the program is ended. With `stdio` it is a command agent, which the daemon has started."""
        with contextlib.suppress(KeyboardInterrupt):
            if stdio:
                asyncio.run(self.serve_pipe(*take_over()))
            else:
                asyncio.run(self.serve())

    def _sessions(self) -> Sessions:
        return Sessions(self.name, self.handlers, self._capabilities, lambda: None)
