"""The document that an agent shares with its clients: changed like a dictionary, told as JSON Patches."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from ..patch import Operation, PatchError, apply_patch, diff

OnChange = Callable[["SharedState"], Any]


class SharedState(MutableMapping[str, Any]):
    """Change it, also deep inside, and `flush` tells everybody what has changed. What others change is here at once."""

    def __init__(self, document: Any, tell: Callable[[list[Operation]], Awaitable[None]]) -> None:
        self._told = copy.deepcopy(document)
        self._tell = tell
        self._listeners: list[OnChange] = []
        self.document: Any = {} if document is None else document
        """All of it: mostly an object, but any JSON may be shared."""

    def __getitem__(self, name: str) -> Any:
        return self.document[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.document[name] = value

    def __delitem__(self, name: str) -> None:
        del self.document[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def __repr__(self) -> str:
        return f"SharedState({self.document!r})"

    def changes(self) -> list[Operation]:
        """What was changed here and not told yet."""
        return diff(self._told, self.document) if self._told is not None else diff({}, self.document)

    async def flush(self) -> None:
        """Tells what was changed since the last time, if something was."""
        patch = self.changes()
        if patch:
            self._told = copy.deepcopy(self.document)
            await self._tell(patch)

    def on_change(self, listener: OnChange) -> OnChange:
        """Calls a function, plain or async, with this state when somebody else has changed it."""
        self._listeners.append(listener)
        return listener

    def changed_by_others(self, document: Any) -> list[Awaitable[Any]]:
        """Takes over what others made of it. What was changed here and not told stays changed, as far as it still fits."""
        mine = self.changes()
        self._told = copy.deepcopy(document)
        fresh = copy.deepcopy(document)
        for operation in mine:
            try:
                fresh = apply_patch(fresh, [operation])
            except PatchError:
                continue  # theirs came first
        self.document = fresh
        called = [listener(self) for listener in list(self._listeners)]
        return [result for result in called if inspect.isawaitable(result)]
