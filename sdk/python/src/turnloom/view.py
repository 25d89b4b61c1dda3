"""Brings a view forward. The fold itself lives in the daemon; a client only applies its smallest changes. Not here: the connection."""

from __future__ import annotations

from typing import Any


class Node(dict[str, Any]):
    """An object whose fields can be read as attributes. One that is not there is `None`."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__((name, _node(value)) for name, value in fields.items())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)


class View(Node):
    """A conversation as people read it: the newest messages, and what is true now."""

    @property
    def seq(self) -> int:
        """The position in the log that this is the view of."""
        return int(self["seq"])

    @property
    def messages(self) -> list[Node]:
        found: list[Node] = self["messages"]
        return found

    @property
    def components(self) -> list[Node]:
        """What is shown beside the conversation; what is shown in it is a block of a message."""
        found: list[Node] = self.get("components") or []
        return found

    @property
    def asks(self) -> list[Node]:
        """What waits for a person."""
        found: list[Node] = self.get("asks") or []
        return found


def _node(value: Any) -> Any:
    if isinstance(value, dict):
        return value if isinstance(value, Node) else Node(value)
    return [_node(one) for one in value] if isinstance(value, list) else value


COMPONENTS = "@components"
"""The first step of a path that leads to one of the components beside the conversation. No message is called so."""


def apply(view: dict[str, Any], op: dict[str, Any]) -> None:
    """Applies one change. One to something that is not here is for somebody who holds more."""
    kind, path = op["op"], list(op["path"])
    parents = path[:-1] if kind == "remove" else path
    if parents == [COMPONENTS]:
        if kind == "insert":
            view.setdefault("components", []).append(_node(op["node"]))
        elif kind == "remove":
            _drop(view.get("components"), "component_id", path[-1])
        return
    node = _find(view, parents)
    if node is None:
        return
    children = "messages" if not parents else "blocks"
    if kind == "append":
        known = node.get(op["field"])
        node[op["field"]] = (known if isinstance(known, str) else "") + op["text"]
    elif kind == "set":
        for name, value in op["fields"].items():
            if value is None:
                node.pop(name, None)
            else:
                node[name] = _node(value)
    elif kind == "insert":
        if not isinstance(node.get(children), list):
            node[children] = []
        node[children].append(_node(op["node"]))
    elif kind == "remove" and path:
        _drop(node.get(children), "id", path[-1])


def reconcile(view: dict[str, Any], snapshot: dict[str, Any]) -> None:
    """Makes a view equal to a newer snapshot, in place: what did not change stays the same object.

    Older messages that were paged in stay, as long as there is no gap between them and the snapshot.
    """
    fresh = dict(snapshot)
    held, newest = view.get("messages") or [], fresh.get("messages") or []
    first = newest[0]["id"] if newest else None
    start = next((at for at, message in enumerate(held) if message["id"] == first), -1)
    if start > 0 and fresh.get("before") is not None:
        fresh["messages"] = [*held[:start], *newest]
        fresh.pop("before")
        if "before" in view:
            fresh["before"] = view["before"]
    _merge(view, fresh)


def content_of(message: dict[str, Any]) -> str:
    """The texts of a message, with a blank line where something else stood between them. Streams do not send it."""
    content, follows_text = "", False
    for block in message["blocks"]:
        is_text = block["kind"] == "text"
        if is_text and block["text"]:
            if content and not follows_text and not content.endswith("\n"):
                content += "\n\n"
            content += block["text"]
        follows_text = is_text
    return content


def _find(view: dict[str, Any], path: list[str]) -> dict[str, Any] | None:
    if path[:1] == [COMPONENTS]:
        return _newest(view.get("components"), "component_id", path[1]) if len(path) == 2 else None
    node: dict[str, Any] | None = view
    for depth, name in enumerate(path):
        node = _newest((node or {}).get("messages" if depth == 0 else "blocks"), "id", name)
        if node is None:
            return None
    return node


def _newest(children: Any, key: str, name: str) -> dict[str, Any] | None:
    """What changes is nearly always the newest."""
    return next((child for child in reversed(children or []) if child.get(key) == name), None)


def _drop(children: Any, key: str, name: str) -> None:
    child = _newest(children, key, name)
    if child is not None:
        at = max(index for index, one in enumerate(children) if one is child)
        del children[at]


def _merge(held: dict[str, Any], fresh: dict[str, Any]) -> None:
    for name in [name for name in held if name not in fresh]:
        del held[name]
    for name, value in fresh.items():
        known = held.get(name)
        if name in held and known is value:
            continue
        if name in ("messages", "blocks") and isinstance(known, list):
            _merge_children(known, value)
        elif name not in held or known != value:
            held[name] = _node(value)


def _merge_children(held: list[Any], fresh: list[Any]) -> None:
    known = {child["id"]: child for child in held}
    kept = []
    for child in fresh:
        same = known.get(child["id"])
        if same is not None and same is not child:
            _merge(same, child)
        kept.append(same if same is not None else _node(child))
    held[:] = kept
