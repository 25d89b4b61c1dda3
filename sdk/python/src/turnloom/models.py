"""What the daemon answers, as models. Most shapes are generated; here are those that hold events, and what programs hand in."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Union

from typing_extensions import NotRequired, TypedDict

from .events import Event, parse
from .generated import api as generated
from .generated.api import *  # noqa: F403
from .model import Fields

__all__ = [
    "ClientTool",
    "EventPage",
    "MessageContent",
    "NewToken",
    "PatchOperation",
    "PermissionReply",
    "PictureLink",
    "TaskEvent",
    "Token",
    "WireLine",
]
__all__ += generated.__all__

PermissionReply: TypeAlias = Union[Literal["once", "always", "reject"], str]

MessageContent: TypeAlias = Union[str, list[dict[str, Any]]]
"""A text, or parts: `{"type": "text", "text": …}`, `{"type": "image", …}`, `{"type": "file", "path": …}`."""

PatchOperation: TypeAlias = dict[str, Any]
"""One step of a JSON Patch (RFC 6902): `{"op": "add", "path": "/rows", "value": 3}`."""


class ClientTool(TypedDict):
    """A tool that clients run when the agent calls it."""

    name: str
    description: NotRequired[str]
    input_schema: NotRequired[dict[str, Any]]


class EventPage:
    """A part of the log, in its order. `next` is the `after` of the next page; with a filter a page may be empty and not the last."""

    def __init__(self, page: dict[str, Any]) -> None:
        self.events: list[Event] = [parse(event) for event in page["events"]]
        self.head: int = page["head"]
        self.next: int = page["next"]
        self.has_more: bool = page["has_more"]


class TaskEvent(Fields):
    """Something about a turn of any session: `connected`, `task:started`, `task:progress`, `task:completed`."""

    type: str
    data: dict[str, Any]


class WireLine(Fields):
    """One line between a session and its agent. `in` is what the session wrote, `out` what the agent said."""

    dir: str
    at_ms: int
    line: Any
    cut_bytes: int | None = None


class PictureLink(Fields):
    """An address that needs no token, and how many seconds it works."""

    url: str
    expires_in: float


class Token(Fields):
    """A token that was made, without what it is."""

    token_id: str
    name: str | None = None
    scopes: list[str]
    expires_at: str | None = None


class NewToken(Fields):
    """A token, which is told once."""

    token_id: str
    token: str
    scopes: list[str]
