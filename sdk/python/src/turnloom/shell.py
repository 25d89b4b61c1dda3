"""Who sends requests and holds connections, once for each world: blocking and async. What they mean is decided elsewhere (`calls.py`, `streams.py`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Concatenate, Generic, TypeVar, overload

import httpx
from typing_extensions import ParamSpec

from .calls import blob_path
from .errors import TurnloomError, not_turnloom, unreachable
from .request import Access, Answer, Request, path_of, query_text, refusal
from .sse import EventReader, LineReader
from .streams import Connection, Stream

P = ParamSpec("P")
T = TypeVar("T")

# A kept connection may be closed by the daemon in the moment it is used again; then nobody knows what became of the call.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)
_CONNECT_SECONDS = 10.0


class Shell:
    """What both have: where the daemon is."""

    def __init__(
        self,
        url: str | None = None,
        token: str | Callable[[], str] | None = None,
        client: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """What is left out comes from `TURNLOOM_URL` and `TURNLOOM_TOKEN`. `client` is your name: the log says it in `by`."""
        self.access = Access.of(url, token, client)
        self._timeout = httpx.Timeout(timeout, connect=_CONNECT_SECONDS, pool=None)

    def events_url(self, session_id: str, after: int | None = None, limit: int | None = None) -> str:
        """The address of a page of the log, for other programs; they need the token."""
        return self.access.url + path_of(session_id, "events") + query_text({"after": after, "limit": limit})

    def blob_url(self, blob_id: str) -> str:
        """The address of a blob; who asks for it needs the token."""
        return self.access.url + blob_path(blob_id)

    def _head(self, request: Request[Any]) -> dict[str, Any]:
        return {
            "method": request.method,
            "url": self.access.url + request.target(),
            "content": request.payload(),
            "headers": self.access.headers(request),
        }

    def _stream_head(self, stream: Stream[Any]) -> dict[str, Any]:
        head = self._head(stream.open())
        # What is compressed waits until there is more of it.
        head["headers"]["accept-encoding"] = "identity"
        silence = stream.following.reconnect.silence
        return {**head, "timeout": httpx.Timeout(silence, pool=None)}

    def _answer(self, request: Request[T], status: int, body: bytes) -> T:
        if status >= 400:
            raise refusal(status, body)
        return request.read(Answer(body, status, self.access.url))

    def _reader(self, stream: Stream[Any], response: httpx.Response) -> EventReader | LineReader:
        url = str(response.url)
        if not response.headers.get("content-type", "").startswith(stream.accept):
            raise not_turnloom(response.status_code, url)
        stream.following.tell(Connection("live"))
        return stream.reader(url)


class SyncShell(Shell):
    """Blocks until there is an answer."""

    def __init__(
        self,
        url: str | None = None,
        token: str | Callable[[], str] | None = None,
        client: str | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(url, token, client, timeout)
        self._http = httpx.Client(timeout=self._timeout, limits=_LIMITS, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def send(self, request: Request[T]) -> T:
        try:
            response = self._http.request(**self._head(request))
        except httpx.HTTPError as cause:
            raise unreachable(cause) from cause
        return self._answer(request, response.status_code, response.content)

    def follow(self, stream: Stream[T]) -> Generator[T, None, None]:
        following = stream.following
        while True:
            following.tell(Connection("connecting"))
            error: TurnloomError | None = None
            try:
                with self._http.stream(**self._stream_head(stream)) as response:
                    if response.status_code >= 400:
                        raise refusal(response.status_code, response.read())
                    reader = self._reader(stream, response)
                    for piece in response.iter_bytes():
                        frames = reader.feed(piece)
                        if frames:
                            following.heard()
                        yield from stream.take(frames)
                        if stream.ended:
                            return
            except httpx.HTTPError as cause:
                error = unreachable(cause)
            except TurnloomError as refused:
                error = refused
            if not stream.comes_back:
                if error is not None:
                    raise error
                return
            time.sleep(following.lost(error))


class AsyncShell(Shell):
    """Lets others work until there is an answer."""

    def __init__(
        self,
        url: str | None = None,
        token: str | Callable[[], str] | None = None,
        client: str | None = None,
        timeout: float | None = None,
    ) -> None:
        super().__init__(url, token, client, timeout)
        self._http = httpx.AsyncClient(timeout=self._timeout, limits=_LIMITS, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, request: Request[T]) -> T:
        try:
            response = await self._http.request(**self._head(request))
        except httpx.HTTPError as cause:
            raise unreachable(cause) from cause
        return self._answer(request, response.status_code, response.content)

    async def follow(self, stream: Stream[T]) -> AsyncGenerator[T, None]:
        following = stream.following
        while True:
            following.tell(Connection("connecting"))
            error: TurnloomError | None = None
            try:
                async with self._http.stream(**self._stream_head(stream)) as response:
                    if response.status_code >= 400:
                        raise refusal(response.status_code, await response.aread())
                    reader = self._reader(stream, response)
                    async for piece in response.aiter_bytes():
                        frames = reader.feed(piece)
                        if frames:
                            following.heard()
                        for item in stream.take(frames):
                            yield item
                        if stream.ended:
                            return
            except httpx.HTTPError as cause:
                error = unreachable(cause)
            except TurnloomError as refused:
                error = refused
            if not stream.comes_back:
                if error is not None:
                    raise error
                return
            await asyncio.sleep(following.lost(error))


class OfSession:
    """Stands for one session: its calls are those of the client, with its id."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id


class SyncOfSession(OfSession):
    def __init__(self, shell: SyncShell, session_id: str) -> None:
        super().__init__(session_id)
        self.shell = shell


class AsyncOfSession(OfSession):
    def __init__(self, shell: AsyncShell, session_id: str) -> None:
        super().__init__(session_id)
        self.shell = shell


class call(Generic[P, T]):
    """A method of the client made from a function that gives a request: it blocks in the one world, and is awaited in the other."""

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: SyncShell, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: AsyncShell, kind: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, owner: Any, kind: type) -> Callable[P, Any]:
        return _named(self._make, lambda *args, **named: owner.send(self._make(*args, **named)))


class stream(Generic[P, T]):
    """The same for what can be followed."""

    def __init__(self, make: Callable[P, Stream[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: SyncShell, kind: type) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, owner: AsyncShell, kind: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, owner: Any, kind: type) -> Callable[P, Any]:
        return _named(self._make, lambda *args, **named: owner.follow(self._make(*args, **named)))


class call_of(Generic[P, T]):
    """A method of a session made from a function whose first argument is its id."""

    def __init__(self, make: Callable[Concatenate[str, P], Request[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: SyncOfSession, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: AsyncOfSession, kind: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, owner: Any, kind: type) -> Callable[P, Any]:
        return _named(self._make, lambda *args, **named: owner.shell.send(self._make(owner.id, *args, **named)))


class stream_of(Generic[P, T]):
    """The same for what can be followed."""

    def __init__(self, make: Callable[Concatenate[str, P], Stream[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: SyncOfSession, kind: type) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(self, owner: AsyncOfSession, kind: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, owner: Any, kind: type) -> Callable[P, Any]:
        return _named(self._make, lambda *args, **named: owner.shell.follow(self._make(owner.id, *args, **named)))


def _named(like: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = getattr(like, "__name__", "call")
    function.__doc__ = like.__doc__
    return function
