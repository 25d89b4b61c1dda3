"""What the tests share: the real daemon with the mock agent, a proxy that cuts, and a way to wait that is not a sleep."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnloom import AsyncSession, Reconnect
from turnloom.events import Event

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("TURNLOOM_PROGRAM", str(ROOT / "target/debug/turnloom"))
PATIENCE = 120.0
"""However busy the machine is: what has not come by then does not come."""
QUICK = Reconnect(first_delay=0.001, longest_delay=0.02)
"""Delays that a test can wait for."""


class Daemon:
    """A daemon in a process of its own."""

    def __init__(self, config: str = "") -> None:
        self.data = Path(tempfile.mkdtemp(prefix="turnloom-python-"))
        (self.data / "config.toml").write_text(config)
        self.url = ""
        self.token = ""
        self._run(0)

    def _run(self, port: int) -> None:
        known = self.data / "daemon.json"
        known.unlink(missing_ok=True)  # the one that was killed has left it
        words = ["up", "--no-open", "--no-sample", "--port", str(port), "--data", str(self.data)]
        self.process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.url = json.loads(known.read_text())["url"]
                break
            except (OSError, ValueError):
                assert self.process.poll() is None and time.monotonic() < deadline, "the daemon does not listen"
                time.sleep(0.01)
        self.token = (self.data / "token").read_text().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> None:
        self.process.terminate()
        self.process.wait()

    def again(self) -> None:
        """The next daemon, at the same address."""
        self._run(urlsplit(self.url).port or 0)

    def restart(self) -> None:
        self.kill()
        self.again()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.terminate()
        shutil.rmtree(self.data, ignore_errors=True)


async def eventually(what: str, ask: Callable[[], Any]) -> Any:
    """Asks until there is an answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        found = await answer if isinstance(answer, Awaitable) else answer
        if found:
            return found
        assert time.monotonic() < deadline, f"never: {what}"
        await asyncio.sleep(0.01)


async def answer(session: AsyncSession, event: Event) -> None:
    """Answers whatever an event asks."""
    if event.type == "permission_request":
        await session.allow(event, "once")
    elif event.type == "question_request":
        await session.answer(event, [["Silk"], ["Weld"]])
    elif event.type == "interrupt":
        await session.resolve(event, "2026-12-24")


async def log_of(session: AsyncSession) -> list[Event]:
    """The whole log, page by page."""
    events: list[Event] = []
    after = 0
    while True:
        page = await session.events(after=after, limit=10_000)
        events += page.events
        if not page.has_more:
            return events
        after = page.next


class CuttingProxy:
    """Stands between a client and the daemon and cuts every stream in the middle of an event, after so many."""

    def __init__(self, url: str, events: int) -> None:
        self._target = urlsplit(url)
        self._events = events
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.connections = 0
        self.url = ""

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        # The first one is cut before it has an answer, so nobody knows what became of the request.
        room = 0 if self.connections == 1 else self._events
        back: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length:")), 0
            )
            body = await reader.readexactly(length)
            host = f"{self._target.hostname}:{self._target.port}".encode()
            lines = [b"Host: " + host if x.lower().startswith(b"host:") else x for x in head.split(b"\r\n")]
            answer, back = await asyncio.open_connection(self._target.hostname, self._target.port)
            back.write(b"\r\n".join(lines) + body)
            await self._pass(answer, writer, room)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            for end in (back, writer):
                if end is not None:
                    end.close()
            self._tasks.discard(task)

    @staticmethod
    async def _pass(answer: asyncio.StreamReader, writer: asyncio.StreamWriter, room: int) -> None:
        writer_head = await answer.readuntil(b"\r\n\r\n")
        if room == 0:
            return
        writer.write(writer_head)
        if b"text/event-stream" not in writer_head:
            while piece := await answer.read(1 << 16):
                writer.write(piece)
            return
        seen, passed = b"", 0
        while piece := await answer.read(1 << 16):
            seen += piece
            begins = [found.start() for found in re.finditer(rb"\nid:", seen)]
            # In the middle of the one that is too many.
            end = len(seen) if len(begins) <= room else begins[room] + 6
            writer.write(seen[passed:end])
            await writer.drain()
            passed = end
            if len(begins) > room:
                return
