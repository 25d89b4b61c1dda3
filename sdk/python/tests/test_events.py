"""Models: nothing gets lost, and nothing new is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field
from support import ROOT

from turnloom import events
from turnloom.events import ComponentUpdate, Delta, Status, UnknownEvent, UserMessage, parse
from turnloom.model import Fields

SCHEMA = json.loads((ROOT / "docs/reference/events.schema.json").read_text())
EXAMPLES = [example for kind in SCHEMA["oneOf"] for example in kind["examples"]]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["type"])
def test_every_event_is_read_and_written_without_a_difference(example: dict[str, Any]) -> None:
    event = parse(example)
    assert not isinstance(event, UnknownEvent)
    assert event.model_dump() == example
    assert json.loads(event.model_dump_json()) == example


def test_what_is_not_known_is_kept() -> None:
    new = {"seq": 7, "ts": "t", "type": "weather", "session_id": "s", "data": {"sky": {"is": "clear"}}, "more": [1]}
    event = parse(new)
    assert isinstance(event, UnknownEvent)
    assert event.data.sky == {"is": "clear"}
    assert event.model_dump() == new


def test_what_is_not_as_it_should_be_is_kept_too() -> None:
    odd = {"seq": 1, "ts": "t", "type": "delta", "session_id": "s", "data": {"text": 5}}
    event = parse(odd)
    assert isinstance(event, UnknownEvent)
    assert event.model_dump() == odd
    assert isinstance(parse({}), UnknownEvent)


def test_new_words_fields_and_parts_are_no_error() -> None:
    status = parse({"ts": "t", "type": "status", "data": {"state": "dreaming", "depth": 3}})
    assert isinstance(status, Status)
    assert (status.data.state, status.data.model_extra) == ("dreaming", {"depth": 3})
    content = [{"type": "smell", "of": "rain"}, {"type": "text", "text": "hi"}]
    message = parse(
        {"ts": "t", "type": "user_message", "data": {"message_id": "m", "content": content, "origin": "user"}}
    )
    assert isinstance(message, UserMessage)
    assert isinstance(message.data.content[1], events.TextPart)
    assert message.model_dump()["data"]["content"] == content


def test_what_is_nothing_stays_so_and_what_is_absent_stays_absent() -> None:
    said = {"ts": "t", "type": "delta", "data": {"block_id": "b", "text": "x", "done": None}}
    assert parse(said).model_dump() == said


def test_one_that_is_made_here() -> None:
    made = ComponentUpdate.create("sales", "chart", "chat", {"type": "bar"}, False).model_dump()
    assert set(made) == {"type", "data", "ts"}
    assert made["data"] == {
        "component_id": "sales",
        "name": "chart",
        "surface": "chat",
        "props": {"type": "bar"},
        "merge": False,
    }
    assert isinstance(Delta.create("b", "hello", done=True).data, events.DeltaData)


def test_words_that_python_keeps_for_itself() -> None:
    class Bind(Fields):
        pointer: str
        as_: str | None = Field(default=None, alias="as")

    for said in ({"pointer": "/plan", "as": "steps"}, {"pointer": "/plan", "as": None}, {"pointer": "/plan"}):
        assert Bind.model_validate(said).model_dump() == said
    assert Bind.model_validate({"pointer": "/plan", "as_": "steps"}).model_dump() == {"pointer": "/plan", "as": "steps"}
