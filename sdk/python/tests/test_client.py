"""Calls and streams against the real daemon with the mock agent, also when connections are cut and the daemon is killed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from support import QUICK, CuttingProxy, Daemon, answer, eventually, log_of

from turnloom import AsyncSession, AsyncTurnloom, Connection, Turnloom, TurnloomError
from turnloom.events import Event
from turnloom.models import Ask, Receipt
from turnloom.view import View, content_of


def dumped(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [event.model_dump() for event in events]


async def test_a_turn_until_done(session: AsyncSession) -> None:
    text, last = "", None
    async for event in session.turn("echo hello you"):
        if event.type == "delta":
            text += event.data.text
        last = event
    assert text == "hello you"
    assert last is not None and last.type == "done" and last.data.outcome == "completed"


async def test_a_demo_that_asks_for_everything(session: AsyncSession) -> None:
    seen: list[Event] = []
    async for event in session.turn("demo"):
        seen.append(event)
        await answer(session, event)
    events = await log_of(session)
    assert dumped(seen) == [event for event in dumped(events) if event.get("turn_id") == seen[0].turn_id]
    assert {"permission_resolved", "question_resolved"} <= {event.type for event in seen}
    assert not [event for event in events if type(event).__name__ == "UnknownEvent"]


async def test_the_daemon_is_killed_in_the_middle_of_a_turn(daemon: Daemon, loom: AsyncTurnloom) -> None:
    session = await loom.session("killed", runtime="mock", pace_ms=5)
    turn: list[Event] = []
    log: list[Event] = []
    views: list[View] = []
    connections: list[Connection] = []

    async def follow_turn() -> None:
        async for event in session.turn("stream 100000 10 200", message_id="m-1", reconnect=QUICK):
            turn.append(event)

    async def follow_log() -> None:
        async for event in session.follow(reconnect=QUICK, on_connection=connections.append):
            log.append(event)
            if event.type == "done":
                return

    async def follow_view() -> None:
        async for view in session.view(reconnect=QUICK):
            views.append(view)
            if view.messages and view.messages[-1].outcome:
                return

    tasks = [asyncio.create_task(work()) for work in (follow_turn, follow_log, follow_view)]
    await eventually("it talks", lambda: len(turn) > 20)
    await asyncio.to_thread(daemon.restart)
    await asyncio.gather(*tasks)
    events = dumped(await log_of(session))
    assert dumped(log) == events[: len(log)]
    assert dumped(turn) == [event for event in events if event.get("turn_id") == turn[0].turn_id]
    assert turn[-1].type == "done" and turn[-1].data.outcome == "interrupted"
    assert all(view is views[0] for view in views), "it is always the same object"
    assert as_streamed(await session.get_view()) == views[-1]
    assert {connection.state for connection in connections} == {"connecting", "live", "waiting"}
    # The same message again is the same message.
    receipt = await session.post("stream 100000 10 200", message_id="m-1")
    assert receipt.turn_id == turn[0].turn_id
    assert dumped(await log_of(session)) == events


def as_streamed(view: View) -> View:
    """Without what the blocks say already, which is compared with what the SDK makes of them."""
    for message in view.messages:
        assert content_of(message) == message.pop("content")
    return view


async def test_every_event_is_cut(daemon: Daemon, session: AsyncSession) -> None:
    async with CuttingProxy(daemon.url, events=1) as proxy, AsyncTurnloom(proxy.url, daemon.token) as loom:
        receipts: list[Receipt] = []
        turn: list[Event] = []
        async for event in loom.stream_turn(session.id, "demo", on_accepted=receipts.append, reconnect=QUICK):
            turn.append(event)
            await answer(session, event)
        events = await log_of(session)
        assert dumped(turn) == [event for event in dumped(events) if event.get("turn_id") == turn[0].turn_id]
        assert [event.data.message_id for event in events if event.type == "user_message"] == [receipts[0].message_id]
        assert len(receipts) == 1
        log: list[Event] = []
        async for event in loom.stream_events(session.id, reconnect=QUICK):
            log.append(event)
            if event.type == "done":
                break
        assert dumped(log) == dumped(events)
        assert proxy.connections > 20
        deltas = [event for event in events if event.type == "delta"]
        some: list[Event] = []
        async for event in loom.stream_events(session.id, after=deltas[3].seq or 0, types=["delta"], reconnect=QUICK):
            some.append(event)
            if len(some) == len(deltas) - 4:
                break
        assert dumped(some) == dumped(deltas[4:])


async def test_a_view_that_is_cut_stays_exact(daemon: Daemon, loom: AsyncTurnloom) -> None:
    session = await loom.session("cut-view", runtime="mock", pace_ms=4)

    async def talk() -> None:
        async for event in session.turn("demo"):
            await answer(session, event)

    talking = asyncio.create_task(talk())
    view: View | None = None
    async with CuttingProxy(daemon.url, events=1) as proxy, AsyncTurnloom(proxy.url, daemon.token) as other:
        async for view in other.stream_view(session.id, reconnect=QUICK):
            if view.messages and view.messages[-1].outcome:
                break
        assert proxy.connections > 5
    await talking
    assert as_streamed(await session.get_view()) == view


async def test_copies_of_a_view(session: AsyncSession) -> None:
    await session.post("stream 20")
    seen = []
    async for view in session.view(copies=True):
        seen.append(view)
        if view.messages and view.messages[-1].outcome:
            break
    assert len({id(view) for view in seen}) == len(seen)
    assert seen[-1].messages[-1].role == "agent"


async def test_leaving_a_turn_does_not_stop_it_and_stop_does(session: AsyncSession) -> None:
    turn = session.turn("hang")
    assert (await anext(turn)).type == "user_message"
    await turn.aclose()
    assert (await session.get()).status == "running"

    async def follow() -> None:
        async for _ in session.follow():
            pass

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await session.get()).status == "running"
    assert await session.stop() is True
    assert await session.stop() is False


async def test_state_components_and_tools(loom: AsyncTurnloom) -> None:
    session = await loom.session("shared", runtime="mock", pace_ms=0)
    assert (await session.state()).state == {}
    patched = await session.patch([{"op": "add", "path": "/rows", "value": 3}])
    assert patched.state == {"rows": 3}
    with pytest.raises(TurnloomError) as refused:
        await session.patch([{"op": "test", "path": "/rows", "value": 4}])
    assert (refused.value.code, refused.value.status, refused.value.transient) == ("test_failed", 409, False)

    def get_weather(city: str, days: int = 1) -> dict[str, Any]:
        """The sky over a city."""
        return {"sky": "clear", "city": city, "days": days}

    async def broken() -> None:
        raise ValueError("no such thing")

    async with session.tools(get_weather=get_weather, broken=broken):
        declared = [e.data.settings for e in await log_of(session) if e.type == "session_updated"][-1]
        assert declared is not None
        tool = declared["client_tools"][0]
        assert tool["description"] == "The sky over a city."
        assert tool["input_schema"]["required"] == ["city"]
        results = [
            event.data
            async for message in _each('client get_weather {"city": "Ghent"}', "client broken {}")
            async for event in session.turn(message)
            if event.type == "tool_result"
        ]
    assert json.loads(results[0].output) == {"sky": "clear", "city": "Ghent", "days": 1}
    assert results[1].is_error and "no such thing" in results[1].output
    left = [e.data.settings for e in await log_of(session) if e.type == "session_updated"][-1]
    assert left == {"client_tools": []}


async def _each(*items: str) -> AsyncIterator[str]:
    for item in items:
        yield item


async def test_a_component_hears_what_was_done(session: AsyncSession) -> None:
    components = []
    async for event in session.turn("demo"):
        await answer(session, event)
        if event.type == "component_update":
            components.append(event.data.component_id)
    noted = await session.call_back(components[0], "pick", {"colour": "indigo"})
    assert noted.seq > 0
    with pytest.raises(TurnloomError, match="component") as refused:
        await session.call_back("nothing", "pick")
    assert refused.value.code == "component_not_found"


async def test_the_rest_of_the_calls(loom: AsyncTurnloom, session: AsyncSession) -> None:
    assert (await loom.health()).model_dump()
    assert "mock" in [agent.id for agent in await loom.list_agents()]
    async for _ in session.turn("echo one"):
        pass
    info = await loom.update_session(session.id, title="Renamed")
    assert info.title == "Renamed"
    assert session.id in [one.session_id for one in (await loom.list_sessions(q="Renamed")).sessions]
    fork = await session.fork("forked")
    assert fork.session_id == "forked"
    assert len((await session.rollback(1)).model_dump()) > 3
    file = await session.export()
    copied = await loom.import_session(file, session_id="copied")
    assert copied.session_id == "copied"
    assert (await loom.get_run(await _turn_of(session), session.id)).status == "succeeded"
    assert await loom.list_tasks() == []
    assert await loom.list_sign_ins() == []
    assert "/login" in await loom.make_login_link() or "http" in await loom.make_login_link()
    assert await session.files() == []
    assert loom.events_url("a b", after=3).endswith("/api/sessions/a%20b/events?after=3")
    assert (await session.archive()).status == "archived"
    assert (await session.unarchive()).status == "idle"
    await session.delete()
    with pytest.raises(TurnloomError) as refused:
        await session.get()
    assert refused.value.code == "session_not_found"


async def _turn_of(session: AsyncSession) -> str:
    return next(event.turn_id for event in await log_of(session) if event.turn_id)


async def test_the_queue(session: AsyncSession) -> None:
    await session.post("hang")
    for number in range(3):
        await session.post(f"echo {number}", message_id=f"q{number}")
    await session.reorder_queue(["q2", "q0", "q1"])
    await session.edit_queued("q0", "echo changed")
    queue = await session.remove_from_queue("q1")
    assert [(item.message_id, item.preview) for item in queue] == [("q2", "echo 2"), ("q0", "echo changed")]
    message = await session.get_queued("q0")
    assert message.model_dump()["content"] == [{"type": "text", "text": "echo changed"}]
    with pytest.raises(TurnloomError) as refused:
        async for _ in session.turn(
            "echo gone", message_id="gone", on_accepted=lambda _: _later(session.remove_from_queue("gone"))
        ):
            pass
    assert refused.value.code == "not_queued"
    assert await session.stop(then="hold")
    assert [item.held for item in await session.queue()] == ["stopped", "stopped"]
    assert await session.continue_queue() is not None


_tasks: set[asyncio.Future[Any]] = set()


def _later(work: Any) -> None:
    _tasks.add(asyncio.ensure_future(work))


async def test_lists_are_followed(loom: AsyncTurnloom, session: AsyncSession) -> None:
    sessions = loom.stream_sessions(limit=50)
    asks = loom.stream_asks()
    tasks = loom.stream_tasks()
    assert session.id in [one.session_id for one in (await anext(sessions)).sessions]
    assert await anext(asks) == []
    assert (await anext(tasks)).type == "connected"
    await session.post("permission")
    waiting: list[Ask] = []
    while not waiting:
        waiting = await anext(asks)
    assert (waiting[0].session_id, waiting[0].kind) == (session.id, "permission")
    assert (await anext(tasks)).data["task"]["sessionId"] == session.id
    await session.reject(waiting[0], "no")
    status, found = None, None
    while status != "idle":
        found = await anext(sessions)
        status = next(one.status for one in found.sessions if one.session_id == session.id)
    assert found is not None and found.sessions[0].session_id == session.id
    for stream in (sessions, asks, tasks):
        await stream.aclose()


async def test_the_wire(session: AsyncSession) -> None:
    wire = session.wire(until="idle")
    lines: list[str] = []

    async def read() -> None:
        async for line in wire:
            lines.append(line.dir)

    reading = asyncio.create_task(read())
    await eventually("it is heard", lambda: _talk_until(session, lines))
    await session.stop()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert set(lines) <= {"in", "out"}


async def _talk_until(session: AsyncSession, lines: list[str]) -> bool:
    async for _ in session.turn("echo x"):
        pass
    return bool(lines)


async def test_errors(daemon: Daemon, loom: AsyncTurnloom) -> None:
    async with AsyncTurnloom(daemon.url, "wrong") as stranger:
        for work in (stranger.list_sessions(), anext(stranger.stream_events("x"))):
            with pytest.raises(TurnloomError) as refused:
                await work
            assert (refused.value.code, refused.value.status) == ("unauthorized", 401)
            assert refused.value.hint
    async with AsyncTurnloom("http://127.0.0.1:1", "x") as nobody:
        with pytest.raises(TurnloomError) as lost:
            await nobody.health()
        assert (lost.value.code, lost.value.status, lost.value.transient) == ("unreachable", 0, True)
    with pytest.raises(TurnloomError) as unknown:
        await loom.create_session("nobody")
    assert unknown.value.code == "unknown_runtime"
    with pytest.raises(TypeError):
        await loom.session("x", cwd="/")


def test_the_blocking_client(daemon: Daemon) -> None:
    with Turnloom(daemon.url, daemon.token, client="tests") as loom:
        session = loom.session("blocking", runtime="mock", pace_ms=0)
        again = loom.session("blocking", runtime="mock", pace_ms=0)
        assert again.id == session.id
        text, last = "", ""
        for event in session.turn("permission"):
            last = event.type
            if event.type == "permission_request":
                session.allow(event)
            elif event.type == "delta":
                text += event.data.text
        assert last == "done" and text
        with session.tools(add=lambda a, b: a + b):
            found = [e.data.output for e in session.turn('client add {"a": 2, "b": 3}') if e.type == "tool_result"]
        assert found == ["5"]
        assert [thread.name for thread in threading.enumerate() if thread.name == "turnloom-tools"] == []
        view = next(session.view())
        assert view.messages[-1].outcome == "completed"
        with pytest.raises(TurnloomError, match="session"):
            loom.get_session("nothing")


def test_a_blocking_turn_across_kill_and_restart(daemon: Daemon) -> None:
    with Turnloom(daemon.url, daemon.token) as loom:
        session = loom.session("blocking-killed", runtime="mock", pace_ms=5)
        turn: list[Event] = []
        killing: threading.Thread | None = None
        for event in session.turn("stream 100000 10 200", reconnect=QUICK):
            turn.append(event)
            if len(turn) == 20:
                killing = threading.Thread(target=daemon.restart)
                killing.start()
        assert killing is not None
        killing.join()
        events = dumped(session.events(limit=10_000).events)
        assert dumped(turn) == [event for event in events if event.get("turn_id") == turn[0].turn_id]
