"""Every event of a session. Made by `cargo xtask gen` from docs/reference. Do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import Field

from ..model import Envelope, Fields, UnknownEvent, given, now

__all__ = [
    "Activity",
    "AfterStop",
    "AgentUnparsed",
    "AgentUnparsedData",
    "ArtifactCreated",
    "ArtifactCreatedData",
    "ArtifactRemoved",
    "ArtifactRemovedData",
    "ArtifactUpdated",
    "ArtifactUpdatedData",
    "ArtifactVersion",
    "ArtifactVersionData",
    "AskExpiry",
    "AskKind",
    "BackgroundEnded",
    "BackgroundEndedData",
    "BackgroundKind",
    "BackgroundStarted",
    "BackgroundStartedData",
    "Bind",
    "BlobRef",
    "Budget",
    "BudgetData",
    "BudgetHold",
    "BudgetMeasure",
    "BudgetScope",
    "BudgetState",
    "CallAct",
    "CallPart",
    "ChannelKind",
    "CompactionEnd",
    "CompactionEndData",
    "CompactionReason",
    "CompactionStart",
    "CompactionStartData",
    "CompactionTrigger",
    "ComponentCallback",
    "ComponentCallbackData",
    "ComponentRemove",
    "ComponentRemoveData",
    "ComponentStatus",
    "ComponentUpdate",
    "ComponentUpdateData",
    "ComponentView",
    "Delegated",
    "DelegatedAsk",
    "DelegatedData",
    "DelegationStarted",
    "DelegationStartedData",
    "DelegationState",
    "DelegationUpdated",
    "DelegationUpdatedData",
    "Delta",
    "DeltaData",
    "DiffUpdated",
    "DiffUpdatedData",
    "Done",
    "DoneData",
    "EndReason",
    "Error",
    "ErrorData",
    "Event",
    "EventType",
    "EvidenceChanged",
    "EvidenceChangedData",
    "FileChange",
    "FileDiff",
    "FilePart",
    "Forked",
    "ForkedData",
    "Hold",
    "Image",
    "ImagePart",
    "Interrupt",
    "InterruptData",
    "InterruptResolved",
    "InterruptResolvedData",
    "Judged",
    "KINDS",
    "MergeMode",
    "MessageSource",
    "ModeChanged",
    "ModeChangedData",
    "ModelChanged",
    "ModelChangedData",
    "ModelChoice",
    "Origin",
    "Outcome",
    "Part",
    "PermissionOption",
    "PermissionReply",
    "PermissionRequest",
    "PermissionRequestData",
    "PermissionResolved",
    "PermissionResolvedData",
    "PlanStep",
    "PlanUpdated",
    "PlanUpdatedData",
    "PolicyEffect",
    "Question",
    "QuestionOption",
    "QuestionRequest",
    "QuestionRequestData",
    "QuestionResolved",
    "QuestionResolvedData",
    "QueueAdded",
    "QueueChanged",
    "QueueChangedData",
    "QueueItem",
    "QueueState",
    "Result",
    "ResultData",
    "Retracted",
    "RetractedData",
    "Rollback",
    "RollbackData",
    "RuleScope",
    "ScheduleMissed",
    "ScheduleMissedData",
    "SessionEnded",
    "SessionEndedData",
    "SessionReady",
    "SessionReadyData",
    "SessionUpdated",
    "SessionUpdatedData",
    "SlashCommand",
    "StateDelta",
    "StateDeltaData",
    "StateSnapshot",
    "StateSnapshotData",
    "Status",
    "StatusData",
    "Steer",
    "SteerData",
    "SteerState",
    "StepStatus",
    "SubagentEnded",
    "SubagentEndedData",
    "SubagentStarted",
    "SubagentStartedData",
    "SubagentUpdated",
    "SubagentUpdatedData",
    "Surface",
    "TextPart",
    "Thinking",
    "ThinkingData",
    "ToolComponent",
    "ToolDecided",
    "ToolDecidedData",
    "ToolMapping",
    "ToolProgress",
    "ToolProgressData",
    "ToolResult",
    "ToolResultData",
    "ToolStart",
    "ToolStartData",
    "ToolUi",
    "TurnStarted",
    "TurnStartedData",
    "Unanswered",
    "UnknownEvent",
    "Unreadable",
    "UnreadableData",
    "Usage",
    "UsageData",
    "UserMessage",
    "UserMessageData",
    "WorkStatus",
]


class SlashCommand(Fields):
    name: str
    description: Union[str, None] = None
    hint: Union[str, None] = None


class ModelChoice(Fields):
    id: str
    name: Union[str, None] = None
    description: Union[str, None] = None


class SessionReadyData(Fields):
    """The session can take messages: at its creation, and each time its agent has started."""

    runtime: str
    session_id: Union[str, None] = None
    provider_session_id: Union[str, None] = None
    """The agent's own name for the conversation, stored the moment it is known."""
    resumed: Union[bool, None] = None
    """Whether the agent remembers the conversation; absent on the first start."""
    reason: Union[str, None] = None
    title: Union[str, None] = None
    cwd: Union[str, None] = None
    model: Union[str, None] = None
    mode: Union[str, None] = None
    version: Union[str, None] = None
    """The version of the agent's program."""
    commands: Union[list[SlashCommand], None] = None
    """What a message that begins with a slash may call."""
    models: Union[list[ModelChoice], None] = None
    """What the session's model may be changed to."""
    epoch: Union[int, None] = None
    """How often an agent that others write has taken the session, with this time; of all others nothing."""


class SessionUpdatedData(Fields):
    by: str
    title: Union[str, None] = None
    archived: Union[bool, None] = None
    settings: Union[dict[str, Any], None] = None
    """Parameters of the runtime that were changed after creation."""


class ModeChangedData(Fields):
    mode: str
    by: Union[str, None] = None


class ModelChangedData(Fields):
    model: str
    by: Union[str, None] = None


EndReason: TypeAlias = Union[Literal["completed", "error", "terminated"], str]
"""Why a session ended."""


class SessionEndedData(Fields):
    reason: EndReason
    terminated_by: str
    message: Union[str, None] = None


class BlobRef(Fields):
    """What an event says of content that is elsewhere."""

    id: str
    size: int
    """In bytes."""
    media_type: str
    head: str
    """How it begins; empty when it is not text."""
    tail: str
    """How it ends; empty when it is not text."""


class TextPart(Fields):
    type: Literal["text"]
    text: str


class ImagePart(Fields):
    """An image: its bytes in base64, or a blob that holds them."""

    type: Literal["image"]
    media_type: str
    data: Union[str, None] = None
    blob: Union[BlobRef, None] = None


class FilePart(Fields):
    """A file the agent can read by itself."""

    type: Literal["file"]
    path: str


Part: TypeAlias = Annotated[Union[TextPart, ImagePart, FilePart, Fields], Field(union_mode="left_to_right")]
"""One piece of a message."""


Origin: TypeAlias = Union[
    Literal[
        "user",
        "schedule",
        "webhook",
        "delegation",
        "api",
        "agent",
        "import",
        "component",
    ],
    str,
]
"""What made a turn or a message."""


ChannelKind: TypeAlias = Union[Literal["hmac", "github", "slack", "telegram", "bearer", "standard"], str]
"""How deliveries are verified and read."""


class MessageSource(Fields):
    """Where a message comes from that no client sent."""

    channel: str
    """The channel, by its name."""
    delivery: str
    """The service's own id of the delivery."""
    kind: Union[ChannelKind, None] = None
    """What kind of channel that is."""
    sender: Union[str, None] = None
    """Who wrote it, as the service says."""


class UserMessageData(Fields):
    message_id: str
    content: list[Part]
    origin: Origin
    source: Union[MessageSource, None] = None
    """Which delivery of which channel it came with."""


class TurnStartedData(Fields):
    message_ids: list[str]
    origin: Origin
    continues: Union[str, None] = None
    """The turn that was interrupted for its budget and goes on with this one."""
    waits: Union[bool, None] = None
    """The agent does not hear of it before a person has said that it may go over a budget."""
    budget_group: Union[str, None] = None
    """Whose budget it spends, besides its own."""


Activity: TypeAlias = Union[
    Literal[
        "accepted",
        "starting",
        "thinking",
        "responding",
        "tool",
        "waiting",
        "retrying",
        "compacting",
        "stopping",
    ],
    str,
]
"""What a session is doing for the person who waits."""


class StatusData(Fields):
    state: Activity
    label: Union[str, None] = None
    attempt: Union[int, None] = None
    detail: Any = None


SteerState: TypeAlias = Union[Literal["accepted", "delivered", "rejected", "returned"], str]
"""What became of a message meant for the running turn."""


class SteerData(Fields):
    """A message for the running turn: accepted with its content, then delivered, rejected, or returned to the queue."""

    message_id: str
    state: SteerState
    content: Union[list[Part], None] = None
    origin: Union[Origin, None] = None
    reason: Union[str, None] = None


class ResultData(Fields):
    text: str
    structured_output: Any = None
    """What the session's `output_schema` asked for."""


Outcome: TypeAlias = Union[Literal["completed", "stopped", "interrupted", "failed"], str]
"""How a turn ended."""


AfterStop: TypeAlias = Union[Literal["continue", "hold"], str]
"""What becomes of the queue when a turn is stopped."""


class DoneData(Fields):
    outcome: Outcome
    stopped: Union[bool, None] = None
    exit_code: Union[int, None] = None
    reason: Union[str, None] = None
    anchor: Union[str, None] = None
    """Where the agent's own conversation stood then, in the agent's words: what a fork or a rollback goes back to."""
    then: Union[AfterStop, None] = None
    """`hold` if the person who stopped the turn also held the queue; absent if the queue continues."""
    worked_ms: Union[int, None] = None
    """Milliseconds that the agent worked, without those in which a person was waited for."""


class ErrorData(Fields):
    """Something went wrong, with what to do about it."""

    message: str
    code: str
    retryable: bool
    fix: Union[str, None] = None


class UsageData(Fields):
    """What this turn used, all of it so far: a later one takes the place of an earlier one."""

    input_tokens: int
    """With those that were read from a cache, and written to one."""
    output_tokens: int
    cached_tokens: Union[int, None] = None
    cache_write_tokens: Union[int, None] = None
    reasoning_tokens: Union[int, None] = None
    cost_usd: Union[float, None] = None
    context_used: Union[int, None] = None
    context_window: Union[int, None] = None
    estimated: Union[bool, None] = None
    """The agent does not say what it costs: `cost_usd` is by the prices of the configuration."""
    worked_ms: Union[int, None] = None
    """Milliseconds that the agent worked in this turn so far, without those in which a person was waited for."""


BudgetState: TypeAlias = Union[
    Literal[
        "warned",
        "reached",
        "paused",
        "interrupted",
        "raised",
        "stopped",
        "unmeasured",
    ],
    str,
]
"""What is said about a limit."""


BudgetScope: TypeAlias = Union[Literal["turn", "session", "group", "day", "daemon"], str]
"""What a limit is about."""


BudgetMeasure: TypeAlias = Union[
    Literal[
        "tokens",
        "usd",
        "turns",
        "minutes",
        "repeats",
        "compactions",
        "silence",
    ],
    str,
]
"""What is counted."""


BudgetHold: TypeAlias = Union[Literal["call", "message"], str]
"""What is held while the work waits."""


class BudgetData(Fields):
    """A limit is near or reached, or somebody has said how it goes on. Amounts are in tokens, dollars, turns, minutes,
    calls.
    """

    state: BudgetState
    scope: BudgetScope
    measure: BudgetMeasure
    limit: float
    spent: float
    id: Union[str, None] = None
    """The name of the group, or the day."""
    how: Union[BudgetHold, None] = None
    """What is held."""
    ask_id: Union[str, None] = None
    """The permission that is asked for, or was."""
    added: Union[float, None] = None
    """By how much the limit would be raised, or was."""
    by: Union[str, None] = None
    reason: Union[str, None] = None
    """One line for people."""


class ScheduleMissedData(Fields):
    """Runs of a schedule were due while the daemon was off, or asleep. It stands in the session of the run that comes
    after them.
    """

    schedule_id: str
    first: str
    """The first and the last time that was missed, and how many they were."""
    last: str
    count: int
    run_id: str
    """The run in whose session it stands."""
    and_more: Union[bool, None] = None
    """There are more than were counted."""
    emit_id: Union[str, None] = None


class DeltaData(Fields):
    block_id: str
    text: str
    done: Union[bool, None] = None
    """Nothing more will come in this block."""
    interrupted: Union[bool, None] = None
    """The block was closed half written."""


class ThinkingData(Fields):
    block_id: str
    text: str
    done: Union[bool, None] = None
    interrupted: Union[bool, None] = None


class RetractedData(Fields):
    """The agent took back what it streamed in this block."""

    block_id: str
    reason: Union[str, None] = None


Surface: TypeAlias = Union[Literal["chat", "sidebar", "panel", "overlay", "canvas"], str]
"""Where a component may appear."""


ToolMapping: TypeAlias = Union[Literal["output", "input", "merge"], str]
"""What a component takes from the call that it covers."""


class ToolComponent(Fields):
    """The component that shows a call."""

    component_id: str
    name: str
    surface: Surface
    result: ToolMapping
    into: Union[str, None] = None
    """The key for a result that is no object."""
    props: Union[dict[str, Any], None] = None
    """What it shows of the input, when what is in `input` had to be cut."""


class ToolUi(Fields):
    """A view that an MCP server has for one of its tools."""

    server: str
    tool: str
    resource_uri: str


class ToolStartData(Fields):
    tool_use_id: str
    tool: str
    input: Any = None
    command: Union[str, None] = None
    file_path: Union[str, None] = None
    pattern: Union[str, None] = None
    search_path: Union[str, None] = None
    is_file_read: Union[bool, None] = None
    subagent_spawn: Union[bool, None] = None
    subagent_name: Union[str, None] = None
    client_tool: Union[bool, None] = None
    """A client runs it, not the agent: an interrupt with the same `tool_use_id` follows."""
    blob: Union[BlobRef, None] = None
    """The whole input, when what is in `input` had to be cut."""
    component: Union[ToolComponent, None] = None
    """The component that shows this call, as the rules said when it began."""
    ui: Union[ToolUi, None] = None
    """The view that the tool's server has for it."""


class ToolProgressData(Fields):
    tool_use_id: str
    text: Union[str, None] = None
    fraction: Union[float, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class Image(Fields):
    """A picture that a tool brought. An agent says its bytes in base64; in the log they are a blob, decoded, whatever
    their size.
    """

    media_type: str
    data: Union[str, None] = None
    blob: Union[BlobRef, None] = None


class ToolResultData(Fields):
    tool_use_id: str
    output: str
    is_error: bool
    exit_code: Union[int, None] = None
    file_path: Union[str, None] = None
    is_file_read: Union[bool, None] = None
    denied: Union[bool, None] = None
    """The tool did not run: a person or a rule said no."""
    interrupted: Union[bool, None] = None
    """The turn ended before the tool did."""
    diff: Union[str, None] = None
    blob: Union[BlobRef, None] = None
    """The whole output, when what is in `output` had to be cut."""
    images: Union[list[Image], None] = None
    """The pictures that the tool brought, in their order; `output` has `[image]` where each stood."""
    structured: Any = None
    """The result as data (`structuredContent` of MCP)."""
    meta: Any = None
    """What goes with the result and is not for the model (`_meta` of MCP)."""
    props: Union[dict[str, Any], None] = None
    """What the result brings to the component that covers the call, when what is in `output` had to be cut."""


PolicyEffect: TypeAlias = Union[Literal["allow", "ask", "deny"], str]
"""What the rules say about a call."""


RuleScope: TypeAlias = Union[Literal["absolute", "mode", "user", "project", "session"], str]
"""How far a rule reaches."""


class CallAct(Fields):
    """One thing that a call would do."""

    does: str
    """The sort of act, as rules name it."""
    text: str
    """The same for people."""
    path: Union[str, None] = None
    outside: Union[bool, None] = None
    """The path is not, or not surely, in the working directory."""
    host: Union[str, None] = None
    decides: Union[bool, None] = None
    """This act decided about the call."""


class CallPart(Fields):
    """One simple command of a script, or the whole call of another tool."""

    acts: list[CallAct]
    command: Union[str, None] = None
    """The command, after the shell's expansions as far as they are known."""
    inside: Union[list[str], None] = None
    """What brought it about: `sh -c`, `xargs`."""


class Judged(Fields):
    """What was decided about a call, and why."""

    effect: PolicyEffect
    rule: str
    """The rule that decided: where it stands, and its name there."""
    scope: RuleScope
    reason: str
    """For the agent and for people."""
    input_sha256: str
    """The SHA-256 of the input, as compact JSON."""
    mode: Union[str, None] = None
    """The session's mode then."""
    opaque: Union[bool, None] = None
    """Only the running of it would tell what it does."""
    parts: Union[list[CallPart], None] = None
    """What the call consists of: each simple command of a script, or the call itself."""


class ToolDecidedData(Fields):
    """The rules have decided about a call, before it runs."""

    tool_use_id: str
    tool: str
    judged: Judged


PermissionReply: TypeAlias = Union[Literal["once", "always", "reject"], str]
"""A person's answer to a permission request."""


class PermissionOption(Fields):
    """One answer that may be given."""

    reply: PermissionReply
    label: str
    rule: Union[str, None] = None
    """The rule that `always` would store."""
    scope: Union[RuleScope, None] = None
    """How far that rule would reach."""


class AskExpiry(Fields):
    """When an ask ends by itself, and whether the call runs then."""

    at: str
    allowed: bool


class PermissionRequestData(Fields):
    ask_id: str
    tool_name: str
    tool_input: Any
    options: list[PermissionOption]
    tool_use_id: Union[str, None] = None
    title: Union[str, None] = None
    fixed_input: Union[bool, None] = None
    """The call can be allowed or not, but not with another input."""
    judged: Union[Judged, None] = None
    """Which rule wants a person to decide, and what the call would do."""
    expiry: Union[AskExpiry, None] = None
    """The rule does not wait for ever."""
    key: Union[str, None] = None
    """What the agent calls it."""


Unanswered: TypeAlias = Union[Literal["withdrawn", "stopped", "interrupted", "expired"], str]
"""Why an ask ended without an answer: the agent took it back, the turn was stopped, whoever asked is gone, or its time
had come.
"""


class PermissionResolvedData(Fields):
    ask_id: str
    tool_name: str
    allowed: bool
    reply: PermissionReply
    by: str
    reason: Union[str, None] = None
    rule: Union[str, None] = None
    updated_input: Any = None
    unanswered: Union[Unanswered, None] = None
    """Nobody said no: it ended without an answer."""
    along_with: Union[str, None] = None
    """It was settled by the answer to another ask: an equal one, or one whose rule allows this too."""


class QuestionOption(Fields):
    label: str
    description: Union[str, None] = None


class Question(Fields):
    prompt: str
    options: list[QuestionOption]
    multiple: bool
    free_text: bool
    header: Union[str, None] = None


class QuestionRequestData(Fields):
    ask_id: str
    questions: list[Question]
    tool_use_id: Union[str, None] = None
    title: Union[str, None] = None
    key: Union[str, None] = None
    """What the agent calls it."""
    covers: Union[str, None] = None
    """The call whose row it stands for."""


class QuestionResolvedData(Fields):
    ask_id: str
    by: str
    answers: Union[list[list[str]], None] = None
    """One list per question."""
    rejected: Union[bool, None] = None
    reason: Union[str, None] = None
    unanswered: Union[Unanswered, None] = None
    """Nobody refused to answer: it ended without one."""


class InterruptData(Fields):
    """A component waits for a value from a person, or a call of a client's tool for its result."""

    interrupt_id: str
    component_name: str
    """Of a tool: its name."""
    props: Any
    """Of a tool: its input."""
    surface: Surface
    tool_use_id: Union[str, None] = None
    """The call that waits, when a client has to run a tool."""
    component_id: Union[str, None] = None
    """The component that waits, when it is shown already."""
    actions: Union[list[str], None] = None
    """Which of its actions end the wait; all, if absent."""
    title: Union[str, None] = None
    value_schema: Any = None
    """What a value must fit; without it, what the component says that it answers."""
    key: Union[str, None] = None
    """What the agent calls it."""
    covers: Union[str, None] = None
    """The call whose row it stands for, when an agent waits in one."""


class InterruptResolvedData(Fields):
    interrupt_id: str
    by: str
    value: Any = None
    is_error: Union[bool, None] = None
    """The client could not run its tool; `value` says why."""
    reason: Union[str, None] = None
    unanswered: Union[Unanswered, None] = None
    """Why there is no value."""


class SubagentStartedData(Fields):
    subagent_id: str
    name: str
    background: Union[bool, None] = None
    parent_tool_use_id: Union[str, None] = None
    parent_subagent_id: Union[str, None] = None


class SubagentUpdatedData(Fields):
    """What has changed of a sub-agent that runs: it goes on in the background, say."""

    subagent_id: str
    background: Union[bool, None] = None


WorkStatus: TypeAlias = Union[Literal["completed", "failed", "interrupted"], str]
"""How a sub-agent or a background task ended."""


class SubagentEndedData(Fields):
    subagent_id: str
    status: WorkStatus
    tool_calls: int
    file_changes: int


BackgroundKind: TypeAlias = Union[Literal["command", "agent", "tool", "schedule"], str]
"""What runs in the background."""


class BackgroundStartedData(Fields):
    background_id: str
    kind: BackgroundKind
    label: str
    tool_use_id: Union[str, None] = None


class BackgroundEndedData(Fields):
    background_id: str
    status: WorkStatus
    output: Union[str, None] = None
    exit_code: Union[int, None] = None
    blob: Union[BlobRef, None] = None
    images: Union[list[Image], None] = None
    """The pictures that it brought, as in `tool_result`."""
    reason: Union[str, None] = None
    """Why it ended, when it did not end by itself."""


class DelegatedData(Fields):
    """In a session that works for another one: for which."""

    parent_session_id: Union[str, None] = None
    """Absent: it does not any more, because it came from a file."""
    ancestors: Union[list[str], None] = None
    """From the first of all to the parent."""
    tasks: Union[list[str], None] = None
    """What each of them was given to do that works for another, and this one: fingerprints."""
    tool_use_id: Union[str, None] = None
    """The parent's call."""


class DelegationStartedData(Fields):
    """Another session works for this one."""

    child_session_id: str
    runtime: str
    title: str
    """What it is to do, in one line."""
    cwd: Union[str, None] = None
    message_id: Union[str, None] = None
    """The message that it is told."""
    tool_use_id: Union[str, None] = None
    """The call that began it."""
    waits: Union[bool, None] = None
    """That call waits for its end."""
    by: Union[str, None] = None
    """Who made it, when it was not the agent."""


DelegationState: TypeAlias = Union[
    Literal[
        "running",
        "completed",
        "stopped",
        "failed",
        "starting",
        "waiting",
        "stopping",
        "idle",
        "interrupted",
        "removed",
    ],
    str,
]
"""How far a session is that works for another one."""


AskKind: TypeAlias = Union[Literal["permission", "question", "interrupt"], str]
"""What kind of answer an ask takes."""


class DelegatedAsk(Fields):
    """An ask of a session that works for another one."""

    session_id: str
    """Whose it is."""
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


class DelegationUpdatedData(Fields):
    """What has become of a session that works for this one. What is absent is nothing now, but for `text`, `turn_id`
    and `reason`: these are of its last end.
    """

    child_session_id: str
    state: DelegationState
    activity: Union[str, None] = None
    """What it does."""
    asks: Union[list[DelegatedAsk], None] = None
    """What it and those that work for it ask of a person. The answers go to the sessions that are named."""
    message_id: Union[str, None] = None
    """Another message that it is told."""
    tool_use_id: Union[str, None] = None
    """The call that waits for its end."""
    turn_id: Union[str, None] = None
    """The turn that has ended."""
    text: Union[str, None] = None
    """What that turn came to, or the beginning of it."""
    reason: Union[str, None] = None
    """Why it ended so."""
    told: Union[list[str], None] = None
    """The calls that are told so. All others hear it by a message."""
    child_seq: Union[int, None] = None
    """The position in its log that this is about."""


MergeMode: TypeAlias = Union[Literal["replace", "shallow", "deep", "append", "patch"], str]
"""How the props of a change meet those that are there."""


ComponentStatus: TypeAlias = Union[Literal["loading", "ready", "error"], str]
"""Whether a component has what it shows."""


class Bind(Fields):
    """Where in the shared state a component finds what it shows."""

    pointer: str
    """JSON Pointer."""
    as_: Union[str, None] = Field(default=None, alias="as")
    """The key for a value that is no object; without it `items` for lists, else `value`."""
    edits: Union[bool, None] = None
    """People's edits change the state."""


class ComponentView(Fields):
    """A page that draws a component, as an MCP server gave it."""

    blob: Union[BlobRef, None] = None
    csp: Any = None
    permissions: Any = None
    prefers_border: Union[bool, None] = None
    server: Union[str, None] = None
    resource_uri: Union[str, None] = None


class ComponentUpdateData(Fields):
    component_id: str
    name: str
    surface: Surface
    props: Any
    merge: bool
    """`props` is merged into what is there, instead of replacing it."""
    mode: Union[MergeMode, None] = None
    """How; without it, `shallow` if `merge`, else `replace`."""
    patch: Any = None
    """RFC 6902 JSON Patch of the props, with the mode `patch`."""
    status: Union[ComponentStatus, None] = None
    error: Union[str, None] = None
    """What went wrong, for people."""
    tool_use_id: Union[str, None] = None
    """The call that it belongs to."""
    bind: Union[Bind, None] = None
    """What it shows of the shared state."""
    view: Union[ComponentView, None] = None
    """The page that draws it."""
    by: Union[str, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class ComponentRemoveData(Fields):
    component_id: str
    by: Union[str, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class ComponentCallbackData(Fields):
    component_id: str
    action: str
    payload: Any
    by: str
    name: Union[str, None] = None
    """What the component was called then."""
    callback_id: Union[str, None] = None
    """The caller's; the same one again is taken once."""
    waits: Union[bool, None] = None
    """No agent was there; the next one hears of it."""
    settles: Union[str, None] = None
    """The ask that it answered. The agent hears of it as the answer."""
    wakes: Union[bool, None] = None
    """The agent hears of it by a message: at once, or (`false`) with the next one."""


class StateSnapshotData(Fields):
    state: Any


class StateDeltaData(Fields):
    """RFC 6902 JSON Patch."""

    patch: Any
    by: str
    wakes: Union[bool, None] = None
    """The agent hears of it by a message: at once, or (`false`) with the next one."""
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


StepStatus: TypeAlias = Union[Literal["pending", "running", "done"], str]
"""How far a step of the plan is."""


class PlanStep(Fields):
    text: str
    status: StepStatus


class PlanUpdatedData(Fields):
    steps: list[PlanStep]
    explanation: Union[str, None] = None


FileChange: TypeAlias = Union[Literal["added", "modified", "deleted", "renamed"], str]
"""What happened to a file."""


class FileDiff(Fields):
    path: str
    kind: FileChange
    diff: str


class DiffUpdatedData(Fields):
    files: list[FileDiff]


class ArtifactCreatedData(Fields):
    artifact_id: str
    title: str
    media_type: str
    path: Union[str, None] = None
    content: Union[str, None] = None
    blob: Union[BlobRef, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class ArtifactUpdatedData(Fields):
    artifact_id: str
    title: Union[str, None] = None
    content: Union[str, None] = None
    blob: Union[BlobRef, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class ArtifactVersionData(Fields):
    artifact_id: str
    version: int
    label: Union[str, None] = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class ArtifactRemovedData(Fields):
    artifact_id: str
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


class EvidenceChangedData(Fields):
    evidence_id: str
    kind: str
    title: str
    status: str
    detail: Any = None
    emit_id: Union[str, None] = None
    """What whoever added this from outside calls what it added."""


CompactionTrigger: TypeAlias = Union[Literal["manual", "auto"], str]
"""Who asked for a compaction."""


class CompactionStartData(Fields):
    trigger: CompactionTrigger


CompactionReason: TypeAlias = Union[Literal["tokens", "count", "summary", "manual"], str]
"""Why history was compacted."""


class CompactionEndData(Fields):
    reason: CompactionReason
    removed: Union[int, None] = None
    kept: Union[int, None] = None
    tokens_before: Union[int, None] = None
    tokens_after: Union[int, None] = None
    failed: Union[bool, None] = None
    """Compaction did not finish; the conversation goes on as it was."""


class RollbackData(Fields):
    turn_ids: list[str]
    files_restored: bool
    by: Union[str, None] = None
    branched: Union[bool, None] = None
    """The agent cannot go back by itself; it goes on from a copy of its conversation that ends before these turns."""


class ForkedData(Fields):
    from_session: str
    at_seq: int
    from_title: Union[str, None] = None
    """What that one was called then."""


QueueState: TypeAlias = Union[Literal["waiting", "returned"], str]
"""Where a message in the queue stands."""


Hold: TypeAlias = Union[Literal["stopped", "restarted", "not_started", "archived", "ended"], str]
"""Why a message in the queue waits for somebody to say that it may go on."""


class QueueItem(Fields):
    message_id: str
    preview: str
    state: QueueState
    held: Union[Hold, None] = None
    """It does not go on by itself, and this is why."""


class QueueAdded(Fields):
    message_id: str
    content: list[Part]
    origin: Origin
    position: int
    source: Union[MessageSource, None] = None


class QueueChangedData(Fields):
    """The queue as it is now. A message's content stands in `added` when it enters, and again when it is edited."""

    queue: list[QueueItem]
    added: Union[QueueAdded, None] = None


class AgentUnparsedData(Fields):
    """Something an agent said that its adapter could not read: kept and counted, never fatal, never silent."""

    location: str
    error: str
    raw: str
    """The beginning of what it said."""
    size: Union[int, None] = None
    sha256: Union[str, None] = None


class UnreadableData(Fields):
    """What is said of it."""

    error: str
    raw: str
    """How it begins."""


class SessionReady(Envelope):
    type: Literal["session_ready"] = "session_ready"
    data: SessionReadyData

    @classmethod
    def create(
        cls,
        runtime: str,
        *,
        session_id: Union[str, None] = None,
        provider_session_id: Union[str, None] = None,
        resumed: Union[bool, None] = None,
        reason: Union[str, None] = None,
        title: Union[str, None] = None,
        cwd: Union[str, None] = None,
        model: Union[str, None] = None,
        mode: Union[str, None] = None,
        version: Union[str, None] = None,
        commands: Union[list[SlashCommand], None] = None,
        models: Union[list[ModelChoice], None] = None,
        epoch: Union[int, None] = None,
    ) -> SessionReady:
        return cls(
            ts=now(),
            data=SessionReadyData(
                **given(
                    runtime=runtime,
                    session_id=session_id,
                    provider_session_id=provider_session_id,
                    resumed=resumed,
                    reason=reason,
                    title=title,
                    cwd=cwd,
                    model=model,
                    mode=mode,
                    version=version,
                    commands=commands,
                    models=models,
                    epoch=epoch,
                )
            ),
        )


class SessionUpdated(Envelope):
    type: Literal["session_updated"] = "session_updated"
    data: SessionUpdatedData

    @classmethod
    def create(
        cls,
        by: str,
        *,
        title: Union[str, None] = None,
        archived: Union[bool, None] = None,
        settings: Union[dict[str, Any], None] = None,
    ) -> SessionUpdated:
        return cls(ts=now(), data=SessionUpdatedData(**given(by=by, title=title, archived=archived, settings=settings)))


class ModeChanged(Envelope):
    type: Literal["mode_changed"] = "mode_changed"
    data: ModeChangedData

    @classmethod
    def create(cls, mode: str, *, by: Union[str, None] = None) -> ModeChanged:
        return cls(ts=now(), data=ModeChangedData(**given(mode=mode, by=by)))


class ModelChanged(Envelope):
    type: Literal["model_changed"] = "model_changed"
    data: ModelChangedData

    @classmethod
    def create(cls, model: str, *, by: Union[str, None] = None) -> ModelChanged:
        return cls(ts=now(), data=ModelChangedData(**given(model=model, by=by)))


class SessionEnded(Envelope):
    type: Literal["session_ended"] = "session_ended"
    data: SessionEndedData

    @classmethod
    def create(cls, reason: EndReason, terminated_by: str, *, message: Union[str, None] = None) -> SessionEnded:
        return cls(
            ts=now(),
            data=SessionEndedData(
                **given(
                    reason=reason,
                    terminated_by=terminated_by,
                    message=message,
                )
            ),
        )


class UserMessage(Envelope):
    type: Literal["user_message"] = "user_message"
    data: UserMessageData

    @classmethod
    def create(
        cls,
        message_id: str,
        content: list[Part],
        origin: Origin,
        *,
        source: Union[MessageSource, None] = None,
    ) -> UserMessage:
        return cls(
            ts=now(),
            data=UserMessageData(
                **given(
                    message_id=message_id,
                    content=content,
                    origin=origin,
                    source=source,
                )
            ),
        )


class TurnStarted(Envelope):
    type: Literal["turn_started"] = "turn_started"
    data: TurnStartedData

    @classmethod
    def create(
        cls,
        message_ids: list[str],
        origin: Origin,
        *,
        continues: Union[str, None] = None,
        waits: Union[bool, None] = None,
        budget_group: Union[str, None] = None,
    ) -> TurnStarted:
        return cls(
            ts=now(),
            data=TurnStartedData(
                **given(
                    message_ids=message_ids,
                    origin=origin,
                    continues=continues,
                    waits=waits,
                    budget_group=budget_group,
                )
            ),
        )


class Status(Envelope):
    type: Literal["status"] = "status"
    data: StatusData

    @classmethod
    def create(
        cls,
        state: Activity,
        *,
        label: Union[str, None] = None,
        attempt: Union[int, None] = None,
        detail: Any = None,
    ) -> Status:
        return cls(ts=now(), data=StatusData(**given(state=state, label=label, attempt=attempt, detail=detail)))


class Steer(Envelope):
    type: Literal["steer"] = "steer"
    data: SteerData

    @classmethod
    def create(
        cls,
        message_id: str,
        state: SteerState,
        *,
        content: Union[list[Part], None] = None,
        origin: Union[Origin, None] = None,
        reason: Union[str, None] = None,
    ) -> Steer:
        return cls(
            ts=now(),
            data=SteerData(
                **given(
                    message_id=message_id,
                    state=state,
                    content=content,
                    origin=origin,
                    reason=reason,
                )
            ),
        )


class Result(Envelope):
    type: Literal["result"] = "result"
    data: ResultData

    @classmethod
    def create(cls, text: str, *, structured_output: Any = None) -> Result:
        return cls(ts=now(), data=ResultData(**given(text=text, structured_output=structured_output)))


class Done(Envelope):
    type: Literal["done"] = "done"
    data: DoneData

    @classmethod
    def create(
        cls,
        outcome: Outcome,
        *,
        stopped: Union[bool, None] = None,
        exit_code: Union[int, None] = None,
        reason: Union[str, None] = None,
        anchor: Union[str, None] = None,
        then: Union[AfterStop, None] = None,
        worked_ms: Union[int, None] = None,
    ) -> Done:
        return cls(
            ts=now(),
            data=DoneData(
                **given(
                    outcome=outcome,
                    stopped=stopped,
                    exit_code=exit_code,
                    reason=reason,
                    anchor=anchor,
                    then=then,
                    worked_ms=worked_ms,
                )
            ),
        )


class Error(Envelope):
    type: Literal["error"] = "error"
    data: ErrorData

    @classmethod
    def create(cls, message: str, code: str, retryable: bool, *, fix: Union[str, None] = None) -> Error:
        return cls(ts=now(), data=ErrorData(**given(message=message, code=code, retryable=retryable, fix=fix)))


class Usage(Envelope):
    type: Literal["usage"] = "usage"
    data: UsageData

    @classmethod
    def create(
        cls,
        input_tokens: int,
        output_tokens: int,
        *,
        cached_tokens: Union[int, None] = None,
        cache_write_tokens: Union[int, None] = None,
        reasoning_tokens: Union[int, None] = None,
        cost_usd: Union[float, None] = None,
        context_used: Union[int, None] = None,
        context_window: Union[int, None] = None,
        estimated: Union[bool, None] = None,
        worked_ms: Union[int, None] = None,
    ) -> Usage:
        return cls(
            ts=now(),
            data=UsageData(
                **given(
                    input_tokens=input_tokens,
                    output_tokens=output_tokens,
                    cached_tokens=cached_tokens,
                    cache_write_tokens=cache_write_tokens,
                    reasoning_tokens=reasoning_tokens,
                    cost_usd=cost_usd,
                    context_used=context_used,
                    context_window=context_window,
                    estimated=estimated,
                    worked_ms=worked_ms,
                )
            ),
        )


class Budget(Envelope):
    type: Literal["budget"] = "budget"
    data: BudgetData

    @classmethod
    def create(
        cls,
        state: BudgetState,
        scope: BudgetScope,
        measure: BudgetMeasure,
        limit: float,
        spent: float,
        *,
        id: Union[str, None] = None,
        how: Union[BudgetHold, None] = None,
        ask_id: Union[str, None] = None,
        added: Union[float, None] = None,
        by: Union[str, None] = None,
        reason: Union[str, None] = None,
    ) -> Budget:
        return cls(
            ts=now(),
            data=BudgetData(
                **given(
                    state=state,
                    scope=scope,
                    measure=measure,
                    limit=limit,
                    spent=spent,
                    id=id,
                    how=how,
                    ask_id=ask_id,
                    added=added,
                    by=by,
                    reason=reason,
                )
            ),
        )


class ScheduleMissed(Envelope):
    type: Literal["schedule_missed"] = "schedule_missed"
    data: ScheduleMissedData

    @classmethod
    def create(
        cls,
        schedule_id: str,
        first: str,
        last: str,
        count: int,
        run_id: str,
        *,
        and_more: Union[bool, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ScheduleMissed:
        return cls(
            ts=now(),
            data=ScheduleMissedData(
                **given(
                    schedule_id=schedule_id,
                    first=first,
                    last=last,
                    count=count,
                    run_id=run_id,
                    and_more=and_more,
                    emit_id=emit_id,
                )
            ),
        )


class Delta(Envelope):
    type: Literal["delta"] = "delta"
    data: DeltaData

    @classmethod
    def create(
        cls,
        block_id: str,
        text: str,
        *,
        done: Union[bool, None] = None,
        interrupted: Union[bool, None] = None,
    ) -> Delta:
        return cls(ts=now(), data=DeltaData(**given(block_id=block_id, text=text, done=done, interrupted=interrupted)))


class Thinking(Envelope):
    type: Literal["thinking"] = "thinking"
    data: ThinkingData

    @classmethod
    def create(
        cls,
        block_id: str,
        text: str,
        *,
        done: Union[bool, None] = None,
        interrupted: Union[bool, None] = None,
    ) -> Thinking:
        return cls(
            ts=now(),
            data=ThinkingData(
                **given(
                    block_id=block_id,
                    text=text,
                    done=done,
                    interrupted=interrupted,
                )
            ),
        )


class Retracted(Envelope):
    type: Literal["retracted"] = "retracted"
    data: RetractedData

    @classmethod
    def create(cls, block_id: str, *, reason: Union[str, None] = None) -> Retracted:
        return cls(ts=now(), data=RetractedData(**given(block_id=block_id, reason=reason)))


class ToolStart(Envelope):
    type: Literal["tool_start"] = "tool_start"
    data: ToolStartData

    @classmethod
    def create(
        cls,
        tool_use_id: str,
        tool: str,
        *,
        input: Any = None,
        command: Union[str, None] = None,
        file_path: Union[str, None] = None,
        pattern: Union[str, None] = None,
        search_path: Union[str, None] = None,
        is_file_read: Union[bool, None] = None,
        subagent_spawn: Union[bool, None] = None,
        subagent_name: Union[str, None] = None,
        client_tool: Union[bool, None] = None,
        blob: Union[BlobRef, None] = None,
        component: Union[ToolComponent, None] = None,
        ui: Union[ToolUi, None] = None,
    ) -> ToolStart:
        return cls(
            ts=now(),
            data=ToolStartData(
                **given(
                    tool_use_id=tool_use_id,
                    tool=tool,
                    input=input,
                    command=command,
                    file_path=file_path,
                    pattern=pattern,
                    search_path=search_path,
                    is_file_read=is_file_read,
                    subagent_spawn=subagent_spawn,
                    subagent_name=subagent_name,
                    client_tool=client_tool,
                    blob=blob,
                    component=component,
                    ui=ui,
                )
            ),
        )


class ToolProgress(Envelope):
    type: Literal["tool_progress"] = "tool_progress"
    data: ToolProgressData

    @classmethod
    def create(
        cls,
        tool_use_id: str,
        *,
        text: Union[str, None] = None,
        fraction: Union[float, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ToolProgress:
        return cls(
            ts=now(),
            data=ToolProgressData(
                **given(
                    tool_use_id=tool_use_id,
                    text=text,
                    fraction=fraction,
                    emit_id=emit_id,
                )
            ),
        )


class ToolResult(Envelope):
    type: Literal["tool_result"] = "tool_result"
    data: ToolResultData

    @classmethod
    def create(
        cls,
        tool_use_id: str,
        output: str,
        is_error: bool,
        *,
        exit_code: Union[int, None] = None,
        file_path: Union[str, None] = None,
        is_file_read: Union[bool, None] = None,
        denied: Union[bool, None] = None,
        interrupted: Union[bool, None] = None,
        diff: Union[str, None] = None,
        blob: Union[BlobRef, None] = None,
        images: Union[list[Image], None] = None,
        structured: Any = None,
        meta: Any = None,
        props: Union[dict[str, Any], None] = None,
    ) -> ToolResult:
        return cls(
            ts=now(),
            data=ToolResultData(
                **given(
                    tool_use_id=tool_use_id,
                    output=output,
                    is_error=is_error,
                    exit_code=exit_code,
                    file_path=file_path,
                    is_file_read=is_file_read,
                    denied=denied,
                    interrupted=interrupted,
                    diff=diff,
                    blob=blob,
                    images=images,
                    structured=structured,
                    meta=meta,
                    props=props,
                )
            ),
        )


class ToolDecided(Envelope):
    type: Literal["tool_decided"] = "tool_decided"
    data: ToolDecidedData

    @classmethod
    def create(cls, tool_use_id: str, tool: str, judged: Judged) -> ToolDecided:
        return cls(ts=now(), data=ToolDecidedData(**given(tool_use_id=tool_use_id, tool=tool, judged=judged)))


class PermissionRequest(Envelope):
    type: Literal["permission_request"] = "permission_request"
    data: PermissionRequestData

    @classmethod
    def create(
        cls,
        ask_id: str,
        tool_name: str,
        tool_input: Any,
        options: list[PermissionOption],
        *,
        tool_use_id: Union[str, None] = None,
        title: Union[str, None] = None,
        fixed_input: Union[bool, None] = None,
        judged: Union[Judged, None] = None,
        expiry: Union[AskExpiry, None] = None,
        key: Union[str, None] = None,
    ) -> PermissionRequest:
        return cls(
            ts=now(),
            data=PermissionRequestData(
                **given(
                    ask_id=ask_id,
                    tool_name=tool_name,
                    tool_input=tool_input,
                    options=options,
                    tool_use_id=tool_use_id,
                    title=title,
                    fixed_input=fixed_input,
                    judged=judged,
                    expiry=expiry,
                    key=key,
                )
            ),
        )


class PermissionResolved(Envelope):
    type: Literal["permission_resolved"] = "permission_resolved"
    data: PermissionResolvedData

    @classmethod
    def create(
        cls,
        ask_id: str,
        tool_name: str,
        allowed: bool,
        reply: PermissionReply,
        by: str,
        *,
        reason: Union[str, None] = None,
        rule: Union[str, None] = None,
        updated_input: Any = None,
        unanswered: Union[Unanswered, None] = None,
        along_with: Union[str, None] = None,
    ) -> PermissionResolved:
        return cls(
            ts=now(),
            data=PermissionResolvedData(
                **given(
                    ask_id=ask_id,
                    tool_name=tool_name,
                    allowed=allowed,
                    reply=reply,
                    by=by,
                    reason=reason,
                    rule=rule,
                    updated_input=updated_input,
                    unanswered=unanswered,
                    along_with=along_with,
                )
            ),
        )


class QuestionRequest(Envelope):
    type: Literal["question_request"] = "question_request"
    data: QuestionRequestData

    @classmethod
    def create(
        cls,
        ask_id: str,
        questions: list[Question],
        *,
        tool_use_id: Union[str, None] = None,
        title: Union[str, None] = None,
        key: Union[str, None] = None,
        covers: Union[str, None] = None,
    ) -> QuestionRequest:
        return cls(
            ts=now(),
            data=QuestionRequestData(
                **given(
                    ask_id=ask_id,
                    questions=questions,
                    tool_use_id=tool_use_id,
                    title=title,
                    key=key,
                    covers=covers,
                )
            ),
        )


class QuestionResolved(Envelope):
    type: Literal["question_resolved"] = "question_resolved"
    data: QuestionResolvedData

    @classmethod
    def create(
        cls,
        ask_id: str,
        by: str,
        *,
        answers: Union[list[list[str]], None] = None,
        rejected: Union[bool, None] = None,
        reason: Union[str, None] = None,
        unanswered: Union[Unanswered, None] = None,
    ) -> QuestionResolved:
        return cls(
            ts=now(),
            data=QuestionResolvedData(
                **given(
                    ask_id=ask_id,
                    by=by,
                    answers=answers,
                    rejected=rejected,
                    reason=reason,
                    unanswered=unanswered,
                )
            ),
        )


class Interrupt(Envelope):
    type: Literal["interrupt"] = "interrupt"
    data: InterruptData

    @classmethod
    def create(
        cls,
        interrupt_id: str,
        component_name: str,
        props: Any,
        surface: Surface,
        *,
        tool_use_id: Union[str, None] = None,
        component_id: Union[str, None] = None,
        actions: Union[list[str], None] = None,
        title: Union[str, None] = None,
        value_schema: Any = None,
        key: Union[str, None] = None,
        covers: Union[str, None] = None,
    ) -> Interrupt:
        return cls(
            ts=now(),
            data=InterruptData(
                **given(
                    interrupt_id=interrupt_id,
                    component_name=component_name,
                    props=props,
                    surface=surface,
                    tool_use_id=tool_use_id,
                    component_id=component_id,
                    actions=actions,
                    title=title,
                    value_schema=value_schema,
                    key=key,
                    covers=covers,
                )
            ),
        )


class InterruptResolved(Envelope):
    type: Literal["interrupt_resolved"] = "interrupt_resolved"
    data: InterruptResolvedData

    @classmethod
    def create(
        cls,
        interrupt_id: str,
        by: str,
        *,
        value: Any = None,
        is_error: Union[bool, None] = None,
        reason: Union[str, None] = None,
        unanswered: Union[Unanswered, None] = None,
    ) -> InterruptResolved:
        return cls(
            ts=now(),
            data=InterruptResolvedData(
                **given(
                    interrupt_id=interrupt_id,
                    by=by,
                    value=value,
                    is_error=is_error,
                    reason=reason,
                    unanswered=unanswered,
                )
            ),
        )


class SubagentStarted(Envelope):
    type: Literal["subagent_started"] = "subagent_started"
    data: SubagentStartedData

    @classmethod
    def create(
        cls,
        subagent_id: str,
        name: str,
        *,
        background: Union[bool, None] = None,
        parent_tool_use_id: Union[str, None] = None,
        parent_subagent_id: Union[str, None] = None,
    ) -> SubagentStarted:
        return cls(
            ts=now(),
            data=SubagentStartedData(
                **given(
                    subagent_id=subagent_id,
                    name=name,
                    background=background,
                    parent_tool_use_id=parent_tool_use_id,
                    parent_subagent_id=parent_subagent_id,
                )
            ),
        )


class SubagentUpdated(Envelope):
    type: Literal["subagent_updated"] = "subagent_updated"
    data: SubagentUpdatedData

    @classmethod
    def create(cls, subagent_id: str, *, background: Union[bool, None] = None) -> SubagentUpdated:
        return cls(ts=now(), data=SubagentUpdatedData(**given(subagent_id=subagent_id, background=background)))


class SubagentEnded(Envelope):
    type: Literal["subagent_ended"] = "subagent_ended"
    data: SubagentEndedData

    @classmethod
    def create(cls, subagent_id: str, status: WorkStatus, tool_calls: int, file_changes: int) -> SubagentEnded:
        return cls(
            ts=now(),
            data=SubagentEndedData(
                **given(
                    subagent_id=subagent_id,
                    status=status,
                    tool_calls=tool_calls,
                    file_changes=file_changes,
                )
            ),
        )


class BackgroundStarted(Envelope):
    type: Literal["background_started"] = "background_started"
    data: BackgroundStartedData

    @classmethod
    def create(
        cls,
        background_id: str,
        kind: BackgroundKind,
        label: str,
        *,
        tool_use_id: Union[str, None] = None,
    ) -> BackgroundStarted:
        return cls(
            ts=now(),
            data=BackgroundStartedData(
                **given(
                    background_id=background_id,
                    kind=kind,
                    label=label,
                    tool_use_id=tool_use_id,
                )
            ),
        )


class BackgroundEnded(Envelope):
    type: Literal["background_ended"] = "background_ended"
    data: BackgroundEndedData

    @classmethod
    def create(
        cls,
        background_id: str,
        status: WorkStatus,
        *,
        output: Union[str, None] = None,
        exit_code: Union[int, None] = None,
        blob: Union[BlobRef, None] = None,
        images: Union[list[Image], None] = None,
        reason: Union[str, None] = None,
    ) -> BackgroundEnded:
        return cls(
            ts=now(),
            data=BackgroundEndedData(
                **given(
                    background_id=background_id,
                    status=status,
                    output=output,
                    exit_code=exit_code,
                    blob=blob,
                    images=images,
                    reason=reason,
                )
            ),
        )


class Delegated(Envelope):
    type: Literal["delegated"] = "delegated"
    data: DelegatedData

    @classmethod
    def create(
        cls,
        *,
        parent_session_id: Union[str, None] = None,
        ancestors: Union[list[str], None] = None,
        tasks: Union[list[str], None] = None,
        tool_use_id: Union[str, None] = None,
    ) -> Delegated:
        return cls(
            ts=now(),
            data=DelegatedData(
                **given(
                    parent_session_id=parent_session_id,
                    ancestors=ancestors,
                    tasks=tasks,
                    tool_use_id=tool_use_id,
                )
            ),
        )


class DelegationStarted(Envelope):
    type: Literal["delegation_started"] = "delegation_started"
    data: DelegationStartedData

    @classmethod
    def create(
        cls,
        child_session_id: str,
        runtime: str,
        title: str,
        *,
        cwd: Union[str, None] = None,
        message_id: Union[str, None] = None,
        tool_use_id: Union[str, None] = None,
        waits: Union[bool, None] = None,
        by: Union[str, None] = None,
    ) -> DelegationStarted:
        return cls(
            ts=now(),
            data=DelegationStartedData(
                **given(
                    child_session_id=child_session_id,
                    runtime=runtime,
                    title=title,
                    cwd=cwd,
                    message_id=message_id,
                    tool_use_id=tool_use_id,
                    waits=waits,
                    by=by,
                )
            ),
        )


class DelegationUpdated(Envelope):
    type: Literal["delegation_updated"] = "delegation_updated"
    data: DelegationUpdatedData

    @classmethod
    def create(
        cls,
        child_session_id: str,
        state: DelegationState,
        *,
        activity: Union[str, None] = None,
        asks: Union[list[DelegatedAsk], None] = None,
        message_id: Union[str, None] = None,
        tool_use_id: Union[str, None] = None,
        turn_id: Union[str, None] = None,
        text: Union[str, None] = None,
        reason: Union[str, None] = None,
        told: Union[list[str], None] = None,
        child_seq: Union[int, None] = None,
    ) -> DelegationUpdated:
        return cls(
            ts=now(),
            data=DelegationUpdatedData(
                **given(
                    child_session_id=child_session_id,
                    state=state,
                    activity=activity,
                    asks=asks,
                    message_id=message_id,
                    tool_use_id=tool_use_id,
                    turn_id=turn_id,
                    text=text,
                    reason=reason,
                    told=told,
                    child_seq=child_seq,
                )
            ),
        )


class ComponentUpdate(Envelope):
    type: Literal["component_update"] = "component_update"
    data: ComponentUpdateData

    @classmethod
    def create(
        cls,
        component_id: str,
        name: str,
        surface: Surface,
        props: Any,
        merge: bool,
        *,
        mode: Union[MergeMode, None] = None,
        patch: Any = None,
        status: Union[ComponentStatus, None] = None,
        error: Union[str, None] = None,
        tool_use_id: Union[str, None] = None,
        bind: Union[Bind, None] = None,
        view: Union[ComponentView, None] = None,
        by: Union[str, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ComponentUpdate:
        return cls(
            ts=now(),
            data=ComponentUpdateData(
                **given(
                    component_id=component_id,
                    name=name,
                    surface=surface,
                    props=props,
                    merge=merge,
                    mode=mode,
                    patch=patch,
                    status=status,
                    error=error,
                    tool_use_id=tool_use_id,
                    bind=bind,
                    view=view,
                    by=by,
                    emit_id=emit_id,
                )
            ),
        )


class ComponentRemove(Envelope):
    type: Literal["component_remove"] = "component_remove"
    data: ComponentRemoveData

    @classmethod
    def create(
        cls,
        component_id: str,
        *,
        by: Union[str, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ComponentRemove:
        return cls(ts=now(), data=ComponentRemoveData(**given(component_id=component_id, by=by, emit_id=emit_id)))


class ComponentCallback(Envelope):
    type: Literal["component_callback"] = "component_callback"
    data: ComponentCallbackData

    @classmethod
    def create(
        cls,
        component_id: str,
        action: str,
        payload: Any,
        by: str,
        *,
        name: Union[str, None] = None,
        callback_id: Union[str, None] = None,
        waits: Union[bool, None] = None,
        settles: Union[str, None] = None,
        wakes: Union[bool, None] = None,
    ) -> ComponentCallback:
        return cls(
            ts=now(),
            data=ComponentCallbackData(
                **given(
                    component_id=component_id,
                    action=action,
                    payload=payload,
                    by=by,
                    name=name,
                    callback_id=callback_id,
                    waits=waits,
                    settles=settles,
                    wakes=wakes,
                )
            ),
        )


class StateSnapshot(Envelope):
    type: Literal["state_snapshot"] = "state_snapshot"
    data: StateSnapshotData

    @classmethod
    def create(cls, state: Any) -> StateSnapshot:
        return cls(ts=now(), data=StateSnapshotData(**given(state=state)))


class StateDelta(Envelope):
    type: Literal["state_delta"] = "state_delta"
    data: StateDeltaData

    @classmethod
    def create(
        cls,
        patch: Any,
        by: str,
        *,
        wakes: Union[bool, None] = None,
        emit_id: Union[str, None] = None,
    ) -> StateDelta:
        return cls(ts=now(), data=StateDeltaData(**given(patch=patch, by=by, wakes=wakes, emit_id=emit_id)))


class PlanUpdated(Envelope):
    type: Literal["plan_updated"] = "plan_updated"
    data: PlanUpdatedData

    @classmethod
    def create(cls, steps: list[PlanStep], *, explanation: Union[str, None] = None) -> PlanUpdated:
        return cls(ts=now(), data=PlanUpdatedData(**given(steps=steps, explanation=explanation)))


class DiffUpdated(Envelope):
    type: Literal["diff_updated"] = "diff_updated"
    data: DiffUpdatedData

    @classmethod
    def create(cls, files: list[FileDiff]) -> DiffUpdated:
        return cls(ts=now(), data=DiffUpdatedData(**given(files=files)))


class ArtifactCreated(Envelope):
    type: Literal["artifact_created"] = "artifact_created"
    data: ArtifactCreatedData

    @classmethod
    def create(
        cls,
        artifact_id: str,
        title: str,
        media_type: str,
        *,
        path: Union[str, None] = None,
        content: Union[str, None] = None,
        blob: Union[BlobRef, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ArtifactCreated:
        return cls(
            ts=now(),
            data=ArtifactCreatedData(
                **given(
                    artifact_id=artifact_id,
                    title=title,
                    media_type=media_type,
                    path=path,
                    content=content,
                    blob=blob,
                    emit_id=emit_id,
                )
            ),
        )


class ArtifactUpdated(Envelope):
    type: Literal["artifact_updated"] = "artifact_updated"
    data: ArtifactUpdatedData

    @classmethod
    def create(
        cls,
        artifact_id: str,
        *,
        title: Union[str, None] = None,
        content: Union[str, None] = None,
        blob: Union[BlobRef, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ArtifactUpdated:
        return cls(
            ts=now(),
            data=ArtifactUpdatedData(
                **given(
                    artifact_id=artifact_id,
                    title=title,
                    content=content,
                    blob=blob,
                    emit_id=emit_id,
                )
            ),
        )


class ArtifactVersion(Envelope):
    type: Literal["artifact_version"] = "artifact_version"
    data: ArtifactVersionData

    @classmethod
    def create(
        cls,
        artifact_id: str,
        version: int,
        *,
        label: Union[str, None] = None,
        emit_id: Union[str, None] = None,
    ) -> ArtifactVersion:
        return cls(
            ts=now(),
            data=ArtifactVersionData(
                **given(
                    artifact_id=artifact_id,
                    version=version,
                    label=label,
                    emit_id=emit_id,
                )
            ),
        )


class ArtifactRemoved(Envelope):
    type: Literal["artifact_removed"] = "artifact_removed"
    data: ArtifactRemovedData

    @classmethod
    def create(cls, artifact_id: str, *, emit_id: Union[str, None] = None) -> ArtifactRemoved:
        return cls(ts=now(), data=ArtifactRemovedData(**given(artifact_id=artifact_id, emit_id=emit_id)))


class EvidenceChanged(Envelope):
    type: Literal["evidence_changed"] = "evidence_changed"
    data: EvidenceChangedData

    @classmethod
    def create(
        cls,
        evidence_id: str,
        kind: str,
        title: str,
        status: str,
        *,
        detail: Any = None,
        emit_id: Union[str, None] = None,
    ) -> EvidenceChanged:
        return cls(
            ts=now(),
            data=EvidenceChangedData(
                **given(
                    evidence_id=evidence_id,
                    kind=kind,
                    title=title,
                    status=status,
                    detail=detail,
                    emit_id=emit_id,
                )
            ),
        )


class CompactionStart(Envelope):
    type: Literal["compaction_start"] = "compaction_start"
    data: CompactionStartData

    @classmethod
    def create(cls, trigger: CompactionTrigger) -> CompactionStart:
        return cls(ts=now(), data=CompactionStartData(**given(trigger=trigger)))


class CompactionEnd(Envelope):
    type: Literal["compaction_end"] = "compaction_end"
    data: CompactionEndData

    @classmethod
    def create(
        cls,
        reason: CompactionReason,
        *,
        removed: Union[int, None] = None,
        kept: Union[int, None] = None,
        tokens_before: Union[int, None] = None,
        tokens_after: Union[int, None] = None,
        failed: Union[bool, None] = None,
    ) -> CompactionEnd:
        return cls(
            ts=now(),
            data=CompactionEndData(
                **given(
                    reason=reason,
                    removed=removed,
                    kept=kept,
                    tokens_before=tokens_before,
                    tokens_after=tokens_after,
                    failed=failed,
                )
            ),
        )


class Rollback(Envelope):
    type: Literal["rollback"] = "rollback"
    data: RollbackData

    @classmethod
    def create(
        cls,
        turn_ids: list[str],
        files_restored: bool,
        *,
        by: Union[str, None] = None,
        branched: Union[bool, None] = None,
    ) -> Rollback:
        return cls(
            ts=now(),
            data=RollbackData(
                **given(
                    turn_ids=turn_ids,
                    files_restored=files_restored,
                    by=by,
                    branched=branched,
                )
            ),
        )


class Forked(Envelope):
    type: Literal["forked"] = "forked"
    data: ForkedData

    @classmethod
    def create(cls, from_session: str, at_seq: int, *, from_title: Union[str, None] = None) -> Forked:
        return cls(ts=now(), data=ForkedData(**given(from_session=from_session, at_seq=at_seq, from_title=from_title)))


class QueueChanged(Envelope):
    type: Literal["queue_changed"] = "queue_changed"
    data: QueueChangedData

    @classmethod
    def create(cls, queue: list[QueueItem], *, added: Union[QueueAdded, None] = None) -> QueueChanged:
        return cls(ts=now(), data=QueueChangedData(**given(queue=queue, added=added)))


class AgentUnparsed(Envelope):
    type: Literal["agent_unparsed"] = "agent_unparsed"
    data: AgentUnparsedData

    @classmethod
    def create(
        cls,
        location: str,
        error: str,
        raw: str,
        *,
        size: Union[int, None] = None,
        sha256: Union[str, None] = None,
    ) -> AgentUnparsed:
        return cls(
            ts=now(),
            data=AgentUnparsedData(
                **given(
                    location=location,
                    error=error,
                    raw=raw,
                    size=size,
                    sha256=sha256,
                )
            ),
        )


class Unreadable(Envelope):
    type: Literal["unreadable"] = "unreadable"
    data: UnreadableData

    @classmethod
    def create(cls, error: str, raw: str) -> Unreadable:
        return cls(ts=now(), data=UnreadableData(**given(error=error, raw=raw)))


KINDS: dict[str, type[Envelope]] = {
    "session_ready": SessionReady,
    "session_updated": SessionUpdated,
    "mode_changed": ModeChanged,
    "model_changed": ModelChanged,
    "session_ended": SessionEnded,
    "user_message": UserMessage,
    "turn_started": TurnStarted,
    "status": Status,
    "steer": Steer,
    "result": Result,
    "done": Done,
    "error": Error,
    "usage": Usage,
    "budget": Budget,
    "schedule_missed": ScheduleMissed,
    "delta": Delta,
    "thinking": Thinking,
    "retracted": Retracted,
    "tool_start": ToolStart,
    "tool_progress": ToolProgress,
    "tool_result": ToolResult,
    "tool_decided": ToolDecided,
    "permission_request": PermissionRequest,
    "permission_resolved": PermissionResolved,
    "question_request": QuestionRequest,
    "question_resolved": QuestionResolved,
    "interrupt": Interrupt,
    "interrupt_resolved": InterruptResolved,
    "subagent_started": SubagentStarted,
    "subagent_updated": SubagentUpdated,
    "subagent_ended": SubagentEnded,
    "background_started": BackgroundStarted,
    "background_ended": BackgroundEnded,
    "delegated": Delegated,
    "delegation_started": DelegationStarted,
    "delegation_updated": DelegationUpdated,
    "component_update": ComponentUpdate,
    "component_remove": ComponentRemove,
    "component_callback": ComponentCallback,
    "state_snapshot": StateSnapshot,
    "state_delta": StateDelta,
    "plan_updated": PlanUpdated,
    "diff_updated": DiffUpdated,
    "artifact_created": ArtifactCreated,
    "artifact_updated": ArtifactUpdated,
    "artifact_version": ArtifactVersion,
    "artifact_removed": ArtifactRemoved,
    "evidence_changed": EvidenceChanged,
    "compaction_start": CompactionStart,
    "compaction_end": CompactionEnd,
    "rollback": Rollback,
    "forked": Forked,
    "queue_changed": QueueChanged,
    "agent_unparsed": AgentUnparsed,
    "unreadable": Unreadable,
}
"""The model of each type."""

Event: TypeAlias = Union[
    SessionReady,
    SessionUpdated,
    ModeChanged,
    ModelChanged,
    SessionEnded,
    UserMessage,
    TurnStarted,
    Status,
    Steer,
    Result,
    Done,
    Error,
    Usage,
    Budget,
    ScheduleMissed,
    Delta,
    Thinking,
    Retracted,
    ToolStart,
    ToolProgress,
    ToolResult,
    ToolDecided,
    PermissionRequest,
    PermissionResolved,
    QuestionRequest,
    QuestionResolved,
    Interrupt,
    InterruptResolved,
    SubagentStarted,
    SubagentUpdated,
    SubagentEnded,
    BackgroundStarted,
    BackgroundEnded,
    Delegated,
    DelegationStarted,
    DelegationUpdated,
    ComponentUpdate,
    ComponentRemove,
    ComponentCallback,
    StateSnapshot,
    StateDelta,
    PlanUpdated,
    DiffUpdated,
    ArtifactCreated,
    ArtifactUpdated,
    ArtifactVersion,
    ArtifactRemoved,
    EvidenceChanged,
    CompactionStart,
    CompactionEnd,
    Rollback,
    Forked,
    QueueChanged,
    AgentUnparsed,
    Unreadable,
    UnknownEvent,
]
"""One fact of a session's log: `type` says what `data` is. What is not known is an `UnknownEvent`."""

EventType: TypeAlias = Union[
    Literal[
        "session_ready",
        "session_updated",
        "mode_changed",
        "model_changed",
        "session_ended",
        "user_message",
        "turn_started",
        "status",
        "steer",
        "result",
        "done",
        "error",
        "usage",
        "budget",
        "schedule_missed",
        "delta",
        "thinking",
        "retracted",
        "tool_start",
        "tool_progress",
        "tool_result",
        "tool_decided",
        "permission_request",
        "permission_resolved",
        "question_request",
        "question_resolved",
        "interrupt",
        "interrupt_resolved",
        "subagent_started",
        "subagent_updated",
        "subagent_ended",
        "background_started",
        "background_ended",
        "delegated",
        "delegation_started",
        "delegation_updated",
        "component_update",
        "component_remove",
        "component_callback",
        "state_snapshot",
        "state_delta",
        "plan_updated",
        "diff_updated",
        "artifact_created",
        "artifact_updated",
        "artifact_version",
        "artifact_removed",
        "evidence_changed",
        "compaction_start",
        "compaction_end",
        "rollback",
        "forked",
        "queue_changed",
        "agent_unparsed",
        "unreadable",
    ],
    str,
]
