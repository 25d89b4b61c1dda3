// Made by `npm run generate` from docs/reference. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Accepted: {
            accepted: boolean;
        };
        /** @description The turns that run, in all sessions. */
        ActiveTasks: {
            tasks: components["schemas"]["Task"][];
            /** @description Where the stream of tasks goes on. */
            position: number;
            timestamp: components["schemas"]["Timestamp"];
        };
        /**
         * @description What a session is doing for the person who waits.
         * @enum {string}
         */
        Activity: "accepted" | "starting" | "thinking" | "responding" | "tool" | "waiting" | "retrying" | "compacting" | "stopping";
        /**
         * ActivityData
         * @description What a session is doing for the person who waits.
         * @enum {string}
         */
        ActivityData: "accepted" | "starting" | "thinking" | "responding" | "tool" | "waiting" | "retrying" | "compacting" | "stopping";
        /** @description A rule that stands in the user's file. */
        AddedRule: {
            /** @description As decisions name it. */
            name: string;
            id: string;
            file: string;
            /** @description From 1. */
            line: number;
        };
        /**
         * @description What becomes of the queue when a turn is stopped.
         * @enum {string}
         */
        AfterStop: "continue" | "hold";
        /**
         * AfterStopData
         * @description What becomes of the queue when a turn is stopped.
         * @enum {string}
         */
        AfterStopData: "continue" | "hold";
        /** @description What a client may know of a runtime. */
        AgentInfo: {
            id: string;
            name: string;
            installed: boolean;
            version?: string;
            kind: components["schemas"]["AgentKind"];
            /** @description How many processes are connected, of an agent that connects. */
            connected?: number;
            capabilities: components["schemas"]["Capabilities"];
            /** @description The modes that a session may have; any word, if they are not listed. */
            modes?: string[];
            /** @description What may be changed while a session lives, besides its model and mode. */
            settings?: components["schemas"]["Setting"][];
            /** @description What a session may be created with, besides its folder, title, model and mode, and the tools that clients run. */
            params: components["schemas"]["Setting"][];
            /** @description What a message that begins with a slash may call, as an agent of this runtime told it last. */
            commands?: components["schemas"]["SlashCommand"][];
            /** @description What keeps it from working. */
            problem?: string;
            /** @description What to do about it. */
            fix?: string;
        };
        /** @description Where an agent comes from. */
        AgentKind: "builtin" | "external" | "command";
        /**
         * AgentUnparsedData
         * @description Something an agent said that its adapter could not read: kept and counted, never fatal, never silent.
         */
        AgentUnparsedData: {
            location: string;
            error: string;
            /** @description The beginning of what it said. */
            raw: string;
            size?: number;
            sha256?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * AgentUnparsedEvent
         * @example {
         *       "seq": 54,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "agent_unparsed",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "location": "stdout",
         *         "error": "not JSON",
         *         "raw": "?!"
         *       }
         *     }
         */
        AgentUnparsedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "agent_unparsed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["AgentUnparsedData"];
        };
        Agents: {
            agents: components["schemas"]["AgentInfo"][];
            /** @description What keeps hold of what agents start. */
            containment: components["schemas"]["Containment"];
        };
        /** @description Which other asks an answer settles. */
        Also: "equal";
        /** @description What was spent, in the units of people. */
        Amounts: {
            /** @description All that the model read and wrote, also what it read from a cache. */
            tokens: number;
            /** Format: double */
            usd: number;
            turns: number;
            /**
             * Format: double
             * @description Of work, without those in which a person was waited for.
             */
            minutes: number;
        };
        Answers: {
            /** @description One list per question. */
            answers: string[][];
        };
        ArtifactBlock: {
            /** @enum {string} */
            kind: "artifact";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            artifact_id?: string;
            title: string;
            media_type: string;
            path?: string;
            content?: string;
            blob?: components["schemas"]["BlobRef"];
            version?: number;
            /** @description What the version is called. */
            label?: string;
        };
        /** ArtifactCreatedData */
        ArtifactCreatedData: {
            artifact_id: string;
            title: string;
            media_type: string;
            path?: string;
            content?: string;
            blob?: components["schemas"]["BlobRefData"];
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ArtifactCreatedEvent
         * @example {
         *       "seq": 44,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "artifact_created",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "artifact_id": "report",
         *         "title": "Report",
         *         "media_type": "text/markdown",
         *         "content": "# Report"
         *       }
         *     }
         */
        ArtifactCreatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "artifact_created";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ArtifactCreatedData"];
        };
        /** ArtifactRemovedData */
        ArtifactRemovedData: {
            artifact_id: string;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ArtifactRemovedEvent
         * @example {
         *       "seq": 47,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "artifact_removed",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "artifact_id": "report"
         *       }
         *     }
         */
        ArtifactRemovedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "artifact_removed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ArtifactRemovedData"];
        };
        /** ArtifactUpdatedData */
        ArtifactUpdatedData: {
            artifact_id: string;
            title?: string;
            content?: string;
            blob?: components["schemas"]["BlobRefData"];
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ArtifactUpdatedEvent
         * @example {
         *       "seq": 45,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "artifact_updated",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "artifact_id": "report",
         *         "content": "# Report\n\nAll is well."
         *       }
         *     }
         */
        ArtifactUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "artifact_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ArtifactUpdatedData"];
        };
        /** ArtifactVersionData */
        ArtifactVersionData: {
            artifact_id: string;
            version: number;
            label?: string;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ArtifactVersionEvent
         * @example {
         *       "seq": 46,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "artifact_version",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "artifact_id": "report",
         *         "version": 2,
         *         "label": "after review"
         *       }
         *     }
         */
        ArtifactVersionEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "artifact_version";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ArtifactVersionData"];
        };
        /** @description When an ask ends by itself, and whether the call runs then. */
        AskExpiry: {
            at: components["schemas"]["Timestamp"];
            allowed: boolean;
        };
        /**
         * AskExpiryData
         * @description When an ask ends by itself, and whether the call runs then.
         */
        AskExpiryData: {
            at: components["schemas"]["TimestampData"];
            allowed: boolean;
        };
        /** @description Something that waits for a person. */
        AskId: string;
        /**
         * AskIdData
         * @description Something that waits for a person.
         */
        AskIdData: string;
        /**
         * @description What kind of answer an ask takes.
         * @enum {string}
         */
        AskKind: "permission" | "question" | "interrupt";
        /**
         * AskKindData
         * @description What kind of answer an ask takes.
         * @enum {string}
         */
        AskKindData: "permission" | "question" | "interrupt";
        Asks: {
            asks: components["schemas"]["SessionAsk"][];
        };
        /** @description A number for each, which goes up with every change. It begins with the time, so that it is another one after a restart too. */
        AutomationVersions: {
            schedules: number;
            channels: number;
            webhooks: number;
        };
        /** BackgroundEndedData */
        BackgroundEndedData: {
            background_id: components["schemas"]["BackgroundIdData"];
            status: components["schemas"]["WorkStatusData"];
            output?: string;
            /** Format: int32 */
            exit_code?: number;
            blob?: components["schemas"]["BlobRefData"];
            /** @description The pictures that it brought, as in `tool_result`. */
            images?: components["schemas"]["ImageData"][];
            /** @description Why it ended, when it did not end by itself. */
            reason?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * BackgroundEndedEvent
         * @example {
         *       "seq": 33,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "background_ended",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "background_id": "bg-1",
         *         "status": "completed",
         *         "output": "watched",
         *         "exit_code": 0
         *       }
         *     }
         */
        BackgroundEndedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "background_ended";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["BackgroundEndedData"];
        };
        /** @description A command or an agent that outlives its turn. */
        BackgroundId: string;
        /**
         * BackgroundIdData
         * @description A command or an agent that outlives its turn.
         */
        BackgroundIdData: string;
        /** @description What runs in the background. */
        BackgroundKind: ("command" | "agent") | "tool" | "schedule";
        /**
         * BackgroundKindData
         * @description What runs in the background.
         */
        BackgroundKindData: ("command" | "agent") | "tool" | "schedule";
        /** BackgroundStartedData */
        BackgroundStartedData: {
            background_id: components["schemas"]["BackgroundIdData"];
            kind: components["schemas"]["BackgroundKindData"];
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            label: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * BackgroundStartedEvent
         * @example {
         *       "seq": 32,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "background_started",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "background_id": "bg-1",
         *         "kind": "command",
         *         "tool_use_id": "t-3",
         *         "label": "cargo watch"
         *       }
         *     }
         */
        BackgroundStartedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "background_started";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["BackgroundStartedData"];
        };
        /** @description Where in the shared state a component finds what it shows. */
        Bind: {
            /** @description JSON Pointer. */
            pointer: string;
            /** @description The key for a value that is no object; without it `items` for lists, else `value`. */
            as?: string;
            /** @description People's edits change the state. */
            edits?: boolean;
        };
        /**
         * BindData
         * @description Where in the shared state a component finds what it shows.
         */
        BindData: {
            /** @description JSON Pointer. */
            pointer: string;
            /** @description The key for a value that is no object; without it `items` for lists, else `value`. */
            as?: string;
            /** @description People's edits change the state. */
            edits?: boolean;
        };
        /** @description The SHA-256 of the content, in hex. */
        BlobId: string;
        /**
         * BlobIdData
         * @description The SHA-256 of the content, in hex.
         */
        BlobIdData: string;
        /** @description A link that shows a blob to everybody who has the link. */
        BlobLink: {
            /** @description Relative to the daemon's address. */
            path: string;
            /** @description After this many seconds it does not work any more. */
            expires_in: number;
        };
        /** @description What an event says of content that is elsewhere. */
        BlobRef: {
            id: components["schemas"]["BlobId"];
            /** @description In bytes. */
            size: number;
            media_type: string;
            /** @description How it begins; empty when it is not text. */
            head: string;
            /** @description How it ends; empty when it is not text. */
            tail: string;
        };
        /**
         * BlobRefData
         * @description What an event says of content that is elsewhere.
         */
        BlobRefData: {
            id: components["schemas"]["BlobIdData"];
            /** @description In bytes. */
            size: number;
            media_type: string;
            /** @description How it begins; empty when it is not text. */
            head: string;
            /** @description How it ends; empty when it is not text. */
            tail: string;
        };
        /**
         * BlockIdData
         * @description A stretch of text or thinking.
         */
        BlockIdData: string;
        /**
         * BudgetData
         * @description A limit is near or reached, or somebody has said how it goes on. Amounts are in tokens, dollars, turns, minutes, calls.
         */
        BudgetData: {
            state: components["schemas"]["BudgetStateData"];
            scope: components["schemas"]["BudgetScopeData"];
            /** @description The name of the group, or the day. */
            id?: string;
            measure: components["schemas"]["BudgetMeasureData"];
            /** Format: double */
            limit: number;
            /** Format: double */
            spent: number;
            /** @description What is held. */
            how?: components["schemas"]["BudgetHoldData"];
            /** @description The permission that is asked for, or was. */
            ask_id?: components["schemas"]["AskIdData"];
            /**
             * Format: double
             * @description By how much the limit would be raised, or was.
             */
            added?: number;
            by?: string;
            /** @description One line for people. */
            reason?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * BudgetEvent
         * @example {
         *       "seq": 14,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "budget",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "state": "paused",
         *         "scope": "session",
         *         "measure": "usd",
         *         "limit": 4,
         *         "spent": 4.12,
         *         "how": "call",
         *         "ask_id": "ask-1",
         *         "added": 2.12,
         *         "reason": "$4.12 of $4.00 in this session"
         *       }
         *     }
         */
        BudgetEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "budget";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["BudgetData"];
        };
        /**
         * BudgetHoldData
         * @description What is held while the work waits.
         */
        BudgetHoldData: "call" | "message";
        /** @description What is counted. */
        BudgetMeasure: ("tokens" | "usd" | "turns") | "minutes" | "repeats" | "compactions" | "silence";
        /**
         * BudgetMeasureData
         * @description What is counted.
         */
        BudgetMeasureData: ("tokens" | "usd" | "turns") | "minutes" | "repeats" | "compactions" | "silence";
        /** @description What a limit is about. */
        BudgetScope: ("turn" | "session") | "group" | "day" | "daemon";
        /**
         * BudgetScopeData
         * @description What a limit is about.
         */
        BudgetScopeData: ("turn" | "session") | "group" | "day" | "daemon";
        /**
         * BudgetStateData
         * @description What is said about a limit.
         */
        BudgetStateData: "warned" | "reached" | "paused" | "interrupted" | "raised" | "stopped" | "unmeasured";
        /** @description One thing that a call would do. */
        CallAct: {
            /** @description The sort of act, as rules name it. */
            does: string;
            /** @description The same for people. */
            text: string;
            path?: string;
            /** @description The path is not, or not surely, in the working directory. */
            outside?: boolean;
            host?: string;
            /** @description This act decided about the call. */
            decides?: boolean;
        };
        /**
         * CallActData
         * @description One thing that a call would do.
         */
        CallActData: {
            /** @description The sort of act, as rules name it. */
            does: string;
            /** @description The same for people. */
            text: string;
            path?: string;
            /** @description The path is not, or not surely, in the working directory. */
            outside?: boolean;
            host?: string;
            /** @description This act decided about the call. */
            decides?: boolean;
        };
        /** @description One simple command of a script, or the whole call of another tool. */
        CallPart: {
            /** @description The command, after the shell's expansions as far as they are known. */
            command?: string;
            /** @description What brought it about: `sh -c`, `xargs`. */
            inside?: string[];
            acts: components["schemas"]["CallAct"][];
        };
        /**
         * CallPartData
         * @description One simple command of a script, or the whole call of another tool.
         */
        CallPartData: {
            /** @description The command, after the shell's expansions as far as they are known. */
            command?: string;
            /** @description What brought it about: `sh -c`, `xargs`. */
            inside?: string[];
            acts: components["schemas"]["CallActData"][];
        };
        Cancelled: {
            cancelled: boolean;
            /** @description The turn was dead. */
            forced?: boolean;
        };
        /** @description What an agent of one runtime can do. A call for something it cannot do is refused, so this must be true. */
        Capabilities: {
            /** @description Takes a message into the running turn. */
            steer: boolean;
            /** @description Remembers a conversation across its own restarts. */
            resume: boolean;
            fork: boolean;
            rollback: boolean;
            compact: boolean;
            set_model: boolean;
            set_mode: boolean;
            permissions: boolean;
            /** @description Makes no call before it has heard what the rules say about it, so the modes with rules hold. */
            gate: boolean;
            /** @description Runs a tool with the input that a person made of the one it was asked about, unless the ask says that its input is fixed. */
            edit_input: boolean;
            questions: boolean;
            images: boolean;
            files: boolean;
            thinking: boolean;
            plan: boolean;
            subagents: boolean;
            background: boolean;
            /** @description Ends one thing that runs in the background, when told to. */
            stop_background: boolean;
            /** @description Shows components, and hears what people do in them. */
            components: boolean;
            /** @description Shares a state with its clients, and hears of their changes. */
            state: boolean;
            usage: boolean;
            /** @description Calls tools that clients run. */
            client_tools: boolean;
            /** @description Puts files back as they were when turns are taken back. */
            restore_files: boolean;
            /** @description Has conversations of its own on this machine that can become sessions. */
            adopt: boolean;
        };
        ChangeCount: {
            old: components["schemas"]["WouldBe"];
            new: components["schemas"]["WouldBe"];
            calls: number;
        };
        /** @description A call about which the proposed rules say something else. */
        ChangedCall: {
            session_id: components["schemas"]["SessionId"];
            seq: components["schemas"]["Seq"];
            tool_use_id: components["schemas"]["ToolUseId"];
            at: components["schemas"]["Timestamp"];
            tool: string;
            /** @description The command, the path, or the input, cut. */
            what: string;
            /** @description The session's mode then. */
            mode?: string;
            /** @description What the rules say now. */
            old: components["schemas"]["WouldBe"];
            old_rule: string;
            /** @description What they would say. */
            new: components["schemas"]["WouldBe"];
            new_rule: string;
            reason: string;
        };
        /** @description A file that is different now. */
        ChangedFile: {
            /** @description From the session's folder, where it is inside. */
            path: string;
            kind: components["schemas"]["FileChange"];
            added: number;
            removed: number;
            /** @description Whether `diff` is the one difference. Otherwise something else has changed the file in between, and the diffs stand one after the other. */
            exact: boolean;
            diff: string;
        };
        /** @description A channel as clients see it. */
        Channel: {
            /** @description In the address: `/hooks/NAME`. */
            name: string;
            kind: components["schemas"]["ChannelKind"];
            /** @description The runtime of its sessions. */
            runtime: string;
            /** @description What its sessions are created with: `cwd`, `mode`, `model`, ... */
            params: {
                [key: string]: unknown;
            };
            /** @description What all its sessions may spend together. It counts for sessions that are created from then on. */
            budget?: components["schemas"]["Limits"];
            /** @description What the agent is told; the kind has one of its own. */
            message?: components["schemas"]["Template"];
            /** @description Deliveries for which this is the same go on in one session. Each has its own, where it is empty. */
            conversation?: components["schemas"]["Template"];
            /** @description What names a delivery; the same one again is not taken twice. */
            delivery?: components["schemas"]["Template"];
            /** @description What a session is called. */
            title?: components["schemas"]["Template"];
            /** @description Only these events, such as `issues.opened` or `issues`; all, if there are none. */
            events: string[];
            /** @description Only of these senders. */
            senders: string[];
            /** @description Only where all of these hold. */
            only: components["schemas"]["ChannelRule"][];
            /** @description Where a plain HMAC stands; for the kind `hmac`. */
            hmac?: components["schemas"]["HmacHeader"];
            /** @description Where the answer goes; nowhere, if not given. */
            reply?: components["schemas"]["ChannelReply"];
            /** @description Wait so many seconds for the answer and send it as the response; what takes longer is answered with 202. */
            respond_seconds: number;
            /** @description Turns that may run at once. */
            max_running: number;
            /** @description Refuses deliveries while it is paused. If it is left out: `false`. */
            paused: boolean;
            /** @description Where its secret is; the secret itself is not shown. */
            secret: components["schemas"]["SecretSource"];
            reply_token?: components["schemas"]["SecretSource"];
            /** @description Where the service delivers. */
            path: string;
            /** @description Deliveries that are accepted and not done with. */
            waiting: number;
            /** @description Since the daemon started. */
            counts: components["schemas"]["ChannelCounts"];
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description What became of a channel's deliveries since the daemon started. */
        ChannelCounts: {
            accepted: number;
            /** @description They had been accepted before. */
            duplicates: number;
            /** @description Genuine, and nothing for an agent: by reason. */
            ignored: {
                [key: string]: number;
            };
            /** @description By the code of the refusal. */
            refused: {
                [key: string]: number;
            };
            /** @description Answers that went back. */
            replied: number;
            /** @description Answers that nobody took. */
            reply_failed: number;
        };
        ChannelDeliveries: {
            deliveries: components["schemas"]["ChannelDelivery"][];
        };
        /** @description A delivery as people see it. */
        ChannelDelivery: {
            delivery_id: string;
            state: components["schemas"]["ChannelDeliveryState"];
            event?: string;
            sender?: string;
            conversation: string;
            session_id: components["schemas"]["SessionId"];
            message_id: components["schemas"]["MessageId"];
            turn_id?: components["schemas"]["TurnId"];
            outcome?: components["schemas"]["Outcome"];
            received_at: components["schemas"]["Timestamp"];
            /** @description How often the answer was sent in vain. */
            attempts: number;
            next_at?: components["schemas"]["Timestamp"];
            error?: string;
        };
        /** @description How far a delivery is. */
        ChannelDeliveryState: "done" | "accepted" | "running" | "answered" | "failed";
        /** @description How deliveries are verified and read. */
        ChannelKind: "hmac" | "github" | "slack" | "telegram" | "bearer" | "standard";
        /**
         * ChannelKindData
         * @description How deliveries are verified and read.
         */
        ChannelKindData: "hmac" | "github" | "slack" | "telegram" | "bearer" | "standard";
        /** @description What a channel is, without its secrets. */
        ChannelPatch: {
            name?: string | null;
            kind?: components["schemas"]["ChannelKind"] | null;
            runtime?: string | null;
            params?: {
                [key: string]: unknown;
            } | null;
            budget?: (components["schemas"]["LimitsInput"] | null) | null;
            message?: (components["schemas"]["Template"] | null) | null;
            conversation?: (components["schemas"]["Template"] | null) | null;
            delivery?: (components["schemas"]["Template"] | null) | null;
            title?: (components["schemas"]["Template"] | null) | null;
            events?: string[] | null;
            senders?: string[] | null;
            only?: components["schemas"]["ChannelRuleInput"][] | null;
            hmac?: (components["schemas"]["HmacHeaderInput"] | null) | null;
            reply?: (components["schemas"]["ChannelReplyInput"] | null) | null;
            respond_seconds?: number | null;
            max_running?: number | null;
            paused?: boolean | null;
            secret?: components["schemas"]["NewSecret"] | null;
            reply_token?: components["schemas"]["NewSecret"] | null;
        };
        /** @description Where the answers of a channel go. */
        ChannelReply: {
            to: components["schemas"]["ChannelReplyService"];
            /** @description Another address of the service, such as that of a GitHub Enterprise server. */
            base_url?: string;
            /** @description Where `post` sends to: `https://...`, or a template such as `{/reply_url}`. */
            url?: components["schemas"]["Template"];
            /** @description The hosts that `url` may lead to, if a payload says where. */
            hosts: string[];
            /** @description What is said; `{answer}`, if not given. */
            text?: components["schemas"]["Template"];
            /** @description How many characters one message may have, if fewer than the service takes. */
            limit?: number;
        };
        /** @description Where the answers of a channel go. */
        ChannelReplyInput: {
            to: components["schemas"]["ChannelReplyService"];
            /** @description Another address of the service, such as that of a GitHub Enterprise server. */
            base_url?: string | null;
            /** @description Where `post` sends to: `https://...`, or a template such as `{/reply_url}`. */
            url?: components["schemas"]["Template"] | null;
            /** @description The hosts that `url` may lead to, if a payload says where. */
            hosts?: string[];
            /** @description What is said; `{answer}`, if not given. */
            text?: components["schemas"]["Template"] | null;
            /** @description How many characters one message may have, if fewer than the service takes. */
            limit?: number | null;
        };
        ChannelReplyService: "github" | "slack" | "telegram" | "post";
        /** @description One condition on a delivery. What is not there is in no list and contains nothing. */
        ChannelRule: {
            /** @description A JSON pointer into the payload. */
            at?: string;
            /** @description Or the name of a header. */
            header?: string;
            /** @description It is one of these. */
            in?: string[];
            /** @description It is none of these. */
            not_in?: string[];
            /** @description It contains this. */
            contains?: string;
            /** @description It is there, or it is not. */
            exists?: boolean;
        };
        /** @description One condition on a delivery. What is not there is in no list and contains nothing. */
        ChannelRuleInput: {
            /** @description A JSON pointer into the payload. */
            at?: string | null;
            /** @description Or the name of a header. */
            header?: string | null;
            /** @description It is one of these. */
            in?: string[] | null;
            /** @description It is none of these. */
            not_in?: string[] | null;
            /** @description It contains this. */
            contains?: string | null;
            /** @description It is there, or it is not. */
            exists?: boolean | null;
        };
        Channels: {
            channels: components["schemas"]["Channel"][];
        };
        /** @description Who said *always*, when, and in which session. */
        ChosenRule: {
            by: string;
            at: components["schemas"]["Timestamp"];
            session_id: components["schemas"]["SessionId"];
        };
        CompactionBlock: {
            /** @enum {string} */
            kind: "compaction";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            status: components["schemas"]["CompactionStatus"];
            trigger: components["schemas"]["CompactionTrigger"];
            removed?: number;
            kept?: number;
            tokens_before?: number;
            tokens_after?: number;
            reason?: components["schemas"]["CompactionReason"];
            failed?: boolean;
        };
        /** CompactionEndData */
        CompactionEndData: {
            removed?: number;
            kept?: number;
            tokens_before?: number;
            tokens_after?: number;
            reason: components["schemas"]["CompactionReasonData"];
            /** @description Compaction did not finish; the conversation goes on as it was. */
            failed?: boolean;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * CompactionEndEvent
         * @example {
         *       "seq": 50,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "compaction_end",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "tokens_before": 180000,
         *         "tokens_after": 20000,
         *         "reason": "tokens"
         *       }
         *     }
         */
        CompactionEndEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "compaction_end";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["CompactionEndData"];
        };
        /**
         * @description Why history was compacted.
         * @enum {string}
         */
        CompactionReason: "tokens" | "count" | "summary" | "manual";
        /**
         * CompactionReasonData
         * @description Why history was compacted.
         * @enum {string}
         */
        CompactionReasonData: "tokens" | "count" | "summary" | "manual";
        /** CompactionStartData */
        CompactionStartData: {
            trigger: components["schemas"]["CompactionTriggerData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * CompactionStartEvent
         * @example {
         *       "seq": 49,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "compaction_start",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "trigger": "auto"
         *       }
         *     }
         */
        CompactionStartEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "compaction_start";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["CompactionStartData"];
        };
        /**
         * @description How far a compaction is.
         * @enum {string}
         */
        CompactionStatus: "running" | "done" | "failed";
        /**
         * @description Who asked for a compaction.
         * @enum {string}
         */
        CompactionTrigger: "manual" | "auto";
        /**
         * CompactionTriggerData
         * @description Who asked for a compaction.
         * @enum {string}
         */
        CompactionTriggerData: "manual" | "auto";
        ComponentAction: {
            /** @description What was pressed, in the component's own words. */
            action: string;
            /** @description What goes with it. */
            payload?: unknown;
            /** @description The caller's name for this; the same one again is taken once. */
            callback_id?: string | null;
        };
        /** @description A component in the conversation; one line without `props`, when `surface` says that it has moved elsewhere. */
        ComponentBlock: {
            /** @enum {string} */
            kind: "component";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            component_id: string;
            name: string;
            surface: components["schemas"]["Surface"];
            props?: unknown;
            status: components["schemas"]["ComponentStatus"];
            /** @description What went wrong. */
            error?: string;
            /** @description The call that it shows. */
            tool_use_id?: components["schemas"]["ToolUseId"];
            /** @description Where in the shared state it finds what it shows. */
            bind?: components["schemas"]["Bind"];
            /** @description The page that draws it. */
            view?: components["schemas"]["ComponentView"];
            /** @description The interrupt that waits for it. */
            waiting?: components["schemas"]["AskId"];
            /** @description Who changed it last. */
            by?: string;
        };
        /** ComponentCallbackData */
        ComponentCallbackData: {
            component_id: string;
            action: string;
            payload: unknown;
            by: string;
            /** @description What the component was called then. */
            name?: string;
            /** @description The caller's; the same one again is taken once. */
            callback_id?: string;
            /** @description No agent was there; the next one hears of it. */
            waits?: boolean;
            /** @description The ask that it answered. The agent hears of it as the answer. */
            settles?: components["schemas"]["AskIdData"];
            /** @description The agent hears of it by a message: at once, or (`false`) with the next one. */
            wakes?: boolean;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /** @description Something that a component can send. */
        ComponentCallbackEntry: {
            name: string;
            /** @description The agent hears of it at once, not with the next message. If it is left out: `true`. */
            wakes: boolean;
            /** @description JSON Schema of what goes with it. */
            payload?: unknown;
        };
        /**
         * ComponentCallbackEvent
         * @example {
         *       "seq": 39,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "component_callback",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "component_id": "plan",
         *         "name": "plan_editor",
         *         "action": "approve_step",
         *         "payload": {
         *           "step_index": 0
         *         },
         *         "by": "workbench",
         *         "callback_id": "press-1"
         *       }
         *     }
         */
        ComponentCallbackEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "component_callback";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ComponentCallbackData"];
        };
        /** @description One component that can be shown. */
        ComponentEntry: {
            name: string;
            title: string;
            /** @description For models and lists. */
            description: string;
            /** @description If it is left out: `builtin`. */
            source: components["schemas"]["ComponentSource"];
            /** @description Where it may stand, best first. */
            surfaces: components["schemas"]["Surface"][];
            /** @description It draws a skeleton while its status is `loading`. If it is left out: `false`. */
            has_loading_state: boolean;
            /**
             * @description JSON Schema 2020-12 of an object.
             * @default {
             *       "type": "object"
             *     }
             */
            props: unknown;
            /** @description What it can send. */
            callbacks: components["schemas"]["ComponentCallbackEntry"][];
            /** @description What it answers when somebody waits for it; without it, the action and its payload. */
            resolves?: unknown;
            /** @description The tools whose calls it shows without another rule. */
            tools?: string[];
            /** @description It is a page of its own. */
            view?: components["schemas"]["ComponentPage"];
        };
        /** @description A folder that is none, or that was left out, and why. */
        ComponentFolderProblem: {
            folder: string;
            problem: string;
        };
        /** @description The page that draws a component. */
        ComponentPage: {
            url: string;
            prefers_border?: boolean;
            /** @description It may read and change the shared state. */
            state?: boolean;
        };
        /** ComponentRemoveData */
        ComponentRemoveData: {
            component_id: string;
            by?: string;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ComponentRemoveEvent
         * @example {
         *       "seq": 38,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "component_remove",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "component_id": "plan",
         *         "by": "agent"
         *       }
         *     }
         */
        ComponentRemoveEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "component_remove";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ComponentRemoveData"];
        };
        /**
         * @description Where an entry comes from.
         * @enum {string}
         */
        ComponentSource: "builtin" | "config" | "session" | "mcp";
        /**
         * @description Whether a component has what it shows.
         * @enum {string}
         */
        ComponentStatus: "loading" | "ready" | "error";
        /**
         * ComponentStatusData
         * @description Whether a component has what it shows.
         * @enum {string}
         */
        ComponentStatusData: "loading" | "ready" | "error";
        /** ComponentUpdateData */
        ComponentUpdateData: {
            component_id: string;
            name: string;
            surface: components["schemas"]["SurfaceData"];
            props: unknown;
            /** @description `props` is merged into what is there, instead of replacing it. */
            merge: boolean;
            /** @description How; without it, `shallow` if `merge`, else `replace`. */
            mode?: components["schemas"]["MergeModeData"];
            /** @description RFC 6902 JSON Patch of the props, with the mode `patch`. */
            patch?: unknown;
            status?: components["schemas"]["ComponentStatusData"];
            /** @description What went wrong, for people. */
            error?: string;
            /** @description The call that it belongs to. */
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            /** @description What it shows of the shared state. */
            bind?: components["schemas"]["BindData"];
            /** @description The page that draws it. */
            view?: components["schemas"]["ComponentViewData"];
            by?: string;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ComponentUpdateEvent
         * @example {
         *       "seq": 37,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "component_update",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "component_id": "plan",
         *         "name": "plan_editor",
         *         "surface": "sidebar",
         *         "props": {
         *           "steps": [
         *             "Publish"
         *           ]
         *         },
         *         "merge": true,
         *         "mode": "append",
         *         "status": "ready",
         *         "bind": {
         *           "pointer": "/plan",
         *           "as": "steps",
         *           "edits": true
         *         }
         *       }
         *     }
         */
        ComponentUpdateEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "component_update";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ComponentUpdateData"];
        };
        /** @description A page that draws a component, as an MCP server gave it. */
        ComponentView: {
            blob?: components["schemas"]["BlobRef"];
            csp?: unknown;
            permissions?: unknown;
            prefers_border?: boolean;
            server?: string;
            resource_uri?: string;
        };
        /**
         * ComponentViewData
         * @description A page that draws a component, as an MCP server gave it.
         */
        ComponentViewData: {
            blob?: components["schemas"]["BlobRefData"];
            csp?: unknown;
            permissions?: unknown;
            prefers_border?: boolean;
            server?: string;
            resource_uri?: string;
        };
        /** @description The components there are. */
        Components: {
            components: components["schemas"]["ComponentEntry"][];
            /** @description Changes with what is in the list. */
            version: string;
        };
        ComponentsReloaded: {
            /** @description The components of folders that are served now. */
            components: components["schemas"]["PageComponent"][];
            /** @description Folders that were left out, and why. */
            problems: components["schemas"]["ComponentFolderProblem"][];
        };
        /** @description What keeps hold of what agents start. */
        Containment: {
            /** @constant */
            kind: "control_group";
            folder: string;
        } | {
            /** @constant */
            kind: "process_group";
            why: string;
        };
        /** @description How much of what an agent can hold in mind it holds, in tokens. */
        ContextUse: {
            used: number;
            window: number;
        };
        /** @description A conversation that an agent has stored by itself. */
        Conversation: {
            /** @description The agent's name for it. */
            id: string;
            title: string;
            cwd?: string;
            updated_at: components["schemas"]["Timestamp"];
        };
        Conversations: {
            conversations: components["schemas"]["Conversation"][];
        };
        ConversationsQuery: {
            /** @description Where they were held: an absolute path. Where the daemon was started, if absent. */
            cwd?: string | null;
        };
        CoveredCall: {
            session_id: components["schemas"]["SessionId"];
            /** @description Where it was asked about. */
            seq: components["schemas"]["Seq"];
            tool_use_id?: components["schemas"]["ToolUseId"];
            what: string;
        };
        Create: {
            /** @description Chosen by the client, so that a retry is safe; made by the daemon if absent. */
            session_id?: string | null;
            runtime: string;
            /** @description `cwd`, `system_prompt`, `model`, `mode`, `permission_mode`, `env`, `mcp_servers`, `title`, `client_tools`, `budget`, `budget_group`, and what the runtime adds. */
            params?: {
                [key: string]: unknown;
            };
            /** @description A conversation that the agent has stored: the session begins with what was said in it. */
            adopt?: string | null;
            /** @description The session that it works for: it is shown below that one, spends from the same budget, and may not be in a looser mode. */
            parent_session_id?: string | null;
        };
        /** @description An ask of a session that works for another one. */
        DelegatedAsk: {
            /** @description Whose it is. */
            session_id: components["schemas"]["SessionId"];
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            turn_id?: components["schemas"]["TurnId"];
            /** @description Where its request stands in the log. */
            seq: components["schemas"]["Seq"];
            asked_at: components["schemas"]["Timestamp"];
            /** @description One line for a person. */
            title: string;
            /** @description The request's payload, as in its event. */
            request: unknown;
            /** @description Who asks, when it is a sub-agent, and what it was called to do. */
            subagent_id?: components["schemas"]["SubagentId"];
            subagent_name?: string;
        };
        /**
         * DelegatedAskData
         * @description An ask of a session that works for another one.
         */
        DelegatedAskData: {
            /** @description Whose it is. */
            session_id: components["schemas"]["SessionIdData"];
            ask_id: components["schemas"]["AskIdData"];
            kind: components["schemas"]["AskKindData"];
            turn_id?: components["schemas"]["TurnIdData"];
            /** @description Where its request stands in the log. */
            seq: components["schemas"]["SeqData"];
            asked_at: components["schemas"]["TimestampData"];
            /** @description One line for a person. */
            title: string;
            /** @description The request's payload, as in its event. */
            request: unknown;
            /** @description Who asks, when it is a sub-agent, and what it was called to do. */
            subagent_id?: components["schemas"]["SubagentIdData"];
            subagent_name?: string;
        };
        /**
         * DelegatedData
         * @description In a session that works for another one: for which.
         */
        DelegatedData: {
            /** @description Absent: it does not any more, because it came from a file. */
            parent_session_id?: components["schemas"]["SessionIdData"];
            /** @description From the first of all to the parent. */
            ancestors?: components["schemas"]["SessionIdData"][];
            /** @description What each of them was given to do that works for another, and this one: fingerprints. */
            tasks?: string[];
            /** @description The parent's call. */
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DelegatedEvent
         * @example {
         *       "seq": 34,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "delegated",
         *       "session_id": "s-1",
         *       "data": {
         *         "parent_session_id": "s-0",
         *         "ancestors": [
         *           "s-0"
         *         ],
         *         "tasks": [
         *           "5f0c66e1"
         *         ],
         *         "tool_use_id": "t-4"
         *       }
         *     }
         */
        DelegatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "delegated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DelegatedData"];
        };
        /** @description Another session that works for this one. */
        DelegationBlock: {
            /** @enum {string} */
            kind: "delegation";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            child_session_id: components["schemas"]["SessionId"];
            runtime: string;
            title: string;
            cwd?: string;
            state: components["schemas"]["DelegationState"];
            /** @description What it does. */
            activity?: string;
            /** @description What it and those that work for it ask of a person. The answers go to the sessions that are named. */
            asks: components["schemas"]["DelegatedAsk"][];
            /** @description What its last turn came to, or the beginning of it. */
            text?: string;
            reason?: string;
            tool_use_id?: components["schemas"]["ToolUseId"];
            /** @description That call waits for its end. */
            waits?: boolean;
            /** @description Who made it, when it was not the agent. */
            by?: string;
        };
        /**
         * DelegationStartedData
         * @description Another session works for this one.
         */
        DelegationStartedData: {
            child_session_id: components["schemas"]["SessionIdData"];
            runtime: string;
            /** @description What it is to do, in one line. */
            title: string;
            cwd?: string;
            /** @description The message that it is told. */
            message_id?: components["schemas"]["MessageIdData"];
            /** @description The call that began it. */
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            /** @description That call waits for its end. */
            waits?: boolean;
            /** @description Who made it, when it was not the agent. */
            by?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DelegationStartedEvent
         * @example {
         *       "seq": 35,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "delegation_started",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "child_session_id": "s-2",
         *         "runtime": "codex",
         *         "title": "Build what the plan says",
         *         "cwd": "/home/user/loom",
         *         "message_id": "m-4",
         *         "tool_use_id": "t-4",
         *         "waits": true
         *       }
         *     }
         */
        DelegationStartedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "delegation_started";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DelegationStartedData"];
        };
        /** @description How far a session is that works for another one. */
        DelegationState: ("running" | "completed" | "stopped" | "failed") | "starting" | "waiting" | "stopping" | "idle" | "interrupted" | "removed";
        /**
         * DelegationStateData
         * @description How far a session is that works for another one.
         */
        DelegationStateData: ("running" | "completed" | "stopped" | "failed") | "starting" | "waiting" | "stopping" | "idle" | "interrupted" | "removed";
        /**
         * DelegationUpdatedData
         * @description What has become of a session that works for this one. What is absent is nothing now, but for `text`, `turn_id` and `reason`: these are of its last end.
         */
        DelegationUpdatedData: {
            child_session_id: components["schemas"]["SessionIdData"];
            state: components["schemas"]["DelegationStateData"];
            /** @description What it does. */
            activity?: string;
            /** @description What it and those that work for it ask of a person. The answers go to the sessions that are named. */
            asks?: components["schemas"]["DelegatedAskData"][];
            /** @description Another message that it is told. */
            message_id?: components["schemas"]["MessageIdData"];
            /** @description The call that waits for its end. */
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            /** @description The turn that has ended. */
            turn_id?: components["schemas"]["TurnIdData"];
            /** @description What that turn came to, or the beginning of it. */
            text?: string;
            /** @description Why it ended so. */
            reason?: string;
            /** @description The calls that are told so. All others hear it by a message. */
            told?: components["schemas"]["ToolUseIdData"][];
            /** @description The position in its log that this is about. */
            child_seq?: components["schemas"]["SeqData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DelegationUpdatedEvent
         * @example {
         *       "seq": 36,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "delegation_updated",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "child_session_id": "s-2",
         *         "state": "completed",
         *         "turn_id": "turn-7",
         *         "text": "It is built.",
         *         "told": [
         *           "t-4"
         *         ],
         *         "child_seq": 41
         *       }
         *     }
         */
        DelegationUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "delegation_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DelegationUpdatedData"];
        };
        /** DeltaData */
        DeltaData: {
            block_id: components["schemas"]["BlockIdData"];
            text: string;
            /** @description Nothing more will come in this block. */
            done?: boolean;
            /** @description The block was closed half written. */
            interrupted?: boolean;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DeltaEvent
         * @example {
         *       "seq": 16,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "delta",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "block_id": "b-1",
         *         "text": "I will look "
         *       }
         *     }
         */
        DeltaEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "delta";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DeltaData"];
        };
        DiffBlock: {
            /** @enum {string} */
            kind: "diff";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            files: components["schemas"]["FileDiff"][];
        };
        /** DiffUpdatedData */
        DiffUpdatedData: {
            files: components["schemas"]["FileDiffData"][];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DiffUpdatedEvent
         * @example {
         *       "seq": 43,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "diff_updated",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "files": [
         *           {
         *             "path": "src/loom.rs",
         *             "kind": "modified",
         *             "diff": "@@ -1 +1 @@\n-slowly\n+quickly\n"
         *           }
         *         ]
         *       }
         *     }
         */
        DiffUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "diff_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DiffUpdatedData"];
        };
        /** @description Which turns that ended are told. */
        DoneChoice: ("none" | "all") | "failed";
        /** DoneData */
        DoneData: {
            outcome: components["schemas"]["OutcomeData"];
            stopped?: boolean;
            /** Format: int32 */
            exit_code?: number;
            reason?: string;
            /** @description Where the agent's own conversation stood then, in the agent's words: what a fork or a rollback goes back to. */
            anchor?: string;
            /** @description `hold` if the person who stopped the turn also held the queue; absent if the queue continues. */
            then?: components["schemas"]["AfterStopData"];
            /** @description Milliseconds that the agent worked, without those in which a person was waited for. */
            worked_ms?: number;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * DoneEvent
         * @example {
         *       "seq": 11,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "done",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "outcome": "completed",
         *         "anchor": "a-1"
         *       }
         *     }
         */
        DoneEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "done";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["DoneData"];
        };
        Edit: {
            /** @description A text replaces the words and leaves pictures and files; parts replace everything. */
            message: components["schemas"]["MessageContent"];
        };
        Emit: {
            /** @description The same one again is taken once. */
            id?: string | null;
            /** @description Refused if this turn is not open any more. */
            turn_id?: components["schemas"]["TurnId"] | null;
            /** @description At most 100, of 256 KiB together. */
            events: components["schemas"]["Emitted"][];
        };
        EmitAccepted: {
            accepted: number;
            /** @description Where the last of them stands. */
            seq: components["schemas"]["Seq"];
        };
        Emitted: {
            /**
             * @description `component_update`, `component_remove`, `state_delta`, `artifact_created`, `artifact_updated`, `artifact_version`, `artifact_removed`,
             *     `evidence_changed` or `tool_progress`.
             */
            type: string;
            /** @description As that event has it. */
            data: {
                [key: string]: unknown;
            };
        };
        /**
         * @description Why a session ended.
         * @enum {string}
         */
        EndReason: "completed" | "error" | "terminated";
        /**
         * EndReasonData
         * @description Why a session ended.
         * @enum {string}
         */
        EndReasonData: "completed" | "error" | "terminated";
        ErrorBlock: {
            /** @enum {string} */
            kind: "error";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            message: string;
            code: string;
            retryable: boolean;
            fix?: string;
        };
        /**
         * ErrorEvent
         * @example {
         *       "seq": 12,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "error",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "message": "The key is not valid.",
         *         "code": "unauthorized",
         *         "retryable": false,
         *         "fix": "Sign in again."
         *       }
         *     }
         */
        ErrorEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "error";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["FailureData"];
        };
        /**
         * Event
         * @description One fact of a session's log; the same as in /api/events.schema.json. There is no form for a type that is not in the mapping, which a log from a later version may hold: look at `type` first, and pass over what is not known.
         */
        Event: components["schemas"]["SessionReadyEvent"] | components["schemas"]["SessionUpdatedEvent"] | components["schemas"]["ModeChangedEvent"] | components["schemas"]["ModelChangedEvent"] | components["schemas"]["SessionEndedEvent"] | components["schemas"]["UserMessageEvent"] | components["schemas"]["TurnStartedEvent"] | components["schemas"]["StatusEvent"] | components["schemas"]["SteerEvent"] | components["schemas"]["ResultEvent"] | components["schemas"]["DoneEvent"] | components["schemas"]["ErrorEvent"] | components["schemas"]["UsageEvent"] | components["schemas"]["BudgetEvent"] | components["schemas"]["ScheduleMissedEvent"] | components["schemas"]["DeltaEvent"] | components["schemas"]["ThinkingEvent"] | components["schemas"]["RetractedEvent"] | components["schemas"]["ToolStartEvent"] | components["schemas"]["ToolProgressEvent"] | components["schemas"]["ToolResultEvent"] | components["schemas"]["ToolDecidedEvent"] | components["schemas"]["PermissionRequestEvent"] | components["schemas"]["PermissionResolvedEvent"] | components["schemas"]["QuestionRequestEvent"] | components["schemas"]["QuestionResolvedEvent"] | components["schemas"]["InterruptEvent"] | components["schemas"]["InterruptResolvedEvent"] | components["schemas"]["SubagentStartedEvent"] | components["schemas"]["SubagentUpdatedEvent"] | components["schemas"]["SubagentEndedEvent"] | components["schemas"]["BackgroundStartedEvent"] | components["schemas"]["BackgroundEndedEvent"] | components["schemas"]["DelegatedEvent"] | components["schemas"]["DelegationStartedEvent"] | components["schemas"]["DelegationUpdatedEvent"] | components["schemas"]["ComponentUpdateEvent"] | components["schemas"]["ComponentRemoveEvent"] | components["schemas"]["ComponentCallbackEvent"] | components["schemas"]["StateSnapshotEvent"] | components["schemas"]["StateDeltaEvent"] | components["schemas"]["PlanUpdatedEvent"] | components["schemas"]["DiffUpdatedEvent"] | components["schemas"]["ArtifactCreatedEvent"] | components["schemas"]["ArtifactUpdatedEvent"] | components["schemas"]["ArtifactVersionEvent"] | components["schemas"]["ArtifactRemovedEvent"] | components["schemas"]["EvidenceChangedEvent"] | components["schemas"]["CompactionStartEvent"] | components["schemas"]["CompactionEndEvent"] | components["schemas"]["RollbackEvent"] | components["schemas"]["ForkedEvent"] | components["schemas"]["QueueChangedEvent"] | components["schemas"]["AgentUnparsedEvent"] | components["schemas"]["UnreadableEvent"];
        /** @description What the JSON form answers. It is written by hand, because its events are already JSON. */
        EventPage: {
            /** @description Fewer than asked for where they are large, or where many had to be looked at to find them; perhaps none. */
            events: components["schemas"]["Event"][];
            /** @description The position of the newest event of the log. */
            head: components["schemas"]["Seq"];
            /** @description The `after` of the next page. */
            next: components["schemas"]["Seq"];
            has_more: boolean;
        };
        EventsQuery: {
            /** @description The last position the client has; also `Last-Event-ID`. */
            after?: number | null;
            /** @description Events in a page. */
            limit?: number | null;
            /** @description Only these types, with commas between them. */
            types?: string | null;
            /** @description Another form of the log: `native`, or `snapshot` (a stream only). */
            dialect?: string | null;
        };
        /** EvidenceChangedData */
        EvidenceChangedData: {
            evidence_id: string;
            kind: string;
            title: string;
            status: string;
            detail?: unknown;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * EvidenceChangedEvent
         * @example {
         *       "seq": 48,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "evidence_changed",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "evidence_id": "e-1",
         *         "kind": "source",
         *         "title": "The manual",
         *         "status": "found",
         *         "detail": {
         *           "url": "https://example.com/manual"
         *         }
         *       }
         *     }
         */
        EvidenceChangedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "evidence_changed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["EvidenceChangedData"];
        };
        /**
         * FailureData
         * @description Something went wrong, with what to do about it.
         */
        FailureData: {
            message: string;
            code: string;
            retryable: boolean;
            fix?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * @description What happened to a file.
         * @enum {string}
         */
        FileChange: "added" | "modified" | "deleted" | "renamed";
        /**
         * FileChangeData
         * @description What happened to a file.
         * @enum {string}
         */
        FileChangeData: "added" | "modified" | "deleted" | "renamed";
        FileDiff: {
            path: string;
            kind: components["schemas"]["FileChange"];
            diff: string;
        };
        /** FileDiffData */
        FileDiffData: {
            path: string;
            kind: components["schemas"]["FileChangeData"];
            diff: string;
        };
        Files: {
            /** @description The newest change first; without those that are as they were. */
            files: components["schemas"]["ChangedFile"][];
        };
        Fork: {
            session_id?: string | null;
            /** @description The last turn to keep; the last one that ended, if absent. */
            at_turn?: components["schemas"]["TurnId"] | null;
        };
        /** ForkedData */
        ForkedData: {
            from_session: components["schemas"]["SessionIdData"];
            /** @description What that one was called then. */
            from_title?: string;
            at_seq: components["schemas"]["SeqData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ForkedEvent
         * @example {
         *       "seq": 52,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "forked",
         *       "session_id": "s-1",
         *       "data": {
         *         "from_session": "s-0",
         *         "at_seq": 41
         *       }
         *     }
         */
        ForkedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "forked";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ForkedData"];
        };
        Health: {
            status: string;
            version: string;
        };
        /** @description Where a plain HMAC stands, and how it is written. */
        HmacHeader: {
            /** @description If it is left out: `x-signature-256`. */
            header: string;
            /** @description What stands before the signature. If it is left out: `sha256=`. */
            prefix: string;
            /** @description If it is left out: `hex`. */
            encoding: components["schemas"]["SignatureEncoding"];
            /** @description A header with the seconds since 1970. What is signed is then `TIME.BODY`, and what is older than five minutes is refused. */
            timestamp_header: string | null;
        };
        /** @description Where a plain HMAC stands, and how it is written. */
        HmacHeaderInput: {
            /** @description If it is left out: `x-signature-256`. */
            header?: string;
            /** @description What stands before the signature. If it is left out: `sha256=`. */
            prefix?: string;
            /** @description If it is left out: `hex`. */
            encoding?: components["schemas"]["SignatureEncoding"];
            /** @description A header with the seconds since 1970. What is signed is then `TIME.BODY`, and what is older than five minutes is refused. */
            timestamp_header?: string | null;
        };
        /**
         * @description Why a message in the queue waits for somebody to say that it may go on.
         * @enum {string}
         */
        Hold: "stopped" | "restarted" | "not_started" | "archived" | "ended";
        /**
         * HoldData
         * @description Why a message in the queue waits for somebody to say that it may go on.
         * @enum {string}
         */
        HoldData: "stopped" | "restarted" | "not_started" | "archived" | "ended";
        /** @description A picture that a tool brought. An agent says its bytes in base64; in the log they are a blob, decoded, whatever their size. */
        Image: {
            media_type: string;
            data?: string;
            blob?: components["schemas"]["BlobRef"];
        };
        ImageBlock: {
            /** @enum {string} */
            kind: "image";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            media_type: string;
            /** @description Its bytes in base64, unless they are in `content` or in a blob. */
            data?: string;
            artifact_id?: string;
            title?: string;
            path?: string;
            content?: string;
            blob?: components["schemas"]["BlobRef"];
            version?: number;
            label?: string;
        };
        /**
         * ImageData
         * @description A picture that a tool brought. An agent says its bytes in base64; in the log they are a blob, decoded, whatever their size.
         */
        ImageData: {
            media_type: string;
            data?: string;
            blob?: components["schemas"]["BlobRefData"];
        };
        /** @description Everything that is for a person. */
        Inbox: {
            /** @description By how long each blocks how much; then what failed and what is done, the newest first. */
            items: components["schemas"]["InboxItem"][];
            /** @description What comes back later, the next first. */
            snoozed: components["schemas"]["InboxItem"][];
            /** @description How many wait for a person. */
            needs: number;
            /** @description How many turns have ended that nobody has looked at. */
            unread: number;
        };
        /** @description An item as people see it. */
        InboxItem: {
            /** @description Follows from what it is about, so that it is the same on every device and after a restart. */
            item_id: string;
            kind: components["schemas"]["InboxKind"];
            session_id: components["schemas"]["SessionId"];
            session_title: string;
            runtime: string;
            /** @description One line for a person. */
            title: string;
            /** @description Since when it waits, or when it ended. */
            since: components["schemas"]["Timestamp"];
            /** @description Where the log says so. */
            seq: components["schemas"]["Seq"];
            /** @description How much waits for it: the turn, and the messages behind it. */
            blocks: number;
            turn_id?: components["schemas"]["TurnId"];
            /** @description How the turn came about that ended. */
            origin?: components["schemas"]["Origin"];
            /** @description What is asked; it is answered as every ask is. */
            ask?: components["schemas"]["PendingAsk"];
            /** @description What was asked and could not be answered any more. */
            lost_ask?: components["schemas"]["LostAsk"];
            /** @description What went wrong. */
            problem?: components["schemas"]["SessionProblem"];
            /** @description Why messages are held. */
            held?: components["schemas"]["Hold"];
            /** @description It waits for a person; else it is news. */
            needs_you: boolean;
            read: boolean;
            /** @description It is out of the way until then. */
            snoozed_until?: components["schemas"]["Timestamp"];
            /** @description Devices are told of it: it is new enough, it is not quiet, and nobody has seen it. */
            notifies: boolean;
        };
        /** @description What something in the inbox is. */
        InboxKind: "ask" | "budget" | "lost_ask" | "held" | "failed" | "finished";
        InboxMarked: {
            marked: number;
        };
        /** @description One of both. */
        InboxSnooze: {
            /** @description From now on. */
            minutes?: number | null;
            until?: components["schemas"]["Timestamp"] | null;
        };
        InboxSnoozed: {
            snoozed_until: components["schemas"]["Timestamp"];
        };
        /** @description One piece of a message, as clients send it. */
        InputPart: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            media_type: string;
            data: string;
        } | {
            /** @constant */
            type: "file";
            path: string;
        };
        InterruptBlock: {
            /** @enum {string} */
            kind: "interrupt";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            ask_id: components["schemas"]["AskId"];
            component_name: string;
            props?: unknown;
            surface: components["schemas"]["Surface"];
            /** @description The call that waits, when a client has to run a tool. */
            tool_use_id?: components["schemas"]["ToolUseId"];
            /** @description The component that waits, when it is shown already. */
            component_id?: string;
            /** @description Which of its actions end the wait; all, if absent. */
            actions?: string[];
            title?: string;
            /** @description What a value must fit; without it, what the component says that it answers. */
            value_schema?: unknown;
            state: components["schemas"]["InterruptState"];
            value?: unknown;
            by?: string;
            reason?: string;
            unanswered?: components["schemas"]["Unanswered"];
        };
        /**
         * InterruptData
         * @description A component waits for a value from a person, or a call of a client's tool for its result.
         */
        InterruptData: {
            interrupt_id: components["schemas"]["AskIdData"];
            /** @description Of a tool: its name. */
            component_name: string;
            /** @description Of a tool: its input. */
            props: unknown;
            surface: components["schemas"]["SurfaceData"];
            /** @description The call that waits, when a client has to run a tool. */
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            /** @description The component that waits, when it is shown already. */
            component_id?: string;
            /** @description Which of its actions end the wait; all, if absent. */
            actions?: string[];
            title?: string;
            /** @description What a value must fit; without it, what the component says that it answers. */
            value_schema?: unknown;
            /** @description What the agent calls it. */
            key?: string;
            /** @description The call whose row it stands for, when an agent waits in one. */
            covers?: components["schemas"]["ToolUseIdData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * InterruptEvent
         * @example {
         *       "seq": 27,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "interrupt",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "interrupt_id": "ask-3",
         *         "component_name": "approval",
         *         "props": {
         *           "action": "Publish the report"
         *         },
         *         "surface": "overlay",
         *         "title": "Publish the report?",
         *         "key": "publish"
         *       }
         *     }
         */
        InterruptEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "interrupt";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["InterruptData"];
        };
        /** InterruptResolvedData */
        InterruptResolvedData: {
            interrupt_id: components["schemas"]["AskIdData"];
            value?: unknown;
            /** @description The client could not run its tool; `value` says why. */
            is_error?: boolean;
            by: string;
            reason?: string;
            /** @description Why there is no value. */
            unanswered?: components["schemas"]["UnansweredData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * InterruptResolvedEvent
         * @example {
         *       "seq": 28,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "interrupt_resolved",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "interrupt_id": "ask-3",
         *         "value": {
         *           "choice": "approve",
         *           "approved": true
         *         },
         *         "by": "workbench"
         *       }
         *     }
         */
        InterruptResolvedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "interrupt_resolved";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["InterruptResolvedData"];
        };
        /**
         * @description What became of an interrupt. `failed`: a client could not run its tool.
         * @enum {string}
         */
        InterruptState: "pending" | "answered" | "failed" | "withdrawn";
        /** @description What was decided about a call, and why. */
        Judged: {
            effect: components["schemas"]["PolicyEffect"];
            /** @description The rule that decided: where it stands, and its name there. */
            rule: string;
            scope: components["schemas"]["RuleScope"];
            /** @description The session's mode then. */
            mode?: string;
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
         * JudgedData
         * @description What was decided about a call, and why.
         */
        JudgedData: {
            effect: components["schemas"]["PolicyEffectData"];
            /** @description The rule that decided: where it stands, and its name there. */
            rule: string;
            scope: components["schemas"]["RuleScopeData"];
            /** @description The session's mode then. */
            mode?: string;
            /** @description For the agent and for people. */
            reason: string;
            /** @description Only the running of it would tell what it does. */
            opaque?: boolean;
            /** @description The SHA-256 of the input, as compact JSON. */
            input_sha256: string;
            /** @description What the call consists of: each simple command of a script, or the call itself. */
            parts?: components["schemas"]["CallPartData"][];
        };
        /** @description A limit, and how far it is used up. */
        LimitView: {
            scope: components["schemas"]["BudgetScope"];
            /** @description Which group, which day. */
            id?: string;
            measure: components["schemas"]["BudgetMeasure"];
            /**
             * Format: double
             * @description With what people added.
             */
            limit: number;
            /** Format: double */
            spent: number;
        };
        /** @description What may be spent. What is not given is not limited. */
        Limits: {
            /**
             * Format: double
             * @description All that the model reads and writes, also what it reads from a cache.
             */
            tokens?: number;
            /**
             * Format: double
             * @description Dollars: what the agent says, or what `budgets.prices` makes of its tokens.
             */
            usd?: number;
            /** Format: double */
            turns?: number;
            /**
             * Format: double
             * @description Minutes of work, without those in which a person is waited for.
             */
            minutes?: number;
        };
        /** @description What may be spent. What is not given is not limited. */
        LimitsInput: {
            /**
             * Format: double
             * @description All that the model reads and writes, also what it reads from a cache.
             */
            tokens?: number | null;
            /**
             * Format: double
             * @description Dollars: what the agent says, or what `budgets.prices` makes of its tokens.
             */
            usd?: number | null;
            /** Format: double */
            turns?: number | null;
            /**
             * Format: double
             * @description Minutes of work, without those in which a person is waited for.
             */
            minutes?: number | null;
        };
        ListQuery: {
            /** @description Only archived sessions, instead of only the others. If it is left out: `false`. */
            archived?: boolean;
            /** @description Only sessions of this runtime. */
            runtime?: string | null;
            /** @description Part of a title or an id; not for a stream. */
            q?: string | null;
            /** @description Sessions in a page. */
            limit?: number | null;
            /** @description The `next_cursor` of the page before; not for a stream. */
            cursor?: string | null;
            /** @description For a stream: the last position the client has; also `Last-Event-ID`. */
            after?: number | null;
        };
        /** @description One turn, as a list of tasks shows it. */
        ListedTask: {
            runId: components["schemas"]["TurnId"];
            sessionId: components["schemas"]["SessionId"];
            type: components["schemas"]["TaskType"];
            status: components["schemas"]["TaskStatus"];
            origin: components["schemas"]["Origin"];
            triggerType: string;
            presence: components["schemas"]["TaskPresence"];
            metadata: components["schemas"]["TaskMetadata"];
            /** @description The first line of what the turn is about. */
            prompt?: string;
            /** @description Absent when the turn began before anybody counted. */
            startedAt?: components["schemas"]["Timestamp"];
            lastActivityAt: components["schemas"]["Timestamp"];
            completedAt?: components["schemas"]["Timestamp"];
            /** Format: int64 */
            durationMs?: number;
            error?: string;
            /** @description What it does now. */
            activity?: components["schemas"]["TaskActivity"];
            /** @description How many asks wait for a person. */
            needsInput: number;
            /** @description What is waited for; of several things the one that says most. */
            waitsFor?: components["schemas"]["WaitsFor"];
            /** @description How many messages wait for their turn. */
            queued: number;
            /** @description How many sub-agents run. */
            subagents: number;
            toolName?: string;
            context?: components["schemas"]["ContextUse"];
            /** @description It runs, and nothing was heard of it for too long. Decided by the daemon; a turn that waits for a person is not one. */
            isZombie: boolean;
            /** @description The title of its session. */
            title: string;
            runtime: string;
        };
        /** @description A link that signs a browser in, once. */
        LoginLink: {
            /** @description Relative to the daemon's address. */
            path: string;
        };
        /** @description An ask that ended before anybody could answer it. */
        LostAsk: {
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            /** @description One line for a person. */
            title: string;
            asked_at: components["schemas"]["Timestamp"];
            lost_at: components["schemas"]["Timestamp"];
            reason: string;
        };
        /** @description A token as people see it, without the secret. */
        MadeToken: {
            token_id: string;
            name: string;
            scopes: string[];
            created_at: components["schemas"]["Timestamp"];
            expires_at?: components["schemas"]["Timestamp"];
            /** @description The secret; it is stored nowhere. */
            token: string;
        };
        /** @description A subscription that was just made. */
        MadeWebhook: {
            webhook: components["schemas"]["Webhook"];
            /** @description `whsec_...`, if none was given. */
            secret?: string;
        };
        /**
         * MergeModeData
         * @description How the props of a change meet those that are there.
         */
        MergeModeData: "replace" | "shallow" | "deep" | "append" | "patch";
        MessageContent: string | components["schemas"]["InputPart"][];
        /** @description One message of a person, or of whatever stands for one. */
        MessageId: string;
        /**
         * MessageIdData
         * @description One message of a person, or of whatever stands for one.
         */
        MessageIdData: string;
        /** @description Whose words a client sends. */
        MessageOrigin: "user" | "component";
        /**
         * MessageSourceData
         * @description Where a message comes from that no client sent.
         */
        MessageSourceData: {
            /** @description The channel, by its name. */
            channel: string;
            /** @description What kind of channel that is. */
            kind?: components["schemas"]["ChannelKindData"];
            /** @description The service's own id of the delivery. */
            delivery: string;
            /** @description Who wrote it, as the service says. */
            sender?: string;
        };
        /** @description Runs that were due and are not made. */
        MissedRange: {
            /** @description The first and the last of them. */
            first: components["schemas"]["Timestamp"];
            last: components["schemas"]["Timestamp"];
            count: number;
            /** @description There are more than were counted. */
            and_more?: boolean;
        };
        /** ModeChangedData */
        ModeChangedData: {
            mode: string;
            by?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ModeChangedEvent
         * @example {
         *       "seq": 3,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "mode_changed",
         *       "session_id": "s-1",
         *       "data": {
         *         "mode": "plan",
         *         "by": "workbench"
         *       }
         *     }
         */
        ModeChangedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "mode_changed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ModeChangedData"];
        };
        /** @description A mode that a session could be in. */
        ModeChoice: {
            name: string;
            /** @description Rules decide in it. Without them it is the agent's own. */
            has_rules: boolean;
            /** @description What it is for, in a sentence. */
            about?: string;
            /** @description Why this session cannot have it. */
            refused?: string;
        };
        /** ModelChangedData */
        ModelChangedData: {
            model: string;
            by?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ModelChangedEvent
         * @example {
         *       "seq": 4,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "model_changed",
         *       "session_id": "s-1",
         *       "data": {
         *         "model": "opus",
         *         "by": "workbench"
         *       }
         *     }
         */
        ModelChangedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "model_changed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ModelChangedData"];
        };
        ModelChoice: {
            id: string;
            name?: string;
            description?: string;
        };
        /** ModelChoiceData */
        ModelChoiceData: {
            id: string;
            name?: string;
            description?: string;
        };
        /** @description What a channel is, without its secrets. */
        NewChannel: {
            /** @description In the address: `/hooks/NAME`. */
            name: string;
            kind: components["schemas"]["ChannelKind"];
            /** @description The runtime of its sessions. */
            runtime: string;
            /** @description What its sessions are created with: `cwd`, `mode`, `model`, ... */
            params?: {
                [key: string]: unknown;
            };
            /** @description What all its sessions may spend together. It counts for sessions that are created from then on. */
            budget?: components["schemas"]["LimitsInput"] | null;
            /** @description What the agent is told; the kind has one of its own. */
            message?: components["schemas"]["Template"] | null;
            /** @description Deliveries for which this is the same go on in one session. Each has its own, where it is empty. */
            conversation?: components["schemas"]["Template"] | null;
            /** @description What names a delivery; the same one again is not taken twice. */
            delivery?: components["schemas"]["Template"] | null;
            /** @description What a session is called. */
            title?: components["schemas"]["Template"] | null;
            /** @description Only these events, such as `issues.opened` or `issues`; all, if there are none. */
            events?: string[];
            /** @description Only of these senders. */
            senders?: string[];
            /** @description Only where all of these hold. */
            only?: components["schemas"]["ChannelRuleInput"][];
            /** @description Where a plain HMAC stands; for the kind `hmac`. */
            hmac?: components["schemas"]["HmacHeaderInput"] | null;
            /** @description Where the answer goes; nowhere, if not given. */
            reply?: components["schemas"]["ChannelReplyInput"] | null;
            /** @description Wait so many seconds for the answer and send it as the response; what takes longer is answered with 202. */
            respond_seconds?: number;
            /** @description Turns that may run at once. */
            max_running?: number;
            /** @description Refuses deliveries while it is paused. If it is left out: `false`. */
            paused?: boolean;
            secret?: components["schemas"]["NewSecret"];
            reply_token?: components["schemas"]["NewSecret"];
        };
        /** @description A device to be added: with one of `push` and `service`. */
        NewNotificationDevice: {
            /** @description For people. */
            name?: string | null;
            push?: components["schemas"]["PushSubscription"] | null;
            service?: components["schemas"]["NotificationService"] | null;
            /** @description What the service wants to be shown: it is sent as `Authorization: Bearer`. */
            token?: components["schemas"]["NewSecret"] | null;
            /** @description Which ended turns it is told of; as the settings say, if absent. */
            done?: components["schemas"]["DoneChoice"] | null;
        };
        NewRule: {
            /** @description One rule in TOML, without `[[rule]]`. Without an `id` it gets one. */
            rule: string;
        };
        NewSchedule: {
            /** @description Chosen by the client, so that a retry is safe; made by the daemon if absent. */
            schedule_id?: string | null;
            title: string;
            when: components["schemas"]["ScheduleWhenInput"];
            /** @description The time zone of a cron expression, and of dates in the prompt; UTC, if absent. */
            zone?: string | null;
            /** @description What the agent is told. `{{date}}`, `{{time}}`, `{{last_result}}`, `{{run_id}}` and the variables are put in when a run starts. */
            prompt: string;
            variables?: {
                [key: string]: string;
            };
            /** @description Who runs it; not where runs take place in a session that is there already. */
            runtime?: string | null;
            /** @description What new sessions are created with. */
            params?: {
                [key: string]: unknown;
            };
            /** @description What each run may spend. */
            budget?: components["schemas"]["LimitsInput"] | null;
            /** @description What all runs may spend together. */
            total_budget?: components["schemas"]["LimitsInput"] | null;
            /**
             * @default {
             *       "type": "new"
             *     }
             */
            session: components["schemas"]["ScheduleSessionInput"];
            /** @description If it is left out: `skip`. */
            overlap?: components["schemas"]["ScheduleOverlap"];
            /**
             * @default {
             *       "type": "once"
             *     }
             */
            missed: components["schemas"]["ScheduleMissed"];
            /** @description Runs start up to so much later than they are due, always equally much. */
            jitter_seconds?: number;
            /** @description If it is left out: `false`. */
            paused?: boolean;
        };
        /** @description A secret as somebody gives it: one of these. */
        NewSecret: {
            /** @description The secret itself; it is stored and never shown again. */
            value?: string | null;
            /** @description A variable in the environment of the daemon. */
            env?: string | null;
            /** @description A file that holds it; spaces around it do not count. */
            file?: string | null;
        };
        NewToken: {
            /** @description What the log calls whoever has it. */
            name: string;
            /** @description `agent:NAME`, `emit:SESSION`, `read:SESSION`, `use:SESSION` (or `*` for all sessions), `full`. */
            scopes: string[];
            expires_at?: components["schemas"]["Timestamp"] | null;
        };
        /** @description Who is told what. */
        NewWebhook: {
            url: string;
            /** @description Which events; all, if there are none. */
            events?: components["schemas"]["WebhookEventType"][];
            /** @description Only of these sessions. */
            sessions?: string[];
            /** @description Only of sessions with these runtimes. */
            runtimes?: string[];
            /** @description Only of turns that came about so. */
            origins?: components["schemas"]["Origin"][];
            /** @description For people. */
            description?: string | null;
            /** @description Nothing is sent while it is paused; what happens meanwhile is told afterwards. If it is left out: `false`. */
            paused?: boolean;
            secret?: components["schemas"]["NewSecret"];
        };
        /** @description Something worth a line that is neither the agent's words nor its work. */
        NoteBlock: {
            /** @enum {string} */
            kind: "status";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            level: components["schemas"]["NoteLevel"];
            label: string;
            /** @description Another session that it is about. */
            session_id?: components["schemas"]["SessionId"];
        };
        /**
         * @description How much a note matters.
         * @enum {string}
         */
        NoteLevel: "info" | "warning";
        Noted: {
            accepted: boolean;
            /** @description Where the log says so. */
            seq: components["schemas"]["Seq"];
        };
        /** @description A device as people see it: not the address by which it is reached, which is a secret. */
        NotificationDevice: {
            device_id: string;
            name: string;
            kind: components["schemas"]["NotificationDeviceKind"];
            /** @description Where it is reached. */
            host: string;
            /** @description Which ended turns it is told of, if it has a choice of its own. */
            done?: components["schemas"]["DoneChoice"];
            created_at: components["schemas"]["Timestamp"];
        };
        NotificationDeviceChoice: {
            /** @description `null`: as the settings say. */
            done?: components["schemas"]["DoneChoice"] | null;
        };
        NotificationDeviceKind: ("ntfy" | "json") | "push";
        /** @description What a service understands. */
        NotificationPreset: "ntfy" | "json";
        /** @description A service that takes messages for people. */
        NotificationService: {
            /** @description For ntfy the address of the topic: `https://ntfy.sh/my-topic`. */
            url: string;
            /** @description If it is left out: `ntfy`. */
            preset?: components["schemas"]["NotificationPreset"];
        };
        /** @description What is told, and when. What waits for a person is always told. */
        NotificationSettings: {
            /** @description Which turns that ended. If it is left out: `failed`. */
            done: components["schemas"]["DoneChoice"];
            /** @description When nothing is told; what still waits is told afterwards. */
            quiet?: components["schemas"]["QuietHours"];
            /** @description How long something is there before it is told: whoever sees it meanwhile is not disturbed elsewhere. */
            delay_seconds: number;
            /** @description Where people find the workbench, for links in messages of services such as ntfy. */
            page_url?: string;
            /** @description Whom the operator of a push service may write to: `mailto:...` or `https://...`. */
            contact?: string;
        };
        /** @description What is told, and when. What waits for a person is always told. */
        NotificationSettingsPatch: {
            done?: components["schemas"]["DoneChoice"] | null;
            quiet?: (components["schemas"]["QuietHoursInput"] | null) | null;
            delay_seconds?: number | null;
            page_url?: (string | null) | null;
            contact?: (string | null) | null;
        };
        /** @description What became of a try. */
        NotificationTried: {
            /** @description Whether it was taken. */
            delivered: boolean;
            status?: number;
            error?: string;
            milliseconds: number;
        };
        Notifications: {
            settings: components["schemas"]["NotificationSettings"];
            /** @description Oldest first. */
            devices: components["schemas"]["NotificationDevice"][];
            /** @description The key of this daemon, for `PushManager.subscribe`, in base64url. */
            push_key: string;
        };
        /** @description What the `AsyncAPI` document calls ops, in the order in which they are to be done. */
        Ops: {
            [key: string]: unknown;
        }[];
        /** @description What made a turn or a message. */
        Origin: ("user" | "schedule" | "webhook" | "delegation" | "api" | "agent" | "import") | "component";
        /**
         * OriginData
         * @description What made a turn or a message.
         */
        OriginData: ("user" | "schedule" | "webhook" | "delegation" | "api" | "agent" | "import") | "component";
        /**
         * @description How a turn ended.
         * @enum {string}
         */
        Outcome: "completed" | "stopped" | "interrupted" | "failed";
        /**
         * OutcomeData
         * @description How a turn ended.
         * @enum {string}
         */
        OutcomeData: "completed" | "stopped" | "interrupted" | "failed";
        /** @description The user's own rules. */
        OwnRules: {
            file: string;
            /** @description In TOML; empty, if there is no file. */
            text: string;
            /** @description Names this text: the `was` of a change. */
            sha256: string;
            is_there: boolean;
        };
        /** @description A component that has a page of its own, as the registry tells of it. */
        PageComponent: {
            name: string;
            title: string;
            /** @description For models and lists. */
            description: string;
            /** @description Always `config`. If it is left out: `config`. */
            readonly source: components["schemas"]["PageSource"];
            /** @description Where it may stand, best first. */
            surfaces: components["schemas"]["Surface"][];
            /** @description If it is left out: `false`. */
            has_loading_state: boolean;
            /**
             * @description JSON Schema of an object.
             * @default {
             *       "type": "object"
             *     }
             */
            props: {
                [key: string]: unknown;
            };
            /** @description What it can send. */
            callbacks: {
                [key: string]: unknown;
            }[];
            /** @description What it answers when somebody waits for it. */
            resolves?: unknown;
            /** @description The tools whose calls it shows. */
            tools?: string[];
            /**
             * @description Its page.
             * @default {
             *       "url": ""
             *     }
             */
            readonly view: components["schemas"]["PageView"];
        };
        /** @enum {string} */
        PageSource: "config";
        /** @description What a page measures, where the person is. */
        PageStep: ("sent_to_accepted" | "accepted_to_first_event" | "first_event_to_first_status" | "first_status_to_first_text" | "first_text_to_painted" | "open_to_shell" | "open_to_messages" | "open_to_idle") | "submit_to_shown" | "backlog_age" | "open_to_live";
        /** @description Where the page is, and what it wants. */
        PageView: {
            url: string;
            prefers_border?: boolean;
            /** @description It may read and change the shared state. */
            state?: boolean;
        };
        /** @description One piece of a message. */
        Part: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            media_type: string;
            data?: string;
            blob?: components["schemas"]["BlobRef"];
        } | {
            /** @constant */
            type: "file";
            path: string;
        };
        /**
         * PartData
         * @description One piece of a message.
         */
        PartData: {
            /** @constant */
            type: "text";
            text: string;
        } | {
            /** @constant */
            type: "image";
            media_type: string;
            data?: string;
            blob?: components["schemas"]["BlobRefData"];
        } | {
            /** @constant */
            type: "file";
            path: string;
        };
        /** @description An ask that nobody has answered yet. */
        PendingAsk: {
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            turn_id?: components["schemas"]["TurnId"];
            /** @description Where its request stands in the log. */
            seq: components["schemas"]["Seq"];
            asked_at: components["schemas"]["Timestamp"];
            /** @description One line for a person. */
            title: string;
            /** @description The request's payload, as in its event. */
            request: unknown;
            /** @description Who asks, when it is a sub-agent, and what it was called to do. */
            subagent_id?: components["schemas"]["SubagentId"];
            subagent_name?: string;
        };
        Permission: {
            reply: components["schemas"]["PermissionReply"];
            /** @description Run the tool with this input instead. */
            updated_input?: unknown;
            /** @description Why, for the agent to read. */
            message?: string | null;
            /** @description Which of the offered rules `always` stores; the first, if absent. */
            rule?: string | null;
            /** @description End the turn as well. If it is left out: `false`. */
            stop?: boolean;
            /** @description With `stop`: whether the messages that wait go on by themselves. If it is left out: `continue`. */
            then?: components["schemas"]["AfterStop"];
            /** @description Answer other asks in the same way. Each is settled once, and says which one it was answered along with. */
            also?: components["schemas"]["Also"] | null;
        };
        PermissionBlock: {
            /** @enum {string} */
            kind: "permission";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            ask_id: components["schemas"]["AskId"];
            tool_name: string;
            tool_input?: unknown;
            tool_use_id?: components["schemas"]["ToolUseId"];
            title: string;
            options: components["schemas"]["PermissionOption"][];
            state: components["schemas"]["PermissionState"];
            by?: string;
            reply?: components["schemas"]["PermissionReply"];
            reason?: string;
            rule?: string;
            unanswered?: components["schemas"]["Unanswered"];
            /** @description Which rule wants a person to decide, and what the call would do. */
            judged?: components["schemas"]["Judged"];
            /** @description The call can be allowed or not, but not with another input. */
            fixed_input?: boolean;
            /** @description When it ends by itself, and whether the call runs then. */
            expiry?: components["schemas"]["AskExpiry"];
            /** @description The ask whose answer settled this one too. */
            along_with?: components["schemas"]["AskId"];
        };
        /** @description One answer that may be given. */
        PermissionOption: {
            reply: components["schemas"]["PermissionReply"];
            label: string;
            /** @description The rule that `always` would store. */
            rule?: string;
            /** @description How far that rule would reach. */
            scope?: components["schemas"]["RuleScope"];
        };
        /**
         * PermissionOptionData
         * @description One answer that may be given.
         */
        PermissionOptionData: {
            reply: components["schemas"]["PermissionReplyData"];
            label: string;
            /** @description The rule that `always` would store. */
            rule?: string;
            /** @description How far that rule would reach. */
            scope?: components["schemas"]["RuleScopeData"];
        };
        /**
         * @description A person's answer to a permission request.
         * @enum {string}
         */
        PermissionReply: "once" | "always" | "reject";
        /**
         * PermissionReplyData
         * @description A person's answer to a permission request.
         * @enum {string}
         */
        PermissionReplyData: "once" | "always" | "reject";
        /** PermissionRequestData */
        PermissionRequestData: {
            ask_id: components["schemas"]["AskIdData"];
            tool_name: string;
            tool_input: unknown;
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            title?: string;
            options: components["schemas"]["PermissionOptionData"][];
            /** @description The call can be allowed or not, but not with another input. */
            fixed_input?: boolean;
            /** @description Which rule wants a person to decide, and what the call would do. */
            judged?: components["schemas"]["JudgedData"];
            /** @description The rule does not wait for ever. */
            expiry?: components["schemas"]["AskExpiryData"];
            /** @description What the agent calls it. */
            key?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * PermissionRequestEvent
         * @example {
         *       "seq": 23,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "permission_request",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "ask_id": "ask-1",
         *         "tool_name": "Bash",
         *         "tool_input": {
         *           "command": "rm -rf build"
         *         },
         *         "tool_use_id": "t-1",
         *         "title": "Run rm -rf build",
         *         "options": [
         *           {
         *             "reply": "once",
         *             "label": "Allow once"
         *           },
         *           {
         *             "reply": "always",
         *             "label": "Always allow rm",
         *             "rule": "Bash(rm:*)"
         *           },
         *           {
         *             "reply": "reject",
         *             "label": "Reject"
         *           }
         *         ]
         *       }
         *     }
         */
        PermissionRequestEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "permission_request";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["PermissionRequestData"];
        };
        /** PermissionResolvedData */
        PermissionResolvedData: {
            ask_id: components["schemas"]["AskIdData"];
            tool_name: string;
            allowed: boolean;
            reply: components["schemas"]["PermissionReplyData"];
            by: string;
            reason?: string;
            rule?: string;
            updated_input?: unknown;
            /** @description Nobody said no: it ended without an answer. */
            unanswered?: components["schemas"]["UnansweredData"];
            /** @description It was settled by the answer to another ask: an equal one, or one whose rule allows this too. */
            along_with?: components["schemas"]["AskIdData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * PermissionResolvedEvent
         * @example {
         *       "seq": 24,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "permission_resolved",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "ask_id": "ask-1",
         *         "tool_name": "Bash",
         *         "allowed": true,
         *         "reply": "once",
         *         "by": "workbench"
         *       }
         *     }
         */
        PermissionResolvedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "permission_resolved";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["PermissionResolvedData"];
        };
        /**
         * @description What became of a permission. `withdrawn`: it ended without an answer, and `unanswered` says why.
         * @enum {string}
         */
        PermissionState: "pending" | "allowed" | "rejected" | "withdrawn";
        PlanBlock: {
            /** @enum {string} */
            kind: "plan";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            steps: components["schemas"]["ViewPlanStep"][];
            explanation?: string;
        };
        /** PlanStepData */
        PlanStepData: {
            text: string;
            status: components["schemas"]["StepStatusData"];
        };
        /** PlanUpdatedData */
        PlanUpdatedData: {
            steps: components["schemas"]["PlanStepData"][];
            explanation?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * PlanUpdatedEvent
         * @example {
         *       "seq": 42,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "plan_updated",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "steps": [
         *           {
         *             "text": "Look",
         *             "status": "done"
         *           },
         *           {
         *             "text": "Tidy up",
         *             "status": "running"
         *           }
         *         ]
         *       }
         *     }
         */
        PlanUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "plan_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["PlanUpdatedData"];
        };
        /** @description All rules that count in a working directory. */
        Policy: {
            cwd: string;
            /** @description The mode of the session that was asked about. One that is not among `modes` is the agent's own. */
            mode?: string;
            /** @description The modes that the session could have, those with rules first. */
            choices?: components["schemas"]["ModeChoice"][];
            modes: components["schemas"]["PolicyMode"][];
            /** @description The rules outside modes. */
            rules: components["schemas"]["PolicyRule"][];
            /** @description What people always allow, here and elsewhere. */
            always: components["schemas"]["StoredRule"][];
            /** @description The user trusts this project, so its own rules count. */
            is_trusted: boolean;
            /** @description The files that rules outside modes are in, or would be. */
            files: components["schemas"]["PolicyFile"][];
            /** @description What is wrong with files of rules. Each counts as it was when it was last right; while one never was, everything asks. */
            problems: components["schemas"]["PolicyProblem"][];
        };
        /**
         * @description What the rules say about a call.
         * @enum {string}
         */
        PolicyEffect: "allow" | "ask" | "deny";
        /**
         * PolicyEffectData
         * @description What the rules say about a call.
         * @enum {string}
         */
        PolicyEffectData: "allow" | "ask" | "deny";
        /** @description A file of rules. */
        PolicyFile: {
            layer: components["schemas"]["RuleLayer"];
            file: string;
            is_there: boolean;
            /** @description Its rules count. Those of a project that is not trusted do not. */
            counts: boolean;
        };
        /** @description A mode with rules. */
        PolicyMode: {
            name: string;
            /** @description What it is for, in a sentence. */
            about?: string;
            /** @description What becomes of what no rule is about. */
            default: components["schemas"]["PolicyEffect"];
            /** @description Its rules and those of the modes that it extends. */
            rules: components["schemas"]["PolicyRule"][];
        };
        PolicyProblem: {
            file: string;
            /** @description From 1. */
            line: number;
            message: string;
        };
        /** @description What is wrong with files of rules. */
        PolicyProblems: {
            problems: components["schemas"]["PolicyProblem"][];
        };
        PolicyRule: {
            /** @description As decisions name it. */
            name: string;
            layer: components["schemas"]["RuleLayer"];
            scope: components["schemas"]["RuleScope"];
            effect: components["schemas"]["PolicyEffect"];
            reason?: string;
            /** @description What it is about, in words. Names and patterns stand between backticks. */
            says: string;
            /** @description All of it, in TOML. */
            rule: string;
            /** @description Where it stands. What ships with the program has no file. */
            file?: string;
            /** @description From 1. */
            line?: number;
            /** @description It is about another project or another session. */
            elsewhere?: boolean;
        };
        /** @description What a client reads of it. */
        Problem: {
            /** @description A URI reference for the kind of problem. */
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description A stable word. */
            code: string;
        } & {
            [key: string]: unknown;
        };
        Proposed: {
            /** @description Rules in TOML that would take the place of the user's own. */
            rules: string;
            /** @description Only calls since then. */
            since?: components["schemas"]["Timestamp"] | null;
            /** @description Only so many sessions in this answer; `next_cursor` leads to the others. All, if not given. */
            sessions?: number | null;
            /** @description The `next_cursor` of the answer before, with the same rules. */
            cursor?: string | null;
        };
        /** @description The keys of a browser, in base64url. */
        PushKeys: {
            p256dh: string;
            auth: string;
        };
        /** @description A subscription as a browser gives it (`PushSubscription.toJSON()`). */
        PushSubscription: {
            endpoint: string;
            keys: components["schemas"]["PushKeys"];
        };
        Question: {
            prompt: string;
            header?: string;
            options: components["schemas"]["QuestionOption"][];
            multiple: boolean;
            free_text: boolean;
        };
        QuestionBlock: {
            /** @enum {string} */
            kind: "question";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            ask_id: components["schemas"]["AskId"];
            questions: components["schemas"]["Question"][];
            title?: string;
            state: components["schemas"]["QuestionState"];
            /** @description One list per question. */
            answers?: string[][];
            by?: string;
            reason?: string;
            unanswered?: components["schemas"]["Unanswered"];
        };
        /** QuestionData */
        QuestionData: {
            prompt: string;
            header?: string;
            options: components["schemas"]["QuestionOptionData"][];
            multiple: boolean;
            free_text: boolean;
        };
        QuestionOption: {
            label: string;
            description?: string;
        };
        /** QuestionOptionData */
        QuestionOptionData: {
            label: string;
            description?: string;
        };
        /** QuestionRequestData */
        QuestionRequestData: {
            ask_id: components["schemas"]["AskIdData"];
            questions: components["schemas"]["QuestionData"][];
            tool_use_id?: components["schemas"]["ToolUseIdData"];
            title?: string;
            /** @description What the agent calls it. */
            key?: string;
            /** @description The call whose row it stands for. */
            covers?: components["schemas"]["ToolUseIdData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * QuestionRequestEvent
         * @example {
         *       "seq": 25,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "question_request",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "ask_id": "ask-2",
         *         "questions": [
         *           {
         *             "prompt": "Which thread?",
         *             "header": "Thread",
         *             "options": [
         *               {
         *                 "label": "Silk",
         *                 "description": "Smooth"
         *               },
         *               {
         *                 "label": "Wool"
         *               }
         *             ],
         *             "multiple": false,
         *             "free_text": true
         *           }
         *         ]
         *       }
         *     }
         */
        QuestionRequestEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "question_request";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["QuestionRequestData"];
        };
        /** QuestionResolvedData */
        QuestionResolvedData: {
            ask_id: components["schemas"]["AskIdData"];
            /** @description One list per question. */
            answers?: string[][];
            rejected?: boolean;
            by: string;
            reason?: string;
            /** @description Nobody refused to answer: it ended without one. */
            unanswered?: components["schemas"]["UnansweredData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * QuestionResolvedEvent
         * @example {
         *       "seq": 26,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "question_resolved",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "ask_id": "ask-2",
         *         "answers": [
         *           [
         *             "Silk"
         *           ]
         *         ],
         *         "by": "workbench"
         *       }
         *     }
         */
        QuestionResolvedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "question_resolved";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["QuestionResolvedData"];
        };
        /**
         * @description What became of a question. `withdrawn`: it ended without an answer, and `unanswered` says why.
         * @enum {string}
         */
        QuestionState: "pending" | "answered" | "rejected" | "withdrawn";
        Queue: {
            queue: components["schemas"]["QueueItem"][];
        };
        /** QueueAddedData */
        QueueAddedData: {
            message_id: components["schemas"]["MessageIdData"];
            content: components["schemas"]["PartData"][];
            origin: components["schemas"]["OriginData"];
            source?: components["schemas"]["MessageSourceData"];
            position: number;
        };
        /**
         * QueueChangedData
         * @description The queue as it is now. A message's content stands in `added` when it enters, and again when it is edited.
         */
        QueueChangedData: {
            queue: components["schemas"]["QueueItemData"][];
            added?: components["schemas"]["QueueAddedData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * QueueChangedEvent
         * @example {
         *       "seq": 53,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "queue_changed",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "queue": [
         *           {
         *             "message_id": "m-3",
         *             "preview": "And then?",
         *             "state": "waiting"
         *           }
         *         ],
         *         "added": {
         *           "message_id": "m-3",
         *           "content": [
         *             {
         *               "type": "text",
         *               "text": "And then?"
         *             }
         *           ],
         *           "origin": "user",
         *           "position": 1
         *         }
         *       }
         *     }
         */
        QueueChangedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "queue_changed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["QueueChangedData"];
        };
        QueueItem: {
            message_id: components["schemas"]["MessageId"];
            preview: string;
            state: components["schemas"]["QueueState"];
            /** @description It does not go on by itself, and this is why. */
            held?: components["schemas"]["Hold"];
        };
        /** QueueItemData */
        QueueItemData: {
            message_id: components["schemas"]["MessageIdData"];
            preview: string;
            state: components["schemas"]["QueueStateData"];
            /** @description It does not go on by itself, and this is why. */
            held?: components["schemas"]["HoldData"];
        };
        /**
         * @description Where a message in the queue stands.
         * @enum {string}
         */
        QueueState: "waiting" | "returned";
        /**
         * QueueStateData
         * @description Where a message in the queue stands.
         * @enum {string}
         */
        QueueStateData: "waiting" | "returned";
        QueuedMessage: {
            message_id: components["schemas"]["MessageId"];
            content: components["schemas"]["Part"][];
        };
        /** @description When devices are told nothing. */
        QuietHours: {
            /** @description `22:00` */
            from: components["schemas"]["TimeOfDay"];
            /** @description `07:00`, perhaps on the next day. The same as `from` is the whole day. */
            to: components["schemas"]["TimeOfDay"];
            /** @description A name from the time zone database, such as `Europe/Berlin`. */
            zone: string;
            /** @description What waits for a person is told all the same. If it is left out: `false`. */
            except_needs_you: boolean;
        };
        /** @description When devices are told nothing. */
        QuietHoursInput: {
            /** @description `22:00` */
            from: components["schemas"]["TimeOfDay"];
            /** @description `07:00`, perhaps on the next day. The same as `from` is the whole day. */
            to: components["schemas"]["TimeOfDay"];
            /** @description A name from the time zone database, such as `Europe/Berlin`. */
            zone: string;
            /** @description What waits for a person is told all the same. If it is left out: `false`. */
            except_needs_you?: boolean;
        };
        ReadNews: {
            /** @description All sessions, if absent; then only turns that ended are marked. */
            session_id?: components["schemas"]["SessionId"] | null;
            /** @description Only what stands up to here in its log. */
            seq?: components["schemas"]["Seq"] | null;
        };
        /** @description That a message was taken, and where it went. A retry with the same id gets the same receipt. */
        Receipt: {
            accepted: boolean;
            message_id: components["schemas"]["MessageId"];
            turn_id?: components["schemas"]["TurnId"];
            queued: boolean;
            /** @description Its place in the queue, from 1. */
            position?: number;
        };
        Redeliver: {
            /** @description The `webhook-id` of a delivery that is listed. */
            delivery_id: string;
        };
        RemoveQuery: {
            /** @description Remove its facts and blobs as well. If it is left out: `false`. */
            purge?: boolean;
        };
        Reorder: {
            /** @description Message ids, first to be sent first. Those not named stay behind, in the order they have. */
            order: components["schemas"]["MessageId"][];
        };
        Replacement: {
            /** @description All rules, in TOML. */
            text: string;
            /** @description The `sha256` of the text that they are to replace. */
            was: string;
        };
        Resolved: {
            resolved: boolean;
            /** @description Where the log says so. */
            seq: components["schemas"]["Seq"];
            /** @description What else was settled by it. */
            also?: components["schemas"]["SettledAlong"][];
        };
        /**
         * ResultEvent
         * @example {
         *       "seq": 10,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "result",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "text": "The build folder is gone."
         *       }
         *     }
         */
        ResultEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "result";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["TurnResultData"];
        };
        Resume: {
            /** @description Another conversation of the agent than the one it had. */
            provider_session_id?: string | null;
        };
        /**
         * RetractedData
         * @description The agent took back what it streamed in this block.
         */
        RetractedData: {
            block_id: components["schemas"]["BlockIdData"];
            reason?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * RetractedEvent
         * @example {
         *       "seq": 18,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "retracted",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "block_id": "b-1",
         *         "reason": "the connection broke"
         *       }
         *     }
         */
        RetractedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "retracted";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["RetractedData"];
        };
        Rollback: {
            /** @description How many turns to take back. */
            turns: number;
            /** @description Put the files that the agent changed back as well. If it is left out: `false`. */
            restore_files?: boolean;
        };
        /** RollbackData */
        RollbackData: {
            turn_ids: components["schemas"]["TurnIdData"][];
            files_restored: boolean;
            by?: string;
            /** @description The agent cannot go back by itself; it goes on from a copy of its conversation that ends before these turns. */
            branched?: boolean;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * RollbackEvent
         * @example {
         *       "seq": 51,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "rollback",
         *       "session_id": "s-1",
         *       "data": {
         *         "turn_ids": [
         *           "turn-2"
         *         ],
         *         "files_restored": false,
         *         "by": "workbench"
         *       }
         *     }
         */
        RollbackEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "rollback";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["RollbackData"];
        };
        /** @description Where a rule comes from. */
        RuleLayer: "user" | "absolute" | "mode" | "always" | "project" | "session";
        /** @description How far a rule reaches. */
        RuleScope: "absolute" | "mode" | "user" | "project" | "session";
        /**
         * RuleScopeData
         * @description How far a rule reaches.
         */
        RuleScopeData: "absolute" | "mode" | "user" | "project" | "session";
        /** @description One run, as it is stored and shown. */
        Run: {
            /** @description Also the id of its message, and of the session that it creates. */
            run_id: components["schemas"]["RunId"];
            schedule_id: components["schemas"]["ScheduleId"];
            due_at: components["schemas"]["Timestamp"];
            cause: components["schemas"]["RunCause"];
            state: components["schemas"]["RunState"];
            outcome?: components["schemas"]["RunOutcome"];
            reason?: components["schemas"]["RunReason"];
            session_id?: components["schemas"]["SessionId"];
            turn_id?: components["schemas"]["TurnId"];
            /** @description Where in its session's log it begins. */
            after?: components["schemas"]["Seq"];
            started_at?: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            /** Format: int64 */
            duration_ms?: number;
            usage?: components["schemas"]["RunUsage"];
            /** @description What the agent was told. */
            prompt?: string;
            /** @description What the agent said in the end, as far as that is kept. */
            result?: string;
            /** @description For a run that stands for those that were missed. */
            missed?: components["schemas"]["MissedRange"];
            /** @description What was missed before this run, which its session is told. */
            missed_before?: components["schemas"]["MissedRange"];
        };
        /** @description Why there is a run. */
        RunCause: "due" | "late" | "manual";
        /** @description One run of a schedule. */
        RunId: string;
        /**
         * RunIdData
         * @description One run of a schedule.
         */
        RunIdData: string;
        RunOutcome: ("completed" | "stopped" | "failed") | "interrupted" | "skipped" | "missed";
        /** @description Why a run ended as it did. */
        RunReason: {
            /** @description A stable word. */
            code: string;
            message: string;
        };
        RunState: "ended" | "queued" | "starting" | "running";
        /** @description A turn as those see it who wait for it. Some members have two names, because clients of two kinds read them. */
        RunStatus: {
            run_id: string;
            session_id: string;
            /** @description `running`, `succeeded`, `failed`, `cancelled`. */
            status: string;
            /** @description It runs, and nothing was heard of it for too long. Decided here; a turn that waits for a person is not one. */
            is_zombie: boolean;
            isZombie: boolean;
            waits_for_person: boolean;
            last_heartbeat_at: components["schemas"]["Timestamp"];
            updatedAt: components["schemas"]["Timestamp"];
            origin: components["schemas"]["Origin"];
            type: components["schemas"]["TaskType"];
            presence: components["schemas"]["TaskPresence"];
            /** @description The runtime. */
            pipelineName: string;
            started_at?: components["schemas"]["Timestamp"];
            completed_at?: components["schemas"]["Timestamp"];
            completedAt?: components["schemas"]["Timestamp"];
            /** Format: int64 */
            duration_ms?: number;
            /** Format: int64 */
            durationMs?: number;
            error?: string;
        };
        /** @description What a run used. */
        RunUsage: {
            input_tokens: number;
            output_tokens: number;
            /** Format: double */
            cost_usd?: number;
        };
        Schedule: {
            schedule_id: components["schemas"]["ScheduleId"];
            title: string;
            status: components["schemas"]["ScheduleStatus"];
            when: components["schemas"]["ScheduleWhen"];
            /** @description The same in words. */
            words: string;
            zone: string;
            prompt: string;
            variables: {
                [key: string]: string;
            };
            runtime?: string;
            params: {
                [key: string]: unknown;
            };
            budget?: components["schemas"]["Limits"];
            total_budget?: components["schemas"]["Limits"];
            session: components["schemas"]["ScheduleSession"];
            overlap: components["schemas"]["ScheduleOverlap"];
            missed: components["schemas"]["ScheduleMissed"];
            jitter_seconds: number;
            paused: boolean;
            /** @description When the next runs start, at most five. */
            next: components["schemas"]["Timestamp"][];
            /** @description The runs that have not ended, the oldest first. */
            open_runs: components["schemas"]["Run"][];
            /** @description The last one that ended, without its prompt and result. */
            last_run?: components["schemas"]["Run"];
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description What sends an agent prompts by itself. */
        ScheduleId: string;
        /**
         * ScheduleIdData
         * @description What sends an agent prompts by itself.
         */
        ScheduleIdData: string;
        /** @description What happens to runs that were due while the daemon was off. */
        ScheduleMissed: {
            /** @constant */
            type: "once";
        } | {
            /** @constant */
            type: "all";
            at_most: number;
        } | {
            /** @constant */
            type: "skip";
        };
        /**
         * ScheduleMissedData
         * @description Runs of a schedule were due while the daemon was off, or asleep. It stands in the session of the run that comes after them.
         */
        ScheduleMissedData: {
            schedule_id: components["schemas"]["ScheduleIdData"];
            /** @description The first and the last time that was missed, and how many they were. */
            first: components["schemas"]["TimestampData"];
            last: components["schemas"]["TimestampData"];
            count: number;
            /** @description There are more than were counted. */
            and_more?: boolean;
            /** @description The run in whose session it stands. */
            run_id: components["schemas"]["RunIdData"];
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ScheduleMissedEvent
         * @example {
         *       "seq": 15,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "schedule_missed",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "schedule_id": "nightly",
         *         "first": "2026-11-16T02:00:00.000Z",
         *         "last": "2026-11-17T02:00:00.000Z",
         *         "count": 2,
         *         "run_id": "nightly.20261117T020000.000Z"
         *       }
         *     }
         */
        ScheduleMissedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "schedule_missed";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ScheduleMissedData"];
        };
        /** @description What happens when a run is due while an earlier one goes on. */
        ScheduleOverlap: "skip" | "queue" | "stop";
        SchedulePreview: {
            when: components["schemas"]["ScheduleWhenInput"];
            /** @description UTC, if absent. */
            zone?: string | null;
            /** @description How many times; five, if absent. */
            count?: number | null;
        };
        ScheduleRuns: {
            runs: components["schemas"]["Run"][];
            next_cursor?: string;
        };
        /** @description Where a run takes place. */
        ScheduleSession: {
            /** @constant */
            type: "new";
        } | {
            /** @constant */
            type: "same";
            session_id?: components["schemas"]["SessionId"];
        } | {
            /** @constant */
            type: "fork";
            session_id: components["schemas"]["SessionId"];
        };
        /** @description Where a run takes place. */
        ScheduleSessionInput: {
            /** @constant */
            type: "new";
        } | {
            /** @constant */
            type: "same";
            session_id?: components["schemas"]["SessionId"] | null;
        } | {
            /** @constant */
            type: "fork";
            session_id: components["schemas"]["SessionId"];
        };
        ScheduleStatus: ("active" | "paused") | "ended";
        ScheduleTimes: {
            /** @description When it would be due, in words: `at 03:00 every day`. */
            words: string;
            times: components["schemas"]["Timestamp"][];
        };
        /** @description What is to be different; the rest stays. */
        ScheduleUpdate: {
            title?: string | null;
            when?: components["schemas"]["ScheduleWhenInput"] | null;
            zone?: string | null;
            prompt?: string | null;
            /** @description All of them. */
            variables?: {
                [key: string]: string;
            } | null;
            runtime?: string | null;
            /** @description All of them. */
            params?: {
                [key: string]: unknown;
            } | null;
            /** @description `{}` takes it back. */
            budget?: components["schemas"]["LimitsInput"] | null;
            /** @description `{}` takes it back. */
            total_budget?: components["schemas"]["LimitsInput"] | null;
            /** @description With a session that is there already, `runtime` and `params` are forgotten. */
            session?: components["schemas"]["ScheduleSessionInput"] | null;
            overlap?: components["schemas"]["ScheduleOverlap"] | null;
            missed?: components["schemas"]["ScheduleMissed"] | null;
            jitter_seconds?: number | null;
            paused?: boolean | null;
        };
        /** @description When runs are due. */
        ScheduleWhen: {
            /** @constant */
            type: "cron";
            /** @description Minute, hour, day of month, month, day of week; with a sixth field in front, seconds. `L`, `W`, `#` and `@daily` are understood. */
            expression: string;
        } | {
            /** @constant */
            type: "interval";
            /** @description Such as `15m`, `1h 30m`, `PT6H`; 100 ms at least. */
            every: string;
            /** @description Counted from here; from the schedule's creation, if not given. */
            from?: components["schemas"]["Timestamp"];
        } | {
            /** @constant */
            type: "once";
            at: components["schemas"]["Timestamp"];
        };
        /** @description When runs are due. */
        ScheduleWhenInput: {
            /** @constant */
            type: "cron";
            /** @description Minute, hour, day of month, month, day of week; with a sixth field in front, seconds. `L`, `W`, `#` and `@daily` are understood. */
            expression: string;
        } | {
            /** @constant */
            type: "interval";
            /** @description Such as `15m`, `1h 30m`, `PT6H`; 100 ms at least. */
            every: string;
            /** @description Counted from here; from the schedule's creation, if not given. */
            from?: components["schemas"]["Timestamp"] | null;
        } | {
            /** @constant */
            type: "once";
            at: components["schemas"]["Timestamp"];
        };
        Schedules: {
            schedules: components["schemas"]["Schedule"][];
        };
        /** @description A token as people see it, without the secret. */
        ScopedToken: {
            token_id: string;
            name: string;
            scopes: string[];
            created_at: components["schemas"]["Timestamp"];
            expires_at?: components["schemas"]["Timestamp"];
        };
        /** @description Where a secret is. */
        SecretSource: {
            /** @constant */
            from: "stored";
        } | {
            /** @constant */
            from: "env";
            name: string;
        } | {
            /** @constant */
            from: "file";
            path: string;
        };
        Send: {
            message: components["schemas"]["MessageContent"];
            /** @description Chosen by the client: the same id again is the same message, and is not sent twice. */
            message_id?: string | null;
            /** @description What to do when a turn is running. If it is left out: `queue`. */
            when?: components["schemas"]["When"];
            /** @description Whose words they are. */
            origin?: components["schemas"]["MessageOrigin"];
        };
        /** @description A position in one session's log. The first event has 1; `ZERO` stands before it. */
        Seq: number;
        /**
         * SeqData
         * @description A position in one session's log. The first event has 1; `ZERO` stands before it.
         */
        SeqData: number;
        /** @description An ask that nobody has answered yet. */
        SessionAsk: {
            session_id: components["schemas"]["SessionId"];
            session_title: string;
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            turn_id?: components["schemas"]["TurnId"];
            /** @description Where its request stands in the log. */
            seq: components["schemas"]["Seq"];
            asked_at: components["schemas"]["Timestamp"];
            /** @description One line for a person. */
            title: string;
            /** @description The request's payload, as in its event. */
            request: unknown;
            /** @description Who asks, when it is a sub-agent, and what it was called to do. */
            subagent_id?: components["schemas"]["SubagentId"];
            subagent_name?: string;
        };
        /** @description What a session has spent, and may. */
        SessionBudget: {
            spent: components["schemas"]["Amounts"];
            /** @description Of the turn that runs, or the last one. */
            turn: components["schemas"]["Amounts"];
            /** @description Every limit that holds for it; those that it shares with others too. */
            limits: components["schemas"]["LimitView"][];
        };
        SessionEnded: {
            reason: components["schemas"]["EndReason"];
            terminated_by: string;
            message?: string;
        };
        /** SessionEndedData */
        SessionEndedData: {
            reason: components["schemas"]["EndReasonData"];
            terminated_by: string;
            message?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * SessionEndedEvent
         * @example {
         *       "seq": 5,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "session_ended",
         *       "session_id": "s-1",
         *       "data": {
         *         "reason": "terminated",
         *         "terminated_by": "api"
         *       }
         *     }
         */
        SessionEndedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "session_ended";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SessionEndedData"];
        };
        /** @description One persistent conversation with one runtime. */
        SessionId: string;
        /**
         * SessionIdData
         * @description One persistent conversation with one runtime.
         */
        SessionIdData: string;
        SessionList: {
            sessions: components["schemas"]["SessionView"][];
            next_cursor?: string;
        };
        /** @description What went wrong with a session, as its log says it. */
        SessionProblem: {
            code: string;
            message: string;
            /** @description What to do about it. */
            fix?: string;
        };
        /**
         * SessionReadyData
         * @description The session can take messages: at its creation, and each time its agent has started.
         */
        SessionReadyData: {
            session_id?: components["schemas"]["SessionIdData"];
            runtime: string;
            /** @description The agent's own name for the conversation, stored the moment it is known. */
            provider_session_id?: string;
            /** @description Whether the agent remembers the conversation; absent on the first start. */
            resumed?: boolean;
            reason?: string;
            title?: string;
            cwd?: string;
            model?: string;
            mode?: string;
            /** @description The version of the agent's program. */
            version?: string;
            /** @description What a message that begins with a slash may call. */
            commands?: components["schemas"]["SlashCommandData"][];
            /** @description What the session's model may be changed to. */
            models?: components["schemas"]["ModelChoiceData"][];
            /** @description How often an agent that others write has taken the session, with this time; of all others nothing. */
            epoch?: number;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * SessionReadyEvent
         * @example {
         *       "seq": 1,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "session_ready",
         *       "session_id": "s-1",
         *       "data": {
         *         "session_id": "s-1",
         *         "runtime": "claude",
         *         "provider_session_id": "5f0c",
         *         "resumed": false,
         *         "cwd": "/home/user/loom",
         *         "model": "sonnet",
         *         "mode": "default",
         *         "version": "2.1.0",
         *         "commands": [
         *           {
         *             "name": "compact",
         *             "description": "Make room"
         *           }
         *         ]
         *       }
         *     }
         */
        SessionReadyEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "session_ready";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SessionReadyData"];
        };
        /** @description What a session is doing. */
        SessionStatus: ("idle" | "running" | "stopping" | "archived") | "waiting" | "failed" | "damaged";
        /** SessionUpdatedData */
        SessionUpdatedData: {
            title?: string;
            archived?: boolean;
            /** @description Parameters of the runtime that were changed after creation. */
            settings?: {
                [key: string]: unknown;
            };
            by: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * SessionUpdatedEvent
         * @example {
         *       "seq": 2,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "session_updated",
         *       "session_id": "s-1",
         *       "data": {
         *         "title": "The build",
         *         "by": "workbench"
         *       }
         *     }
         */
        SessionUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "session_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SessionUpdatedData"];
        };
        /** @description A session as clients see it. */
        SessionView: {
            session_id: components["schemas"]["SessionId"];
            runtime: string;
            status: components["schemas"]["SessionStatus"];
            head: components["schemas"]["Seq"];
            /** @description The turn that runs. */
            turn?: components["schemas"]["TurnId"];
            title: string;
            archived: boolean;
            cwd?: string;
            model?: string;
            mode?: string;
            /** @description What the runtime's own settings were set to, as far as they were. */
            settings?: {
                [key: string]: unknown;
            };
            provider_session_id?: string;
            /** @description How many asks wait for a person. */
            asks: number;
            /** @description How many messages wait for their turn. */
            queued: number;
            /** @description How many of these wait for somebody to let them go on. */
            held: number;
            /** @description What was asked and could not be answered any more, because the daemon or the agent ended; until the next turn. */
            lost_ask?: components["schemas"]["LostAsk"];
            /** @description What went wrong since the last turn began. */
            problem?: components["schemas"]["SessionProblem"];
            /** @description The session that it works for. */
            parent_session_id?: components["schemas"]["SessionId"];
            /** @description How many asks of sessions that work for it wait for a person, if any. */
            delegated_asks?: number;
            /** @description What it has spent and what it may, if it has or something limits it. */
            budget?: components["schemas"]["SessionBudget"];
            /** @description How full the agent's context is, if it says so. */
            context?: components["schemas"]["ContextUse"];
            capabilities: components["schemas"]["Capabilities"];
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
        };
        Setting: {
            name: string;
            takes: components["schemas"]["Takes"];
            /** @description The words to choose from. */
            choices?: string[];
        };
        /** @description An ask that was settled along with another. */
        SettledAlong: {
            session_id: components["schemas"]["SessionId"];
            ask_id: components["schemas"]["AskId"];
            /** @description Where its log says so. */
            seq: components["schemas"]["Seq"];
        };
        SharedState: {
            /** @description Any JSON; an empty object as long as nobody has set it. */
            state: unknown;
            /** @description Where the log last changed it. */
            seq: components["schemas"]["Seq"];
        };
        SignIn: {
            id: string;
            /** @description What it calls itself. */
            browser: string;
            signed_in_at: components["schemas"]["Timestamp"];
            seen_at: components["schemas"]["Timestamp"];
            /** @description It is the one that asks. */
            current: boolean;
        };
        /** @description Browsers that are signed in. */
        SignIns: {
            sign_ins: components["schemas"]["SignIn"][];
        };
        /** @enum {string} */
        SignatureEncoding: "hex" | "base64";
        SlashCommand: {
            name: string;
            description?: string;
            hint?: string;
        };
        /** SlashCommandData */
        SlashCommandData: {
            name: string;
            description?: string;
            hint?: string;
        };
        /**
         * StateDeltaData
         * @description RFC 6902 JSON Patch.
         */
        StateDeltaData: {
            patch: unknown;
            by: string;
            /** @description The agent hears of it by a message: at once, or (`false`) with the next one. */
            wakes?: boolean;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * StateDeltaEvent
         * @example {
         *       "seq": 41,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "state_delta",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "patch": [
         *           {
         *             "op": "replace",
         *             "path": "/rows",
         *             "value": 2
         *           }
         *         ],
         *         "by": "agent"
         *       }
         *     }
         */
        StateDeltaEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "state_delta";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["StateDeltaData"];
        };
        /** @description A JSON Patch (RFC 6902). */
        StatePatch: {
            [key: string]: unknown;
        }[];
        /** StateSnapshotData */
        StateSnapshotData: {
            state: unknown;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * StateSnapshotEvent
         * @example {
         *       "seq": 40,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "state_snapshot",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "state": {
         *           "rows": 1
         *         }
         *       }
         *     }
         */
        StateSnapshotEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "state_snapshot";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["StateSnapshotData"];
        };
        /** StatusData */
        StatusData: {
            state: components["schemas"]["ActivityData"];
            label?: string;
            attempt?: number;
            detail?: unknown;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * StatusEvent
         * @example {
         *       "seq": 8,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "status",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "state": "retrying",
         *         "label": "The model is busy",
         *         "attempt": 2
         *       }
         *     }
         */
        StatusEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "status";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["StatusData"];
        };
        /**
         * SteerData
         * @description A message for the running turn: accepted with its content, then delivered, rejected, or returned to the queue.
         */
        SteerData: {
            message_id: components["schemas"]["MessageIdData"];
            state: components["schemas"]["SteerStateData"];
            content?: components["schemas"]["PartData"][];
            origin?: components["schemas"]["OriginData"];
            reason?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * SteerEvent
         * @example {
         *       "seq": 9,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "steer",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "message_id": "m-2",
         *         "state": "accepted",
         *         "content": [
         *           {
         *             "type": "text",
         *             "text": "Tidy up, please."
         *           }
         *         ],
         *         "origin": "user"
         *       }
         *     }
         */
        SteerEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "steer";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SteerData"];
        };
        /**
         * SteerStateData
         * @description What became of a message meant for the running turn.
         * @enum {string}
         */
        SteerStateData: "accepted" | "delivered" | "rejected" | "returned";
        /**
         * StepStatusData
         * @description How far a step of the plan is.
         * @enum {string}
         */
        StepStatusData: "pending" | "running" | "done";
        Stop: {
            /** @description Stop only this turn, and nothing if it has ended. */
            turn_id?: components["schemas"]["TurnId"] | null;
            /** @description Whether the messages that wait go on by themselves, or wait until somebody lets them. If it is left out: `continue`. */
            then?: components["schemas"]["AfterStop"];
        };
        Stopped: {
            stopped: boolean;
            /** @description How many things still run in the background, if any: a stop ends the turn and leaves them. */
            background?: number;
        };
        Stopping: {
            /** @description The agent was told; the log says when it has ended. */
            stopping: boolean;
        };
        /** @description One rule that somebody chose. */
        StoredRule: {
            id: string;
            /** @description How far it reaches. */
            scope: components["schemas"]["RuleScope"];
            /** @description The rule, in TOML. */
            rule: string;
            /** @description What it is about, in words. Names and patterns stand between backticks. */
            says: string;
            /** @description Who chose it, and when. */
            note?: string;
            /** @description The same, where the note is as the daemon wrote it. */
            chosen?: components["schemas"]["ChosenRule"];
            /** @description Where it stands in the file, from 1. */
            line: number;
        };
        /** @description What people always allow. */
        StoredRules: {
            rules: components["schemas"]["StoredRule"][];
        };
        StreamQuery: {
            /** @description The position of the view the client holds. */
            after?: number | null;
            /** @description How many messages a snapshot has. */
            messages?: number | null;
        };
        /** @description A sub-agent, with what it does. */
        SubagentBlock: {
            /** @enum {string} */
            kind: "subagent";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            subagent_id: components["schemas"]["SubagentId"];
            name: string;
            status: components["schemas"]["SubagentStatus"];
            background?: boolean;
            parent_tool_use_id?: components["schemas"]["ToolUseId"];
            tool_calls: number;
            file_changes: number;
            blocks: components["schemas"]["ViewBlock"][];
        };
        /** SubagentEndedData */
        SubagentEndedData: {
            subagent_id: components["schemas"]["SubagentIdData"];
            status: components["schemas"]["WorkStatusData"];
            tool_calls: number;
            file_changes: number;
        };
        /**
         * SubagentEndedEvent
         * @example {
         *       "seq": 31,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "subagent_ended",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "subagent_id": "sub-1",
         *         "status": "completed",
         *         "tool_calls": 4,
         *         "file_changes": 0
         *       }
         *     }
         */
        SubagentEndedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "subagent_ended";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SubagentEndedData"];
        };
        /** @description An agent started by an agent. */
        SubagentId: string;
        /**
         * SubagentIdData
         * @description An agent started by an agent.
         */
        SubagentIdData: string;
        /** SubagentStartedData */
        SubagentStartedData: {
            subagent_id: components["schemas"]["SubagentIdData"];
            name: string;
            background?: boolean;
            parent_tool_use_id?: components["schemas"]["ToolUseIdData"];
            parent_subagent_id?: components["schemas"]["SubagentIdData"];
        };
        /**
         * SubagentStartedEvent
         * @example {
         *       "seq": 29,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "subagent_started",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "subagent_id": "sub-1",
         *         "name": "reviewer",
         *         "parent_tool_use_id": "t-2"
         *       }
         *     }
         */
        SubagentStartedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "subagent_started";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SubagentStartedData"];
        };
        /**
         * @description How far a sub-agent is.
         * @enum {string}
         */
        SubagentStatus: "running" | "completed" | "failed" | "interrupted";
        /**
         * SubagentUpdatedData
         * @description What has changed of a sub-agent that runs: it goes on in the background, say.
         */
        SubagentUpdatedData: {
            subagent_id: components["schemas"]["SubagentIdData"];
            background?: boolean;
        };
        /**
         * SubagentUpdatedEvent
         * @example {
         *       "seq": 30,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "subagent_updated",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "subagent_id": "sub-1",
         *         "background": true
         *       }
         *     }
         */
        SubagentUpdatedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "subagent_updated";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["SubagentUpdatedData"];
        };
        /** @description A rule that would answer what people keep answering. */
        Suggestion: {
            /** @description In TOML, without an id. */
            rule: string;
            scope: components["schemas"]["RuleScope"];
            /** @description What it is about, for people. */
            label: string;
            /** @description The calls that it would have covered. */
            calls: components["schemas"]["CoveredCall"][];
        };
        Suggestions: {
            suggestions: components["schemas"]["Suggestion"][];
        };
        /**
         * @description Where a component may appear.
         * @enum {string}
         */
        Surface: "chat" | "sidebar" | "panel" | "overlay" | "canvas";
        /**
         * SurfaceData
         * @description Where a component may appear.
         * @enum {string}
         */
        SurfaceData: "chat" | "sidebar" | "panel" | "overlay" | "canvas";
        /** @description What a setting may be set to. */
        Takes: "choice" | "choices" | "choice_or_object" | "text" | "number" | "decimal" | "flag" | "texts" | "object";
        /** @description One turn, as a list of tasks shows it. */
        Task: {
            runId: components["schemas"]["TurnId"];
            sessionId: components["schemas"]["SessionId"];
            type: components["schemas"]["TaskType"];
            status: components["schemas"]["TaskStatus"];
            origin: components["schemas"]["Origin"];
            triggerType: string;
            presence: components["schemas"]["TaskPresence"];
            metadata: components["schemas"]["TaskMetadata"];
            /** @description The first line of what the turn is about. */
            prompt?: string;
            /** @description Absent when the turn began before anybody counted. */
            startedAt?: components["schemas"]["Timestamp"];
            lastActivityAt: components["schemas"]["Timestamp"];
            completedAt?: components["schemas"]["Timestamp"];
            /** Format: int64 */
            durationMs?: number;
            error?: string;
            /** @description What it does now. */
            activity?: components["schemas"]["TaskActivity"];
            /** @description How many asks wait for a person. */
            needsInput: number;
            /** @description What is waited for; of several things the one that says most. */
            waitsFor?: components["schemas"]["WaitsFor"];
            /** @description How many messages wait for their turn. */
            queued: number;
            /** @description How many sub-agents run. */
            subagents: number;
            toolName?: string;
            context?: components["schemas"]["ContextUse"];
            /** @description It runs, and nothing was heard of it for too long. Decided by the daemon; a turn that waits for a person is not one. */
            isZombie: boolean;
        };
        TaskActivity: {
            state: components["schemas"]["Activity"];
            label?: string;
            since: components["schemas"]["Timestamp"];
        };
        TaskList: {
            tasks: components["schemas"]["ListedTask"][];
            next_cursor?: string;
            /** @description Sessions that were active long ago were not looked at; name one with `session_id`. */
            incomplete?: boolean;
        };
        /** @description Where the work comes from. */
        TaskMetadata: {
            /** @description The run of a schedule. */
            scheduledRunId?: string;
            isDelegation?: boolean;
            /** @description The session that gave the work away. */
            parentSessionId?: components["schemas"]["SessionId"];
            /** @description What kind of channel it came by. */
            channelType?: components["schemas"]["ChannelKind"];
            /** @description The channel by its name, its own id of the delivery, and who wrote. */
            channel?: string;
            deliveryId?: string;
            sender?: string;
            /** @description The turn that was interrupted for its budget and goes on with this one. */
            continues?: components["schemas"]["TurnId"];
        };
        /** @description Whether somebody is there for a turn. Decided here once, so that no client has a rule of its own. */
        TaskPresence: "foreground" | "background";
        /** @enum {string} */
        TaskStatus: "running" | "succeeded" | "failed" | "cancelled";
        /**
         * @description What kind of work it is, by what began it.
         * @enum {string}
         */
        TaskType: "chat" | "scheduled" | "delegation" | "channel";
        /** @description Text with places that a payload fills: `{/issue/title}`, `{header.x-github-event}`, `{/a|/b}`, `{/a?}`. */
        Template: string;
        TextBlock: {
            /** @enum {string} */
            kind: "text";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            text: string;
            done: boolean;
            /** @description It was closed half written. */
            interrupted?: boolean;
        };
        ThinkingBlock: {
            /** @enum {string} */
            kind: "thinking";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            text: string;
            done: boolean;
            interrupted?: boolean;
        };
        /** ThinkingData */
        ThinkingData: {
            block_id: components["schemas"]["BlockIdData"];
            text: string;
            done?: boolean;
            interrupted?: boolean;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ThinkingEvent
         * @example {
         *       "seq": 17,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "thinking",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "block_id": "b-0",
         *         "text": "Where is it built?",
         *         "done": true
         *       }
         *     }
         */
        ThinkingEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "thinking";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ThinkingData"];
        };
        /** @description A time of day, as people write it: `22:30`. */
        TimeOfDay: string;
        /**
         * Format: date-time
         * @description Milliseconds since 1970, written as RFC 3339 with milliseconds: `2026-11-15T12:00:00.123Z`.
         */
        Timestamp: string;
        /**
         * TimestampData
         * Format: date-time
         * @description Milliseconds since 1970, written as RFC 3339 with milliseconds: `2026-11-15T12:00:00.123Z`.
         */
        TimestampData: string;
        Timing: {
            step: components["schemas"]["PageStep"];
            /** Format: double */
            ms: number;
        };
        Timings: {
            timings: components["schemas"]["Timing"][];
        };
        Tokens: {
            tokens: components["schemas"]["ScopedToken"][];
        };
        ToolBlock: {
            /** @enum {string} */
            kind: "tool";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            tool_use_id: components["schemas"]["ToolUseId"];
            tool: string;
            status: components["schemas"]["ToolStatus"];
            /** @description One line for a row that is folded away. */
            summary: string;
            input?: unknown;
            /** @description The whole input, when what is in `input` had to be cut. */
            input_blob?: components["schemas"]["BlobRef"];
            command?: string;
            file_path?: string;
            pattern?: string;
            is_file_read?: boolean;
            subagent_name?: string;
            /** @description A client runs it, not the agent. */
            client_tool?: boolean;
            output?: string;
            /** @description What a tool that runs has said so far. */
            live?: string;
            /**
             * Format: double
             * @description How much of it is done, from 0 to 1.
             */
            fraction?: number;
            /** Format: int32 */
            exit_code?: number;
            diff?: string;
            /** @description The whole output, when what is in `output` had to be cut. */
            blob?: components["schemas"]["BlobRef"];
            /** @description What the tool brought besides words. */
            images?: components["schemas"]["Image"][];
            /** @description What the rules said about the call, before it ran. */
            decision?: components["schemas"]["ViewDecision"];
            /** @description The component that shows this call, so that the row need not. */
            covered_by?: string;
        };
        /**
         * ToolComponentData
         * @description The component that shows a call.
         */
        ToolComponentData: {
            component_id: string;
            name: string;
            surface: components["schemas"]["SurfaceData"];
            result: components["schemas"]["ToolMappingData"];
            /** @description The key for a result that is no object. */
            into?: string;
            /** @description What it shows of the input, when what is in `input` had to be cut. */
            props?: {
                [key: string]: unknown;
            };
        };
        /**
         * ToolDecidedData
         * @description The rules have decided about a call, before it runs.
         */
        ToolDecidedData: {
            tool_use_id: components["schemas"]["ToolUseIdData"];
            tool: string;
            judged: components["schemas"]["JudgedData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ToolDecidedEvent
         * @example {
         *       "seq": 22,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "tool_decided",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "tool_use_id": "t-1",
         *         "tool": "Bash",
         *         "judged": {
         *           "effect": "deny",
         *           "rule": "plan/only-reads",
         *           "scope": "mode",
         *           "mode": "plan",
         *           "reason": "plan mode only reads and searches: `rm notes.txt` removes /code/app/notes.txt",
         *           "input_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
         *           "parts": [
         *             {
         *               "command": "rm notes.txt",
         *               "acts": [
         *                 {
         *                   "does": "delete",
         *                   "text": "removes /code/app/notes.txt",
         *                   "path": "/code/app/notes.txt",
         *                   "outside": false,
         *                   "decides": true
         *                 }
         *               ]
         *             }
         *           ]
         *         }
         *       }
         *     }
         */
        ToolDecidedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_decided";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ToolDecidedData"];
        };
        /**
         * ToolMappingData
         * @description What a component takes from the call that it covers.
         */
        ToolMappingData: ("output" | "input") | "merge";
        /** ToolProgressData */
        ToolProgressData: {
            tool_use_id: components["schemas"]["ToolUseIdData"];
            text?: string;
            /** Format: double */
            fraction?: number;
            /** @description What whoever added this from outside calls what it added. */
            emit_id?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ToolProgressEvent
         * @example {
         *       "seq": 20,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "tool_progress",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "tool_use_id": "t-1",
         *         "text": "3 of 12\n",
         *         "fraction": 0.25
         *       }
         *     }
         */
        ToolProgressEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_progress";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ToolProgressData"];
        };
        ToolResult: {
            /** @description What the tool gave: any JSON. */
            output: unknown;
            /** @description The tool failed, or will not be run; `output` says why. If it is left out: `false`. */
            is_error?: boolean;
        };
        /** ToolResultData */
        ToolResultData: {
            tool_use_id: components["schemas"]["ToolUseIdData"];
            output: string;
            is_error: boolean;
            /** Format: int32 */
            exit_code?: number;
            file_path?: string;
            is_file_read?: boolean;
            /** @description The tool did not run: a person or a rule said no. */
            denied?: boolean;
            /** @description The turn ended before the tool did. */
            interrupted?: boolean;
            diff?: string;
            /** @description The whole output, when what is in `output` had to be cut. */
            blob?: components["schemas"]["BlobRefData"];
            /** @description The pictures that the tool brought, in their order; `output` has `[image]` where each stood. */
            images?: components["schemas"]["ImageData"][];
            /** @description The result as data (`structuredContent` of MCP). */
            structured?: unknown;
            /** @description What goes with the result and is not for the model (`_meta` of MCP). */
            meta?: unknown;
            /** @description What the result brings to the component that covers the call, when what is in `output` had to be cut. */
            props?: {
                [key: string]: unknown;
            };
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ToolResultEvent
         * @example {
         *       "seq": 21,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "tool_result",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "tool_use_id": "t-1",
         *         "output": "line 1\n…\nline 9000",
         *         "is_error": false,
         *         "exit_code": 0,
         *         "blob": {
         *           "id": "0000000000000000000000000000000000000000000000000000000000000000",
         *           "size": 120000,
         *           "media_type": "text/plain",
         *           "head": "line 1",
         *           "tail": "line 9000"
         *         },
         *         "structured": {
         *           "temperature": 11,
         *           "condition": "rain"
         *         }
         *       }
         *     }
         */
        ToolResultEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_result";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ToolResultData"];
        };
        /** ToolStartData */
        ToolStartData: {
            tool_use_id: components["schemas"]["ToolUseIdData"];
            tool: string;
            input?: unknown;
            command?: string;
            file_path?: string;
            pattern?: string;
            search_path?: string;
            is_file_read?: boolean;
            subagent_spawn?: boolean;
            subagent_name?: string;
            /** @description A client runs it, not the agent: an interrupt with the same `tool_use_id` follows. */
            client_tool?: boolean;
            /** @description The whole input, when what is in `input` had to be cut. */
            blob?: components["schemas"]["BlobRefData"];
            /** @description The component that shows this call, as the rules said when it began. */
            component?: components["schemas"]["ToolComponentData"];
            /** @description The view that the tool's server has for it. */
            ui?: components["schemas"]["ToolUiData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * ToolStartEvent
         * @example {
         *       "seq": 19,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "tool_start",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "tool_use_id": "t-1",
         *         "tool": "get_weather",
         *         "input": {
         *           "city": "Ghent"
         *         },
         *         "component": {
         *           "component_id": "get_weather-t-1",
         *           "name": "weather",
         *           "surface": "chat",
         *           "result": "merge"
         *         }
         *       }
         *     }
         */
        ToolStartEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "tool_start";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["ToolStartData"];
        };
        /**
         * @description How far a tool's call is.
         * @enum {string}
         */
        ToolStatus: "running" | "done" | "failed" | "denied" | "interrupted" | "background";
        /**
         * ToolUiData
         * @description A view that an MCP server has for one of its tools.
         */
        ToolUiData: {
            server: string;
            tool: string;
            resource_uri: string;
        };
        /** @description One call of a tool; the agent's own id. */
        ToolUseId: string;
        /**
         * ToolUseIdData
         * @description One call of a tool; the agent's own id.
         */
        ToolUseIdData: string;
        /** @description What proposed rules would have changed. */
        Tried: {
            /** @description Calls that were judged. */
            calls: number;
            /** @description Calls whose input was too large for the log, so that they could not be judged. */
            not_judged: number;
            /** @description How many calls would change, and how. */
            counts: components["schemas"]["ChangeCount"][];
            /** @description The first of them. */
            changed: components["schemas"]["ChangedCall"][];
            /** @description Sessions that were looked at for this answer. */
            sessions: number;
            /** @description Where the next answer begins, if not all sessions were looked at. */
            next_cursor?: string;
        };
        /** @description From a user message, or another trigger, to `done`. */
        TurnId: string;
        /**
         * TurnIdData
         * @description From a user message, or another trigger, to `done`.
         */
        TurnIdData: string;
        /** TurnResultData */
        TurnResultData: {
            text: string;
            /** @description What the session's `output_schema` asked for. */
            structured_output?: unknown;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /** TurnStartedData */
        TurnStartedData: {
            message_ids: components["schemas"]["MessageIdData"][];
            origin: components["schemas"]["OriginData"];
            /** @description The turn that was interrupted for its budget and goes on with this one. */
            continues?: components["schemas"]["TurnIdData"];
            /** @description The agent does not hear of it before a person has said that it may go over a budget. */
            waits?: boolean;
            /** @description Whose budget it spends, besides its own. */
            budget_group?: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * TurnStartedEvent
         * @example {
         *       "seq": 7,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "turn_started",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "message_ids": [
         *           "m-1"
         *         ],
         *         "origin": "user"
         *       }
         *     }
         */
        TurnStartedEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "turn_started";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["TurnStartedData"];
        };
        /**
         * @description Why an ask ended without an answer: the agent took it back, the turn was stopped, whoever asked is gone, or its time had come.
         * @enum {string}
         */
        Unanswered: "withdrawn" | "stopped" | "interrupted" | "expired";
        /**
         * UnansweredData
         * @description Why an ask ended without an answer: the agent took it back, the turn was stopped, whoever asked is gone, or its time had come.
         * @enum {string}
         */
        UnansweredData: "withdrawn" | "stopped" | "interrupted" | "expired";
        /** @description An event of a type that this version does not know. */
        UnknownBlock: {
            /** @enum {string} */
            kind: "unknown";
            id: string;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            type: string;
            data?: unknown;
        };
        /**
         * UnreadableData
         * @description What is said of it.
         */
        UnreadableData: {
            error: string;
            /** @description How it begins. */
            raw: string;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * UnreadableEvent
         * @example {
         *       "seq": 7,
         *       "ts": "1970-01-01T00:00:00.000Z",
         *       "type": "unreadable",
         *       "session_id": "try-me",
         *       "data": {
         *         "error": "expected value",
         *         "raw": "\u0000\u0000"
         *       }
         *     }
         */
        UnreadableEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "unreadable";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["UnreadableData"];
        };
        Until: "idle";
        Update: {
            title?: string | null;
            model?: string | null;
            mode?: string | null;
            /** @description Parameters that may change after creation: `client_tools`, `budget`, `budget_group`, and those of the runtime. */
            settings?: {
                [key: string]: unknown;
            };
        };
        /** @description What all sessions have spent, and may. */
        Usage: {
            today: string;
            /** @description Of all sessions, as long as they are counted. */
            daemon: components["schemas"]["Amounts"];
            /** @description The newest first; days on which nothing was spent are left out. */
            days: components["schemas"]["UsageSum"][];
            /** @description Those that spent last come first. */
            groups: components["schemas"]["UsageSum"][];
            /** @description The limits of today and of all sessions. */
            limits: components["schemas"]["LimitView"][];
        };
        /** @description What this turn used, all of it so far: a later one takes the place of an earlier one. */
        Usage2: {
            /** @description With those that were read from a cache, and written to one. */
            input_tokens: number;
            output_tokens: number;
            cached_tokens?: number;
            cache_write_tokens?: number;
            reasoning_tokens?: number;
            /** Format: double */
            cost_usd?: number;
            context_used?: number;
            context_window?: number;
            /** @description The agent does not say what it costs: `cost_usd` is by the prices of the configuration. */
            estimated?: boolean;
            /** @description Milliseconds that the agent worked in this turn so far, without those in which a person was waited for. */
            worked_ms?: number;
        };
        /**
         * UsageData
         * @description What this turn used, all of it so far: a later one takes the place of an earlier one.
         */
        UsageData: {
            /** @description With those that were read from a cache, and written to one. */
            input_tokens: number;
            output_tokens: number;
            cached_tokens?: number;
            cache_write_tokens?: number;
            reasoning_tokens?: number;
            /** Format: double */
            cost_usd?: number;
            context_used?: number;
            context_window?: number;
            /** @description The agent does not say what it costs: `cost_usd` is by the prices of the configuration. */
            estimated?: boolean;
            /** @description Milliseconds that the agent worked in this turn so far, without those in which a person was waited for. */
            worked_ms?: number;
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * UsageEvent
         * @example {
         *       "seq": 13,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "usage",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "input_tokens": 1200,
         *         "output_tokens": 80,
         *         "cached_tokens": 1000,
         *         "cost_usd": 0.004,
         *         "context_used": 1280,
         *         "context_window": 200000
         *       }
         *     }
         */
        UsageEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "usage";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["UsageData"];
        };
        /** @description What was spent on a day, or by a group. */
        UsageSum: {
            /** @description The day, or the name of the group. */
            id: string;
            spent: components["schemas"]["Amounts"];
        };
        /** UserMessageData */
        UserMessageData: {
            message_id: components["schemas"]["MessageIdData"];
            content: components["schemas"]["PartData"][];
            origin: components["schemas"]["OriginData"];
            /** @description Which delivery of which channel it came with. */
            source?: components["schemas"]["MessageSourceData"];
            /** @description Who did it, when it was a sub-agent. */
            subagent_id?: string;
        };
        /**
         * UserMessageEvent
         * @example {
         *       "seq": 6,
         *       "ts": "2026-11-15T12:00:00.123Z",
         *       "type": "user_message",
         *       "session_id": "s-1",
         *       "turn_id": "turn-1",
         *       "data": {
         *         "message_id": "m-1",
         *         "content": [
         *           {
         *             "type": "text",
         *             "text": "Tidy up, please."
         *           },
         *           {
         *             "type": "image",
         *             "media_type": "image/png",
         *             "data": "iVBORw0KGgo="
         *           }
         *         ],
         *         "origin": "user"
         *       }
         *     }
         */
        UserMessageEvent: {
            /** @description Position in the log: from 1, without gaps. */
            seq: number;
            /** Format: date-time */
            ts: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "user_message";
            session_id: string;
            turn_id?: string;
            data: components["schemas"]["UserMessageData"];
        };
        Value: {
            value: unknown;
        };
        /** @description A conversation as people read it: the newest messages, and what is true now. */
        View: {
            /** @description The position in the log that this is the view of. */
            seq: components["schemas"]["Seq"];
            session: components["schemas"]["ViewSession"];
            messages: components["schemas"]["ViewMessage"][];
            /** @description What waits for a person. */
            asks: components["schemas"]["ViewAsk"][];
            queue: components["schemas"]["QueueItem"][];
            /** @description Messages for the running turn that have not reached the agent. */
            steers: components["schemas"]["ViewSteer"][];
            /** @description The components that are not in the conversation, in the order of their first facts. */
            components: components["schemas"]["ViewComponent"][];
            /** @description What goes on between turns. */
            background: components["schemas"]["ViewBackground"][];
            /** @description The newest change first; their diffs are at `/files`. */
            files: components["schemas"]["ViewFile"][];
            /** @description What the agent and its clients share. */
            state?: unknown;
            plan?: components["schemas"]["ViewPlan"];
            /** @description What the session is doing for the person who waits. */
            activity?: components["schemas"]["ViewActivity"];
            usage?: components["schemas"]["Usage2"];
            /** @description The id of the oldest message here, if there are older ones: what `before` takes. */
            before?: string;
        };
        /** @description What the session is doing for the person who waits, and since when. */
        ViewActivity: {
            state: components["schemas"]["Activity"];
            label?: string;
            attempt?: number;
            detail?: unknown;
            since: components["schemas"]["Timestamp"];
        };
        /** @description What waits for a person, and where its block is. */
        ViewAsk: {
            ask_id: components["schemas"]["AskId"];
            kind: components["schemas"]["AskKind"];
            /** @description The ids of the message and the blocks that lead to it. */
            path: string[];
            asked_at: components["schemas"]["Timestamp"];
        };
        /** @description Something that goes on between turns: a command, another tool's call, a sub-agent, or a time the agent has set itself. */
        ViewBackground: {
            background_id: components["schemas"]["BackgroundId"];
            kind: components["schemas"]["BackgroundKind"];
            label: string;
            tool_use_id?: components["schemas"]["ToolUseId"];
            started_at: components["schemas"]["Timestamp"];
        };
        /** @description One thing in a message, in the order it happened. More kinds and fields may be added. */
        ViewBlock: components["schemas"]["TextBlock"] | components["schemas"]["ThinkingBlock"] | components["schemas"]["ToolBlock"] | components["schemas"]["PermissionBlock"] | components["schemas"]["QuestionBlock"] | components["schemas"]["InterruptBlock"] | components["schemas"]["ComponentBlock"] | components["schemas"]["SubagentBlock"] | components["schemas"]["DelegationBlock"] | components["schemas"]["PlanBlock"] | components["schemas"]["DiffBlock"] | components["schemas"]["ArtifactBlock"] | components["schemas"]["ImageBlock"] | components["schemas"]["CompactionBlock"] | components["schemas"]["ErrorBlock"] | components["schemas"]["NoteBlock"] | components["schemas"]["UnknownBlock"];
        /** @description Something that an agent shows, as people see it now. */
        ViewComponent: {
            component_id: string;
            name: string;
            surface: components["schemas"]["Surface"];
            props?: unknown;
            status: components["schemas"]["ComponentStatus"];
            /** @description What went wrong. */
            error?: string;
            /** @description The call that it shows. */
            tool_use_id?: components["schemas"]["ToolUseId"];
            /** @description Where in the shared state it finds what it shows. */
            bind?: components["schemas"]["Bind"];
            /** @description The page that draws it. */
            view?: components["schemas"]["ComponentView"];
            /** @description The interrupt that waits for it. */
            waiting?: components["schemas"]["AskId"];
            /** @description Who changed it last. */
            by?: string;
        };
        /** @description What the rules said about a call. */
        ViewDecision: {
            effect: components["schemas"]["PolicyEffect"];
            /** @description The rule that decided: where it stands, and its name there. */
            rule: string;
            /** @description How far that rule reaches. */
            scope: components["schemas"]["RuleScope"];
            reason: string;
        };
        /** @description Some fields of a view, a message or a block, by name: those that are different now. `null` removes one. */
        ViewFields: {
            [key: string]: unknown;
        };
        /** @description A file that is different from how it was when the session began to change it. */
        ViewFile: {
            path: string;
            kind: components["schemas"]["FileChange"];
            added: number;
            removed: number;
        };
        /** @description What somebody said, or what the agent did in a turn. */
        ViewMessage: {
            id: string;
            role: components["schemas"]["ViewRole"];
            turn_id?: components["schemas"]["TurnId"];
            done: boolean;
            started_at: components["schemas"]["Timestamp"];
            ended_at?: components["schemas"]["Timestamp"];
            outcome?: components["schemas"]["Outcome"];
            reason?: string;
            /** Format: int32 */
            exit_code?: number;
            usage?: components["schemas"]["Usage2"];
            origin?: components["schemas"]["Origin"];
            blocks: components["schemas"]["ViewBlock"][];
            /** @description Its texts, joined. It says nothing that `blocks` does not, so streams leave it out. */
            content?: string;
        };
        /** @description What can be inserted. */
        ViewNode: components["schemas"]["ViewMessage"] | components["schemas"]["ViewBlock"] | components["schemas"]["ViewComponent"];
        /** @description One change. */
        ViewOp: {
            /** @constant */
            op: "append";
            path: string[];
            field: components["schemas"]["ViewTextField"];
            text: string;
        } | {
            /** @constant */
            op: "set";
            path: string[];
            fields: components["schemas"]["ViewFields"];
        } | {
            /** @constant */
            op: "insert";
            path: string[];
            node: components["schemas"]["ViewNode"];
        } | {
            /** @constant */
            op: "remove";
            path: string[];
        };
        /** @description Changes as they are sent: those that lead to a position. */
        ViewOps: {
            seq: components["schemas"]["Seq"];
            ops: components["schemas"]["ViewOp"][];
        };
        /** @description What the agent means to do, and how far it is. */
        ViewPlan: {
            steps: components["schemas"]["ViewPlanStep"][];
            explanation?: string;
        };
        ViewPlanStep: {
            text: string;
            status: components["schemas"]["ViewPlanStepStatus"];
        };
        ViewPlanStepStatus: ("pending" | "running" | "done") | "unfinished";
        ViewQuery: {
            /** @description How many messages. */
            messages?: number | null;
            /** @description The `before` of a newer window: the messages before that one. */
            before?: string | null;
        };
        /** @enum {string} */
        ViewRole: "user" | "agent" | "system";
        /** @description What is known of the session itself. */
        ViewSession: {
            session_id?: components["schemas"]["SessionId"];
            runtime?: string;
            title?: string;
            cwd?: string;
            model?: string;
            mode?: string;
            provider_session_id?: string;
            resumed?: boolean;
            /** @description The version of the agent's program. */
            version?: string;
            /** @description The turn that runs. */
            turn?: components["schemas"]["TurnId"];
            archived?: boolean;
            /** @description How the session ended. */
            ended?: components["schemas"]["SessionEnded"];
            /** @description What the agent understands after a slash. */
            commands?: components["schemas"]["SlashCommand"][];
            /** @description What the session's model may be changed to. */
            models?: components["schemas"]["ModelChoice"][];
            /** @description The session that it works for. */
            parent_session_id?: components["schemas"]["SessionId"];
        };
        /** @description A message for the running turn that has not reached the agent. */
        ViewSteer: {
            message_id: components["schemas"]["MessageId"];
            content?: components["schemas"]["Part"][];
        };
        /** @description A field that grows. */
        ViewTextField: "text" | "live";
        /** @description What a person is waited for. */
        WaitsFor: ("question" | "permission") | "input" | "plan";
        /** @description A subscription as clients see it. */
        Webhook: {
            webhook_id: string;
            url: string;
            /** @description Which events; all, if there are none. */
            events: components["schemas"]["WebhookEventType"][];
            /** @description Only of these sessions. */
            sessions: string[];
            /** @description Only of sessions with these runtimes. */
            runtimes: string[];
            /** @description Only of turns that came about so. */
            origins: components["schemas"]["Origin"][];
            /** @description For people. */
            description?: string;
            /** @description Nothing is sent while it is paused; what happens meanwhile is told afterwards. If it is left out: `false`. */
            paused: boolean;
            /** @description Where its secret is; the secret itself is not shown. */
            secret: components["schemas"]["SecretSource"];
            /** @description Why it was paused, if nobody did it. */
            disabled?: string;
            /** @description Up to where in the feed of all sessions everything is sent, or kept to be tried again. */
            position: number;
            /** @description What is read and not delivered. */
            waiting: number;
            /** @description Since the daemon started. */
            delivered: number;
            /** @description Tries that failed since the daemon started. */
            failed: number;
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description One try. */
        WebhookAttempt: {
            /** @description The header `webhook-id`: the same event has the same one, however often it is sent. */
            id: string;
            type: components["schemas"]["WebhookEventType"];
            session_id: components["schemas"]["SessionId"];
            seq: components["schemas"]["Seq"];
            /** @description Its commit in the feed. */
            position: number;
            state: components["schemas"]["WebhookDeliveryState"];
            /** @description How often it was tried. */
            attempts: number;
            /** @description When it is tried again. */
            next_at?: components["schemas"]["Timestamp"];
            last_error?: string;
            at: components["schemas"]["Timestamp"];
            /** @description What the receiver answered. */
            status?: number;
            milliseconds: number;
        };
        /** @description What was sent, what waits and what nobody took. */
        WebhookDeliveries: {
            /** @description The last tries, newest first. */
            recent: components["schemas"]["WebhookAttempt"][];
            /** @description What failed and is tried again, and what stands behind it. */
            waiting: components["schemas"]["WebhookDelivery"][];
            /** @description What was tried for days; newest first. */
            dead: components["schemas"]["WebhookDelivery"][];
        };
        /** @description One event for one receiver. */
        WebhookDelivery: {
            /** @description The header `webhook-id`: the same event has the same one, however often it is sent. */
            id: string;
            type: components["schemas"]["WebhookEventType"];
            session_id: components["schemas"]["SessionId"];
            seq: components["schemas"]["Seq"];
            /** @description Its commit in the feed. */
            position: number;
            state: components["schemas"]["WebhookDeliveryState"];
            /** @description How often it was tried. */
            attempts: number;
            /** @description When it is tried again. */
            next_at?: components["schemas"]["Timestamp"];
            last_error?: string;
        };
        WebhookDeliveryState: ("waiting" | "delivered") | "dead";
        /** @description What is told. */
        WebhookEventType: ("turn.completed" | "turn.failed" | "ask.opened" | "ask.resolved" | "budget.reached" | "schedule.missed") | "turn.stopped";
        /** @description Who is told what. */
        WebhookPatch: {
            url?: string | null;
            events?: components["schemas"]["WebhookEventType"][] | null;
            sessions?: string[] | null;
            runtimes?: string[] | null;
            origins?: components["schemas"]["Origin"][] | null;
            description?: (string | null) | null;
            paused?: boolean | null;
            secret?: components["schemas"]["NewSecret"] | null;
        };
        /** @description What became of a try by hand. */
        WebhookTested: {
            /** @description Whether the receiver took it. */
            delivered: boolean;
            status?: number;
            error?: string;
            milliseconds: number;
        };
        Webhooks: {
            webhooks: components["schemas"]["Webhook"][];
        };
        /** @description What to do with a message to a session that is busy. */
        When: "queue" | "steer" | "reject";
        /**
         * WorkStatusData
         * @description How a sub-agent or a background task ended.
         * @enum {string}
         */
        WorkStatusData: "completed" | "failed" | "interrupted";
        /** @description What would become of a call. */
        WouldBe: ("allow" | "ask" | "deny") | "agent";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
