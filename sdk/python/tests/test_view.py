"""The four rules by which a view is brought forward, and how one is made equal to a newer snapshot."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from turnloom.view import View, apply, content_of, reconcile


def start() -> View:
    deep = {"id": "deep", "kind": "text", "text": "a"}
    subagent = {"id": "s", "kind": "subagent", "blocks": [{"id": "s2", "kind": "subagent", "blocks": [deep]}]}
    return View(
        {
            "seq": 1,
            "asks": [],
            "plan": None,
            "components": [{"component_id": "c1", "name": "chart", "props": {"a": 1}}],
            "messages": [
                {"id": "m1", "role": "user", "blocks": [{"id": "b1", "kind": "text", "text": "hi"}]},
                {"id": "m2", "role": "agent", "blocks": [{"id": "b2", "kind": "text", "text": "one"}, subagent]},
            ],
        }
    )


CASES: list[tuple[dict[str, Any], str, Any]] = [
    (
        {"op": "append", "path": ["m2", "b2"], "field": "text", "text": " two"},
        "v.messages[1].blocks[0].text",
        "one two",
    ),
    ({"op": "append", "path": ["m2", "b2"], "field": "live", "text": "x"}, "v.messages[1].blocks[0].live", "x"),
    ({"op": "set", "path": [], "fields": {"plan": {"steps": []}}}, "v.plan.steps", []),
    ({"op": "set", "path": ["m2", "b2"], "fields": {"text": None, "done": True}}, "v.messages[1].blocks[0].text", None),
    (
        {"op": "insert", "path": [], "node": {"id": "m3", "blocks": []}},
        "[m.id for m in v.messages]",
        ["m1", "m2", "m3"],
    ),
    ({"op": "insert", "path": ["m2", "b2"], "node": {"id": "x"}}, "v.messages[1].blocks[0].blocks[0].id", "x"),
    (
        {"op": "append", "path": ["m2", "s", "s2", "deep"], "field": "text", "text": "b"},
        "v.messages[1].blocks[1].blocks[0].blocks[0].text",
        "ab",
    ),
    ({"op": "remove", "path": ["m2", "s", "s2", "deep"]}, "v.messages[1].blocks[1].blocks[0].blocks", []),
    ({"op": "remove", "path": ["m1"]}, "[m.id for m in v.messages]", ["m2"]),
    ({"op": "set", "path": ["@components", "c1"], "fields": {"props": {"a": 2}}}, "v.components[0].props.a", 2),
    ({"op": "insert", "path": ["@components"], "node": {"component_id": "c2"}}, "len(v.components)", 2),
    ({"op": "remove", "path": ["@components", "c1"]}, "v.components", []),
]


@pytest.mark.parametrize(("op", "look", "expected"), CASES)
def test_apply(op: dict[str, Any], look: str, expected: Any) -> None:
    view = start()
    apply(view, op)
    assert eval(look, {"v": view}) == expected


def test_what_is_outside_of_the_window_is_left_alone() -> None:
    for op in (
        {"op": "append", "path": ["gone", "b"], "field": "text", "text": "x"},
        {"op": "set", "path": ["m2", "gone"], "fields": {"a": 1}},
        {"op": "insert", "path": ["gone"], "node": {"id": "x"}},
        {"op": "remove", "path": ["gone"]},
        {"op": "remove", "path": []},
        {"op": "set", "path": ["@components", "gone"], "fields": {"a": 1}},
        {"op": "remove", "path": ["@components", "gone"]},
    ):
        view = start()
        apply(view, op)
        assert view == start(), op


def test_reconcile_keeps_what_did_not_change() -> None:
    view = start()
    first, text = view.messages[0], view.messages[1].blocks[0]
    fresh = copy.deepcopy(start())
    fresh["seq"] = 9
    del fresh["asks"]
    apply(fresh, {"op": "append", "path": ["m2", "b2"], "field": "text", "text": " two"})
    reconcile(view, copy.deepcopy(fresh))
    assert view == fresh
    assert view.messages[0] is first and view.messages[1].blocks[0] is text


def test_reconcile_keeps_older_pages_when_they_join() -> None:
    def held() -> View:
        return View({"seq": 1, "before": "a", "messages": [{"id": one, "blocks": []} for one in "abc"]})

    joined, apart = held(), held()
    reconcile(joined, {"seq": 2, "before": "c", "messages": [{"id": one, "blocks": []} for one in "cd"]})
    assert (joined.before, [m.id for m in joined.messages]) == ("a", ["a", "b", "c", "d"])
    reconcile(apart, {"seq": 2, "before": "x", "messages": [{"id": one, "blocks": []} for one in "xy"]})
    assert (apart.before, [m.id for m in apart.messages]) == ("x", ["x", "y"])


def test_content() -> None:
    blocks = [("text", "one"), ("text", " two"), ("tool", ""), ("text", "three")]
    message = {"blocks": [{"kind": kind, "text": text} for kind, text in blocks]}
    assert content_of(message) == "one two\n\nthree"
