"""The connection of an agent to its daemon: a WebSocket that comes back. What was not acknowledged is sent again, and then what is new."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections import deque
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from ..errors import TurnloomError, unreachable
from ..request import Access, refusal
from ..streams import Reconnect
from .orders import Sessions
from .outbox import Outbox, Window

log = logging.getLogger("turnloom.agent")

PROTOCOL = 1
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
WELCOME_SECONDS = 10.0
CLOSE_SECONDS = 2.0
HEARD_EVERY = 16
"""So many orders are heard before the daemon is told, unless it asks for a sign of life first."""
SILENT_BEATS = 3
"""A daemon that missed so many heartbeats is not there any more."""


class Link:
    """Keeps the agent connected, for ever. Ends with the error of a refusal that will not change."""

    def __init__(self, access: Access, hello: dict[str, Any], sessions: Sessions, reconnect: Reconnect) -> None:
        self._access = access
        self._hello = {**hello, "instance": uuid.uuid4().hex}
        self._sessions = sessions
        self._reconnect = reconnect
        self._control: deque[dict[str, Any]] = deque()
        self._work = asyncio.Event()
        self._window = Window()
        self.connected = asyncio.Event()
        """Set while the daemon has welcomed it."""

    def wake(self) -> None:
        self._work.set()

    async def run(self) -> None:
        attempt = 0
        while True:
            try:
                await self._once()
                attempt = 0
            except TurnloomError as error:
                if not error.transient:
                    raise
                log.info("%s; trying again", error)
            finally:
                if self.connected.is_set():
                    attempt = 0
                self.connected.clear()
            attempt += 1
            await asyncio.sleep(self._reconnect.delay(attempt))

    def _address(self) -> str:
        scheme, host, path, *_ = urlsplit(self._access.url)
        ending = path.rstrip("/") + "/api/agents/connect"
        return urlunsplit((scheme.replace("http", "ws", 1), host, ending, "", ""))

    async def _once(self) -> None:
        """One connection, from opening to its end."""
        secret = self._access.secret()
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        try:
            async with connect(
                self._address(),
                additional_headers=headers,
                max_size=MAX_MESSAGE_BYTES,
                ping_interval=None,
                proxy=None,
                close_timeout=CLOSE_SECONDS,
                open_timeout=WELCOME_SECONDS,
            ) as socket:
                await self._talk(socket)
        except InvalidStatus as refused:
            raise refusal(refused.response.status_code, bytes(refused.response.body or b"")) from refused
        except ConnectionClosed as closed:
            raise _why(closed) from closed
        except (OSError, InvalidHandshake, asyncio.TimeoutError) as lost:
            raise unreachable(lost) from lost

    async def _talk(self, socket: ClientConnection) -> None:
        sessions = [
            {
                "session_id": session.id,
                "epoch": session.epoch,
                "heard": session.heard,
                "said": session.outbox.said,
                **({"turn_id": session.open_turn.turn_id} if session.open_turn is not None else {}),
            }
            for session in self._sessions.by_id.values()
        ]
        await socket.send(json.dumps({"type": "hello", "protocol": PROTOCOL, **self._hello, "sessions": sessions}))
        welcome = json.loads(await asyncio.wait_for(socket.recv(), WELCOME_SECONDS))
        if welcome.get("type") != "welcome":
            raise unreachable("it did not say welcome")
        self._welcome(welcome)
        self.connected.set()
        writer = asyncio.ensure_future(self._write(socket))
        reading: asyncio.Future[Any] | None = None
        try:
            silence = SILENT_BEATS * welcome.get("heartbeat_ms", 15_000) / 1000
            while True:
                reading = asyncio.ensure_future(socket.recv())
                done, _ = await asyncio.wait({reading, writer}, timeout=silence, return_when=asyncio.FIRST_COMPLETED)
                if reading not in done:
                    if writer in done:
                        await writer
                    raise unreachable(f"silent for {silence} s")
                self._hear(reading.result())
        except asyncio.CancelledError:
            await socket.close(1000, "bye")
            raise
        finally:
            tasks: list[asyncio.Future[Any]] = [writer] if reading is None else [writer, reading]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _welcome(self, welcome: dict[str, Any]) -> None:
        window = welcome.get("window") or {}
        self._window = Window(window.get("messages", 1024), window.get("bytes", 4 * 1024 * 1024))
        told = {one["session_id"]: one for one in welcome.get("sessions", [])}
        self._control.clear()
        for session in list(self._sessions.by_id.values()):
            answer = told.get(session.id)
            if answer is None or answer.get("state") != "yours":
                self._sessions.forget(session)
                continue
            session.outbox.window = self._window
            session.outbox.again(answer.get("said", 0))
            session.reported = session.heard
            session.tell()
        self._work.set()

    async def _write(self, socket: ClientConnection) -> None:
        """Signs of life first, then one message of each session in turn: a busy one never holds up the others."""
        while True:
            await self._work.wait()
            self._work.clear()
            busy = True
            while busy:
                while self._control:
                    await socket.send(json.dumps(self._control.popleft()))
                busy = False
                for session in list(self._sessions.by_id.values()):
                    message = session.outbox.next()
                    if message is not None:
                        # It counts as sent before it is: a cut sends everything again that is not acknowledged.
                        session.outbox.sent(message.n)
                        await socket.send(message.text)
                        busy = True

    def _hear(self, text: str | bytes) -> None:
        """One message. What is not as it should be does not end an agent that works for others too."""
        try:
            self._read(json.loads(text))
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("the daemon said something that cannot be understood: %.200s", text)

    def _read(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        session = self._sessions.by_id.get(message.get("session_id") or "")
        if kind == "ping":
            self._say({"type": "pong", "t": message.get("t")})
            for known in self._sessions.by_id.values():
                self._report(known.id, 1)
        elif kind == "ack" and session is not None:
            session.outbox.acknowledge(message["n"])
            session.tell()
            if session.closing and session.outbox.acknowledged == session.outbox.said and not session.prompts:
                self._closed(session.id)
        elif kind == "refused":
            log.warning("the daemon refused what was said in %s: %s", message.get("session_id"), message.get("error"))
        elif kind == "gone" and session is not None:
            self._sessions.forget(session)
        else:
            self._sessions.order(message, lambda: Outbox(self._window))
            self._report(message.get("session_id") or "", HEARD_EVERY)

    def _closed(self, session_id: str) -> None:
        session = self._sessions.by_id.get(session_id)
        if session is not None and self._sessions.is_over(session):
            self._sessions.forget(session)

    def _report(self, session_id: str, after: int) -> None:
        session = self._sessions.by_id.get(session_id)
        if session is not None and session.heard - session.reported >= after:
            session.reported = session.heard
            self._say({"type": "heard", "session_id": session.id, "o": session.heard})

    def _say(self, message: dict[str, Any]) -> None:
        self._control.append(message)
        self._work.set()


def _why(closed: ConnectionClosed) -> TurnloomError:
    """Why the daemon hung up: what will not change is thrown, all else is tried again."""
    code = closed.rcvd.code if closed.rcvd is not None else 1006
    reason = closed.rcvd.reason if closed.rcvd is not None else ""
    for word, status in (("unauthorized", 401), ("bad_hello", 422)):
        if code == 1008 and word in reason:
            return TurnloomError(status, {"code": word, "detail": f"the daemon refused this agent: {reason}"})
    return unreachable(f"the connection was closed with {code} {reason}".rstrip())
