"""The client of a daemon: `Turnloom` blocks, `AsyncTurnloom` is awaited, and both have the same names. Not here: what each call says (`calls.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import Self

from . import calls, streams
from .models import SessionInfo
from .request import Request
from .shell import AsyncOfSession, AsyncShell, SyncOfSession, SyncShell, call, call_of, stream, stream_of
from .tools import AsyncToolRunner, SyncToolRunner

__all__ = ["AsyncSession", "AsyncTurnloom", "Session", "Turnloom"]

T = TypeVar("T")


class Calls:
    """Every call, by the names that the other SDKs use."""

    health = call(calls.health)
    list_agents = call(calls.list_agents)
    list_conversations = call(calls.list_conversations)
    make_login_link = call(calls.make_login_link)
    list_sign_ins = call(calls.list_sign_ins)
    end_sign_in = call(calls.end_sign_in)
    end_all_sign_ins = call(calls.end_all_sign_ins)
    report_timings = call(calls.report_timings)
    create_token = call(calls.create_token)
    list_tokens = call(calls.list_tokens)
    revoke_token = call(calls.revoke_token)

    list_channels = call(calls.list_channels)
    get_channel = call(calls.get_channel)
    create_channel = call(calls.create_channel)
    update_channel = call(calls.update_channel)
    remove_channel = call(calls.remove_channel)
    list_channel_deliveries = call(calls.list_channel_deliveries)
    retry_channel_delivery = call(calls.retry_channel_delivery)

    list_webhooks = call(calls.list_webhooks)
    get_webhook = call(calls.get_webhook)
    create_webhook = call(calls.create_webhook)
    update_webhook = call(calls.update_webhook)
    remove_webhook = call(calls.remove_webhook)
    list_webhook_deliveries = call(calls.list_webhook_deliveries)
    redeliver_webhook = call(calls.redeliver_webhook)
    test_webhook = call(calls.test_webhook)

    create_schedule = call(calls.create_schedule)
    list_schedules = call(calls.list_schedules)
    get_schedule = call(calls.get_schedule)
    update_schedule = call(calls.update_schedule)
    remove_schedule = call(calls.remove_schedule)
    run_schedule = call(calls.run_schedule)
    list_runs = call(calls.list_runs)
    preview_schedule = call(calls.preview_schedule)

    create_session = call(calls.create_session)
    list_sessions = call(calls.list_sessions)
    get_session = call(calls.get_session)
    update_session = call(calls.update_session)
    archive_session = call(calls.archive_session)
    unarchive_session = call(calls.unarchive_session)
    delete_session = call(calls.delete_session)
    resume_session = call(calls.resume_session)
    fork_session = call(calls.fork_session)
    rollback_session = call(calls.rollback_session)
    compact_session = call(calls.compact_session)

    post_message = call(calls.post_message)
    stream_turn = stream(streams.TurnStream)
    stop = call(calls.stop)
    stop_background = call(calls.stop_background)
    continue_queue = call(calls.continue_queue)
    get_queue = call(calls.get_queue)
    reorder_queue = call(calls.reorder_queue)
    get_queued = call(calls.get_queued)
    edit_queued = call(calls.edit_queued)
    remove_from_queue = call(calls.remove_from_queue)

    get_events = call(calls.get_events)
    stream_events = stream(streams.EventStream)
    get_blob = call(calls.get_blob)
    get_picture = call(calls.get_picture)
    get_picture_url = call(calls.get_picture_url)
    get_picture_link = call(calls.get_picture_link)

    stream_sessions = stream(streams.SessionsStream)
    stream_asks = stream(streams.AsksStream)
    list_tasks = call(calls.list_tasks)
    stream_tasks = stream(streams.TasksStream)
    get_run = call(calls.get_run)
    cancel_run = call(calls.cancel_run)

    export_session = call(calls.export_session)
    import_session = call(calls.import_session)
    stream_wire = stream(streams.WireStream)

    get_view = call(calls.get_view)
    stream_view = stream(streams.ViewStream)
    get_files = call(calls.get_files)

    list_asks = call(calls.list_asks)
    reply_permission = call(calls.reply_permission)
    reply_question = call(calls.reply_question)
    reject_question = call(calls.reject_question)
    answer_interrupt = call(calls.answer_interrupt)
    give_tool_result = call(calls.give_tool_result)

    get_state = call(calls.get_state)
    patch_state = call(calls.patch_state)
    call_back = call(calls.call_back)
    emit = call(calls.emit)


class CallsOfSession:
    """The same for one session, by shorter names."""

    get = call_of(calls.get_session)
    update = call_of(calls.update_session)
    archive = call_of(calls.archive_session)
    unarchive = call_of(calls.unarchive_session)
    delete = call_of(calls.delete_session)
    resume = call_of(calls.resume_session)
    fork = call_of(calls.fork_session)
    rollback = call_of(calls.rollback_session)
    compact = call_of(calls.compact_session)

    post = call_of(calls.post_message)
    turn = stream_of(streams.TurnStream)
    stop = call_of(calls.stop)
    stop_background = call_of(calls.stop_background)
    continue_queue = call_of(calls.continue_queue)
    queue = call_of(calls.get_queue)
    reorder_queue = call_of(calls.reorder_queue)
    get_queued = call_of(calls.get_queued)
    edit_queued = call_of(calls.edit_queued)
    remove_from_queue = call_of(calls.remove_from_queue)

    events = call_of(calls.get_events)
    follow = stream_of(streams.EventStream)
    export = call_of(calls.export_session)
    wire = stream_of(streams.WireStream)
    view = stream_of(streams.ViewStream)
    get_view = call_of(calls.get_view)
    files = call_of(calls.get_files)

    allow = call_of(calls.allow)
    reject = call_of(calls.reject)
    reply_permission = call_of(calls.reply_permission)
    answer = call_of(calls.reply_question)
    decline = call_of(calls.reject_question)
    resolve = call_of(calls.answer_interrupt)
    give_tool_result = call_of(calls.give_tool_result)

    state = call_of(calls.get_state)
    patch = call_of(calls.patch_state)
    call_back = call_of(calls.call_back)
    emit = call_of(calls.emit)


class Session(SyncOfSession, CallsOfSession):
    """One session of a daemon."""

    def __init__(self, shell: SyncShell, info: SessionInfo) -> None:
        super().__init__(shell, info.session_id)
        self.info = info
        """What it was when it was asked for; `get()` says what it is now."""

    def tools(self, **functions: Callable[..., Any]) -> SyncToolRunner:
        """Functions that run when the agent calls them, as long as the `with` lasts."""
        return SyncToolRunner(self.shell.access, self.id, functions)


class AsyncSession(AsyncOfSession, CallsOfSession):
    """One session of a daemon."""

    def __init__(self, shell: AsyncShell, info: SessionInfo) -> None:
        super().__init__(shell, info.session_id)
        self.info = info
        """What it was when it was asked for; `get()` says what it is now."""

    def tools(self, **functions: Callable[..., Any]) -> AsyncToolRunner:
        """Functions that run when the agent calls them, as long as the `async with` lasts."""
        return AsyncToolRunner(self.shell, self.id, functions)


class Turnloom(SyncShell, Calls):
    """A daemon. What is left out comes from `TURNLOOM_URL` and `TURNLOOM_TOKEN`."""

    def session(self, session_id: str, runtime: str | None = None, **params: Any) -> Session:
        """Creates a session, or finds the same. Without a runtime it has to be there."""
        return Session(self, self.send(_session(session_id, runtime, params)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncTurnloom(AsyncShell, Calls):
    """A daemon. What is left out comes from `TURNLOOM_URL` and `TURNLOOM_TOKEN`."""

    async def session(self, session_id: str, runtime: str | None = None, **params: Any) -> AsyncSession:
        """Creates a session, or finds the same. Without a runtime it has to be there."""
        return AsyncSession(self, await self.send(_session(session_id, runtime, params)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _session(session_id: str, runtime: str | None, params: dict[str, Any]) -> Request[SessionInfo]:
    if runtime is None:
        if params:
            raise TypeError("parameters are for a session that is created: name its runtime")
        return calls.get_session(session_id)
    return calls.create_session(runtime, session_id, params)
