"""Agents that others write: what they are given, and how they connect."""

from .agent import Agent
from .blocking import BlockingSession
from .outbox import Outbox, Window
from .session import AgentSession, Permission, Press
from .state import SharedState
from .turn import Message, Prompt
from .voice import Tool

__all__ = [
    "Agent",
    "AgentSession",
    "BlockingSession",
    "Message",
    "Outbox",
    "Permission",
    "Press",
    "Prompt",
    "SharedState",
    "Tool",
    "Window",
]
