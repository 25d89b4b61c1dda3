"""Command agents: the same messages as lines, without numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Player:
    """Plays the daemon's lines to a command agent."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "command_agent.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, type: str) -> list[dict[str, Any]]:
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            heard.append(json.loads(line))
            if heard[-1]["type"] == type:
                return heard
        raise AssertionError(f"no {type} in {heard}")

    def prompt(self, turn: str, text: str) -> None:
        message = {"message_id": "m", "content": [{"type": "text", "text": text}], "origin": "user"}
        self.say(type="prompt", session_id="s1", turn_id=turn, messages=[message])


def test_a_session_on_a_pipe() -> None:
    player = Player()
    player.say(type="open", session_id="s1", epoch=1, opening={"beginning": {"kind": "fresh"}, "params": {}}, state={})
    player.say(type="what_is_this")
    player.say(type="prompt", session_id="s1")
    player.prompt("t1", "news")
    heard = player.until("ask")
    assert [line["type"] for line in heard] == ["ready", "delta", "state_delta", "ask"]
    assert all("n" not in line and "o" not in line for line in heard)
    assert heard[1]["data"]["text"] == "digest of news" and heard[1]["turn_id"] == "t1"
    player.say(
        type="answer",
        session_id="s1",
        key=heard[-1]["data"]["key"],
        interrupt={"value": {"choice": "5", "approved": False}},
    )
    rest = player.until("turn_ended")
    assert rest[0]["data"]["text"] == "got 5" and rest[-1]["data"] == {"outcome": "completed"}
    player.prompt("t2", "x")
    player.until("ask")
    player.say(type="interrupt", turn_id="t2", reason="stopped")
    assert player.until("turn_ended")[-1]["data"] == {"outcome": "interrupted"}
    player.say(type="close", session_id="s1", reason="idle")
    assert player.until("closed")
    out, err = player.process.communicate(timeout=60)
    assert (player.process.returncode, out) == (0, b"")
    assert b"this goes to stderr" in err


def test_much_at_once_and_the_end_of_stdin() -> None:
    player = Player()
    player.say(type="open", session_id="s1", epoch=1, opening={}, state={"last": "x"})
    player.prompt("t1", "big")
    heard = player.until("ask")
    assert sum(line["type"] == "delta" for line in heard) == 3001
    player.process.communicate(timeout=60)
    assert player.process.returncode == 0
