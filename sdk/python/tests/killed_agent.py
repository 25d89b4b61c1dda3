"""An agent that is killed while it counts: `TURNLOOM_URL=… TURNLOOM_TOKEN=… python killed_agent.py`."""

from __future__ import annotations

import asyncio

from support import QUICK

from turnloom import Agent, AgentSession, Prompt

WORDS = 30
agent = Agent("counting", capabilities=["resume"], reconnect=QUICK)


@agent.turn
async def turn(session: AgentSession, prompt: Prompt) -> None:
    await session.text(f"{prompt.text}:")
    for number in range(WORDS):
        await session.text(f"{number};")
        await asyncio.sleep(0.004)


if __name__ == "__main__":
    agent.run()
