"""Agents whose line breaks: nothing is lost, nothing comes twice, and what belongs to another instance is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import random

from contract import Contract, Kept
from playing import make, serving
from support import eventually

from turnloom import AgentSession, Prompt
from turnloom.agent import Message


async def test_a_cut_sends_again_what_was_not_acknowledged() -> None:
    async with Contract(acks=False) as daemon:
        agent = make(daemon)
        gate = asyncio.Event()

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            await session.text("one")
            await session.text("two")
            await gate.wait()
            await session.text("three")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("go")
            await daemon.until("delta", count=2)
            daemon.sessions["s1"].committed = 2  # `ready` and "one"; "two" is lost with the daemon
            daemon.cut()
            await eventually("it is back", lambda: len(daemon.hellos) == 2)
            gate.set()
            daemon.acks = True
            await daemon.until("turn_ended")
        again = daemon.hellos[1]
        assert again["instance"] == daemon.hellos[0]["instance"]
        assert again["sessions"] == [{"session_id": "s1", "epoch": 1, "heard": 1, "said": 3, "turn_id": "turn_1"}]
        assert [m["data"]["text"] for m in daemon.said("delta")] == ["one", "two", "three"]


async def test_chaos_every_fact_and_every_order_exactly_once() -> None:
    """Random cuts, and crashes that lose what was not committed."""
    seed = random.Random(20261118)
    async with Contract(window=8, crashes=seed) as daemon:
        agent = make(daemon, capabilities=["steer"])
        steered: list[str] = []

        @agent.on_steer
        async def steer(session: AgentSession, message: Message) -> None:
            steered.append(message.message_id)

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            for number in range(20):
                await session.text(f"{prompt.text}:{number};")
                await asyncio.sleep(0)

        async with serving(agent):
            await eventually("it is there", lambda: daemon.hellos)
            for one in range(4):
                daemon.sessions[f"s{one}"] = opened = Kept(1)
                message = {"type": "open", "session_id": f"s{one}", "epoch": 1, "opening": {}}
                while not opened.facts:  # an `open` whose `ready` was lost is made again, with the next epoch
                    await daemon.tell({**message, "epoch": opened.epoch})
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(daemon.until("ready", f"s{one}"), 0.2)
                    if not opened.facts:
                        opened.epoch += 1
            for number in range(8):
                for one in range(4):
                    await daemon.prompt(f"p{number}", f"t{number}", f"s{one}")
                    said = {"message_id": f"x{one}-{number}", "content": [], "origin": "user"}
                    await daemon.order("steer", f"s{one}", turn_id=f"t{number}", message=said)
            for one in range(4):
                await daemon.until("turn_ended", f"s{one}", count=8)
        for one in range(4):
            texts = [m["data"]["text"] for m in daemon.said("delta", f"s{one}")]
            assert texts == [f"p{number}:{word};" for number in range(8) for word in range(20)]
            assert len(daemon.said("steer_delivered", f"s{one}")) == 8
        assert len(steered) == len(set(steered)) == 32
        assert daemon.cuts > 5


async def test_a_session_that_is_gone_is_dropped_without_a_word() -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        ended: list[str] = []

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            try:
                await session.text("working")
                await asyncio.sleep(1000)
            finally:
                ended.append(session.id)

        async with serving(agent):
            await daemon.open("s1")
            await daemon.open("s2")
            await daemon.prompt("go", "t1", "s1")
            await daemon.prompt("go", "t2", "s2")
            await daemon.until("delta", "s1")
            await daemon.until("delta", "s2")
            count = len(daemon.said(None, "s1"))
            daemon.gone.add("s1")
            daemon.cut()
            await eventually("it is dropped", lambda: ended)
            assert ended == ["s1"]
            await daemon.order("interrupt", "s2", turn_id="t2", reason="stopped")
            await daemon.until("turn_ended", "s2")
            assert len(daemon.said(None, "s1")) == count
            # The same id again, with the next epoch, is a new session.
            daemon.gone.clear()
            await daemon.open("s1", epoch=2)
            await daemon.prompt("go", "t3", "s1")
            await daemon.until("delta", "s1")


async def test_the_window_holds_back_one_session_and_no_other() -> None:
    async with Contract(window=10, acks=False) as daemon:
        agent = make(daemon)
        said: dict[str, int] = {"s1": 0, "s2": 0}

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            for number in range(25 if session.id == "s1" else 3):
                await session.text(str(number))
                said[session.id] = number + 1

        async with serving(agent):
            await daemon.open("s1")
            await daemon.open("s2")
            await daemon.prompt("go", "t1", "s1")
            await daemon.until("delta", "s1", count=9)
            await daemon.prompt("go", "t2", "s2")
            await daemon.until("turn_ended", "s2")
            assert said["s1"] == 9, "ten with `ready`; the next one waits"
            daemon.acks = True
            await daemon.commit("s1")
            await daemon.until("turn_ended", "s1")
        assert [m["data"]["text"] for m in daemon.said("delta", "s1")] == [str(n) for n in range(25)]
        assert daemon.most_unacknowledged <= 11


async def test_committed_waits_for_the_acknowledgement() -> None:
    async with Contract(acks=False) as daemon:
        agent = make(daemon)
        order: list[str] = []

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            await session.text("x")
            order.append("said")
            await session.committed()
            order.append("committed")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("go")
            await daemon.until("delta")
            await eventually("it waits", lambda: order == ["said"])
            await daemon.commit("s1")
            await daemon.until("turn_ended")
        assert order == ["said", "committed"]


async def test_pings_are_answered_and_closing_is_said() -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        after: list[str] = []

        @agent.session
        async def work(session: AgentSession) -> None:
            async for prompt in session:
                async with prompt:
                    pass
            after.append("loop ended")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("x")
            await daemon.until("turn_ended")
            await daemon.tell({"type": "from_the_future", "session_id": "s1"})
            await daemon.tell({"type": "ack", "session_id": "s1"})
            await daemon.tell({"type": "ping", "t": 42})
            await eventually("a pong", lambda: daemon.pongs == [42])
            await eventually("it was heard", lambda: daemon.sessions["s1"].heard == 1)
            await daemon.tell({"type": "close", "session_id": "s1", "reason": "idle"})
            await daemon.until("closed")
            daemon.cut()
            await eventually("it is back", lambda: len(daemon.hellos) == 2)
        assert after == ["loop ended"]
        assert daemon.hellos[1]["sessions"] == [], "what is closed and acknowledged is forgotten"
