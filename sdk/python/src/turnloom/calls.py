"""Every call a program makes, as a function that gives a request. Not here: who sends it, and what can be followed (`streams.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from . import models
from .events import Envelope
from .model import Fields, given
from .request import Answer, Request, path_of
from .view import View

M = TypeVar("M", bound=Fields)
T = TypeVar("T")


def health() -> Request[models.Health]:
    """Whether the daemon is up; needs no token."""
    return _get("/health", _as(models.Health))


def list_agents() -> Request[list[models.AgentInfo]]:
    """The runtimes: which are installed, what each can do, and what keeps one from working."""
    return _get("/api/agents", _list("agents", models.AgentInfo))


def list_conversations(runtime: str, cwd: str) -> Request[list[models.Conversation]]:
    """What an agent has stored by itself and can become a session (`adopt`)."""
    path = f"/api/agents/{quote(runtime, safe='')}/conversations"
    return _get(path, _list("conversations", models.Conversation), cwd=cwd)


def create_session(
    runtime: str, session_id: str | None = None, params: dict[str, Any] | None = None, adopt: str | None = None
) -> Request[models.SessionInfo]:
    """With a `session_id` of your own, the same call again gives the same session."""
    body = given(runtime=runtime, session_id=session_id, params=params, adopt=adopt)
    return _send("POST", "/api/sessions", body, _as(models.SessionInfo))


def list_sessions(
    archived: bool | None = None,
    runtime: str | None = None,
    q: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Request[models.SessionList]:
    """Newest activity first. `next_cursor` of one answer is the `cursor` of the next."""
    read = _as(models.SessionList)
    return _get("/api/sessions", read, archived=archived, runtime=runtime, q=q, limit=limit, cursor=cursor)


def get_session(session_id: str) -> Request[models.SessionInfo]:
    return _get(path_of(session_id), _as(models.SessionInfo))


def update_session(
    session_id: str,
    title: str | None = None,
    model: str | None = None,
    mode: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Request[models.SessionInfo]:
    body = given(title=title, model=model, mode=mode, settings=settings)
    return _send("PATCH", path_of(session_id), body, _as(models.SessionInfo))


def archive_session(session_id: str) -> Request[models.SessionInfo]:
    """Nothing runs in it any more; everything can still be read."""
    return _send("DELETE", path_of(session_id), None, _as(models.SessionInfo))


def unarchive_session(session_id: str) -> Request[models.SessionInfo]:
    return _send("POST", path_of(session_id, "unarchive"), None, _as(models.SessionInfo))


def delete_session(session_id: str) -> Request[None]:
    """Removes it for good, with everything that was said in it."""
    return Request("DELETE", path_of(session_id), _nothing, query={"purge": True})


def resume_session(session_id: str, provider_session_id: str | None = None) -> Request[models.SessionInfo]:
    body = given(provider_session_id=provider_session_id)
    return _send("POST", path_of(session_id, "resume"), body, _as(models.SessionInfo))


def fork_session(
    session_id: str, new_session_id: str | None = None, at_turn: str | None = None
) -> Request[models.SessionInfo]:
    body = given(session_id=new_session_id, at_turn=at_turn)
    return _send("POST", path_of(session_id, "fork"), body, _as(models.SessionInfo))


def rollback_session(session_id: str, turns: int, restore_files: bool = False) -> Request[models.SessionInfo]:
    body = {"turns": turns, "restore_files": restore_files}
    return _send("POST", path_of(session_id, "rollback"), body, _as(models.SessionInfo))


def compact_session(session_id: str) -> Request[None]:
    return _send("POST", path_of(session_id, "compact"), None, _nothing)


def post_message(
    session_id: str, message: models.MessageContent, message_id: str | None = None, when: str | None = None
) -> Request[models.Receipt]:
    """Answered when the message is durable. With a `message_id` of your own, sending it again is safe."""
    body = given(message=message, message_id=message_id, when=when)
    return _send("POST", path_of(session_id, "message"), body, _as(models.Receipt))


def stop(session_id: str, turn_id: str | None = None, then: str | None = None) -> Request[bool]:
    """Answered when the turn is settled; `False` when none ran. `then="hold"` keeps what waits in the queue until `continue_queue`."""
    return _send("POST", path_of(session_id, "stop"), given(turn_id=turn_id, then=then), _item("stopped", bool))


def stop_background(session_id: str, background_id: str) -> Request[None]:
    """Ends one task or sub-agent of the background. Answered when the agent was told; the log says when it has ended."""
    return _send("POST", path_of(session_id, "background", background_id) + "/stop", None, _nothing)


def continue_queue(session_id: str) -> Request[list[models.QueueItem]]:
    """Lets the messages that are held go on."""
    return _send("POST", path_of(session_id, "continue"), None, _queue)


def get_queue(session_id: str) -> Request[list[models.QueueItem]]:
    return _get(path_of(session_id, "queue"), _queue)


def reorder_queue(session_id: str, order: list[str]) -> Request[list[models.QueueItem]]:
    """`order` has every message id that waits."""
    return _send("PATCH", path_of(session_id, "queue"), {"order": order}, _queue)


def get_queued(session_id: str, message_id: str) -> Request[models.QueuedMessage]:
    """All that a message that waits says."""
    return _get(path_of(session_id, "queue", message_id), _as(models.QueuedMessage))


def edit_queued(session_id: str, message_id: str, message: str) -> Request[list[models.QueueItem]]:
    """Other words for a message that waits; it keeps its place, its pictures and its files."""
    return _send("PATCH", path_of(session_id, "queue", message_id), {"message": message}, _queue)


def remove_from_queue(session_id: str, message_id: str) -> Request[list[models.QueueItem]]:
    return _send("DELETE", path_of(session_id, "queue", message_id), None, _queue)


def export_session(session_id: str) -> Request[bytes]:
    """A session as a file: everything that was said, and what belongs to it."""
    return Request("GET", path_of(session_id, "export"), _bytes, accept="*/*")


def import_session(file: bytes | str, session_id: str | None = None) -> Request[models.SessionInfo]:
    """Adds a session from such a file, under its own id or another."""
    content = file.encode() if isinstance(file, str) else file
    read = _as(models.SessionInfo)
    return Request("POST", "/api/sessions/import", read, query={"session_id": session_id}, content=content)


def list_tasks() -> Request[list[models.Task]]:
    """The turns that run, over all sessions, oldest first."""
    return _get("/api/tasks/active", _list("tasks", models.Task))


def get_run(turn_id: str, session_id: str | None = None) -> Request[models.RunStatus]:
    """What became of a turn, and whether it is alive. One that ended long ago is found with its session's id."""
    return _get(f"/api/agent-runs/{quote(turn_id, safe='')}/status", _as(models.RunStatus), session_id=session_id)


def cancel_run(turn_id: str, session_id: str | None = None) -> Request[models.Cancelled]:
    """Stops a turn; one that is dead by force."""
    path = f"/api/agent-runs/{quote(turn_id, safe='')}/cancel"
    return Request("POST", path, _as(models.Cancelled), query={"session_id": session_id})


def get_events(
    session_id: str, after: int = 0, limit: int | None = None, types: list[str] | None = None
) -> Request[models.EventPage]:
    """A page of the log."""
    path = path_of(session_id, "events")
    return _get(path, lambda answer: models.EventPage(answer.json()), after=after, limit=limit, types=types)


def get_view(session_id: str, messages: int | None = None, before: str | None = None) -> Request[View]:
    """The conversation as people read it. `before` of one answer leads to older messages."""
    return _get(path_of(session_id, "view"), lambda answer: View(answer.json()), messages=messages, before=before)


def get_files(session_id: str, path: str | None = None) -> Request[list[models.FileChanges]]:
    """The files that the session has changed, the newest change first, with what is different now."""
    read = _list("files", models.FileChanges)
    return Request("GET", path_of(session_id, "files"), read, query={"path": path})


def list_asks() -> Request[list[models.Ask]]:
    """What waits for a person, over all sessions, oldest first."""
    return _get("/api/asks", _list("asks", models.Ask))


def reply_permission(
    session_id: str,
    ask: Any,
    reply: models.PermissionReply,
    updated_input: Any = None,
    message: str | None = None,
    rule: str | None = None,
    stop: bool | None = None,
    then: str | None = None,
) -> Request[models.Resolved]:
    """`ask` is the event, what `list_asks` gave, or its id."""
    body = given(reply=reply, updated_input=updated_input, message=message, rule=rule, stop=stop, then=then)
    return _send("POST", path_of(session_id, "permissions", id_of(ask)), body, _as(models.Resolved))


def allow(session_id: str, ask: Any, reply: models.PermissionReply = "once") -> Request[models.Resolved]:
    """Lets the tool run: `once`, or `always`."""
    return reply_permission(session_id, ask, reply)


def reject(session_id: str, ask: Any, message: str | None = None) -> Request[models.Resolved]:
    """Does not let the tool run; the agent reads the message."""
    return reply_permission(session_id, ask, "reject", message=message)


def reply_question(session_id: str, ask: Any, answers: list[list[str]]) -> Request[models.Resolved]:
    """One list of answers for each question."""
    return _send("POST", path_of(session_id, "questions", id_of(ask)), {"answers": answers}, _as(models.Resolved))


def reject_question(session_id: str, ask: Any) -> Request[models.Resolved]:
    return _send("POST", path_of(session_id, "questions", id_of(ask)) + "/reject", None, _as(models.Resolved))


def answer_interrupt(session_id: str, interrupt: Any, value: Any) -> Request[models.Resolved]:
    return _send("POST", path_of(session_id, "interrupt", id_of(interrupt)), {"value": value}, _as(models.Resolved))


def give_tool_result(
    session_id: str, tool_use_id: str, output: Any, is_error: bool = False
) -> Request[models.Resolved]:
    """The result of a call of one of the `client_tools`: the `tool_use_id` stands in its `interrupt`. Taken once."""
    body = {"output": output, "is_error": is_error}
    return _send("POST", path_of(session_id, "tool-results", tool_use_id), body, _as(models.Resolved))


def get_state(session_id: str) -> Request[models.SharedState]:
    """The document that the agent and all clients share; an empty object as long as nobody has set it."""
    return _get(path_of(session_id, "state"), _as(models.SharedState))


def patch_state(session_id: str, patch: list[models.PatchOperation]) -> Request[models.SharedState]:
    """Changes the shared document, all of the patch or nothing, and gives what it is then."""
    return _send("PATCH", path_of(session_id, "state"), patch, _as(models.SharedState))


def call_back(
    session_id: str, component_id: str, action: str, payload: Any = None, callback_id: str | None = None
) -> Request[models.Noted]:
    """Tells the agent what was done in one of its components. Answered when that is in the log."""
    body = given(action=action, payload=payload, callback_id=callback_id)
    return _send("POST", path_of(session_id, "components", component_id) + "/callback", body, _as(models.Noted))


def emit(
    session_id: str, events: list[Envelope | dict[str, Any]], turn_id: str | None = None, id: str | None = None
) -> Request[int]:
    """Adds facts to a session, all or none, and gives the position of the last. With an `id` of your own, a retry is safe."""
    said = [pick(event) for event in events]
    body = given(id=id, turn_id=turn_id, events=said)
    return _send("POST", path_of(session_id, "emit"), body, _item("seq", int))


def create_token(name: str, scopes: list[str], expires_at: str | None = None) -> Request[models.NewToken]:
    """A token that may do only some things: `agent:NAME`, `emit:SESSION`, `read:SESSION`, `use:SESSION`. It is told once."""
    return _send("POST", "/api/tokens", given(name=name, scopes=scopes, expires_at=expires_at), _as(models.NewToken))


def list_tokens() -> Request[list[models.Token]]:
    return _get("/api/tokens", _list("tokens", models.Token))


def revoke_token(token_id: str) -> Request[None]:
    return _send("DELETE", f"/api/tokens/{quote(token_id, safe='')}", None, _nothing)


def create_schedule(
    title: str, when: dict[str, Any], prompt: str, schedule_id: str | None = None, **fields: Any
) -> Request[models.Schedule]:
    """Has a prompt sent by itself. `fields` are `runtime`, `params`, `zone`, `session`, `overlap`, `missed` and the others of the API."""
    body = given(schedule_id=schedule_id, title=title, when=when, prompt=prompt, **fields)
    return _send("POST", "/api/schedules", body, _as(models.Schedule))


def list_schedules() -> Request[list[models.Schedule]]:
    return _get("/api/schedules", _list("schedules", models.Schedule))


def get_schedule(schedule_id: str) -> Request[models.Schedule]:
    return _get(_schedule(schedule_id), _as(models.Schedule))


def update_schedule(schedule_id: str, **fields: Any) -> Request[models.Schedule]:
    """Changes a schedule; `paused=True` pauses it. What is not given stays."""
    return _send("PATCH", _schedule(schedule_id), given(**fields), _as(models.Schedule))


def remove_schedule(schedule_id: str) -> Request[None]:
    """Removes a schedule and its history; the sessions of its runs stay."""
    return _send("DELETE", _schedule(schedule_id), None, _nothing)


def run_schedule(schedule_id: str) -> Request[models.Run]:
    return _send("POST", _schedule(schedule_id) + "/run", {}, _as(models.Run))


def list_runs(schedule_id: str, limit: int | None = None, cursor: str | None = None) -> Request[models.ScheduleRuns]:
    """The runs of a schedule, the newest first."""
    return _get(_schedule(schedule_id) + "/runs", _as(models.ScheduleRuns), limit=limit, cursor=cursor)


def preview_schedule(when: dict[str, Any], zone: str | None = None, count: int | None = None) -> Request[list[str]]:
    """When a schedule would be due that is not there yet."""
    return _send("POST", "/api/schedules/preview", given(when=when, zone=zone, count=count), _item("times", list))


def _schedule(schedule_id: str) -> str:
    return f"/api/schedules/{quote(schedule_id, safe='')}"


def get_blob(blob_id: str, start: int | None = None, end: int | None = None) -> Request[bytes]:
    """What was too large for its event, or the bytes from `start` to before `end`."""
    headers = {} if start is None and end is None else {"range": f"bytes={start or 0}-{'' if end is None else end - 1}"}
    return Request("GET", blob_path(blob_id), _bytes, accept="*/*", headers=headers)


def get_picture(blob_id: str) -> Request[bytes]:
    """The same as a picture. Pictures are kept as the base64 that came."""
    return Request("GET", blob_path(blob_id), _bytes, accept="image/*")


def get_picture_link(blob_id: str) -> Request[models.PictureLink]:
    """An address of a picture for whoever has it: it needs no token and works for some minutes."""

    def read(answer: Answer) -> models.PictureLink:
        link = answer.json()
        return models.PictureLink(url=answer.base + link["path"], expires_in=link["expires_in"])

    return _send("POST", blob_path(blob_id) + "/link", None, read)


def get_picture_url(blob_id: str) -> Request[str]:
    link = get_picture_link(blob_id)
    return Request(link.method, link.path, lambda answer: link.read(answer).url)


def make_login_link() -> Request[str]:
    """An address that signs a browser in, once and soon."""
    return _send("POST", "/api/login-links", {}, lambda answer: answer.base + answer.json()["path"])


def list_sign_ins() -> Request[list[models.SignIn]]:
    """The browsers that are signed in, last seen first."""
    return _get("/api/sign-ins", _list("sign_ins", models.SignIn))


def end_sign_in(sign_in_id: str) -> Request[None]:
    """Signs a browser out. What it has open is closed."""
    return _send("DELETE", f"/api/sign-ins/{quote(sign_in_id, safe='')}", None, _nothing)


def end_all_sign_ins() -> Request[None]:
    """Signs every browser out."""
    return _send("DELETE", "/api/sign-ins", None, _nothing)


def list_channels() -> Request[list[models.Channel]]:
    """How other services talk to agents, by name."""
    return _get("/api/channels", _list("channels", models.Channel))


def get_channel(name: str) -> Request[models.Channel]:
    return _get(_channel_path(name), _as(models.Channel))


def create_channel(channel: dict[str, Any]) -> Request[models.Channel]:
    """Makes a channel. Its secrets are kept and not shown again."""
    return _send("POST", "/api/channels", channel, _as(models.Channel))


def update_channel(name: str, changes: dict[str, Any]) -> Request[models.Channel]:
    """Changes what is given of a channel; ``None`` takes back what was set."""
    return _send("PATCH", _channel_path(name), changes, _as(models.Channel))


def remove_channel(name: str) -> Request[None]:
    """Removes a channel; its sessions stay."""
    return _send("DELETE", _channel_path(name), None, _nothing)


def list_channel_deliveries(name: str, limit: int | None = None) -> Request[list[models.ChannelDelivery]]:
    """The newest deliveries of a channel first."""
    return _get(f"{_channel_path(name)}/deliveries", _list("deliveries", models.ChannelDelivery), limit=limit)


def retry_channel_delivery(name: str, delivery_id: str) -> Request[models.ChannelDelivery]:
    """Tries a delivery again that failed: its turn, or its answer."""
    path = f"{_channel_path(name)}/deliveries/{quote(delivery_id, safe='')}/retry"
    return _send("POST", path, {}, _as(models.ChannelDelivery))


def list_webhooks() -> Request[list[models.Webhook]]:
    """Who is told what happens in sessions, oldest first."""
    return _get("/api/webhooks", _list("webhooks", models.Webhook))


def get_webhook(webhook_id: str) -> Request[models.Webhook]:
    return _get(_webhook_path(webhook_id), _as(models.Webhook))


def create_webhook(webhook: dict[str, Any]) -> Request[models.MadeWebhook]:
    """Subscribes an address. The secret is made if none is given, and told once."""
    return _send("POST", "/api/webhooks", webhook, _as(models.MadeWebhook))


def update_webhook(webhook_id: str, changes: dict[str, Any]) -> Request[models.Webhook]:
    return _send("PATCH", _webhook_path(webhook_id), changes, _as(models.Webhook))


def remove_webhook(webhook_id: str) -> Request[None]:
    return _send("DELETE", _webhook_path(webhook_id), None, _nothing)


def list_webhook_deliveries(webhook_id: str) -> Request[models.WebhookDeliveries]:
    """What was sent, what waits and what nobody took."""
    return _get(f"{_webhook_path(webhook_id)}/deliveries", _as(models.WebhookDeliveries))


def redeliver_webhook(webhook_id: str, delivery_id: str) -> Request[None]:
    """Sends an event again that is listed."""
    return _send("POST", f"{_webhook_path(webhook_id)}/redeliver", {"delivery_id": delivery_id}, _nothing)


def test_webhook(webhook_id: str) -> Request[models.WebhookTested]:
    """Sends a test event at once, and tells what the receiver answered."""
    return _send("POST", f"{_webhook_path(webhook_id)}/test", {}, _as(models.WebhookTested))


def _channel_path(name: str) -> str:
    return f"/api/channels/{quote(name, safe='')}"


def _webhook_path(webhook_id: str) -> str:
    return f"/api/webhooks/{quote(webhook_id, safe='')}"


def report_timings(timings: list[dict[str, Any]]) -> Request[None]:
    """Tells what a page has measured, for the daemon's metrics."""
    return _send("POST", "/api/timings", {"timings": timings}, _nothing)


def id_of(ask: Any) -> str:
    """The id of what waits: of a request's event, of what a list of asks gave, or the id itself."""
    if isinstance(ask, str):
        return ask
    said = getattr(ask, "data", ask)
    found = getattr(said, "ask_id", None) or getattr(said, "interrupt_id", None)
    if not isinstance(found, str):
        raise TypeError(f"{ask!r} asks nothing")
    return found


def pick(event: Envelope | dict[str, Any]) -> dict[str, Any]:
    """What an event says, without when."""
    said = event.model_dump() if isinstance(event, Envelope) else event
    return {"type": said["type"], "data": said["data"]}


def _get(path: str, read: Callable[[Answer], T], **query: Any) -> Request[T]:
    return Request("GET", path, read, query=query)


def _send(method: str, path: str, body: Any, read: Callable[[Answer], T]) -> Request[T]:
    return Request(method, path, read, body=body)


def _as(model: type[M]) -> Callable[[Answer], M]:
    return lambda answer: model.model_validate(answer.json())


def _list(name: str, model: type[M]) -> Callable[[Answer], list[M]]:
    return lambda answer: [model.model_validate(one) for one in answer.json()[name]]


def _item(name: str, kind: Callable[[Any], T]) -> Callable[[Answer], T]:
    return lambda answer: kind(answer.json()[name])


_queue = _list("queue", models.QueueItem)


def _nothing(_: Answer) -> None:
    return None


def _bytes(answer: Answer) -> bytes:
    return answer.body


def blob_path(blob_id: str) -> str:
    return f"/api/blobs/{quote(blob_id, safe='')}"
