"""One request as a value: where it goes, what it says, and what its answer is read as. Not here: who sends it (`shell.py`)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from .errors import TurnloomError, not_turnloom

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:7171"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    body: bytes
    status: int
    base: str

    def json(self) -> Any:
        """The JSON that it is; nothing when it is empty."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            raise not_turnloom(self.status, self.base) from None


@dataclass(frozen=True)
class Request(Generic[T]):
    """Nothing has happened yet: somebody has to send it."""

    method: str
    path: str
    read: Callable[[Answer], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    content: bytes | None = None
    accept: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    def target(self) -> str:
        return self.path + query_text(self.query)

    def payload(self) -> bytes | None:
        if self.content is not None:
            return self.content
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


@dataclass(frozen=True)
class Access:
    """Where the daemon is, and who asks. What is left out comes from the environment."""

    url: str
    token: str | Callable[[], str] | None
    client: str | None

    @classmethod
    def of(cls, url: str | None, token: str | Callable[[], str] | None, client: str | None) -> Access:
        address = url or os.environ.get("TURNLOOM_URL") or DEFAULT_URL
        return cls(address.rstrip("/"), token or os.environ.get("TURNLOOM_TOKEN"), client)

    def secret(self) -> str | None:
        return self.token() if callable(self.token) else self.token

    def headers(self, request: Request[Any]) -> dict[str, str]:
        secret = self.secret()
        said = {"accept": request.accept, **request.headers}
        if secret is not None:
            said["authorization"] = f"Bearer {secret}"
        if self.client is not None:
            said["turnloom-client"] = self.client
        if request.body is not None:
            said["content-type"] = "application/json"
        return said


def path_of(session_id: str, *rest: str) -> str:
    """The address of something that belongs to a session."""
    return "/".join(["/api/sessions", *(quote(part, safe="") for part in (session_id, *rest))])


def query_text(query: Mapping[str, Any]) -> str:
    said = {name: _word(value) for name, value in query.items() if value is not None}
    return "?" + urlencode(said) if said else ""


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, (list, tuple)) else str(value)


def refusal(status: int, body: bytes) -> TurnloomError:
    """The error that a refusal tells of. Something in between may have answered, with a page of its own."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {}
    return TurnloomError(status, problem if isinstance(problem, dict) else {})
