"""A LangGraph graph as an agent: it streams, shows its plan, waits for people, and can be stopped. `TURNLOOM_TOKEN=… python graph_agent.py`."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from turnloom.langgraph import GraphAgent


class Research(MessagesState):
    plan: list[str]


def make_graph(model: BaseChatModel) -> Any:
    async def plan(state: Research, config: RunnableConfig) -> dict[str, Any]:
        # Shown beside the conversation, and the same one each time: the node may run again.
        emitter = config["configurable"]["emitter"]
        await emitter.emit_component("progress", "research_progress", "sidebar", {"queries": [], "status": "planning"})
        return {"plan": ["Search", "Read", "Write"]}

    def agree(state: Research) -> dict[str, Any]:
        choice = interrupt({"question": "Shall I go on?", "options": ["Yes", "No"]})
        return {"plan": state["plan"] if choice == "Yes" else []}

    async def write(state: Research, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    builder = StateGraph(Research)
    builder.add_node("plan", plan)
    builder.add_node("agree", agree)
    builder.add_node("write", write)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "agree")
    builder.add_conditional_edges("agree", lambda state: "write" if state["plan"] else END)
    return builder.compile(checkpointer=InMemorySaver())


if __name__ == "__main__":
    # Put a real chat model here.
    fake = GenericFakeChatModel(messages=(AIMessage("This is what I found.") for _ in iter(int, 1)))
    GraphAgent("research", make_graph(fake), share=("plan",), title="Research").run()
