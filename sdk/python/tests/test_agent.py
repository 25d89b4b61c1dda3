"""Agents against the contract: what they say, what they wait for, how they stop, and that cuts change nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from contract import Contract, Kept
from jsonschema import Draft202012Validator
from playing import make, serving
from support import ROOT, eventually

from turnloom import Agent, AgentSession, Press, Prompt, TurnloomError, Withdrawn
from turnloom.agent import BlockingSession
from turnloom.agent.blocking import BlockingPrompt
from turnloom.events import Interrupt

SCHEMA = json.loads((ROOT / "docs/reference/events.schema.json").read_text())
PAYLOADS = {
    one["properties"]["type"]["const"]: Draft202012Validator({**one["properties"]["data"], "$defs": SCHEMA["$defs"]})
    for one in SCHEMA["oneOf"]
}


def types(messages: list[dict[str, Any]]) -> list[str]:
    return [message["type"] for message in messages]


async def test_a_whole_turn() -> None:
    async with Contract() as daemon:
        agent = make(daemon, capabilities=["components", "steer"], title="Research", version="1.4.0")

        @agent.session
        async def research(session: AgentSession) -> None:
            async for prompt in session:
                async with prompt:
                    await session.text("Here they are.")
                    async with session.tool("search", {"q": prompt.text}) as tool:
                        await tool.progress("3 found", 0.5)
                        tool.result({"hits": 3})
                    await session.text("And a chart.")
                    await session.component("sales", "chart", "chat", {"type": "bar", "data": []})
                    await session.append("sales", data=[{"region": "N", "sales": 7}])
                    await session.merge("sales", title="Sales")
                    await session.deep("sales", opts={"a": None})
                    await session.patch("sales", [{"op": "add", "path": "/data/-", "value": 2}])
                    await session.remove("sales")
                    await session.thinking("Hm.")
                    await session.status("Reading")
                    await session.usage(10, 20, cost_usd=0.1)
                    await session.plan(["One", {"text": "Two", "status": "done"}])
                    await session.artifact("Report", "# All", artifact_id="report")
                    await session.error("Not so bad")
                    await session.result("All done", {"ok": True})
                    choice = await session.wait_for("approval", {"action": "Send"}, surface="chat")
                    await session.text(f"You said {choice['choice']}.")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("Sales?")
            ask = await daemon.until("ask")
            answer = {"value": {"choice": "approve", "approved": True}}
            await daemon.order("answer", key=ask["data"]["key"], ask_id="ask_7", by="tests", interrupt=answer)
            ended = await daemon.until("turn_ended")
        assert ended["data"] == {"outcome": "completed"}
        hello = daemon.hellos[0]
        assert {
            name: hello[name] for name in ("protocol", "agent", "version", "title", "capabilities", "sessions")
        } == {
            "protocol": 1,
            "agent": "research",
            "version": "1.4.0",
            "title": "Research",
            "capabilities": {"components": True, "steer": True},
            "sessions": [],
        }
        facts = daemon.said()
        assert [message["n"] for message in facts] == list(range(1, len(facts) + 1))
        assert types(facts[:1]) == ["ready"] and facts[0]["data"] == {"resumed": False}
        for message in facts:
            if message["type"] in PAYLOADS and message["type"] != "component_update":
                PAYLOADS[message["type"]].validate(message["data"])
            assert message["session_id"] == "s1"
        assert all(message["turn_id"] == "turn_1" for message in facts[1:])
        texts = [message["data"] for message in facts if message["type"] == "delta"]
        assert len({text["block_id"] for text in texts}) == 3, "what comes after something else is another stretch"
        modes = [message["data"].get("mode") for message in facts if message["type"] == "component_update"]
        assert modes == [None, "append", "shallow", "deep", "patch"]
        update = daemon.said("component_update")[1]["data"]
        assert update == {
            "component_id": "sales",
            "name": "chart",
            "surface": "chat",
            "props": {"data": [{"region": "N", "sales": 7}]},
            "merge": True,
            "mode": "append",
        }
        assert daemon.said("tool_result")[0]["data"]["structured"] == {"hits": 3}


@pytest.mark.parametrize("uses_with", [True, False])
async def test_a_stop_cancels_and_the_session_goes_on(uses_with: bool) -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        begun, cleaned = 0, 0

        @agent.session
        async def work(session: AgentSession) -> None:
            nonlocal begun, cleaned
            begun += 1
            async for prompt in session:
                if not uses_with:
                    await one(session, prompt)
                    continue
                async with prompt:
                    await one(session, prompt)

        async def one(session: AgentSession, prompt: Prompt) -> None:
            nonlocal cleaned
            if prompt.text != "hang":
                return await session.text(prompt.text)
            try:
                await session.text("waiting")
                await asyncio.sleep(1000)
            finally:
                cleaned += 1

        async with serving(agent):
            await daemon.open()
            for number in range(3):
                await daemon.prompt("hang", f"hang_{number}")
                await daemon.until("delta", turn_id=f"hang_{number}")
                await daemon.order("interrupt", turn_id=f"hang_{number}", reason="stopped")
                ended = await daemon.until("turn_ended", turn_id=f"hang_{number}")
                assert ended["data"] == {"outcome": "interrupted"}
            await daemon.prompt("hello", "after")
            assert (await daemon.until("turn_ended", turn_id="after"))["data"] == {"outcome": "completed"}
        assert cleaned == 3
        assert begun == (1 if uses_with else 4)
        assert [m["data"]["text"] for m in daemon.said("delta") if m["turn_id"] == "after"] == ["hello"]


async def test_a_stop_before_the_turn_is_taken_and_one_that_is_late() -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        gate = asyncio.Event()

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            await gate.wait()
            prompt.stop()  # in its last moment: nothing is awaited any more

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("one", "t1")
            await daemon.prompt("two", "t2")
            await daemon.order("interrupt", turn_id="t2", reason="stopped")
            assert (await daemon.until("turn_ended", turn_id="t2"))["data"]["outcome"] == "interrupted"
            gate.set()
            assert (await daemon.until("turn_ended", turn_id="t1"))["data"]["outcome"] == "interrupted"
            await daemon.prompt("three", "t3")
            await daemon.until("turn_ended", turn_id="t3")
        assert len(daemon.said("turn_ended")) == 3


async def test_failures_are_told_and_do_not_end_the_agent() -> None:
    async with Contract() as daemon:
        agent = make(daemon)

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            if prompt.text == "fail":
                raise ValueError("no such number")
            await session.text("fine")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("fail", "t1")
            failure = (await daemon.until("turn_ended", turn_id="t1"))["data"]
            assert failure["outcome"] == "failed"
            assert failure["failure"] == {
                "message": "ValueError: no such number",
                "code": "agent_failed",
                "retryable": False,
            }
            await daemon.prompt("go", "t2")
            assert (await daemon.until("turn_ended", turn_id="t2"))["data"] == {"outcome": "completed"}


async def test_a_session_function_that_fails_before_its_turn_fails_that_turn() -> None:
    async with Contract() as daemon:
        agent = make(daemon)

        @agent.session
        async def broken(session: AgentSession) -> None:
            raise RuntimeError("not today")

        async with serving(agent):
            await daemon.open()
            for turn in ("t1", "t2"):
                await daemon.prompt("x", turn)
                assert (await daemon.until("turn_ended", turn_id=turn))["data"]["outcome"] == "failed"


async def test_plain_functions_run_in_threads_and_see_a_stop() -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        seen: list[bool] = []
        over = threading.Event()

        @agent.turn
        def turn(session: BlockingSession, prompt: Prompt) -> None:
            with session.tool("look", {}) as tool:
                tool.result("found")
            session.state["n"] = 1
            session.state.flush()
            if prompt.text == "hang":
                session.text("waiting")
                while not session.stopping:
                    over.wait(0.001)
                seen.append(session.stopping)
                session.text("too late")
                over.set()
            else:
                session.text(session.question("Which?", ["A", "B"])[0])

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("hang", "t1")
            await daemon.until("delta", turn_id="t1")
            await daemon.order("interrupt", turn_id="t1", reason="stopped")
            assert (await daemon.until("turn_ended", turn_id="t1"))["data"]["outcome"] == "interrupted"
            await eventually("the thread has ended", over.is_set)
            await daemon.prompt("ask", "t2")
            ask = await daemon.until("ask")
            assert ask["data"]["question"]["questions"][0]["options"] == [{"label": "A"}, {"label": "B"}]
            await daemon.order("answer", key=ask["data"]["key"], question={"answers": [["B"]]})
            await daemon.until("turn_ended", turn_id="t2")
        assert seen == [True]
        late = next(m for m in daemon.said("delta") if m["data"]["text"] == "too late")
        assert late["turn_id"] == "t1", "its later words are stale, and say so"
        assert [m["data"]["text"] for m in daemon.said("delta") if m["turn_id"] == "t2"] == ["B"]


async def test_a_plain_function_for_a_session() -> None:
    async with Contract() as daemon:
        agent = make(daemon)

        @agent.session
        def work(session: BlockingSession) -> None:
            prompt: BlockingPrompt
            for prompt in session:
                with prompt:
                    session.text(prompt.text.upper())

        async with serving(agent):
            await daemon.open()
            for turn in ("t1", "t2"):
                await daemon.prompt(turn, turn)
                await daemon.until("turn_ended", turn_id=turn)
            await daemon.tell({"type": "close", "session_id": "s1", "reason": "idle"})
            await daemon.until("closed")
        assert [(m["turn_id"], m["data"]["text"]) for m in daemon.said("delta")] == [("t1", "T1"), ("t2", "T2")]


async def test_steers_callbacks_state_and_settings() -> None:
    async with Contract() as daemon:
        agent = make(daemon, capabilities=["state", "components", "steer"])
        changes: list[Any] = []
        go = asyncio.Event()

        @agent.on_callback("approve_step")
        async def approve(session: AgentSession, press: Press) -> None:
            await session.merge(press.component_id, approved=press.payload["step_index"])

        @agent.on_settings
        async def settings(session: AgentSession) -> None:
            changes.append((session.model, session.mode, session.params))

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            session.state.on_change(lambda state: changes.append(dict(state)))
            session.state["city"] = "Ghent"
            await session.state.flush()
            await session.state.flush()
            session.state["rows"] = [1]
            await session.text("ready")
            await go.wait()
            await session.state.flush()
            async for press in session.callbacks():
                await session.text(f"{press.action} {prompt.more[0].text}")
                break

        async with serving(agent):
            await daemon.open(state={"city": "Bruges", "n": 1}, opening={"params": {"depth": 2}})
            await daemon.prompt("go")
            await daemon.until("delta")
            await daemon.order("state", state={"city": "Ghent", "n": 2}, by="tests")
            message = {"message_id": "m9", "content": [{"type": "text", "text": "faster"}], "origin": "user"}
            await daemon.order("steer", turn_id="turn_1", message=message)
            assert (await daemon.until("steer_delivered"))["data"] == {"message_id": "m9"}
            await daemon.order(
                "callback",
                component_id="plan",
                name="plan_editor",
                action="approve_step",
                payload={"step_index": 0},
                by="x",
            )
            await daemon.until("component_update")
            await daemon.order(
                "callback", component_id="plan", name="plan_editor", action="other", payload=None, by="x"
            )
            await daemon.order("set_model", model="m2")
            await daemon.order("set_mode", mode="fast")
            await daemon.order("configure", settings={"depth": 3})
            await eventually("settings are told", lambda: len(changes) == 4)
            go.set()
            await daemon.until("turn_ended")
            await daemon.order("steer", turn_id="turn_1", message=message)
            assert (await daemon.until("steer_rejected"))["data"]["message_id"] == "m9"
            await daemon.tell({"type": "rollback", "session_id": "s1", "turn_ids": ["turn_1"], "kept": []})
            assert "cannot go back" in (await daemon.until("rollback_refused"))["data"]["reason"]
        patches = [m["data"]["patch"] for m in daemon.said("state_delta")]
        assert patches[0] == [{"op": "replace", "path": "/city", "value": "Ghent"}]
        assert patches[1] == [{"op": "add", "path": "/rows", "value": [1]}]
        assert len(patches) == 2
        assert changes[0] == {"city": "Ghent", "n": 2, "rows": [1]}, "what was not told yet stays"
        assert changes[-1] == ("m2", "fast", {"depth": 3})
        assert daemon.said("delta")[-1]["data"]["text"] == "other faster"


async def test_asks_of_every_kind() -> None:
    async with Contract() as daemon:
        agent = make(daemon)
        results: list[Any] = []

        @agent.turn
        async def turn(session: AgentSession, prompt: Prompt) -> None:
            permission = await session.permission("Bash", {"command": "ls"})
            results.append((permission.allowed, permission.updated_input))
            results.append(await session.question("Why?"))
            results.append(await session.call_tool("get_weather", {"city": "Ghent"}))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.wait_for("form", {}), 0.01)
            emitter = session.emitter
            await emitter.emit(Interrupt.create("int-1", "approval", {"action": "x"}, "chat"))
            await emitter.emit_component("c", "chart", "sidebar", {"a": 1}, mode="append")
            results.append(await emitter.resolution("int-1"))
            results.append(session)
            asyncio.get_running_loop().create_task(lonely(session))
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        async def lonely(session: AgentSession) -> None:
            try:
                await session.wait_for("form", {}, key="lonely")
            except Withdrawn:
                results.append("withdrawn")

        async with serving(agent):
            await daemon.open()
            await daemon.prompt("go")
            answers: list[dict[str, Any]] = [
                {"permission": {"reply": "once", "updated_input": {"command": "pwd"}}},
                {"question": {"answers": None}},
                {"tool": {"output": {"sky": "clear"}, "is_error": False}},
            ]
            for number, answer in enumerate(answers, 1):
                ask = await daemon.until("ask", count=number)
                await daemon.order("answer", key=ask["data"]["key"], ask_id="a", by="x", **answer)
            assert (await daemon.until("ask_withdrawn"))["data"]["key"] == daemon.said("ask")[3]["data"]["key"]
            await daemon.until("component_update")
            assert daemon.said("ask")[4]["data"]["key"] == "int-1"
            await daemon.order("answer", key="int-1", ask_id="a", by="x", interrupt={"value": 7})
            await daemon.until("turn_ended")
            await eventually("it is withdrawn", lambda: results[-1] == "withdrawn")
        assert results[:4] == [(True, {"command": "pwd"}), None, {"sky": "clear"}, 7]
        assert daemon.said("tool_start")[0]["data"]["client_tool"] is True
        assert daemon.said("component_update")[0]["data"]["mode"] == "append"


async def test_a_wrong_token_is_raised() -> None:
    async with Contract() as daemon:
        with pytest.raises(TurnloomError) as refused:
            await Agent("research", url=daemon.url, token="wrong").serve()
        assert refused.value.code == "unauthorized"


async def test_an_object_with_methods_and_what_it_says_at_the_beginning() -> None:
    class Research:
        async def on_open(self, session: AgentSession) -> dict[str, Any]:
            if session.params.get("broken"):
                raise RuntimeError("no database")
            return {"model": "m1", "reason": "because"}

        async def turn(self, session: AgentSession, prompt: Prompt) -> None:
            await session.text("from a class")

    async with Contract() as daemon:
        async with serving(make(daemon, handler=Research(), capabilities=["resume"])):
            await daemon.open(opening={"beginning": {"kind": "resume", "provider_session_id": "p1"}})
            ready = daemon.said("ready")[0]["data"]
            assert ready == {"resumed": True, "provider_session_id": "p1", "model": "m1", "reason": "because"}
            await daemon.prompt("x")
            await daemon.until("turn_ended")
            daemon.sessions["s2"] = Kept(1)
            opening = {"beginning": {"kind": "fresh"}, "params": {"broken": True}}
            await daemon.tell({"type": "open", "session_id": "s2", "epoch": 1, "opening": opening})
            failed = await daemon.until("start_failed", "s2")
            assert failed["data"] == {"message": "no database", "code": "start_failed"}


async def test_a_turn_of_its_own() -> None:
    async with Contract() as daemon:
        agent = make(daemon)

        @agent.on_callback()
        async def pressed(session: AgentSession, press: Press) -> None:
            async with await session.start_turn():
                await session.text("I was pressed")

        async with serving(agent):
            await daemon.open()
            await daemon.order("callback", component_id="c", action="go", payload=None, by="x")
            await daemon.until("turn_ended")
        started, text, ended = daemon.said()[1:]
        assert started["data"]["origin"] == "agent"
        assert text["turn_id"] == ended["turn_id"] == started["data"]["turn"]
