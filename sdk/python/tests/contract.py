"""A daemon that speaks only the contract of external agents: orders from a log, what is said exactly once, cuts and crashes when a test wants them."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

from support import eventually
from websockets.asyncio.server import Server, ServerConnection, serve


@dataclass
class Kept:
    """What the daemon has of a session, durable but for what is not committed."""

    epoch: int
    orders: list[dict[str, Any]] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    committed: int = 0
    heard: int = 0


class Contract:
    """The daemon's side."""

    def __init__(self, *, window: int = 1024, acks: bool = True, crashes: random.Random | None = None) -> None:
        self.window = window
        self.acks = acks
        self.crashes = crashes
        self.sessions: dict[str, Kept] = {}
        self.hellos: list[dict[str, Any]] = []
        self.pongs: list[Any] = []
        self.gone: set[str] = set()
        self.wrong: list[str] = []
        self.most_unacknowledged = 0
        self.cuts = 0
        self._server: Server | None = None
        self._socket: ServerConnection | None = None
        self.url = ""

    async def __aenter__(self) -> Contract:
        self._server = await serve(self._serve, "127.0.0.1", 0, ping_interval=None)
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        assert not self.wrong, self.wrong

    async def _serve(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        if socket.request.path != "/api/agents/connect" or "origin" in socket.request.headers:
            self.wrong.append(f"asked for {socket.request.path}")
        if socket.request.headers.get("authorization") != "Bearer secret":
            await socket.close(1008, "unauthorized")
            return
        hello = json.loads(await socket.recv())
        self.hellos.append(hello)
        told = []
        for one in hello["sessions"]:
            kept = self.sessions.get(one["session_id"])
            if kept is None or kept.epoch != one["epoch"] or one["session_id"] in self.gone:
                told.append({"session_id": one["session_id"], "state": "gone", "reason": "another instance has it"})
                continue
            kept.facts = kept.facts[: kept.committed]
            kept.heard = one["heard"]
            told.append({"session_id": one["session_id"], "state": "yours", "said": kept.committed})
        window = {"messages": self.window, "bytes": 4_194_304}
        await self._say(
            socket, {"type": "welcome", "protocol": 1, "heartbeat_ms": 15000, "window": window, "sessions": told}
        )
        for session_id, kept in self.sessions.items():
            for order in kept.orders[kept.heard :] if session_id not in self.gone else []:
                await self._say(socket, order)
        self._socket = socket
        async for text in socket:
            await self._hear(socket, json.loads(text))

    async def _hear(self, socket: ServerConnection, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "pong":
            self.pongs.append(message["t"])
            return
        kept = self.sessions[message["session_id"]]
        if kind == "heard":
            kept.heard = max(kept.heard, message["o"])
            return
        if message["n"] <= len(kept.facts):
            return
        if message["n"] != len(kept.facts) + 1:
            self.wrong.append(f"a gap: {message['n']} after {len(kept.facts)}")
            await socket.close(1008, "gap")
            return
        kept.facts.append(message)
        self.most_unacknowledged = max(self.most_unacknowledged, len(kept.facts) - kept.committed)
        if self.crashes is not None and self.crashes.random() < 0.03:
            self.cuts += 1
            self._cut(socket)
            return
        if self.acks and (self.crashes is None or self.crashes.random() < 0.5):
            await self.commit(message["session_id"])

    async def commit(self, session_id: str) -> None:
        kept = self.sessions[session_id]
        kept.committed = len(kept.facts)
        if self._socket is not None:
            await self._say(self._socket, {"type": "ack", "session_id": session_id, "n": kept.committed})

    @staticmethod
    def _cut(socket: ServerConnection) -> None:
        socket.transport.abort()

    def cut(self) -> None:
        """The line breaks."""
        assert self._socket is not None
        self._cut(self._socket)
        self._socket = None

    async def tell(self, message: dict[str, Any]) -> None:
        """Something that is no order: it is said now or never."""
        await eventually("an agent is connected", lambda: self._socket)
        assert self._socket is not None
        await self._say(self._socket, message)

    async def open(self, session_id: str = "s1", epoch: int = 1, **more: Any) -> None:
        self.sessions[session_id] = Kept(epoch)
        opening = {"beginning": {"kind": "fresh"}, "params": {}, "client_tools": [], **more.pop("opening", {})}
        await self.tell({"type": "open", "session_id": session_id, "epoch": epoch, "opening": opening, **more})
        await self.until("ready", session_id)

    async def order(self, type: str, session_id: str = "s1", **fields: Any) -> None:
        kept = self.sessions[session_id]
        message = {"type": type, "session_id": session_id, "o": len(kept.orders) + 1, **fields}
        kept.orders.append(message)
        if self._socket is not None:
            await self._say(self._socket, message)

    async def prompt(self, text: str, turn_id: str = "turn_1", session_id: str = "s1") -> None:
        said = {
            "message_id": f"m-{turn_id}",
            "content": [{"type": "text", "text": text}],
            "origin": "user",
            "by": "tests",
        }
        await self.order("prompt", session_id, turn_id=turn_id, messages=[said])

    async def until(self, type: str, session_id: str = "s1", count: int = 1, **having: Any) -> dict[str, Any]:
        """Waits for what the agent says, and gives it."""

        def found() -> dict[str, Any] | None:
            of = [m for m in self.said(type, session_id) if all(m.get(name) == value for name, value in having.items())]
            return of[count - 1] if len(of) >= count else None

        message: dict[str, Any] = await eventually(f"{type} in {session_id}", found)
        return message

    def said(self, type: str | None = None, session_id: str = "s1") -> list[dict[str, Any]]:
        facts = self.sessions[session_id].facts
        return [message for message in facts if type in (None, message["type"])]

    @staticmethod
    async def _say(socket: ServerConnection, message: dict[str, Any]) -> None:
        try:
            await socket.send(json.dumps(message))
        except Exception:  # the line is cut; the log has it
            await asyncio.sleep(0)
