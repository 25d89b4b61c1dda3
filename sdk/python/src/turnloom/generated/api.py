"""What the daemon answers. Made by `cargo xtask gen` from docs/reference. Do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import Field

from ..model import Fields
from .events import Activity, AskKind, BudgetMeasure, BudgetScope, ChannelKind, FileChange, Hold, Origin, Outcome, Part, QueueState, ScheduleMissed, SlashCommand

__all__ = [
    "AgentInfo",
    "AgentKind",
    "Amounts",
    "Ask",
    "Cancelled",
    "Capabilities",
    "Channel",
    "ChannelCounts",
    "ChannelDelivery",
    "ChannelDeliveryState",
    "ChannelReply",
    "ChannelReplyService",
    "ChannelRule",
    "ContextUse",
    "Conversation",
    "CronScheduleWhen",
    "EnvSecretSource",
    "FileChanges",
    "FileSecretSource",
    "ForkScheduleSession",
    "Health",
    "HmacHeader",
    "IntervalScheduleWhen",
    "LimitView",
    "Limits",
    "LostAsk",
    "MadeWebhook",
    "MissedRange",
    "NewScheduleSession",
    "Noted",
    "OnceScheduleWhen",
    "QueueItem",
    "QueuedMessage",
    "Receipt",
    "Resolved",
    "Run",
    "RunCause",
    "RunOutcome",
    "RunReason",
    "RunState",
    "RunStatus",
    "RunUsage",
    "SameScheduleSession",
    "Schedule",
    "ScheduleOverlap",
    "ScheduleRuns",
    "ScheduleSession",
    "ScheduleStatus",
    "ScheduleWhen",
    "SecretSource",
    "SessionBudget",
    "SessionInfo",
    "SessionList",
    "SessionProblem",
    "SessionStatus",
    "Setting",
    "SettledAlong",
    "SharedState",
    "SignIn",
    "SignatureEncoding",
    "StoredSecretSource",
    "Takes",
    "Task",
    "TaskActivity",
    "TaskMetadata",
    "TaskPresence",
    "TaskStatus",
    "TaskType",
    "WaitsFor",
    "Webhook",
    "WebhookAttempt",
    "WebhookDeliveries",
    "WebhookDelivery",
    "WebhookDeliveryState",
    "WebhookEventType",
    "WebhookTested",
]


class Health(Fields):
    status: str
    version: str


AgentKind: TypeAlias = Union[Literal["builtin", "external", "command"], str]
"""Where an agent comes from."""


class Capabilities(Fields):
    """What an agent of one runtime can do. A call for something it cannot do is refused, so this must be true."""

    steer: bool
    """Takes a message into the running turn."""
    resume: bool
    """Remembers a conversation across its own restarts."""
    fork: bool
    rollback: bool
    compact: bool
    set_model: bool
    set_mode: bool
    permissions: bool
    gate: bool
    """Makes no call before it has heard what the rules say about it, so the modes with rules hold."""
    edit_input: bool
    """Runs a tool with the input that a person made of the one it was asked about, unless the ask says that its input
    is fixed.
    """
    questions: bool
    images: bool
    files: bool
    thinking: bool
    plan: bool
    subagents: bool
    background: bool
    stop_background: bool
    """Ends one thing that runs in the background, when told to."""
    components: bool
    """Shows components, and hears what people do in them."""
    state: bool
    """Shares a state with its clients, and hears of their changes."""
    usage: bool
    client_tools: bool
    """Calls tools that clients run."""
    restore_files: bool
    """Puts files back as they were when turns are taken back."""
    adopt: bool
    """Has conversations of its own on this machine that can become sessions."""


Takes: TypeAlias = Union[
    Literal[
        "choice",
        "choices",
        "choice_or_object",
        "text",
        "number",
        "decimal",
        "flag",
        "texts",
        "object",
    ],
    str,
]
"""What a setting may be set to."""


class Setting(Fields):
    name: str
    takes: Takes
    choices: Union[list[str], None] = None
    """The words to choose from."""


class AgentInfo(Fields):
    """What a client may know of a runtime."""

    id: str
    name: str
    installed: bool
    kind: AgentKind
    capabilities: Capabilities
    params: list[Setting]
    """What a session may be created with, besides its folder, title, model and mode, and the tools that clients run."""
    version: Union[str, None] = None
    connected: Union[int, None] = None
    """How many processes are connected, of an agent that connects."""
    modes: Union[list[str], None] = None
    """The modes that a session may have; any word, if they are not listed."""
    settings: Union[list[Setting], None] = None
    """What may be changed while a session lives, besides its model and mode."""
    commands: Union[list[SlashCommand], None] = None
    """What a message that begins with a slash may call, as an agent of this runtime told it last."""
    problem: Union[str, None] = None
    """What keeps it from working."""
    fix: Union[str, None] = None
    """What to do about it."""


class Conversation(Fields):
    """A conversation that an agent has stored by itself."""

    id: str
    """The agent's name for it."""
    title: str
    updated_at: str
    cwd: Union[str, None] = None


SessionStatus: TypeAlias = Union[
    Literal[
        "idle",
        "running",
        "stopping",
        "archived",
        "waiting",
        "failed",
        "damaged",
    ],
    str,
]
"""What a session is doing."""


class LostAsk(Fields):
    """An ask that ended before anybody could answer it."""

    ask_id: str
    kind: AskKind
    title: str
    """One line for a person."""
    asked_at: str
    lost_at: str
    reason: str


class SessionProblem(Fields):
    """What went wrong with a session, as its log says it."""

    code: str
    message: str
    fix: Union[str, None] = None
    """What to do about it."""


class Amounts(Fields):
    """What was spent, in the units of people."""

    tokens: int
    """All that the model read and wrote, also what it read from a cache."""
    usd: float
    turns: int
    minutes: float
    """Of work, without those in which a person was waited for."""


class LimitView(Fields):
    """A limit, and how far it is used up."""

    scope: BudgetScope
    measure: BudgetMeasure
    limit: float
    """With what people added."""
    spent: float
    id: Union[str, None] = None
    """Which group, which day."""


class SessionBudget(Fields):
    """What a session has spent, and may."""

    spent: Amounts
    turn: Amounts
    """Of the turn that runs, or the last one."""
    limits: list[LimitView]
    """Every limit that holds for it; those that it shares with others too."""


class ContextUse(Fields):
    """How much of what an agent can hold in mind it holds, in tokens."""

    used: int
    window: int


class SessionInfo(Fields):
    """A session as clients see it."""

    session_id: str
    runtime: str
    status: SessionStatus
    head: int
    title: str
    archived: bool
    asks: int
    """How many asks wait for a person."""
    queued: int
    """How many messages wait for their turn."""
    held: int
    """How many of these wait for somebody to let them go on."""
    capabilities: Capabilities
    created_at: str
    updated_at: str
    turn: Union[str, None] = None
    """The turn that runs."""
    cwd: Union[str, None] = None
    model: Union[str, None] = None
    mode: Union[str, None] = None
    settings: Union[dict[str, Any], None] = None
    """What the runtime's own settings were set to, as far as they were."""
    provider_session_id: Union[str, None] = None
    lost_ask: Union[LostAsk, None] = None
    """What was asked and could not be answered any more, because the daemon or the agent ended; until the next turn."""
    problem: Union[SessionProblem, None] = None
    """What went wrong since the last turn began."""
    parent_session_id: Union[str, None] = None
    """The session that it works for."""
    delegated_asks: Union[int, None] = None
    """How many asks of sessions that work for it wait for a person, if any."""
    budget: Union[SessionBudget, None] = None
    """What it has spent and what it may, if it has or something limits it."""
    context: Union[ContextUse, None] = None
    """How full the agent's context is, if it says so."""


class SessionList(Fields):
    sessions: list[SessionInfo]
    next_cursor: Union[str, None] = None


class Receipt(Fields):
    """That a message was taken, and where it went. A retry with the same id gets the same receipt."""

    accepted: bool
    message_id: str
    queued: bool
    turn_id: Union[str, None] = None
    position: Union[int, None] = None
    """Its place in the queue, from 1."""


class QueueItem(Fields):
    message_id: str
    preview: str
    state: QueueState
    held: Union[Hold, None] = None
    """It does not go on by itself, and this is why."""


class QueuedMessage(Fields):
    message_id: str
    content: list[Part]


class Ask(Fields):
    """An ask that nobody has answered yet."""

    session_id: str
    session_title: str
    ask_id: str
    kind: AskKind
    seq: int
    """Where its request stands in the log."""
    asked_at: str
    title: str
    """One line for a person."""
    request: Any
    """The request's payload, as in its event."""
    turn_id: Union[str, None] = None
    subagent_id: Union[str, None] = None
    """Who asks, when it is a sub-agent, and what it was called to do."""
    subagent_name: Union[str, None] = None


class SettledAlong(Fields):
    """An ask that was settled along with another."""

    session_id: str
    ask_id: str
    seq: int
    """Where its log says so."""


class Resolved(Fields):
    resolved: bool
    seq: int
    """Where the log says so."""
    also: Union[list[SettledAlong], None] = None
    """What else was settled by it."""


class SharedState(Fields):
    state: Any
    """Any JSON; an empty object as long as nobody has set it."""
    seq: int
    """Where the log last changed it."""


class Noted(Fields):
    accepted: bool
    seq: int
    """Where the log says so."""


TaskType: TypeAlias = Union[Literal["chat", "scheduled", "delegation", "channel"], str]
"""What kind of work it is, by what began it."""


TaskStatus: TypeAlias = Union[Literal["running", "succeeded", "failed", "cancelled"], str]


TaskPresence: TypeAlias = Union[Literal["foreground", "background"], str]
"""Whether somebody is there for a turn. Decided here once, so that no client has a rule of its own."""


class TaskMetadata(Fields):
    """Where the work comes from."""

    scheduledRunId: Union[str, None] = None
    """The run of a schedule."""
    isDelegation: Union[bool, None] = None
    parentSessionId: Union[str, None] = None
    """The session that gave the work away."""
    channelType: Union[ChannelKind, None] = None
    """What kind of channel it came by."""
    channel: Union[str, None] = None
    """The channel by its name, its own id of the delivery, and who wrote."""
    deliveryId: Union[str, None] = None
    sender: Union[str, None] = None
    continues: Union[str, None] = None
    """The turn that was interrupted for its budget and goes on with this one."""


class TaskActivity(Fields):
    state: Activity
    since: str
    label: Union[str, None] = None


WaitsFor: TypeAlias = Union[Literal["question", "permission", "input", "plan"], str]
"""What a person is waited for."""


class Task(Fields):
    """One turn, as a list of tasks shows it."""

    runId: str
    sessionId: str
    type: TaskType
    status: TaskStatus
    origin: Origin
    triggerType: str
    presence: TaskPresence
    metadata: TaskMetadata
    lastActivityAt: str
    needsInput: int
    """How many asks wait for a person."""
    queued: int
    """How many messages wait for their turn."""
    subagents: int
    """How many sub-agents run."""
    isZombie: bool
    """It runs, and nothing was heard of it for too long. Decided by the daemon; a turn that waits for a person is not
    one.
    """
    prompt: Union[str, None] = None
    """The first line of what the turn is about."""
    startedAt: Union[str, None] = None
    """Absent when the turn began before anybody counted."""
    completedAt: Union[str, None] = None
    durationMs: Union[int, None] = None
    error: Union[str, None] = None
    activity: Union[TaskActivity, None] = None
    """What it does now."""
    waitsFor: Union[WaitsFor, None] = None
    """What is waited for; of several things the one that says most."""
    toolName: Union[str, None] = None
    context: Union[ContextUse, None] = None


class RunStatus(Fields):
    """A turn as those see it who wait for it. Some members have two names, because clients of two kinds read them."""

    run_id: str
    session_id: str
    status: str
    """`running`, `succeeded`, `failed`, `cancelled`."""
    is_zombie: bool
    """It runs, and nothing was heard of it for too long. Decided here; a turn that waits for a person is not one."""
    isZombie: bool
    waits_for_person: bool
    last_heartbeat_at: str
    updatedAt: str
    origin: Origin
    type: TaskType
    presence: TaskPresence
    pipelineName: str
    """The runtime."""
    started_at: Union[str, None] = None
    completed_at: Union[str, None] = None
    completedAt: Union[str, None] = None
    duration_ms: Union[int, None] = None
    durationMs: Union[int, None] = None
    error: Union[str, None] = None


class Cancelled(Fields):
    cancelled: bool
    forced: Union[bool, None] = None
    """The turn was dead."""


class FileChanges(Fields):
    """A file that is different now."""

    path: str
    """From the session's folder, where it is inside."""
    kind: FileChange
    added: int
    removed: int
    exact: bool
    """Whether `diff` is the one difference. Otherwise something else has changed the file in between, and the diffs
    stand one after the other.
    """
    diff: str


class SignIn(Fields):
    id: str
    browser: str
    """What it calls itself."""
    signed_in_at: str
    seen_at: str
    current: bool
    """It is the one that asks."""


class ChannelRule(Fields):
    """One condition on a delivery. What is not there is in no list and contains nothing."""

    at: Union[str, None] = None
    """A JSON pointer into the payload."""
    header: Union[str, None] = None
    """Or the name of a header."""
    in_: Union[list[str], None] = Field(default=None, alias="in")
    """It is one of these."""
    not_in: Union[list[str], None] = None
    """It is none of these."""
    contains: Union[str, None] = None
    """It contains this."""
    exists: Union[bool, None] = None
    """It is there, or it is not."""


class StoredSecretSource(Fields):
    """The daemon has it."""

    from_: Literal["stored"] = Field(alias="from")


class EnvSecretSource(Fields):
    from_: Literal["env"] = Field(alias="from")
    name: str


class FileSecretSource(Fields):
    from_: Literal["file"] = Field(alias="from")
    path: str


SecretSource: TypeAlias = Annotated[Union[StoredSecretSource, EnvSecretSource, FileSecretSource, Fields], Field(union_mode="left_to_right")]
"""Where a secret is."""


class ChannelCounts(Fields):
    """What became of a channel's deliveries since the daemon started."""

    accepted: int
    duplicates: int
    """They had been accepted before."""
    ignored: dict[str, Any]
    """Genuine, and nothing for an agent: by reason."""
    refused: dict[str, Any]
    """By the code of the refusal."""
    replied: int
    """Answers that went back."""
    reply_failed: int
    """Answers that nobody took."""


class Limits(Fields):
    """What may be spent. What is not given is not limited."""

    tokens: Union[float, None] = None
    """All that the model reads and writes, also what it reads from a cache."""
    usd: Union[float, None] = None
    """Dollars: what the agent says, or what `budgets.prices` makes of its tokens."""
    turns: Union[float, None] = None
    minutes: Union[float, None] = None
    """Minutes of work, without those in which a person is waited for."""


SignatureEncoding: TypeAlias = Union[Literal["hex", "base64"], str]


class HmacHeader(Fields):
    """Where a plain HMAC stands, and how it is written."""

    header: str
    """If it is left out: `x-signature-256`."""
    prefix: str
    """What stands before the signature. If it is left out: `sha256=`."""
    encoding: SignatureEncoding
    """If it is left out: `hex`."""
    timestamp_header: str
    """A header with the seconds since 1970. What is signed is then `TIME.BODY`, and what is older than five minutes is
    refused.
    """


ChannelReplyService: TypeAlias = Union[Literal["github", "slack", "telegram", "post"], str]


class ChannelReply(Fields):
    """Where the answers of a channel go."""

    to: ChannelReplyService
    hosts: list[str]
    """The hosts that `url` may lead to, if a payload says where."""
    base_url: Union[str, None] = None
    """Another address of the service, such as that of a GitHub Enterprise server."""
    url: Union[str, None] = None
    """Where `post` sends to: `https://...`, or a template such as `{/reply_url}`."""
    text: Union[str, None] = None
    """What is said; `{answer}`, if not given."""
    limit: Union[int, None] = None
    """How many characters one message may have, if fewer than the service takes."""


class Channel(Fields):
    """A channel as clients see it."""

    name: str
    """In the address: `/hooks/NAME`."""
    kind: ChannelKind
    runtime: str
    """The runtime of its sessions."""
    params: dict[str, Any]
    """What its sessions are created with: `cwd`, `mode`, `model`, ..."""
    events: list[str]
    """Only these events, such as `issues.opened` or `issues`; all, if there are none."""
    senders: list[str]
    """Only of these senders."""
    only: list[ChannelRule]
    """Only where all of these hold."""
    respond_seconds: int
    """Wait so many seconds for the answer and send it as the response; what takes longer is answered with 202."""
    max_running: int
    """Turns that may run at once."""
    paused: bool
    """Refuses deliveries while it is paused. If it is left out: `false`."""
    secret: SecretSource
    """Where its secret is; the secret itself is not shown."""
    path: str
    """Where the service delivers."""
    waiting: int
    """Deliveries that are accepted and not done with."""
    counts: ChannelCounts
    """Since the daemon started."""
    created_at: str
    updated_at: str
    budget: Union[Limits, None] = None
    """What all its sessions may spend together. It counts for sessions that are created from then on."""
    message: Union[str, None] = None
    """What the agent is told; the kind has one of its own."""
    conversation: Union[str, None] = None
    """Deliveries for which this is the same go on in one session. Each has its own, where it is empty."""
    delivery: Union[str, None] = None
    """What names a delivery; the same one again is not taken twice."""
    title: Union[str, None] = None
    """What a session is called."""
    hmac: Union[HmacHeader, None] = None
    """Where a plain HMAC stands; for the kind `hmac`."""
    reply: Union[ChannelReply, None] = None
    """Where the answer goes; nowhere, if not given."""
    reply_token: Union[SecretSource, None] = None


ChannelDeliveryState: TypeAlias = Union[Literal["done", "accepted", "running", "answered", "failed"], str]
"""How far a delivery is."""


class ChannelDelivery(Fields):
    """A delivery as people see it."""

    delivery_id: str
    state: ChannelDeliveryState
    conversation: str
    session_id: str
    message_id: str
    received_at: str
    attempts: int
    """How often the answer was sent in vain."""
    event: Union[str, None] = None
    sender: Union[str, None] = None
    turn_id: Union[str, None] = None
    outcome: Union[Outcome, None] = None
    next_at: Union[str, None] = None
    error: Union[str, None] = None


ScheduleStatus: TypeAlias = Union[Literal["active", "paused", "ended"], str]


class CronScheduleWhen(Fields):
    """By a cron expression, in the time zone of the schedule."""

    type: Literal["cron"]
    expression: str
    """Minute, hour, day of month, month, day of week; with a sixth field in front, seconds. `L`, `W`, `#` and `@daily`
    are understood.
    """


class IntervalScheduleWhen(Fields):
    """Again and again after the same time."""

    type: Literal["interval"]
    every: str
    """Such as `15m`, `1h 30m`, `PT6H`; 100 ms at least."""
    from_: Union[str, None] = Field(default=None, alias="from")
    """Counted from here; from the schedule's creation, if not given."""


class OnceScheduleWhen(Fields):
    """One time."""

    type: Literal["once"]
    at: str


ScheduleWhen: TypeAlias = Annotated[Union[CronScheduleWhen, IntervalScheduleWhen, OnceScheduleWhen, Fields], Field(union_mode="left_to_right")]
"""When runs are due."""


class NewScheduleSession(Fields):
    """In a session of its own."""

    type: Literal["new"]


class SameScheduleSession(Fields):
    """All in one session: this one, or one that the first run creates."""

    type: Literal["same"]
    session_id: Union[str, None] = None


class ForkScheduleSession(Fields):
    """Each in a new fork of this session."""

    type: Literal["fork"]
    session_id: str


ScheduleSession: TypeAlias = Annotated[Union[NewScheduleSession, SameScheduleSession, ForkScheduleSession, Fields], Field(union_mode="left_to_right")]
"""Where a run takes place."""


ScheduleOverlap: TypeAlias = Union[Literal["skip", "queue", "stop"], str]
"""What happens when a run is due while an earlier one goes on."""


RunCause: TypeAlias = Union[Literal["due", "late", "manual"], str]
"""Why there is a run."""


RunState: TypeAlias = Union[Literal["ended", "queued", "starting", "running"], str]


RunOutcome: TypeAlias = Union[Literal["completed", "stopped", "failed", "interrupted", "skipped", "missed"], str]


class RunReason(Fields):
    """Why a run ended as it did."""

    code: str
    """A stable word."""
    message: str


class RunUsage(Fields):
    """What a run used."""

    input_tokens: int
    output_tokens: int
    cost_usd: Union[float, None] = None


class MissedRange(Fields):
    """Runs that were due and are not made."""

    first: str
    """The first and the last of them."""
    last: str
    count: int
    and_more: Union[bool, None] = None
    """There are more than were counted."""


class Run(Fields):
    """One run, as it is stored and shown."""

    run_id: str
    """Also the id of its message, and of the session that it creates."""
    schedule_id: str
    due_at: str
    cause: RunCause
    state: RunState
    outcome: Union[RunOutcome, None] = None
    reason: Union[RunReason, None] = None
    session_id: Union[str, None] = None
    turn_id: Union[str, None] = None
    after: Union[int, None] = None
    """Where in its session's log it begins."""
    started_at: Union[str, None] = None
    ended_at: Union[str, None] = None
    duration_ms: Union[int, None] = None
    usage: Union[RunUsage, None] = None
    prompt: Union[str, None] = None
    """What the agent was told."""
    result: Union[str, None] = None
    """What the agent said in the end, as far as that is kept."""
    missed: Union[MissedRange, None] = None
    """For a run that stands for those that were missed."""
    missed_before: Union[MissedRange, None] = None
    """What was missed before this run, which its session is told."""


class Schedule(Fields):
    schedule_id: str
    title: str
    status: ScheduleStatus
    when: ScheduleWhen
    words: str
    """The same in words."""
    zone: str
    prompt: str
    variables: dict[str, Any]
    params: dict[str, Any]
    session: ScheduleSession
    overlap: ScheduleOverlap
    missed: ScheduleMissed
    jitter_seconds: int
    paused: bool
    next: list[str]
    """When the next runs start, at most five."""
    open_runs: list[Run]
    """The runs that have not ended, the oldest first."""
    created_at: str
    updated_at: str
    runtime: Union[str, None] = None
    budget: Union[Limits, None] = None
    total_budget: Union[Limits, None] = None
    last_run: Union[Run, None] = None
    """The last one that ended, without its prompt and result."""


class ScheduleRuns(Fields):
    runs: list[Run]
    next_cursor: Union[str, None] = None


WebhookEventType: TypeAlias = Union[
    Literal[
        "turn.completed",
        "turn.failed",
        "ask.opened",
        "ask.resolved",
        "budget.reached",
        "schedule.missed",
        "turn.stopped",
    ],
    str,
]
"""What is told."""


class Webhook(Fields):
    """A subscription as clients see it."""

    webhook_id: str
    url: str
    events: list[WebhookEventType]
    """Which events; all, if there are none."""
    sessions: list[str]
    """Only of these sessions."""
    runtimes: list[str]
    """Only of sessions with these runtimes."""
    origins: list[Origin]
    """Only of turns that came about so."""
    paused: bool
    """Nothing is sent while it is paused; what happens meanwhile is told afterwards. If it is left out: `false`."""
    secret: SecretSource
    """Where its secret is; the secret itself is not shown."""
    position: int
    """Up to where in the feed of all sessions everything is sent, or kept to be tried again."""
    waiting: int
    """What is read and not delivered."""
    delivered: int
    """Since the daemon started."""
    failed: int
    """Tries that failed since the daemon started."""
    created_at: str
    updated_at: str
    description: Union[str, None] = None
    """For people."""
    disabled: Union[str, None] = None
    """Why it was paused, if nobody did it."""


class MadeWebhook(Fields):
    """A subscription that was just made."""

    webhook: Webhook
    secret: Union[str, None] = None
    """`whsec_...`, if none was given."""


WebhookDeliveryState: TypeAlias = Union[Literal["waiting", "delivered", "dead"], str]


class WebhookAttempt(Fields):
    """One try."""

    id: str
    """The header `webhook-id`: the same event has the same one, however often it is sent."""
    type: WebhookEventType
    session_id: str
    seq: int
    position: int
    """Its commit in the feed."""
    state: WebhookDeliveryState
    attempts: int
    """How often it was tried."""
    at: str
    milliseconds: int
    next_at: Union[str, None] = None
    """When it is tried again."""
    last_error: Union[str, None] = None
    status: Union[int, None] = None
    """What the receiver answered."""


class WebhookDelivery(Fields):
    """One event for one receiver."""

    id: str
    """The header `webhook-id`: the same event has the same one, however often it is sent."""
    type: WebhookEventType
    session_id: str
    seq: int
    position: int
    """Its commit in the feed."""
    state: WebhookDeliveryState
    attempts: int
    """How often it was tried."""
    next_at: Union[str, None] = None
    """When it is tried again."""
    last_error: Union[str, None] = None


class WebhookDeliveries(Fields):
    """What was sent, what waits and what nobody took."""

    recent: list[WebhookAttempt]
    """The last tries, newest first."""
    waiting: list[WebhookDelivery]
    """What failed and is tried again, and what stands behind it."""
    dead: list[WebhookDelivery]
    """What was tried for days; newest first."""


class WebhookTested(Fields):
    """What became of a try by hand."""

    delivered: bool
    """Whether the receiver took it."""
    milliseconds: int
    status: Union[int, None] = None
    error: Union[str, None] = None
