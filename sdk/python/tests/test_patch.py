"""JSON documents that change: the vectors of the contract, and that a patch made here leads where it should."""

from __future__ import annotations

import random
from typing import Any

import pytest

from turnloom.patch import PatchError, apply_patch, diff, equal, merge_props

BASE: dict[str, Any] = {"type": "bar", "data": [1], "opts": {"a": 1, "b": 2}, "text": "Hel"}

MERGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("replace", {"data": [2]}, {"data": [2]}),
    ("shallow", {"data": [2], "opts": {"c": 3}}, {"type": "bar", "data": [2], "opts": {"c": 3}, "text": "Hel"}),
    ("shallow", {"text": None}, {**BASE, "text": None}),
    ("deep", {"opts": {"b": None, "c": 3}}, {**BASE, "opts": {"a": 1, "c": 3}}),
    ("append", {"data": [2, 3], "text": "lo"}, {**BASE, "data": [1, 2, 3], "text": "Hello"}),
    ("append", {"opts": 5, "new": [1]}, {**BASE, "opts": 5, "new": [1]}),
]


@pytest.mark.parametrize(("mode", "change", "result"), MERGES)
def test_the_ways_to_change_props(mode: str, change: dict[str, Any], result: dict[str, Any]) -> None:
    before = {**BASE}
    assert merge_props(BASE, change, mode) == result
    assert before == BASE


def test_props_by_patch_and_by_the_old_word() -> None:
    patch = [{"op": "add", "path": "/data/-", "value": 2}]
    assert merge_props(BASE, {}, "patch", patch=patch)["data"] == [1, 2]
    assert merge_props(BASE, {}, "patch", patch=[*patch, {"op": "remove", "path": "/nothing"}]) == BASE
    assert merge_props(BASE, {"a": 1}, merge=True) == {**BASE, "a": 1}
    assert merge_props(BASE, {"a": 1}, merge=False) == {"a": 1}


PATCHES: list[tuple[Any, list[dict[str, Any]], Any]] = [
    ({"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
    ({"a": 1}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": 1, "b": 1}),
    ({"a/b": {"~": 1}}, [{"op": "replace", "path": "/a~1b/~0", "value": 2}], {"a/b": {"~": 2}}),
    ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
    ({"a": None}, [{"op": "test", "path": "/a", "value": None}, {"op": "remove", "path": "/a"}], {}),
]


@pytest.mark.parametrize(("document", "patch", "result"), PATCHES)
def test_patches(document: Any, patch: list[dict[str, Any]], result: Any) -> None:
    assert apply_patch(document, patch) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "test", "path": "/list", "value": [1, True]},
        {"op": "test", "path": "/one", "value": True},
        {"op": "add", "path": "one", "value": 1},
        {"op": "move", "from": "/list", "path": "/list/0"},
        {"op": "jump", "path": "/one"},
        {"op": "add", "path": "/one"},
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(operation: dict[str, Any]) -> None:
    document = {"list": [1, 2], "one": 1}
    with pytest.raises(PatchError, match="operation 1"):
        apply_patch(document, [{"op": "add", "path": "/x", "value": 1}, operation])
    assert document == {"list": [1, 2], "one": 1}


def test_a_difference_leads_from_the_one_to_the_other() -> None:
    numbers = random.Random(7)

    def some(depth: int = 0) -> Any:
        kind = numbers.randrange(6 if depth < 3 else 4)
        if kind == 4:
            return [some(depth + 1) for _ in range(numbers.randrange(4))]
        if kind == 5:
            return {numbers.choice("ab/~c"): some(depth + 1) for _ in range(numbers.randrange(4))}
        return [None, True, numbers.randrange(3), "text"][kind]

    for _ in range(2000):
        before, after = some(), some()
        assert equal(apply_patch(before, diff(before, after)), after), (before, after)
    assert diff({"a": [1]}, {"a": [1, 2]}) == [{"op": "add", "path": "/a/-", "value": 2}]
    assert diff({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]
