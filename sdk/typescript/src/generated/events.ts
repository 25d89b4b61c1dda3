// Made by `npm run generate` from docs/reference. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Event
         * @description One fact of a Turnloom session log.
         */
        Event: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            type: string;
            session_id: string;
            turn_id?: string;
            data: {
                subagent_id?: string;
            };
        } & ({
            /** @constant */
            type: "session_ready";
            data: components["schemas"]["SessionReady"];
        } | {
            /** @constant */
            type: "session_updated";
            data: components["schemas"]["SessionUpdated"];
        } | {
            /** @constant */
            type: "mode_changed";
            data: components["schemas"]["ModeChanged"];
        } | {
            /** @constant */
            type: "model_changed";
            data: components["schemas"]["ModelChanged"];
        } | {
            /** @constant */
            type: "session_ended";
            data: components["schemas"]["SessionEnded"];
        } | {
            /** @constant */
            type: "user_message";
            data: components["schemas"]["UserMessage"];
        } | {
            /** @constant */
            type: "turn_started";
            data: components["schemas"]["TurnStarted"];
        } | {
            /** @constant */
            type: "status";
            data: components["schemas"]["Status"];
        } | {
            /** @constant */
            type: "steer";
            data: components["schemas"]["Steer"];
        } | {
            /** @constant */
            type: "result";
            data: components["schemas"]["TurnResult"];
        } | {
            /** @constant */
            type: "done";
            data: components["schemas"]["Done"];
        } | {
            /** @constant */
            type: "error";
            data: components["schemas"]["Failure"];
        } | {
            /** @constant */
            type: "usage";
            data: components["schemas"]["Usage"];
        } | {
            /** @constant */
            type: "budget";
            data: components["schemas"]["Budget"];
        } | {
            /** @constant */
            type: "schedule_missed";
            data: components["schemas"]["ScheduleMissed"];
        } | {
            /** @constant */
            type: "delta";
            data: components["schemas"]["Delta"];
        } | {
            /** @constant */
            type: "thinking";
            data: components["schemas"]["Thinking"];
        } | {
            /** @constant */
            type: "retracted";
            data: components["schemas"]["Retracted"];
        } | {
            /** @constant */
            type: "tool_start";
            data: components["schemas"]["ToolStart"];
        } | {
            /** @constant */
            type: "tool_progress";
            data: components["schemas"]["ToolProgress"];
        } | {
            /** @constant */
            type: "tool_result";
            data: components["schemas"]["ToolResult"];
        } | {
            /** @constant */
            type: "tool_decided";
            data: components["schemas"]["ToolDecided"];
        } | {
            /** @constant */
            type: "permission_request";
            data: components["schemas"]["PermissionRequest"];
        } | {
            /** @constant */
            type: "permission_resolved";
            data: components["schemas"]["PermissionResolved"];
        } | {
            /** @constant */
            type: "question_request";
            data: components["schemas"]["QuestionRequest"];
        } | {
            /** @constant */
            type: "question_resolved";
            data: components["schemas"]["QuestionResolved"];
        } | {
            /** @constant */
            type: "interrupt";
            data: components["schemas"]["Interrupt"];
        } | {
            /** @constant */
            type: "interrupt_resolved";
            data: components["schemas"]["InterruptResolved"];
        } | {
            /** @constant */
            type: "subagent_started";
            data: components["schemas"]["SubagentStarted"];
        } | {
            /** @constant */
            type: "subagent_updated";
            data: components["schemas"]["SubagentUpdated"];
        } | {
            /** @constant */
            type: "subagent_ended";
            data: components["schemas"]["SubagentEnded"];
        } | {
            /** @constant */
            type: "background_started";
            data: components["schemas"]["BackgroundStarted"];
        } | {
            /** @constant */
            type: "background_ended";
            data: components["schemas"]["BackgroundEnded"];
        } | {
            /** @constant */
            type: "delegated";
            data: components["schemas"]["Delegated"];
        } | {
            /** @constant */
            type: "delegation_started";
            data: components["schemas"]["DelegationStarted"];
        } | {
            /** @constant */
            type: "delegation_updated";
            data: components["schemas"]["DelegationUpdated"];
        } | {
            /** @constant */
            type: "component_update";
            data: components["schemas"]["ComponentUpdate"];
        } | {
            /** @constant */
            type: "component_remove";
            data: components["schemas"]["ComponentRemove"];
        } | {
            /** @constant */
            type: "component_callback";
            data: components["schemas"]["ComponentCallback"];
        } | {
            /** @constant */
            type: "state_snapshot";
            data: components["schemas"]["StateSnapshot"];
        } | {
            /** @constant */
            type: "state_delta";
            data: components["schemas"]["StateDelta"];
        } | {
            /** @constant */
            type: "plan_updated";
            data: components["schemas"]["PlanUpdated"];
        } | {
            /** @constant */
            type: "diff_updated";
            data: components["schemas"]["DiffUpdated"];
        } | {
            /** @constant */
            type: "artifact_created";
            data: components["schemas"]["ArtifactCreated"];
        } | {
            /** @constant */
            type: "artifact_updated";
            data: components["schemas"]["ArtifactUpdated"];
        } | {
            /** @constant */
            type: "artifact_version";
            data: components["schemas"]["ArtifactVersion"];
        } | {
            /** @constant */
            type: "artifact_removed";
            data: components["schemas"]["ArtifactRemoved"];
        } | {
            /** @constant */
            type: "evidence_changed";
            data: components["schemas"]["EvidenceChanged"];
        } | {
            /** @constant */
            type: "compaction_start";
            data: components["schemas"]["CompactionStart"];
        } | {
            /** @constant */
            type: "compaction_end";
            data: components["schemas"]["CompactionEnd"];
        } | {
            /** @constant */
            type: "rollback";
            data: components["schemas"]["Rollback"];
        } | {
            /** @constant */
            type: "forked";
            data: components["schemas"]["Forked"];
        } | {
            /** @constant */
            type: "queue_changed";
            data: components["schemas"]["QueueChanged"];
        } | {
            /** @constant */
            type: "agent_unparsed";
            data: components["schemas"]["AgentUnparsed"];
        } | {
            /** @constant */
            type: "unreadable";
            data: components["schemas"]["Unreadable"];
        });
        /**
         * SessionReady
         * @description The session can take messages: at its creation, and each time its agent has started.
         */
        SessionReady: {
            session_id?: components["schemas"]["SessionId"] | null;
            runtime: string;
            /** @description The agent's own name for the conversation, stored the moment it is known. */
            provider_session_id?: string | null;
            /** @description Whether the agent remembers the conversation; absent on the first start. */
            resumed?: boolean | null;
            reason?: string | null;
            title?: string | null;
            cwd?: string | null;
            model?: string | null;
            mode?: string | null;
            /** @description The version of the agent's program. */
            version?: string | null;
            /** @description What a message that begins with a slash may call. */
            commands?: components["schemas"]["SlashCommand"][] | null;
            /** @description What the session's model may be changed to. */
            models?: components["schemas"]["ModelChoice"][] | null;
            /**
             * Format: uint64
             * @description How often an agent that others write has taken the session, with this time; of all others nothing.
             */
            epoch?: number | null;
        };
        /**
         * SessionId
         * @description One persistent conversation with one runtime.
         */
        SessionId: string;
        /** SlashCommand */
        SlashCommand: {
            name: string;
            description?: string | null;
            hint?: string | null;
        };
        /** ModelChoice */
        ModelChoice: {
            id: string;
            name?: string | null;
            description?: string | null;
        };
        /** SessionUpdated */
        SessionUpdated: {
            title?: string | null;
            archived?: boolean | null;
            /** @description Parameters of the runtime that were changed after creation. */
            settings?: {
                [key: string]: unknown;
            } | null;
            by: string;
        };
        /** ModeChanged */
        ModeChanged: {
            mode: string;
            by?: string | null;
        };
        /** ModelChanged */
        ModelChanged: {
            model: string;
            by?: string | null;
        };
        /** SessionEnded */
        SessionEnded: {
            reason: components["schemas"]["EndReason"];
            terminated_by: string;
            message?: string | null;
        };
        /**
         * EndReason
         * @description Why a session ended.
         * @enum {string}
         */
        EndReason: "completed" | "error" | "terminated";
        /** UserMessage */
        UserMessage: {
            message_id: components["schemas"]["MessageId"];
            content: components["schemas"]["Part"][];
            origin: components["schemas"]["Origin"];
            /** @description Which delivery of which channel it came with. */
            source?: components["schemas"]["MessageSource"] | null;
        };
        /**
         * MessageId
         * @description One message of a person, or of whatever stands for one.
         */
        MessageId: string;
        /**
         * Part
         * @description One piece of a message.
         */
        Part: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            media_type: string;
            data?: string | null;
            blob?: components["schemas"]["BlobRef"] | null;
        } | {
            /** @constant */
            type: "file";
            path: string;
        };
        /**
         * BlobRef
         * @description What an event says of content that is elsewhere.
         */
        BlobRef: {
            id: components["schemas"]["BlobId"];
            /**
             * Format: uint64
             * @description In bytes.
             */
            size: number;
            media_type: string;
            /** @description How it begins; empty when it is not text. */
            head: string;
            /** @description How it ends; empty when it is not text. */
            tail: string;
        };
        /**
         * BlobId
         * @description The SHA-256 of the content, in hex.
         */
        BlobId: string;
        /**
         * Origin
         * @description What made a turn or a message.
         */
        Origin: ("user" | "schedule" | "webhook" | "delegation" | "api" | "agent" | "import") | "component";
        /**
         * MessageSource
         * @description Where a message comes from that no client sent.
         */
        MessageSource: {
            /** @description The channel, by its name. */
            channel: string;
            /** @description What kind of channel that is. */
            kind?: components["schemas"]["ChannelKind"] | null;
            /** @description The service's own id of the delivery. */
            delivery: string;
            /** @description Who wrote it, as the service says. */
            sender?: string | null;
        };
        /**
         * ChannelKind
         * @description How deliveries are verified and read.
         */
        ChannelKind: "hmac" | "github" | "slack" | "telegram" | "bearer" | "standard";
        /** TurnStarted */
        TurnStarted: {
            message_ids: components["schemas"]["MessageId"][];
            origin: components["schemas"]["Origin"];
            /** @description The turn that was interrupted for its budget and goes on with this one. */
            continues?: components["schemas"]["TurnId"] | null;
            /** @description The agent does not hear of it before a person has said that it may go over a budget. */
            waits?: boolean | null;
            /** @description Whose budget it spends, besides its own. */
            budget_group?: string | null;
        };
        /**
         * TurnId
         * @description From a user message, or another trigger, to `done`.
         */
        TurnId: string;
        /** Status */
        Status: {
            state: components["schemas"]["Activity"];
            label?: string | null;
            /** Format: uint32 */
            attempt?: number | null;
            detail?: unknown;
        };
        /**
         * Activity
         * @description What a session is doing for the person who waits.
         * @enum {string}
         */
        Activity: "accepted" | "starting" | "thinking" | "responding" | "tool" | "waiting" | "retrying" | "compacting" | "stopping";
        /**
         * Steer
         * @description A message for the running turn: accepted with its content, then delivered, rejected, or returned to the queue.
         */
        Steer: {
            message_id: components["schemas"]["MessageId"];
            state: components["schemas"]["SteerState"];
            content?: components["schemas"]["Part"][] | null;
            origin?: components["schemas"]["Origin"] | null;
            reason?: string | null;
        };
        /**
         * SteerState
         * @description What became of a message meant for the running turn.
         * @enum {string}
         */
        SteerState: "accepted" | "delivered" | "rejected" | "returned";
        /** TurnResult */
        TurnResult: {
            text: string;
            /** @description What the session's `output_schema` asked for. */
            structured_output?: unknown;
        };
        /** Done */
        Done: {
            outcome: components["schemas"]["Outcome"];
            stopped?: boolean;
            /** Format: int32 */
            exit_code?: number | null;
            reason?: string | null;
            /** @description Where the agent's own conversation stood then, in the agent's words: what a fork or a rollback goes back to. */
            anchor?: string | null;
            /** @description `hold` if the person who stopped the turn also held the queue; absent if the queue continues. */
            then?: components["schemas"]["AfterStop"] | null;
            /**
             * Format: uint64
             * @description Milliseconds that the agent worked, without those in which a person was waited for.
             */
            worked_ms?: number | null;
        };
        /**
         * Outcome
         * @description How a turn ended.
         * @enum {string}
         */
        Outcome: "completed" | "stopped" | "interrupted" | "failed";
        /**
         * AfterStop
         * @description What becomes of the queue when a turn is stopped.
         * @enum {string}
         */
        AfterStop: "continue" | "hold";
        /**
         * Failure
         * @description Something went wrong, with what to do about it.
         */
        Failure: {
            message: string;
            code: string;
            retryable: boolean;
            fix?: string | null;
        };
        /**
         * Usage
         * @description What this turn used, all of it so far: a later one takes the place of an earlier one.
         */
        Usage: {
            /**
             * Format: uint64
             * @description With those that were read from a cache, and written to one.
             */
            input_tokens: number;
            /** Format: uint64 */
            output_tokens: number;
            /** Format: uint64 */
            cached_tokens?: number | null;
            /** Format: uint64 */
            cache_write_tokens?: number | null;
            /** Format: uint64 */
            reasoning_tokens?: number | null;
            /** Format: double */
            cost_usd?: number | null;
            /** Format: uint64 */
            context_used?: number | null;
            /** Format: uint64 */
            context_window?: number | null;
            /** @description The agent does not say what it costs: `cost_usd` is by the prices of the configuration. */
            estimated?: boolean | null;
            /**
             * Format: uint64
             * @description Milliseconds that the agent worked in this turn so far, without those in which a person was waited for.
             */
            worked_ms?: number | null;
        };
        /**
         * Budget
         * @description A limit is near or reached, or somebody has said how it goes on. Amounts are in tokens, dollars, turns, minutes, calls.
         */
        Budget: {
            state: components["schemas"]["BudgetState"];
            scope: components["schemas"]["BudgetScope"];
            /** @description The name of the group, or the day. */
            id?: string | null;
            measure: components["schemas"]["BudgetMeasure"];
            /** Format: double */
            limit: number;
            /** Format: double */
            spent: number;
            /** @description What is held. */
            how?: components["schemas"]["BudgetHold"] | null;
            /** @description The permission that is asked for, or was. */
            ask_id?: components["schemas"]["AskId"] | null;
            /**
             * Format: double
             * @description By how much the limit would be raised, or was.
             */
            added?: number | null;
            by?: string | null;
            /** @description One line for people. */
            reason?: string | null;
        };
        /**
         * BudgetState
         * @description What is said about a limit.
         */
        BudgetState: "warned" | "reached" | "paused" | "interrupted" | "raised" | "stopped" | "unmeasured";
        /**
         * BudgetScope
         * @description What a limit is about.
         */
        BudgetScope: ("turn" | "session") | "group" | "day" | "daemon";
        /**
         * BudgetMeasure
         * @description What is counted.
         */
        BudgetMeasure: ("tokens" | "usd" | "turns") | "minutes" | "repeats" | "compactions" | "silence";
        /**
         * BudgetHold
         * @description What is held while the work waits.
         */
        BudgetHold: "call" | "message";
        /**
         * AskId
         * @description Something that waits for a person.
         */
        AskId: string;
        /**
         * ScheduleMissed
         * @description Runs of a schedule were due while the daemon was off, or asleep. It stands in the session of the run that comes after them.
         */
        ScheduleMissed: {
            schedule_id: components["schemas"]["ScheduleId"];
            /** @description The first and the last time that was missed, and how many they were. */
            first: components["schemas"]["Timestamp"];
            last: components["schemas"]["Timestamp"];
            /** Format: uint32 */
            count: number;
            /** @description There are more than were counted. */
            and_more?: boolean;
            /** @description The run in whose session it stands. */
            run_id: components["schemas"]["RunId"];
            emit_id?: string | null;
        };
        /**
         * ScheduleId
         * @description What sends an agent prompts by itself.
         */
        ScheduleId: string;
        /**
         * Timestamp
         * Format: date-time
         * @description Milliseconds since 1970, written as RFC 3339 with milliseconds: `2026-11-15T12:00:00.123Z`.
         */
        Timestamp: string;
        /**
         * RunId
         * @description One run of a schedule.
         */
        RunId: string;
        /** Delta */
        Delta: {
            block_id: components["schemas"]["BlockId"];
            text: string;
            /** @description Nothing more will come in this block. */
            done?: boolean;
            /** @description The block was closed half written. */
            interrupted?: boolean;
        };
        /**
         * BlockId
         * @description A stretch of text or thinking.
         */
        BlockId: string;
        /** Thinking */
        Thinking: {
            block_id: components["schemas"]["BlockId"];
            text: string;
            done?: boolean | null;
            interrupted?: boolean;
        };
        /**
         * Retracted
         * @description The agent took back what it streamed in this block.
         */
        Retracted: {
            block_id: components["schemas"]["BlockId"];
            reason?: string | null;
        };
        /** ToolStart */
        ToolStart: {
            tool_use_id: components["schemas"]["ToolUseId"];
            tool: string;
            input?: unknown;
            command?: string | null;
            file_path?: string | null;
            pattern?: string | null;
            search_path?: string | null;
            is_file_read?: boolean | null;
            subagent_spawn?: boolean | null;
            subagent_name?: string | null;
            /** @description A client runs it, not the agent: an interrupt with the same `tool_use_id` follows. */
            client_tool?: boolean | null;
            /** @description The whole input, when what is in `input` had to be cut. */
            blob?: components["schemas"]["BlobRef"] | null;
            /** @description The component that shows this call, as the rules said when it began. */
            component?: components["schemas"]["ToolComponent"] | null;
            /** @description The view that the tool's server has for it. */
            ui?: components["schemas"]["ToolUi"] | null;
        };
        /**
         * ToolUseId
         * @description One call of a tool; the agent's own id.
         */
        ToolUseId: string;
        /**
         * ToolComponent
         * @description The component that shows a call.
         */
        ToolComponent: {
            component_id: string;
            name: string;
            surface: components["schemas"]["Surface"];
            result: components["schemas"]["ToolMapping"];
            /** @description The key for a result that is no object. */
            into?: string | null;
            /** @description What it shows of the input, when what is in `input` had to be cut. */
            props?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * Surface
         * @description Where a component may appear.
         * @enum {string}
         */
        Surface: "chat" | "sidebar" | "panel" | "overlay" | "canvas";
        /**
         * ToolMapping
         * @description What a component takes from the call that it covers.
         */
        ToolMapping: ("output" | "input") | "merge";
        /**
         * ToolUi
         * @description A view that an MCP server has for one of its tools.
         */
        ToolUi: {
            server: string;
            tool: string;
            resource_uri: string;
        };
        /** ToolProgress */
        ToolProgress: {
            tool_use_id: components["schemas"]["ToolUseId"];
            text?: string | null;
            /** Format: double */
            fraction?: number | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** ToolResult */
        ToolResult: {
            tool_use_id: components["schemas"]["ToolUseId"];
            output: string;
            is_error: boolean;
            /** Format: int32 */
            exit_code?: number | null;
            file_path?: string | null;
            is_file_read?: boolean | null;
            /** @description The tool did not run: a person or a rule said no. */
            denied?: boolean | null;
            /** @description The turn ended before the tool did. */
            interrupted?: boolean | null;
            diff?: string | null;
            /** @description The whole output, when what is in `output` had to be cut. */
            blob?: components["schemas"]["BlobRef"] | null;
            /** @description The pictures that the tool brought, in their order; `output` has `[image]` where each stood. */
            images?: components["schemas"]["Image"][] | null;
            /** @description The result as data (`structuredContent` of MCP). */
            structured?: unknown;
            /** @description What goes with the result and is not for the model (`_meta` of MCP). */
            meta?: unknown;
            /** @description What the result brings to the component that covers the call, when what is in `output` had to be cut. */
            props?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * Image
         * @description A picture that a tool brought. An agent says its bytes in base64; in the log they are a blob, decoded, whatever their size.
         */
        Image: {
            media_type: string;
            data?: string | null;
            blob?: components["schemas"]["BlobRef"] | null;
        };
        /**
         * ToolDecided
         * @description The rules have decided about a call, before it runs.
         */
        ToolDecided: {
            tool_use_id: components["schemas"]["ToolUseId"];
            tool: string;
            judged: components["schemas"]["Judged"];
        };
        /**
         * Judged
         * @description What was decided about a call, and why.
         */
        Judged: {
            effect: components["schemas"]["PolicyEffect"];
            /** @description The rule that decided: where it stands, and its name there. */
            rule: string;
            scope: components["schemas"]["RuleScope"];
            /** @description The session's mode then. */
            mode?: string | null;
            /** @description For the agent and for people. */
            reason: string;
            /** @description Only the running of it would tell what it does. */
            opaque?: boolean;
            /** @description The SHA-256 of the input, as compact JSON. */
            input_sha256: string;
            /** @description What the call consists of: each simple command of a script, or the call itself. */
            parts?: components["schemas"]["CallPart"][];
        };
        /**
         * PolicyEffect
         * @description What the rules say about a call.
         * @enum {string}
         */
        PolicyEffect: "allow" | "ask" | "deny";
        /**
         * RuleScope
         * @description How far a rule reaches.
         */
        RuleScope: "absolute" | "mode" | "user" | "project" | "session";
        /**
         * CallPart
         * @description One simple command of a script, or the whole call of another tool.
         */
        CallPart: {
            /** @description The command, after the shell's expansions as far as they are known. */
            command?: string | null;
            /** @description What brought it about: `sh -c`, `xargs`. */
            inside?: string[];
            acts: components["schemas"]["CallAct"][];
        };
        /**
         * CallAct
         * @description One thing that a call would do.
         */
        CallAct: {
            /** @description The sort of act, as rules name it. */
            does: string;
            /** @description The same for people. */
            text: string;
            path?: string | null;
            /** @description The path is not, or not surely, in the working directory. */
            outside?: boolean | null;
            host?: string | null;
            /** @description This act decided about the call. */
            decides?: boolean | null;
        };
        /** PermissionRequest */
        PermissionRequest: {
            ask_id: components["schemas"]["AskId"];
            tool_name: string;
            tool_input: unknown;
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            title?: string | null;
            options: components["schemas"]["PermissionOption"][];
            /** @description The call can be allowed or not, but not with another input. */
            fixed_input?: boolean | null;
            /** @description Which rule wants a person to decide, and what the call would do. */
            judged?: components["schemas"]["Judged"] | null;
            /** @description The rule does not wait for ever. */
            expiry?: components["schemas"]["AskExpiry"] | null;
            /** @description What the agent calls it. */
            key?: string | null;
        };
        /**
         * PermissionOption
         * @description One answer that may be given.
         */
        PermissionOption: {
            reply: components["schemas"]["PermissionReply"];
            label: string;
            /** @description The rule that `always` would store. */
            rule?: string | null;
            /** @description How far that rule would reach. */
            scope?: components["schemas"]["RuleScope"] | null;
        };
        /**
         * PermissionReply
         * @description A person's answer to a permission request.
         * @enum {string}
         */
        PermissionReply: "once" | "always" | "reject";
        /**
         * AskExpiry
         * @description When an ask ends by itself, and whether the call runs then.
         */
        AskExpiry: {
            at: components["schemas"]["Timestamp"];
            allowed: boolean;
        };
        /** PermissionResolved */
        PermissionResolved: {
            ask_id: components["schemas"]["AskId"];
            tool_name: string;
            allowed: boolean;
            reply: components["schemas"]["PermissionReply"];
            by: string;
            reason?: string | null;
            rule?: string | null;
            updated_input?: unknown;
            /** @description Nobody said no: it ended without an answer. */
            unanswered?: components["schemas"]["Unanswered"] | null;
            /** @description It was settled by the answer to another ask: an equal one, or one whose rule allows this too. */
            along_with?: components["schemas"]["AskId"] | null;
        };
        /**
         * Unanswered
         * @description Why an ask ended without an answer: the agent took it back, the turn was stopped, whoever asked is gone, or its time had come.
         * @enum {string}
         */
        Unanswered: "withdrawn" | "stopped" | "interrupted" | "expired";
        /** QuestionRequest */
        QuestionRequest: {
            ask_id: components["schemas"]["AskId"];
            questions: components["schemas"]["Question"][];
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            title?: string | null;
            /** @description What the agent calls it. */
            key?: string | null;
            /** @description The call whose row it stands for. */
            covers?: components["schemas"]["ToolUseId"] | null;
        };
        /** Question */
        Question: {
            prompt: string;
            header?: string | null;
            options: components["schemas"]["QuestionOption"][];
            multiple: boolean;
            free_text: boolean;
        };
        /** QuestionOption */
        QuestionOption: {
            label: string;
            description?: string | null;
        };
        /** QuestionResolved */
        QuestionResolved: {
            ask_id: components["schemas"]["AskId"];
            /** @description One list per question. */
            answers?: string[][] | null;
            rejected?: boolean | null;
            by: string;
            reason?: string | null;
            /** @description Nobody refused to answer: it ended without one. */
            unanswered?: components["schemas"]["Unanswered"] | null;
        };
        /**
         * Interrupt
         * @description A component waits for a value from a person, or a call of a client's tool for its result.
         */
        Interrupt: {
            interrupt_id: components["schemas"]["AskId"];
            /** @description Of a tool: its name. */
            component_name: string;
            /** @description Of a tool: its input. */
            props: unknown;
            surface: components["schemas"]["Surface"];
            /** @description The call that waits, when a client has to run a tool. */
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            /** @description The component that waits, when it is shown already. */
            component_id?: string | null;
            /** @description Which of its actions end the wait; all, if absent. */
            actions?: string[] | null;
            title?: string | null;
            /** @description What a value must fit; without it, what the component says that it answers. */
            value_schema?: unknown;
            /** @description What the agent calls it. */
            key?: string | null;
            /** @description The call whose row it stands for, when an agent waits in one. */
            covers?: components["schemas"]["ToolUseId"] | null;
        };
        /** InterruptResolved */
        InterruptResolved: {
            interrupt_id: components["schemas"]["AskId"];
            value?: unknown;
            /** @description The client could not run its tool; `value` says why. */
            is_error?: boolean | null;
            by: string;
            reason?: string | null;
            /** @description Why there is no value. */
            unanswered?: components["schemas"]["Unanswered"] | null;
        };
        /** SubagentStarted */
        SubagentStarted: {
            subagent_id: components["schemas"]["SubagentId"];
            name: string;
            background?: boolean | null;
            parent_tool_use_id?: components["schemas"]["ToolUseId"] | null;
            parent_subagent_id?: components["schemas"]["SubagentId"] | null;
        };
        /**
         * SubagentId
         * @description An agent started by an agent.
         */
        SubagentId: string;
        /**
         * SubagentUpdated
         * @description What has changed of a sub-agent that runs: it goes on in the background, say.
         */
        SubagentUpdated: {
            subagent_id: components["schemas"]["SubagentId"];
            background?: boolean | null;
        };
        /** SubagentEnded */
        SubagentEnded: {
            subagent_id: components["schemas"]["SubagentId"];
            status: components["schemas"]["WorkStatus"];
            /** Format: uint64 */
            tool_calls: number;
            /** Format: uint64 */
            file_changes: number;
        };
        /**
         * WorkStatus
         * @description How a sub-agent or a background task ended.
         * @enum {string}
         */
        WorkStatus: "completed" | "failed" | "interrupted";
        /** BackgroundStarted */
        BackgroundStarted: {
            background_id: components["schemas"]["BackgroundId"];
            kind: components["schemas"]["BackgroundKind"];
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            label: string;
        };
        /**
         * BackgroundId
         * @description A command or an agent that outlives its turn.
         */
        BackgroundId: string;
        /**
         * BackgroundKind
         * @description What runs in the background.
         */
        BackgroundKind: ("command" | "agent") | "tool" | "schedule";
        /** BackgroundEnded */
        BackgroundEnded: {
            background_id: components["schemas"]["BackgroundId"];
            status: components["schemas"]["WorkStatus"];
            output?: string | null;
            /** Format: int32 */
            exit_code?: number | null;
            blob?: components["schemas"]["BlobRef"] | null;
            /** @description The pictures that it brought, as in `tool_result`. */
            images?: components["schemas"]["Image"][] | null;
            /** @description Why it ended, when it did not end by itself. */
            reason?: string | null;
        };
        /**
         * Delegated
         * @description In a session that works for another one: for which.
         */
        Delegated: {
            /** @description Absent: it does not any more, because it came from a file. */
            parent_session_id?: components["schemas"]["SessionId"] | null;
            /**
             * @description From the first of all to the parent.
             * @default []
             */
            ancestors: components["schemas"]["SessionId"][];
            /**
             * @description What each of them was given to do that works for another, and this one: fingerprints.
             * @default []
             */
            tasks: string[];
            /** @description The parent's call. */
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
        };
        /**
         * DelegationStarted
         * @description Another session works for this one.
         */
        DelegationStarted: {
            child_session_id: components["schemas"]["SessionId"];
            runtime: string;
            /** @description What it is to do, in one line. */
            title: string;
            cwd?: string | null;
            /** @description The message that it is told. */
            message_id?: components["schemas"]["MessageId"] | null;
            /** @description The call that began it. */
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            /** @description That call waits for its end. */
            waits?: boolean | null;
            /** @description Who made it, when it was not the agent. */
            by?: string | null;
        };
        /**
         * DelegationUpdated
         * @description What has become of a session that works for this one. What is absent is nothing now, but for `text`, `turn_id` and `reason`: these are of its last end.
         */
        DelegationUpdated: {
            child_session_id: components["schemas"]["SessionId"];
            state: components["schemas"]["DelegationState"];
            /** @description What it does. */
            activity?: string | null;
            /** @description What it and those that work for it ask of a person. The answers go to the sessions that are named. */
            asks?: components["schemas"]["DelegatedAsk"][];
            /** @description Another message that it is told. */
            message_id?: components["schemas"]["MessageId"] | null;
            /** @description The call that waits for its end. */
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            /** @description The turn that has ended. */
            turn_id?: components["schemas"]["TurnId"] | null;
            /** @description What that turn came to, or the beginning of it. */
            text?: string | null;
            /** @description Why it ended so. */
            reason?: string | null;
            /** @description The calls that are told so. All others hear it by a message. */
            told?: components["schemas"]["ToolUseId"][];
            /** @description The position in its log that this is about. */
            child_seq?: components["schemas"]["Seq"] | null;
        };
        /**
         * DelegationState
         * @description How far a session is that works for another one.
         */
        DelegationState: ("running" | "completed" | "stopped" | "failed") | "starting" | "waiting" | "stopping" | "idle" | "interrupted" | "removed";
        /**
         * DelegatedAsk
         * @description An ask of a session that works for another one.
         */
        DelegatedAsk: {
            /** @description Whose it is. */
            session_id: components["schemas"]["SessionId"];
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            turn_id?: components["schemas"]["TurnId"] | null;
            /** @description Where its request stands in the log. */
            seq: components["schemas"]["Seq"];
            asked_at: components["schemas"]["Timestamp"];
            /** @description One line for a person. */
            title: string;
            /** @description The request's payload, as in its event. */
            request: unknown;
            /** @description Who asks, when it is a sub-agent, and what it was called to do. */
            subagent_id?: components["schemas"]["SubagentId"] | null;
            subagent_name?: string | null;
        };
        /**
         * AskKind
         * @description What kind of answer an ask takes.
         * @enum {string}
         */
        AskKind: "permission" | "question" | "interrupt";
        /**
         * Seq
         * Format: uint64
         * @description A position in one session's log. The first event has 1; `ZERO` stands before it.
         */
        Seq: number;
        /** ComponentUpdate */
        ComponentUpdate: {
            component_id: string;
            name: string;
            surface: components["schemas"]["Surface"];
            props: unknown;
            /** @description `props` is merged into what is there, instead of replacing it. */
            merge: boolean;
            /** @description How; without it, `shallow` if `merge`, else `replace`. */
            mode?: components["schemas"]["MergeMode"] | null;
            /** @description RFC 6902 JSON Patch of the props, with the mode `patch`. */
            patch?: unknown;
            status?: components["schemas"]["ComponentStatus"] | null;
            /** @description What went wrong, for people. */
            error?: string | null;
            /** @description The call that it belongs to. */
            tool_use_id?: components["schemas"]["ToolUseId"] | null;
            /** @description What it shows of the shared state. */
            bind?: components["schemas"]["Bind"] | null;
            /** @description The page that draws it. */
            view?: components["schemas"]["ComponentView"] | null;
            by?: string | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /**
         * MergeMode
         * @description How the props of a change meet those that are there.
         */
        MergeMode: "replace" | "shallow" | "deep" | "append" | "patch";
        /**
         * ComponentStatus
         * @description Whether a component has what it shows.
         * @enum {string}
         */
        ComponentStatus: "loading" | "ready" | "error";
        /**
         * Bind
         * @description Where in the shared state a component finds what it shows.
         */
        Bind: {
            /** @description JSON Pointer. */
            pointer: string;
            /** @description The key for a value that is no object; without it `items` for lists, else `value`. */
            as?: string | null;
            /** @description People's edits change the state. */
            edits?: boolean | null;
        };
        /**
         * ComponentView
         * @description A page that draws a component, as an MCP server gave it.
         */
        ComponentView: {
            blob?: components["schemas"]["BlobRef"] | null;
            csp?: unknown;
            permissions?: unknown;
            prefers_border?: boolean | null;
            server?: string | null;
            resource_uri?: string | null;
        };
        /** ComponentRemove */
        ComponentRemove: {
            component_id: string;
            by?: string | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** ComponentCallback */
        ComponentCallback: {
            component_id: string;
            action: string;
            payload: unknown;
            by: string;
            /** @description What the component was called then. */
            name?: string | null;
            /** @description The caller's; the same one again is taken once. */
            callback_id?: string | null;
            /** @description No agent was there; the next one hears of it. */
            waits?: boolean | null;
            /** @description The ask that it answered. The agent hears of it as the answer. */
            settles?: components["schemas"]["AskId"] | null;
            /** @description The agent hears of it by a message: at once, or (`false`) with the next one. */
            wakes?: boolean | null;
        };
        /** StateSnapshot */
        StateSnapshot: {
            state: unknown;
        };
        /**
         * StateDelta
         * @description RFC 6902 JSON Patch.
         */
        StateDelta: {
            patch: unknown;
            by: string;
            /** @description The agent hears of it by a message: at once, or (`false`) with the next one. */
            wakes?: boolean | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** PlanUpdated */
        PlanUpdated: {
            steps: components["schemas"]["PlanStep"][];
            explanation?: string | null;
        };
        /** PlanStep */
        PlanStep: {
            text: string;
            status: components["schemas"]["StepStatus"];
        };
        /**
         * StepStatus
         * @description How far a step of the plan is.
         * @enum {string}
         */
        StepStatus: "pending" | "running" | "done";
        /** DiffUpdated */
        DiffUpdated: {
            files: components["schemas"]["FileDiff"][];
        };
        /** FileDiff */
        FileDiff: {
            path: string;
            kind: components["schemas"]["FileChange"];
            diff: string;
        };
        /**
         * FileChange
         * @description What happened to a file.
         * @enum {string}
         */
        FileChange: "added" | "modified" | "deleted" | "renamed";
        /** ArtifactCreated */
        ArtifactCreated: {
            artifact_id: string;
            title: string;
            media_type: string;
            path?: string | null;
            content?: string | null;
            blob?: components["schemas"]["BlobRef"] | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** ArtifactUpdated */
        ArtifactUpdated: {
            artifact_id: string;
            title?: string | null;
            content?: string | null;
            blob?: components["schemas"]["BlobRef"] | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** ArtifactVersion */
        ArtifactVersion: {
            artifact_id: string;
            /** Format: uint64 */
            version: number;
            label?: string | null;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** ArtifactRemoved */
        ArtifactRemoved: {
            artifact_id: string;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** EvidenceChanged */
        EvidenceChanged: {
            evidence_id: string;
            kind: string;
            title: string;
            status: string;
            detail?: unknown;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string | null;
        };
        /** CompactionStart */
        CompactionStart: {
            trigger: components["schemas"]["CompactionTrigger"];
        };
        /**
         * CompactionTrigger
         * @description Who asked for a compaction.
         * @enum {string}
         */
        CompactionTrigger: "manual" | "auto";
        /** CompactionEnd */
        CompactionEnd: {
            /** Format: uint64 */
            removed?: number | null;
            /** Format: uint64 */
            kept?: number | null;
            /** Format: uint64 */
            tokens_before?: number | null;
            /** Format: uint64 */
            tokens_after?: number | null;
            reason: components["schemas"]["CompactionReason"];
            /** @description Compaction did not finish; the conversation goes on as it was. */
            failed?: boolean | null;
        };
        /**
         * CompactionReason
         * @description Why history was compacted.
         * @enum {string}
         */
        CompactionReason: "tokens" | "count" | "summary" | "manual";
        /** Rollback */
        Rollback: {
            turn_ids: components["schemas"]["TurnId"][];
            files_restored: boolean;
            by?: string | null;
            /** @description The agent cannot go back by itself; it goes on from a copy of its conversation that ends before these turns. */
            branched?: boolean | null;
        };
        /** Forked */
        Forked: {
            from_session: components["schemas"]["SessionId"];
            /** @description What that one was called then. */
            from_title?: string | null;
            at_seq: components["schemas"]["Seq"];
        };
        /**
         * QueueChanged
         * @description The queue as it is now. A message's content stands in `added` when it enters, and again when it is edited.
         */
        QueueChanged: {
            queue: components["schemas"]["QueueItem"][];
            added?: components["schemas"]["QueueAdded"] | null;
        };
        /** QueueItem */
        QueueItem: {
            message_id: components["schemas"]["MessageId"];
            preview: string;
            state: components["schemas"]["QueueState"];
            /** @description It does not go on by itself, and this is why. */
            held?: components["schemas"]["Hold"] | null;
        };
        /**
         * QueueState
         * @description Where a message in the queue stands.
         * @enum {string}
         */
        QueueState: "waiting" | "returned";
        /**
         * Hold
         * @description Why a message in the queue waits for somebody to say that it may go on.
         * @enum {string}
         */
        Hold: "stopped" | "restarted" | "not_started" | "archived" | "ended";
        /** QueueAdded */
        QueueAdded: {
            message_id: components["schemas"]["MessageId"];
            content: components["schemas"]["Part"][];
            origin: components["schemas"]["Origin"];
            source?: components["schemas"]["MessageSource"] | null;
            /** Format: uint64 */
            position: number;
        };
        /**
         * AgentUnparsed
         * @description Something an agent said that its adapter could not read: kept and counted, never fatal, never silent.
         */
        AgentUnparsed: {
            location: string;
            error: string;
            /** @description The beginning of what it said. */
            raw: string;
            /** Format: uint64 */
            size?: number | null;
            sha256?: string | null;
        };
        /**
         * Unreadable
         * @description What is said of it.
         */
        Unreadable: {
            error: string;
            /** @description How it begins. */
            raw: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
