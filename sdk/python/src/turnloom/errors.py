"""What goes wrong, as one kind of error with a word that does not change."""

from __future__ import annotations

from typing import Any

UNREACHABLE = "unreachable"
"""The code of an error when there was no answer at all. The other codes are the daemon's."""

HINTS = {
    "foreign_host": "Add the name that you call the daemon by, with its port, to `hosts` in its config.toml, and restart it.",
    "unauthorized": "The token is in the file `token` of the data directory.",
    "forbidden": "Make a token with the scope that this needs: `turnloom token new NAME --scope SCOPE`.",
    UNREACHABLE: "Start the daemon with `turnloom up`, or look whether the address is right.",
}


class TurnloomError(Exception):
    """A request that was refused, or that did not reach the daemon."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or f"the daemon answered {status}")
        self.status = status
        """The status of the response, or 0 when there was none."""
        self.problem = problem
        """All that the daemon said about it."""
        code = problem.get("code")
        self.code: str = code if isinstance(code, str) else "unknown"
        """A stable word, such as `session_not_found`."""

    @property
    def transient(self) -> bool:
        """Whether the same request may be granted a little later."""
        return self.code == UNREACHABLE or self.status >= 500 or self.status in (408, 429)

    @property
    def hint(self) -> str | None:
        """What to do about it, where that is known."""
        fix = self.problem.get("fix")
        return fix if isinstance(fix, str) else HINTS.get(self.code)


class Withdrawn(Exception):
    """Nobody will answer: the turn has ended, or the ask was taken back."""


def unreachable(cause: object) -> TurnloomError:
    return TurnloomError(0, {"code": UNREACHABLE, "detail": f"the daemon does not answer ({cause})"})


def not_turnloom(status: int, url: str) -> TurnloomError:
    """Something else has answered: a proxy, or another program at this address."""
    return TurnloomError(status, {"code": "not_turnloom", "detail": f"{url} is not a Turnloom daemon"})
