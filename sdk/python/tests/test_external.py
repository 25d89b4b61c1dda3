"""Agents and the real daemon: whole turns, and cuts and kills in the middle of them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playing import serving
from support import QUICK, Daemon, eventually, log_of

from turnloom import Agent, AgentSession, AsyncSession, AsyncTurnloom, Prompt, RemoteEmitter, TurnloomError
from turnloom.events import Event

WORDS = 200
COMMAND = Path(__file__).parent / "command_agent.py"
CONFIG = f"""
[agents.research]
kind = "external"
title = "Research"

[agents.digest]
kind = "command"
command = ["{sys.executable}", "{COMMAND}"]
capabilities = ["components", "state"]
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    running = Daemon(CONFIG)
    yield running
    running.stop()


class Line:
    """A line to the daemon that breaks when it is told to."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._ends: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""
        self.cuts = 0

    async def __aenter__(self) -> Line:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        self.cuts += bool(self._ends)
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            host = f"Host: {self._target.hostname}:{self._target.port}".encode()
            lines = [host if line.lower().startswith(b"host:") else line for line in head.split(b"\r\n")]
            answer, back = await asyncio.open_connection(self._target.hostname, self._target.port)
            self._ends |= {writer, back}
            back.write(b"\r\n".join(lines))
            await asyncio.gather(self._pass(reader, back), self._pass(answer, writer))
        writer.close()
        self._tasks.discard(task)

    @staticmethod
    async def _pass(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(1 << 14):
                to.write(piece)
                await to.drain()
        to.close()


async def make(daemon: Daemon, loom: AsyncTurnloom, url: str | None = None) -> Agent:
    token = await loom.create_token("tests", ["agent:research"])
    return Agent(
        "research",
        url=url or daemon.url,
        token=token.token,
        reconnect=QUICK,
        capabilities=["components", "state", "questions", "steer"],
    )


def of(events: list[Event], type: str) -> list[Any]:
    return [event.data for event in events if event.type == type]


async def test_a_whole_turn(daemon: Daemon, loom: AsyncTurnloom) -> None:
    agent = await make(daemon, loom)

    @agent.turn
    async def turn(session: AgentSession, prompt: Prompt) -> None:
        await session.text("Looking. ")
        async with session.tool("search", {"q": prompt.text}) as tool:
            await tool.progress("3 found")
            tool.result({"hits": 3})
        await session.component("sales", "chart", "sidebar", {"type": "bar", "data": []})
        await session.append("sales", data=[{"n": 1}])
        session.state["city"] = "Ghent"
        await session.state.flush()
        choice = await session.wait_for("approval", {"action": "Send"})
        await session.text(f"You said {choice['choice']}")

    async with serving(agent):
        session = await loom.session("whole", runtime="research")
        events: list[Event] = []
        async for event in session.turn("sales"):
            events.append(event)
            if event.type == "interrupt":
                await session.resolve(event, {"choice": "approve", "approved": True})
        assert of(events, "done")[0].outcome == "completed", events[-3:]
        assert not of(await log_of(session), "agent_unparsed")
        assert [delta.text for delta in of(events, "delta") if delta.text] == ["Looking. ", "You said approve"]
        assert (await session.state()).state == {"city": "Ghent"}
        view = await session.get_view()
        assert view.components[0].props == {"type": "bar", "data": [{"n": 1}]}


async def test_a_stop(daemon: Daemon, loom: AsyncTurnloom) -> None:
    agent = await make(daemon, loom)
    cleaned: list[bool] = []

    @agent.turn
    async def turn(session: AgentSession, prompt: Prompt) -> None:
        try:
            await session.text("waiting")
            await asyncio.sleep(1000)
        finally:
            cleaned.append(True)

    async with serving(agent):
        session = await loom.session("stopped", runtime="research")
        outcomes = []
        async for event in session.turn("go"):
            if event.type == "delta" and event.data.text:
                assert await session.stop()
            elif event.type == "done":
                outcomes.append(event.data.outcome)
        assert (outcomes, cleaned) == (["stopped"], [True])


async def test_cuts_and_kills_change_nothing(daemon: Daemon, loom: AsyncTurnloom) -> None:
    """Every word exactly once and in order, and no turn ends but by its agent's own word."""
    chance = random.Random(11)
    kills: list[int] = []
    async with Line(daemon.url) as line:
        agent = await make(daemon, loom, line.url)

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            for number in range(WORDS):
                await session.text(f"{number};")
                await asyncio.sleep(0.005)
            answer = await session.wait_for("approval", {"action": prompt.text})
            await session.text(f"got {answer['choice']}")

        async with serving(agent):
            sessions = [await loom.session(f"chaos-{one}", runtime="research") for one in range(3)]
            seen: dict[str, list[Event]] = {session.id: [] for session in sessions}

            async def follow(session: AsyncSession) -> None:
                for number in range(3):
                    async for event in session.turn(f"p{number}", message_id=f"m{number}", reconnect=QUICK):
                        seen[session.id].append(event)
                        if event.type == "interrupt":
                            await resolve(session, event, number)

            async def resolve(session: AsyncSession, event: Event, value: int) -> None:
                while True:
                    try:
                        await session.resolve(event, {"choice": str(value), "approved": False})
                        return
                    except TurnloomError as error:
                        if not error.transient:
                            assert error.status == 409, error
                            return  # it was heard before
                        await asyncio.sleep(0.02)

            async def harm() -> None:
                for number in range(1000):
                    await asyncio.sleep(chance.uniform(0.05, 0.3))
                    if number % 6 == 5:
                        await asyncio.to_thread(daemon.restart)
                        kills.append(number)
                    else:
                        line.cut()

            harming = asyncio.create_task(harm())
            await asyncio.gather(*(follow(session) for session in sessions))
            harming.cancel()
            await asyncio.gather(harming, return_exceptions=True)
            await eventually("the daemon is there", lambda: daemon.process.poll() is None)
            for session in sessions:
                events = [event for event in await log_of(session) if event.turn_id]
                assert [event.model_dump() for event in seen[session.id]] == [event.model_dump() for event in events]
                assert [done.outcome for done in of(events, "done")] == ["completed"] * 3
                words = "".join(delta.text for delta in of(events, "delta"))
                counted = "".join(f"{number};" for number in range(WORDS))
                assert words == "".join(f"{counted}got {number}" for number in range(3))
            assert line.cuts > 3 and len(kills) > 1


async def test_a_command_agent(daemon: Daemon, loom: AsyncTurnloom) -> None:
    session = await loom.session("digested", runtime="digest")
    events: list[Event] = []
    async for event in session.turn("news"):
        events.append(event)
        if event.type == "interrupt":
            await session.resolve(event, {"choice": "5", "approved": False})
    assert [delta.text for delta in of(events, "delta") if delta.text] == ["digest of news", "got 5"]
    assert (await session.state()).state == {"last": "news"}


async def test_a_script_beside_a_session(daemon: Daemon, loom: AsyncTurnloom) -> None:
    session = await loom.session("beside", runtime="mock", pace_ms=0)
    async for _ in session.turn("echo hello"):
        pass
    token = await loom.create_token("build", [f"emit:{session.id}"])
    async with RemoteEmitter(daemon.url, token.token, session.id) as emitter:
        await emitter.emit_component("build", "progress", "sidebar", {"value": 0.4})
        with pytest.raises(TurnloomError) as refused:
            await emitter.emit({"type": "delta", "data": {"text": "no"}})
        assert refused.value.code == "not_for_emit"
    (update,) = of(await log_of(session), "component_update")
    assert update.props == {"value": 0.4}
    async with RemoteEmitter(daemon.url, token.token, "another") as emitter:
        with pytest.raises(TurnloomError) as forbidden:
            await emitter.remove_component("build")
        assert forbidden.value.code == "forbidden"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="async nodes need 3.11")
async def test_a_graph_is_rolled_back_and_forked(daemon: Daemon, loom: AsyncTurnloom) -> None:
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import interrupt

    from turnloom.langgraph import GraphAgent

    seen: list[list[str]] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        words = [str(message.content) for message in state["messages"]]
        value = interrupt({"question": "Sure?", "options": ["Yes", "No"]}) if words[-1] == "ask" else "none"
        seen.append(words)
        return {"messages": [AIMessage(f"a{len(words)} {value}")]}

    builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    token = await loom.create_token("graph", ["agent:graph"])
    graph = builder.compile(checkpointer=InMemorySaver())
    agent = GraphAgent("graph", graph, url=daemon.url, token=token.token, reconnect=QUICK)

    async def turn(session: AsyncSession, text: str) -> list[Event]:
        events: list[Event] = []
        async for event in session.turn(text):
            events.append(event)
            if event.type == "question_request":
                await session.answer(event, [["Yes"]])
        assert of(events, "done")[0].outcome == "completed", of(events, "error")
        return events

    async with serving(agent):
        await eventually("it is connected", lambda: agent.link and agent.link.connected.is_set())
        session = await loom.session("graph-1", runtime="graph")
        await turn(session, "one")
        events = await turn(session, "ask")
        assert of(events, "delta")[0].text == "a3 Yes"
        await session.rollback(1)
        await turn(session, "three")
        assert seen[-1] == ["one", "a1 none", "three"]
        fork = await loom.session((await session.fork("graph-2")).session_id)
        await turn(fork, "four")
        assert seen[-1] == ["one", "a1 none", "three", "a3 none", "four"]
        await turn(session, "five")
        assert seen[-1] == ["one", "a1 none", "three", "a3 none", "five"], "both go on alone"
        assert not of(await log_of(session), "agent_unparsed")
