"""JSON documents that change: patches (RFC 6902) made and applied, and the five ways in which a component's props are changed. Pure."""

from __future__ import annotations

import copy
from typing import Any

Operation = dict[str, Any]

MODES = ("replace", "shallow", "deep", "append", "patch")


class PatchError(ValueError):
    """A patch that does not fit; nothing was changed."""


def apply_patch(document: Any, patch: list[Operation]) -> Any:
    """The document after all of a patch; the one that was given is not changed."""
    holder = {"": copy.deepcopy(document)}
    for number, operation in enumerate(patch):
        try:
            _apply(holder, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchError(f"operation {number} of the patch does not fit: {error}") from error
    return holder[""]


def _apply(holder: dict[str, Any], operation: Operation) -> None:
    op, path = operation["op"], operation["path"]
    if op == "add":
        _add(holder, path, copy.deepcopy(operation["value"]))
    elif op == "remove":
        _remove(holder, path)
    elif op == "replace":
        _get(holder, path)
        parent, key = _parent(holder, path)
        parent[key] = copy.deepcopy(operation["value"])
    elif op == "move":
        source = operation["from"]
        if path.startswith(source + "/"):
            raise ValueError("it cannot be moved into itself")
        _add(holder, path, _remove(holder, source))
    elif op == "copy":
        _add(holder, path, copy.deepcopy(_get(holder, operation["from"])))
    elif op == "test":
        if not equal(_get(holder, path), operation["value"]):
            raise ValueError(f"{path or 'the document'} is something else")
    else:
        raise ValueError(f"there is no operation {op!r}")


def equal(one: Any, other: Any) -> bool:
    """Whether two documents say the same. In Python `1 == True`; in JSON it is not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def pointer(*names: str | int) -> str:
    """The JSON Pointer that leads along these names."""
    return "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in names)


def _steps(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise ValueError(f"{path!r} is no pointer")
    return [""] + [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _key(parent: Any, step: str, *, end: bool = False) -> Any:
    if isinstance(parent, dict):
        return step
    if not isinstance(parent, list):
        raise KeyError(step)
    if end and step == "-":
        return len(parent)
    if not step.isdecimal() or (step != "0" and step.startswith("0")):
        raise KeyError(step)
    at = int(step)
    if at > len(parent) - (not end):
        raise IndexError(f"there is no item {at}")
    return at


def _parent(holder: dict[str, Any], path: str, *, end: bool = False) -> tuple[Any, Any]:
    *steps, last = _steps(path)
    node: Any = holder
    for step in steps:
        node = node[_key(node, step)]
    return node, _key(node, last, end=end)


def _get(holder: dict[str, Any], path: str) -> Any:
    parent, key = _parent(holder, path)
    return parent[key]


def _add(holder: dict[str, Any], path: str, value: Any) -> None:
    parent, key = _parent(holder, path, end=True)
    if isinstance(parent, list):
        parent.insert(key, value)
    else:
        parent[key] = value


def _remove(holder: dict[str, Any], path: str) -> Any:
    parent, key = _parent(holder, path)
    return parent.pop(key)


def diff(before: Any, after: Any, *at: str | int) -> list[Operation]:
    """A patch that makes the one out of the other: small where objects changed, and where lists grew or shrank at their end."""
    if equal(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [{"op": "remove", "path": pointer(*at, name)} for name in before if name not in after]
        new = [{"op": "add", "path": pointer(*at, name), "value": after[name]} for name in after if name not in before]
        changed = [step for name in before if name in after for step in diff(before[name], after[name], *at, name)]
        return gone + changed + new
    if isinstance(before, list) and isinstance(after, list):
        both = min(len(before), len(after))
        changed = [step for number in range(both) for step in diff(before[number], after[number], *at, number)]
        gone = [{"op": "remove", "path": pointer(*at, number)} for number in reversed(range(both, len(before)))]
        new = [{"op": "add", "path": pointer(*at, "-"), "value": value} for value in after[both:]]
        if len(changed) <= both:
            return changed + gone + new
    return [{"op": "replace", "path": pointer(*at), "value": after}]


def merge_props(
    known: dict[str, Any],
    props: dict[str, Any],
    mode: str | None = None,
    merge: bool = False,
    patch: list[Operation] | None = None,
) -> dict[str, Any]:
    """The props of a component after a `component_update`. A patch that does not fit changes nothing."""
    mode = mode or ("shallow" if merge else "replace")
    if mode == "replace":
        return copy.deepcopy(props)
    if mode == "patch":
        try:
            changed = apply_patch(known, patch or [])
        except PatchError:
            return known
        return changed if isinstance(changed, dict) else known
    if mode == "deep":
        merged: dict[str, Any] = _deep(known, props)
        return merged
    result = copy.deepcopy(known)
    for name, value in props.items():
        result[name] = _joined(result.get(name), copy.deepcopy(value)) if mode == "append" else copy.deepcopy(value)
    return result


def _joined(known: Any, more: Any) -> Any:
    """Lists and texts are joined, all else is replaced."""
    if isinstance(known, list) and isinstance(more, list):
        return [*known, *more]
    return known + more if isinstance(known, str) and isinstance(more, str) else more


def _deep(known: Any, change: Any) -> Any:
    """RFC 7396: objects merge, `null` removes, lists are replaced."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = copy.deepcopy(known) if isinstance(known, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _deep(result.get(name), value)
    return result
