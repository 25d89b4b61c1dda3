"""A conversation in the terminal: `python chat.py [RUNTIME]`. An empty line ends it, Ctrl-C stops a turn."""

from __future__ import annotations

import sys

from turnloom import Session, Turnloom


def turn(session: Session, text: str) -> None:
    for event in session.turn(text):
        if event.type == "delta":
            print(event.data.text, end="", flush=True)
        elif event.type == "tool_start":
            print(f"\n[{event.data.tool}]", flush=True)
        elif event.type == "permission_request":
            allowed = input(f"\nMay it use {event.data.tool_name} with {event.data.tool_input}? [y/N] ")
            if allowed.lower().startswith("y"):
                session.allow(event)
            else:
                session.reject(event)
        elif event.type == "question_request":
            session.answer(event, [[input(f"\n{question.prompt} ")] for question in event.data.questions])
        elif event.type == "interrupt":
            session.resolve(event, input(f"\n{event.data.component_name}: "))
        elif event.type == "error":
            print(f"\n{event.data.message}")
        elif event.type == "done" and event.data.outcome != "completed":
            print(f"\n({event.data.outcome})")
    print()


def main() -> None:
    runtime = sys.argv[1] if len(sys.argv) > 1 else "mock"
    with Turnloom(client="chat.py") as loom:
        session = loom.session(f"terminal-{runtime}", runtime=runtime)
        while text := input("> "):
            try:
                turn(session, text)
            except KeyboardInterrupt:
                session.stop()


if __name__ == "__main__":
    main()
