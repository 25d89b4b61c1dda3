"""Reads what streams are made of from pieces that are cut anywhere. Not here: when to connect."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import TurnloomError, not_turnloom

_LINE_END = re.compile(r"\r\n|\n|\r(?!$)")


@dataclass(frozen=True)
class Frame:
    """One thing that a stream tells. `position` is where the stream goes on after it; not everything has one."""

    name: str
    data: Any
    position: int | None = None


class EventReader:
    """Server-sent events."""

    def __init__(self, url: str = "") -> None:
        self._url = url
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._event = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[Frame]:
        """The events that are complete now."""
        *lines, self._rest = _LINE_END.split(self._rest + self._decode.decode(piece))
        return list(self._frames(lines))

    def _frames(self, lines: list[str]) -> Iterator[Frame]:
        for line in lines:
            if line == "":
                if self._data:
                    yield self._frame()
                self._event, self._data = "", []
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._event = value
            elif name == "data":
                self._data.append(value)
            elif name == "id":
                self._id = value

    def _frame(self) -> Frame:
        try:
            position = int(self._id) if self._id else None
            return Frame(self._event or "message", json.loads("\n".join(self._data)), position)
        except ValueError:
            raise not_turnloom(200, self._url) from None


class LineReader:
    """One JSON object in each line."""

    def __init__(self, url: str = "") -> None:
        self._url = url
        self._rest = b""

    def feed(self, piece: bytes) -> list[Frame]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [self._frame(line) for line in lines if line]

    def _frame(self, text: bytes) -> Frame:
        try:
            line: dict[str, Any] = json.loads(text)
        except ValueError:
            raise not_turnloom(200, self._url) from None
        if "error" in line:
            raise TurnloomError(0, line["error"])
        return Frame("line", line)
