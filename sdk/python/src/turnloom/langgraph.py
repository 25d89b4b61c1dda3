"""A compiled LangGraph graph as an agent. Needs the extra `langgraph`, and Python 3.11. Not here: what chunks mean (`_chunks.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt

from ._chunks import Run
from .agent import Agent, AgentSession, Prompt
from .agent.session import value_of

__all__ = ["GraphAgent"]

MODES = ["messages", "updates", "custom", "values"]
CAPABILITIES = (
    "components",
    "state",
    "questions",
    "usage",
    "thinking",
    "subagents",
    "resume",
    "rollback",
    "fork",
)

ToInput = Callable[[AgentSession, Prompt], Any]


class GraphAgent(Agent):
    """Runs a graph for each turn, with the session as its thread.

    `share` are keys of the graph's state that everybody sees; `emitter_key` is the name of the emitter in `config["configurable"]`, beside `session`;
    `input` makes what the graph is given out of a prompt, for graphs without `messages`.
    """

    def __init__(
        self,
        name: str,
        graph: Any,
        *,
        share: Iterable[str] = (),
        emitter_key: str = "emitter",
        input: ToInput | None = None,
        capabilities: Iterable[str] = CAPABILITIES,
        **about: Any,
    ) -> None:
        super().__init__(name, capabilities=capabilities, **about)
        self._forgets = graph.checkpointer is None
        # Without a checkpointer nothing that waits could go on.
        self.graph = graph.copy(update={"checkpointer": InMemorySaver()}) if self._forgets else graph
        self._share = tuple(share)
        self._emitter_key = emitter_key
        self._input = input or _messages
        self._threads: WeakKeyDictionary[AgentSession, str] = WeakKeyDictionary()
        self._back: WeakKeyDictionary[AgentSession, str] = WeakKeyDictionary()
        self.handlers.turn = self._turn
        self.handlers.open = self._open
        self.handlers.rollback = self._rollback

    async def _open(self, session: AgentSession) -> dict[str, Any]:
        beginning = session.opening.get("beginning") or {}
        kind, provider = beginning.get("kind"), beginning.get("provider_session_id")
        self._threads[session] = provider if kind == "resume" and provider else session.id
        if kind == "fork" and provider:
            await self._fork(session, provider, beginning.get("at"))
        known = await self.graph.aget_state(self._config(session))
        ready = {"provider_session_id": self._threads[session], "resumed": kind != "fresh" and bool(known.values)}
        if self._forgets:
            ready["reason"] = "the graph has no checkpointer: what was said is kept in memory, until this agent ends"
        return ready

    async def _fork(self, session: AgentSession, thread: str, at: str | None) -> None:
        """Both go on alone from here."""
        source = {"configurable": {"thread_id": thread, **({"checkpoint_id": at} if at else {})}}
        values = (await self.graph.aget_state(source)).values
        if values:
            await self.graph.aupdate_state(self._config(session), values)

    async def _rollback(self, session: AgentSession, order: dict[str, Any]) -> dict[str, Any]:
        to = order.get("to")
        if to:
            self._back[session] = to
        else:
            self._threads[session] = session.fresh(f"{session.id}-again")
            await session.say("renamed", {"provider_session_id": self._threads[session], "reason": "it begins again"})
        return {}

    def _config(self, session: AgentSession) -> dict[str, Any]:
        thread = self._threads.get(session, session.id)
        return {"configurable": {"thread_id": thread, self._emitter_key: session.emitter, "session": session}}

    async def _turn(self, session: AgentSession, prompt: Prompt) -> None:
        config = self._config(session)
        first = {"configurable": dict(config["configurable"])}
        if session in self._back:
            first["configurable"]["checkpoint_id"] = self._back.pop(session)
        before = await self.graph.aget_state(first)
        run = Run(session, self._share, before.values)
        waiting: dict[str, tuple[Interrupt, asyncio.Future[dict[str, Any]]]] = {}
        given, using = self._input(session, prompt), first
        try:
            while True:
                async for chunk in self.graph.astream(given, using, stream_mode=MODES, subgraphs=True, version="v2"):
                    await run.take(chunk)
                state, using = await self.graph.aget_state(config), config
                pending = {interrupt.id: interrupt for interrupt in state.interrupts}
                if not pending:
                    break
                for key in [key for key in waiting if key not in pending]:
                    del waiting[key]
                for key, interrupt in pending.items():
                    if key not in waiting:
                        kind, asked = question_of(interrupt.value)
                        waiting[key] = (interrupt, (await session.begin_ask(kind, asked, key))[1])
                given = Command(resume=await _first_answer(waiting))
        finally:
            await run.told()
        await run.finish(state.values)
        await session.anchor(state.config["configurable"]["checkpoint_id"])


def _messages(session: AgentSession, prompt: Prompt) -> dict[str, Any]:
    """What a graph with `messages` is given. A message keeps its id, so that one that comes again is the same."""
    return {"messages": [HumanMessage(message.text, id=message.message_id) for message in prompt.messages]}


async def _first_answer(
    waiting: dict[str, tuple[Interrupt, asyncio.Future[dict[str, Any]]]],
) -> dict[str, Any]:
    """The first that is answered, always by its id: a plain value fits only when one waits."""
    await asyncio.wait([answer for _, answer in waiting.values()], return_when=asyncio.FIRST_COMPLETED)
    answered = {key: one for key, one in waiting.items() if one[1].done()}
    for key in answered:
        del waiting[key]
    return {key: answer_to(interrupt.value, answer.result()) for key, (interrupt, answer) in answered.items()}


def question_of(value: Any) -> tuple[str, dict[str, Any]]:
    """How a value that a graph waits with is asked: as the component that it names, as a question, as a form, or as it is."""
    if isinstance(value, dict) and "component_name" in value:
        return "interrupt", {"props": {}, "surface": "chat", **value}
    if isinstance(value, dict) and "question" in value:
        options = [_option(option) for option in value.get("options") or []]
        multiple = bool(value.get("multiple"))
        one = {"prompt": str(value["question"]), "options": options, "multiple": multiple, "free_text": not options}
        return "question", {"questions": [one]}
    if isinstance(value, dict) and isinstance(value.get("schema"), dict):
        return "interrupt", {"component_name": "form", "props": value, "surface": "chat"}
    if isinstance(value, str):
        schema = {
            "type": "object",
            "properties": {"answer": {"type": "string", "title": value}},
            "required": ["answer"],
        }
        return "interrupt", {"component_name": "form", "props": {"schema": schema}, "surface": "chat"}
    actions = [{"action": "continue", "label": "Continue"}]
    return "interrupt", {"component_name": "json", "props": {"value": value, "actions": actions}, "surface": "chat"}


def _option(option: Any) -> dict[str, Any]:
    return option if isinstance(option, dict) else {"label": str(option)}


def answer_to(value: Any, answer: dict[str, Any]) -> Any:
    """What the graph is given for it."""
    if isinstance(value, dict) and "question" in value and "component_name" not in value:
        answers = answer.get("answers")
        chosen = answers[0] if answers else None
        return chosen if chosen is None or value.get("multiple") else (chosen[0] if chosen else None)
    given = value_of(answer)
    if isinstance(value, str) and isinstance(given, dict):
        return (given.get("values") or {}).get("answer", given)
    return given
