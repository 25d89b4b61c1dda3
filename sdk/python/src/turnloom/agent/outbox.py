"""What an agent has said in a session and the daemon has not acknowledged yet: numbered, in order, sent again after a cut. Pure."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Window:
    """How much may be unacknowledged. The daemon says it in its `welcome`."""

    messages: int = 1024
    bytes: int = 4 * 1024 * 1024


@dataclass(frozen=True)
class Waiting:
    """One message that is kept until it is acknowledged."""

    n: int
    text: str
    size: int


class Outbox:
    """The messages of one session and epoch. `numbered` is not so on a pipe, which loses nothing and repeats nothing."""

    def __init__(self, window: Window, *, numbered: bool = True) -> None:
        self.window = window
        self._numbered = numbered
        self._kept: deque[Waiting] = deque()
        self._bytes = 0
        self.said = 0
        """The number of the newest message."""
        self.acknowledged = 0
        self._sent = 0

    def put(self, message: dict[str, Any]) -> int:
        """Numbers and keeps a message."""
        self.said += 1
        said = {**message, "n": self.said} if self._numbered else message
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode())
        self._kept.append(Waiting(self.said, text, size))
        self._bytes += size
        return self.said

    @property
    def has_room(self) -> bool:
        """Whether something may be said without waiting. One message always may, however large."""
        return not self._kept or (len(self._kept) < self.window.messages and self._bytes < self.window.bytes)

    def next(self) -> Waiting | None:
        """The oldest message that is not on its way."""
        # Nearly always all are on their way, or only the last is not.
        if self._sent >= self.said:
            return None
        at = max(0, self._sent - self._kept[0].n + 1)
        return self._kept[at]

    def sent(self, n: int) -> None:
        self._sent = n

    def acknowledge(self, n: int) -> None:
        """The daemon has everything up to this one."""
        while self._kept and self._kept[0].n <= n:
            self._bytes -= self._kept.popleft().size
        self.acknowledged = max(self.acknowledged, min(n, self.said))
        self._sent = max(self._sent, self.acknowledged)

    def again(self, said: int) -> None:
        """After a cut: what the daemon has is forgotten, and the rest is sent again, in order, before anything new."""
        self.acknowledge(said)
        self._sent = self.acknowledged
