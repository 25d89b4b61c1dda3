"""Tools of a plain agent loop, wrapped so that people see what they do: each call is a tool in the log, and some results are components."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from turnloom import Agent, AgentSession, Prompt, on_tool_result

TOOL_COMPONENT_MAP = {"get_weather": ("weather", "chat"), "update_plan": ("plan_editor", "sidebar")}
Tool = Callable[..., Awaitable[Any]]


def shown(session: AgentSession, function: Tool) -> Tool:
    """The same function, and everybody sees its calls."""

    async def call(**given: Any) -> Any:
        name = function.__name__
        async with session.tool(name, given) as tool:
            result = await function(**given)
            tool.result(result)
        await on_tool_result(session, name, tool.id, result, TOOL_COMPONENT_MAP)
        return result

    return call


async def get_weather(city: str) -> dict[str, Any]:
    return {"location": city, "temperature": 14, "unit": "C", "condition": "partly_cloudy"}


async def update_plan(steps: list[str]) -> dict[str, Any]:
    return {"steps": steps, "current_step": 0}


async def model(messages: list[dict[str, str]]) -> dict[str, Any]:
    """Stands for a model: first it calls two tools, then it answers."""
    results = [message for message in messages if message["role"] == "tool"]
    if not results:
        return {"tool": "update_plan", "input": {"steps": ["Look outside", "Tell"]}}
    if len(results) == 1:
        return {"tool": "get_weather", "input": {"city": messages[0]["content"]}}
    return {"text": f"It has {json.loads(results[1]['content'])['temperature']} degrees."}


agent = Agent("weather", capabilities=["components"])


@agent.turn
async def turn(session: AgentSession, prompt: Prompt) -> None:
    tools = {tool.__name__: shown(session, tool) for tool in (get_weather, update_plan)}
    messages = [{"role": "user", "content": prompt.text}]
    while True:
        step = await model(messages)
        if "text" in step:
            await session.text(step["text"])
            return
        result = await tools[step["tool"]](**step["input"])
        messages.append({"role": "tool", "content": json.dumps(result)})


if __name__ == "__main__":
    agent.run()
