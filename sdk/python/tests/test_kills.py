"""The agent's process and the daemon, killed at random moments: every prompt is answered once, or said to be interrupted."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from killed_agent import WORDS
from support import Daemon, eventually, log_of

from turnloom import AsyncSession, AsyncTurnloom, TurnloomError
from turnloom.events import Event

PROGRAM = Path(__file__).parent / "killed_agent.py"
ROUNDS = int(os.environ.get("TURNLOOM_ROUNDS", "8"))
"""200 are run by hand; these are enough to notice what is broken."""
SESSIONS = 3
CONFIG = """
[agents.counting]
kind = "external"
wait_seconds = 3600
grace_seconds = 2
"""
LONGEST = 0.35
"""Seconds until something is killed: about twice what an answer takes."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    running = Daemon(CONFIG)
    yield running
    running.stop()


class Counting:
    """The agent in a process of its own."""

    def __init__(self, url: str, token: str) -> None:
        self._env = {**os.environ, "TURNLOOM_URL": url, "TURNLOOM_TOKEN": token}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, str(PROGRAM)], env=self._env, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


async def send(session: AsyncSession, text: str) -> None:
    """Until it is accepted: the daemon may be away, and sending twice is sending once."""
    while True:
        try:
            await session.post(text, message_id=text)
            return
        except TurnloomError as error:
            assert error.transient, error
            await asyncio.sleep(0.01)


async def is_over(session: AsyncSession, text: str) -> bool:
    try:
        events = await log_of(session)
    except TurnloomError as error:
        assert error.transient, error
        return False
    turns = [event.turn_id for event in events if event.type == "user_message" and event.data.message_id == text]
    return any(event.type == "done" and event.turn_id in turns for event in events)


def check(events: list[Event], sent: list[str]) -> list[str]:
    """The outcome of each turn, in order, when nothing was lost or doubled."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    said = [event for event in events if event.type == "user_message"]
    assert [event.data.message_id for event in said] == sent
    outcomes = []
    for message in said:
        turn = [event for event in events if event.turn_id == message.turn_id]
        assert [event.type for event in turn].count("turn_started") == 1
        [done] = [event.data for event in turn if event.type == "done"]
        words = "".join(event.data.text for event in turn if event.type == "delta")
        whole = f"{message.data.message_id}:" + "".join(f"{number};" for number in range(WORDS))
        if done.outcome == "completed":
            assert words == whole
        else:
            assert whole.startswith(words), words
        outcomes.append(done.outcome)
    return outcomes


async def test_kills_lose_and_double_nothing(daemon: Daemon, loom: AsyncTurnloom) -> None:
    chance = random.Random(20261118)
    token = await loom.create_token("counting", ["agent:counting"])
    agent = Counting(daemon.url, token.token)
    try:
        sessions = [await loom.session(f"kills-{number}", runtime="counting") for number in range(SESSIONS)]
        sent: list[str] = []
        for number in range(ROUNDS):
            text = f"r{number}"
            sent.append(text)
            for session in sessions:
                await send(session, text)
            victims = chance.choice([["agent"], ["daemon"], ["agent", "daemon"], ["daemon", "agent"], []])
            for victim in victims:
                await asyncio.sleep(chance.uniform(0, LONGEST))
                if victim == "agent":
                    agent.kill()
                    agent.start()
                else:
                    await asyncio.to_thread(daemon.restart)
            for session in sessions:
                await eventually(f"the end of {text}", partial(is_over, session, text))
        outcomes = [outcome for session in sessions for outcome in check(await log_of(session), sent)]
        assert set(outcomes) <= {"completed", "interrupted", "failed"}
        assert outcomes.count("completed") > ROUNDS, outcomes
        assert set(outcomes) != {"completed"}, "nobody was killed in the middle of an answer"
    finally:
        agent.kill()
