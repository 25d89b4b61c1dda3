"""Turnloom for Python: the client of a daemon, and agents that work for one."""

__version__ = "0.1.0"

from .agent import Agent, AgentSession, Press, Prompt
from .client import AsyncSession, AsyncTurnloom, Session, Turnloom
from .emitters import AgentEmitter, Emitter, RemoteEmitter, SessionEventEmitter, on_tool_result
from .errors import UNREACHABLE, TurnloomError, Withdrawn
from .events import ComponentUpdate
from .streams import Connection, Reconnect

__all__ = [
    "UNREACHABLE",
    "Agent",
    "AgentEmitter",
    "AgentSession",
    "AsyncSession",
    "AsyncTurnloom",
    "ComponentUpdate",
    "Connection",
    "Emitter",
    "Press",
    "Prompt",
    "Reconnect",
    "RemoteEmitter",
    "Session",
    "SessionEventEmitter",
    "Turnloom",
    "TurnloomError",
    "Withdrawn",
    "on_tool_result",
]
