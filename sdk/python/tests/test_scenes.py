"""The scenes that every SDK and the daemon itself play: what the daemon says stands in them, and what an agent has to say then."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from contract import Contract, Kept
from playing import serving
from support import QUICK, ROOT, eventually

from turnloom import Agent, AgentSession, Prompt

FOLDER = Path(os.environ.get("TURNLOOM_SCENES", ROOT / "tests/external"))
SCENES = sorted(FOLDER.glob("*.jsonl"))


class Scene:
    """One scene, played by the daemon of the contract and an agent that says what the scene wants."""

    def __init__(self, path: Path) -> None:
        names = path.read_text().replace('"$turn"', '"turn_1"').replace('"$ask"', '"ask_1"')
        self.head, *self.steps = [json.loads(line) for line in names.splitlines() if line.strip()]
        self.wanted: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.over = asyncio.Event()

    async def turn(self, session: AgentSession, prompt: Prompt) -> None:
        # It speaks on when the turn is over: those words are stale, and must say so.
        session.run_aside(self._speak(session))
        await self.over.wait()

    async def _speak(self, session: AgentSession) -> None:
        while True:
            line = await self.wanted.get()
            data = line["data"]
            if line["type"] == "turn_ended":
                self.over.set()
            elif line["type"] == "ask":
                kind = next(kind for kind in ("permission", "question", "interrupt") if kind in data)
                await session.begin_ask(kind, data[kind], data["key"])
            else:
                await session.say(line["type"], data)

    async def play(self, daemon: Contract) -> None:
        for step in self.steps:
            if step.get("to") == "agent":
                await self._order(daemon, dict(step["line"]))
            elif step.get("to") == "daemon":
                await self._expect(daemon, step["line"])
            elif "cut" in step:
                daemon.cut()
            elif "back" in step:
                await eventually("it is back", lambda: len(daemon.hellos) == 2)
                assert daemon.hellos[1]["sessions"][0]["heard"] == step["back"]["heard"]

    @staticmethod
    async def _order(daemon: Contract, line: dict[str, Any]) -> None:
        kind, number = line.pop("type"), line.pop("o", None)
        session_id = line.pop("session_id")
        if kind == "open":
            daemon.sessions[session_id] = Kept(line["epoch"])
            await daemon.tell({"type": kind, "session_id": session_id, **line})
        elif number is not None:
            assert number == len(daemon.sessions[session_id].orders) + 1
            await daemon.order(kind, session_id, **line)
        elif kind == "refused":
            await daemon.tell({"type": kind, "session_id": session_id, **line})

    async def _expect(self, daemon: Contract, line: dict[str, Any]) -> None:
        facts = daemon.sessions["s1"].facts
        if line["n"] <= len(facts):
            return  # said again, which only a daemon has to bear
        if line["type"] != "ready" and line["data"].get("outcome") != "stopped":
            await self.wanted.put(line)
        await eventually(f"it says {line}", lambda: len(facts) >= line["n"])
        said = facts[line["n"] - 1]
        assert said["type"] == line["type"]
        assert said.get("turn_id") == line.get("turn_id", said.get("turn_id"))
        if line["type"] == "ready":
            assert said["data"]["resumed"] == line["data"]["resumed"]
        elif line["type"] == "turn_ended" and line["data"]["outcome"] == "stopped":
            assert said["data"]["outcome"] == "interrupted", "the session knows that somebody stopped it"
        elif line["type"] == "state_delta":
            assert said["data"]["patch"] == line["data"]["patch"]
        else:
            assert said["data"] == line["data"]


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
async def test_a_scene(path: Path) -> None:
    scene = Scene(path)
    if scene.head["framing"] == "plain":
        await play_on_a_pipe(scene)
        return
    async with Contract() as daemon:
        agent = Agent("scene", url=daemon.url, token="secret", reconnect=QUICK, capabilities=["state", "components"])
        agent.turn(scene.turn)
        async with serving(agent):
            await asyncio.wait_for(scene.play(daemon), 60)


async def play_on_a_pipe(scene: Scene) -> None:
    agent = Agent("scene")
    agent.turn(scene.turn)
    (from_daemon, to_agent), (from_agent, to_daemon) = os.pipe(), os.pipe()
    with (
        os.fdopen(from_daemon, "rb", buffering=0) as incoming,
        os.fdopen(to_daemon, "wb") as outgoing,
        os.fdopen(from_agent, "rb") as said,
    ):
        serving = asyncio.create_task(agent.serve_pipe(incoming, outgoing))
        for step in scene.steps:
            if step.get("to") == "agent":
                os.write(to_agent, json.dumps(step["line"]).encode() + b"\n")
            elif step.get("to") == "daemon":
                wanted = step["line"]
                if wanted["type"] != "ready":
                    await scene.wanted.put(wanted)
                line = json.loads(await asyncio.to_thread(said.readline))
                assert (line["type"], "n" in line) == (wanted["type"], False)
                if wanted["type"] != "ready":
                    assert line["data"] == wanted["data"]
        os.close(to_agent)
        await asyncio.wait_for(serving, 60)
