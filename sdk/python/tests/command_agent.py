"""A command agent, as a daemon starts it."""

from turnloom import Agent, AgentSession, Prompt

agent = Agent("digest", capabilities=["components", "state"])


@agent.turn
async def turn(session: AgentSession, prompt: Prompt) -> None:
    print("this goes to stderr: stdout carries only messages")
    if prompt.text == "big":
        for _ in range(3000):
            await session.text("x" * 1000)
    await session.text(f"digest of {prompt.text}")
    session.state["last"] = prompt.text
    await session.state.flush()
    value = await session.wait_for("approval", {"action": prompt.text})
    await session.text(f"got {value['choice']}")


if __name__ == "__main__":
    agent.run(stdio=True)
