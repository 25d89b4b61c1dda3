"""An agent that talks, draws a chart bar by bar and waits for an approval: `TURNLOOM_TOKEN=… python chart_agent.py`."""

from __future__ import annotations

import asyncio

from turnloom import Agent, AgentSession, Prompt

SALES = {"North": 7, "East": 4, "South": 9, "West": 5}
agent = Agent("charts", title="Charts", capabilities=["components", "questions"])


@agent.turn
async def turn(session: AgentSession, prompt: Prompt) -> None:
    for word in f"Here is what I found about {prompt.text}.".split(" "):
        await session.text(word + " ")
        await asyncio.sleep(0.02)
    await session.component("sales", "chart", "chat", {"type": "bar", "x": "region", "y": "sales", "data": []})
    for region, sales in SALES.items():
        await session.append("sales", data=[{"region": region, "sales": sales}])
        await asyncio.sleep(0.02)
    answer = await session.wait_for("approval", {"action": "Send the report", "details": "To everybody"})
    await session.text("Sent." if answer["approved"] else "Then not.")


if __name__ == "__main__":
    agent.run()
