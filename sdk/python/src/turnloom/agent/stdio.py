"""An agent that the daemon starts itself: the same messages as lines, without numbers. A pipe loses nothing and repeats nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
from typing import IO, Any

from .orders import Sessions
from .outbox import Outbox, Window

log = logging.getLogger("turnloom.agent")


class Pipe:
    """Talks on stdin and stdout until the daemon closes them or the session."""

    def __init__(self, sessions: Sessions, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._sessions = sessions
        self._incoming = incoming
        self._outgoing = outgoing
        self._work = asyncio.Event()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def wake(self) -> None:
        self._work.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="turnloom-stdin", daemon=True).start()
        writer = asyncio.ensure_future(self._write())
        try:
            while True:
                line = await self._lines.get()
                if line is None:
                    break
                if self._hear(line) == "close":
                    await self._sessions.all_over()
                    break
            await self._drain(writer)
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    def _hear(self, line: bytes) -> str | None:
        """One message, and of which type it was."""
        try:
            message = json.loads(line)
            self._sessions.order(message, lambda: Outbox(Window(), numbered=False))
            kind: str | None = message.get("type")
            return kind
        except (AttributeError, KeyError, TypeError, ValueError):
            log.exception("the daemon said something that cannot be understood: %.200r", line)
            return None

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        # Without a buffer: a thread that waits with the lock of one keeps Python from ending.
        rest, descriptor = b"", self._incoming.fileno()
        with contextlib.suppress(RuntimeError):  # the loop has ended first
            while piece := os.read(descriptor, 1 << 16):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.strip():
                        loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def _drain(self, writer: asyncio.Future[None]) -> None:
        """What was said is written before it ends, unless nobody reads it."""
        written = asyncio.gather(*(session.committed() for session in self._sessions.by_id.values()))
        both: set[asyncio.Future[Any]] = {written, writer}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        written.cancel()

    async def _write(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            for session in list(self._sessions.by_id.values()):
                while (message := session.outbox.next()) is not None:
                    await asyncio.to_thread(self._put, message.text)
                    session.outbox.sent(message.n)
                    session.outbox.acknowledge(message.n)
                    session.tell()

    def _put(self, text: str) -> None:
        self._outgoing.write(text.encode() + b"\n")
        self._outgoing.flush()


def take_over() -> tuple[IO[bytes], IO[bytes]]:
    """The two pipes. What the program prints goes to stderr from now on: stdout carries only messages."""
    outgoing = os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    return os.fdopen(os.dup(0), "rb", buffering=0), outgoing
