"""Every row of how a graph's chunks become what an agent says, against the real LangGraph with a fake chat model."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest

if sys.version_info < (3, 11):
    pytest.skip("async nodes need 3.11", allow_module_level=True)

from contract import Contract
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import CachePolicy, interrupt
from playing import serving
from support import QUICK, eventually

from turnloom.langgraph import GraphAgent, answer_to, question_of

USED = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "output_token_details": {"reasoning": 2}}


class Fake(BaseChatModel):
    """Streams what it is told, piece by piece."""

    pieces: list[list[AIMessageChunk]]
    gate: Any = None
    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _next(self) -> list[AIMessageChunk]:
        self.calls += 1
        return [piece.model_copy() for piece in self.pieces[(self.calls - 1) % len(self.pieces)]]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        whole = self._next()
        text = "".join(str(piece.content) for piece in whole)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for piece in self._next():
            yield ChatGenerationChunk(message=piece)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self._next():
            yield ChatGenerationChunk(message=piece)
            if self.gate is not None:
                await self.gate.wait()


def text(*words: str) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=word) for word in words]


def call(name: str, *args: str, id: str = "call_1") -> list[AIMessageChunk]:
    first, *rest = args
    begin = AIMessageChunk(
        content="", tool_call_chunks=[{"name": name, "args": first, "id": id, "index": 0, "type": "tool_call_chunk"}]
    )
    more = [
        AIMessageChunk(
            content="",
            tool_call_chunks=[{"name": None, "args": piece, "id": None, "index": 0, "type": "tool_call_chunk"}],
        )
        for piece in rest
    ]
    return [begin, *more]


@contextlib.asynccontextmanager
async def running(graph: Any, **more: Any) -> AsyncIterator[Contract]:
    async with Contract() as daemon:
        agent = GraphAgent("graph", graph, url=daemon.url, token="secret", reconnect=QUICK, **more)
        async with serving(agent):
            await daemon.open()
            yield daemon


def chain(**nodes: Any) -> Any:
    """A graph of nodes one after the other."""
    builder = StateGraph(MessagesState)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder


def data(daemon: Contract, type: str) -> list[dict[str, Any]]:
    return [message["data"] for message in daemon.said(type)]


async def turn(daemon: Contract, words: str = "go", turn_id: str = "t1") -> dict[str, Any]:
    await daemon.prompt(words, turn_id)
    ended: dict[str, Any] = (await daemon.until("turn_ended", turn_id=turn_id))["data"]
    return ended


async def test_text_thinking_and_usage() -> None:
    pieces = [
        AIMessageChunk(content=[{"type": "thinking", "thinking": "Hm."}]),
        AIMessageChunk(content=[{"type": "reasoning", "reasoning": " So."}]),
        *text("One ", "two."),
        AIMessageChunk(content="", usage_metadata=USED),  # type: ignore[arg-type]
    ]
    model = Fake(pieces=[pieces])

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async with running(chain(one=answer, two=answer).compile()) as daemon:
        assert await turn(daemon) == {"outcome": "completed"}
        assert "in memory" in data(daemon, "ready")[0]["reason"]
        deltas = data(daemon, "delta")
        blocks = list(dict.fromkeys(delta["block_id"] for delta in deltas))
        assert len(blocks) == 2 and all(block.startswith("lc_run--") for block in blocks)
        for block in blocks:
            said = [delta for delta in deltas if delta["block_id"] == block]
            assert [delta["text"] for delta in said] == ["One ", "two.", ""]
            assert [delta.get("done") for delta in said] == [None, None, True]
        assert [thought["text"] for thought in data(daemon, "thinking")][:2] == ["Hm.", " So."]
        assert data(daemon, "usage") == [{"input_tokens": 20, "output_tokens": 10, "reasoning_tokens": 4}]
        assert [status["label"] for status in data(daemon, "status")] == ["one", "two"]
        assert data(daemon, "anchor")[0]["anchor"]


async def test_tools() -> None:
    @tool(response_format="content_and_artifact")
    def get_weather(city: str) -> tuple[str, dict[str, Any]]:
        """The sky."""
        if city == "Nowhere":
            raise ValueError("no such city")
        return f"clear in {city}", {"sky": "clear"}

    model = Fake(
        pieces=[
            call("get_weather", '{"ci', 'ty": "Gh', 'ent"}'),
            call("get_weather", '{"city": "Nowhere"}', id="call_2"),
            text("Done."),
        ]
    )

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("tools", ToolNode([get_weather], handle_tool_errors=True))
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "ask")
    async with running(builder.compile()) as daemon:
        await turn(daemon)
        assert data(daemon, "tool_start") == [
            {"tool_use_id": "call_1", "tool": "get_weather", "input": {"city": "Ghent"}},
            {"tool_use_id": "call_2", "tool": "get_weather", "input": {"city": "Nowhere"}},
        ]
        first, second = data(daemon, "tool_result")
        assert first == {
            "tool_use_id": "call_1",
            "output": "clear in Ghent",
            "is_error": False,
            "structured": {"sky": "clear"},
        }
        assert second["is_error"] and "no such city" in second["output"]


async def test_messages_that_nobody_streamed_are_said_once() -> None:
    quiet = Fake(pieces=[text("kept ", "quiet")]).with_config({"tags": ["nostream"]})

    async def wrote(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("by hand")]}

    async def silent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await quiet.ainvoke(state["messages"])]}

    async def pair(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "a tuple")]}

    async with running(chain(wrote=wrote, silent=silent, pair=pair).compile()) as daemon:
        await turn(daemon)
        await turn(daemon, "again", "t2")
        for turn_id in ("t1", "t2"):
            said = [m["data"] for m in daemon.said("delta") if m["turn_id"] == turn_id]
            assert sorted(delta["text"] for delta in said) == ["a tuple", "by hand", "kept quiet"]
            assert all(delta["done"] for delta in said)


async def test_custom_chunks_the_emitter_and_the_session() -> None:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        write = get_stream_writer()
        write(
            {
                "type": "component_update",
                "data": {"component_id": "c", "name": "chart", "surface": "chat", "props": {}, "merge": False},
            }
        )
        write({"step": 3})
        emitter = config["configurable"]["emitter"]
        await emitter.emit_component("progress", "research_progress", "sidebar", {"queries": []})
        value = await config["configurable"]["session"].wait_for("approval", {"action": "x"})
        return {"messages": [AIMessage(f"got {value}")]}

    async with running(chain(node=node).compile()) as daemon:
        await daemon.prompt("go", "t1")
        ask = await daemon.until("ask")
        await daemon.order("answer", key=ask["data"]["key"], interrupt={"value": 7})
        await daemon.until("turn_ended")
        assert sorted(update["component_id"] for update in data(daemon, "component_update")) == ["c", "progress"]
        assert {"state": "responding", "detail": {"step": 3}} in data(daemon, "status")
        assert data(daemon, "delta")[0]["text"] == "got 7"


class Planned(MessagesState):
    plan: Annotated[list[str], operator.add]
    private: str


async def test_shared_keys_are_one_patch_each_time() -> None:
    async def one(state: Planned) -> dict[str, Any]:
        return {"plan": ["a"], "private": "x"}

    async def two(state: Planned) -> dict[str, Any]:
        return {"plan": ["b"]}

    builder = StateGraph(Planned)
    builder.add_node("one", one)
    builder.add_node("two", two)
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    async with running(builder.compile(), share=("plan",)) as daemon:
        await turn(daemon)
        patches = [delta["patch"] for delta in data(daemon, "state_delta")]
        assert patches[-2:] == [
            [{"op": "add", "path": "/plan/-", "value": "a"}],
            [{"op": "add", "path": "/plan/-", "value": "b"}],
        ] or patches == [
            [{"op": "add", "path": "/plan", "value": ["a"]}],
            [{"op": "add", "path": "/plan/-", "value": "b"}],
        ]
        assert "private" not in str(patches)


async def test_what_was_cached_is_not_said_again() -> None:
    async def slow(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("computed", id="fixed")]}

    builder = StateGraph(MessagesState)
    builder.add_node("slow", slow, cache_policy=CachePolicy(key_func=lambda _: "same"))
    builder.add_edge(START, "slow")
    async with running(builder.compile(cache=InMemoryCache())) as daemon:
        await turn(daemon, "one", "t1")
        await turn(daemon, "two", "t2")
        labels = [m.get("data", {}).get("label") for m in daemon.said("status") if m["turn_id"] == "t2"]
        assert labels == []


async def test_graphs_inside_are_subagents() -> None:
    model = Fake(pieces=[text("short ", "version")])

    async def summarize(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    inner = chain(summarize=summarize).compile()

    async def after(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("outside")]}

    async with running(chain(summary=inner, after=after).compile()) as daemon:
        await turn(daemon)
        (started,), (ended,) = data(daemon, "subagent_started"), data(daemon, "subagent_ended")
        assert started["name"] == "summary" and started["subagent_id"].startswith("summary:")
        assert ended == {
            "subagent_id": started["subagent_id"],
            "status": "completed",
            "tool_calls": 0,
            "file_changes": 0,
        }
        said = {message["data"]["text"]: message.get("subagent_id") for message in daemon.said("delta")}
        assert said["short "] == said["version"] == started["subagent_id"]
        assert said["outside"] is None
        kinds = [message["type"] for message in daemon.said()]
        assert kinds.index("subagent_started") < kinds.index("delta") < kinds.index("subagent_ended")


async def test_an_exception_fails_the_turn_and_names_the_node() -> None:
    async def broken(state: MessagesState) -> dict[str, Any]:
        raise ValueError("no numbers")

    async with running(chain(broken=broken).compile()) as daemon:
        ended = await turn(daemon)
        assert ended["outcome"] == "failed"
        assert "no numbers" in ended["failure"]["message"] and "broken" in ended["failure"]["message"]
        assert (await turn(daemon, "again", "t2"))["outcome"] == "failed"


async def test_interrupts_wait_and_go_on_by_their_id() -> None:
    order: list[str] = []

    async def asks(state: MessagesState) -> dict[str, Any]:
        value = interrupt({"component_name": "approval", "props": {"action": "Send"}, "surface": "panel"})
        return {"messages": [AIMessage(f"first {value['choice']}")]}

    async def also(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        order.append("also")
        await config["configurable"]["emitter"].emit_component("fixed", "progress", "chat", {"value": 1})
        choice = interrupt({"question": "Which?", "options": ["A", "B"]})
        free = interrupt("Your name?")
        return {"messages": [AIMessage(f"second {choice} {free}")]}

    builder = StateGraph(MessagesState)
    for name, node in (("asks", asks), ("also", also)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    async with running(builder.compile()) as daemon:
        await daemon.prompt("go", "t1")
        await daemon.until("ask", count=2)
        asked = {("interrupt" if "interrupt" in ask else "question"): ask for ask in data(daemon, "ask")}
        assert asked["interrupt"]["interrupt"] == {
            "component_name": "approval",
            "props": {"action": "Send"},
            "surface": "panel",
        }
        assert asked["question"]["question"]["questions"][0]["options"] == [{"label": "A"}, {"label": "B"}]
        await daemon.order("answer", key=asked["question"]["key"], question={"answers": [["B"]]})
        form = (await daemon.until("ask", count=3))["data"]
        assert form["interrupt"]["component_name"] == "form"
        await daemon.order(
            "answer", key=form["key"], interrupt={"value": {"action": "submit", "values": {"answer": "Ann"}}}
        )
        await eventually(
            "that part went on", lambda: [d for d in data(daemon, "delta") if "second" in d["text"]] or len(order) >= 3
        )
        await daemon.order("answer", key=asked["interrupt"]["key"], interrupt={"value": {"choice": "approve"}})
        ended = await daemon.until("turn_ended")
        assert ended["data"] == {"outcome": "completed"}
        assert {delta["text"] for delta in data(daemon, "delta")} == {"first approve", "second B Ann"}
        assert len(data(daemon, "ask")) == 3, "none is asked twice"


async def test_a_new_message_drops_what_waited() -> None:
    async def asks(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"got {interrupt({'any': 'thing'})}")]}

    async with running(chain(asks=asks).compile()) as daemon:
        await daemon.prompt("one", "t1")
        first = (await daemon.until("ask"))["data"]
        assert first["interrupt"]["component_name"] == "json"
        await daemon.order("interrupt", turn_id="t1", reason="stopped")
        assert (await daemon.until("turn_ended", turn_id="t1"))["data"] == {"outcome": "interrupted"}
        await daemon.prompt("two", "t2")
        second = (await daemon.until("ask", count=2))["data"]
        assert second["key"] != first["key"]
        await daemon.order("answer", key=second["key"], interrupt={"value": "ok"})
        await daemon.until("turn_ended", turn_id="t2")
        assert [delta["text"] for delta in data(daemon, "delta")] == ["got ok"]


async def test_a_stop_cancels_the_node_and_the_next_turn_begins_anew() -> None:
    gate = asyncio.Event()
    model = Fake(pieces=[text("half ", "an answer")], gate=gate)
    seen: list[list[str]] = []
    cancelled: list[bool] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        seen.append([str(message.content) for message in state["messages"]])
        try:
            return {"messages": [await model.ainvoke(state["messages"])]}
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with running(chain(answer=answer).compile()) as daemon:
        await daemon.prompt("one", "t1")
        await daemon.until("delta")
        await daemon.order("interrupt", turn_id="t1", reason="stopped")
        assert (await daemon.until("turn_ended", turn_id="t1"))["data"] == {"outcome": "interrupted"}
        gate.set()
        assert await turn(daemon, "two", "t2") == {"outcome": "completed"}
    assert cancelled == [True]
    assert seen == [["one"], ["one", "two"]], "the half answer is not remembered"


async def test_rollback_fork_and_resume() -> None:
    seen: list[list[str]] = []

    async def answer(state: MessagesState) -> dict[str, Any]:
        seen.append([str(message.content) for message in state["messages"]])
        return {"messages": [AIMessage(f"a{len(state['messages'])}")]}

    saver = InMemorySaver()
    async with running(chain(answer=answer).compile(checkpointer=saver)) as daemon:
        assert data(daemon, "ready")[0] == {"resumed": False, "provider_session_id": "s1"}
        await turn(daemon, "one", "t1")
        await turn(daemon, "two", "t2")
        anchors = [anchor["anchor"] for anchor in data(daemon, "anchor")]
        await daemon.tell(
            {"type": "rollback", "session_id": "s1", "turn_ids": ["t2"], "kept": ["t1"], "to": anchors[0]}
        )
        await daemon.until("rolled_back")
        await turn(daemon, "three", "t3")
        await turn(daemon, "four", "t4")
        assert seen[2:] == [["one", "a1", "three"], ["one", "a1", "three", "a3", "four"]]
        fork = {"beginning": {"kind": "fork", "provider_session_id": "s1", "at": anchors[0]}}
        await daemon.open("s2", opening=fork)
        await daemon.prompt("five", "t5", "s2")
        await daemon.until("turn_ended", "s2")
        assert seen[4] == ["one", "a1", "five"]
        await turn(daemon, "six", "t6")
        assert seen[5][-1] == "six" and "five" not in seen[5], "both go on alone"
        await daemon.tell({"type": "rollback", "session_id": "s1", "turn_ids": ["t1", "t3", "t4", "t6"], "kept": []})
        await daemon.until("rolled_back", count=2)
        await turn(daemon, "seven", "t7")
        assert seen[6] == ["seven"]
        assert data(daemon, "renamed")
    # Another process with the same checkpointer.
    async with running(chain(answer=answer).compile(checkpointer=saver)) as daemon:
        resume = {"beginning": {"kind": "resume", "provider_session_id": "s2", "wanted": True}}
        await daemon.open("s9", opening=resume)
        assert daemon.said("ready", "s9")[0]["data"] == {"resumed": True, "provider_session_id": "s2"}
        await daemon.prompt("eight", "t8", "s9")
        await daemon.until("turn_ended", "s9")
        assert seen[7] == ["one", "a1", "five", "a3", "eight"]


async def test_input_of_its_own() -> None:
    class Counting(MessagesState):
        n: int

    async def count(state: Counting) -> dict[str, Any]:
        return {"messages": [AIMessage(f"n is {state['n']}")]}

    builder = StateGraph(Counting)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    async with running(builder.compile(), input=lambda session, prompt: {"n": len(prompt.text)}) as daemon:
        await turn(daemon, "four")
        assert data(daemon, "delta")[0]["text"] == "n is 4"


def test_values_that_graphs_wait_with() -> None:
    kind, asked = question_of({"schema": {"type": "object"}, "title": "Fill in"})
    assert (kind, asked["component_name"]) == ("interrupt", "form")
    assert answer_to({"question": "?", "multiple": True}, {"answers": [["A", "B"]]}) == ["A", "B"]
    assert answer_to({"question": "?"}, {"answers": None}) is None
    assert answer_to({"component_name": "x", "question": "?"}, {"value": 1}) == 1
    assert ToolMessage("x", tool_call_id="1").status == "success"
