// Made by `npm run generate` from docs/reference. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Accepted: {
            accepted: boolean;
        };
        /** @description What a client may know of a runtime. */
        AgentInfo: {
            id: string;
            name: string;
            installed: boolean;
            version?: string | null;
            capabilities: components["schemas"]["Capabilities"];
            /** @description The modes that a session may have; any word, if they are not listed. */
            modes?: string[] | null;
            /** @description What may be changed while a session lives, besides its model and mode. */
            settings?: components["schemas"]["Setting"][] | null;
            /** @description What keeps it from working. */
            problem?: string | null;
            /** @description What to do about it. */
            fix?: string | null;
        };
        Agents: {
            agents: components["schemas"]["AgentInfo"][];
        };
        Answers: {
            /** @description One list per question. */
            answers: string[][];
        };
        /** @description Something that waits for a person. */
        AskId: string;
        /**
         * @description What kind of answer an ask takes.
         * @enum {string}
         */
        AskKind: "permission" | "question" | "interrupt";
        Asks: {
            asks: components["schemas"]["SessionAsk"][];
        };
        Cancelled: {
            cancelled: boolean;
            /** @description The turn was dead. */
            forced?: boolean | null;
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
            /** @description Runs a tool with the input that a person made of the one it was asked about. */
            edit_input: boolean;
            questions: boolean;
            images: boolean;
            files: boolean;
            thinking: boolean;
            plan: boolean;
            subagents: boolean;
            background: boolean;
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
        ComponentAction: {
            /** @description What was pressed, in the component's own words. */
            action: string;
            /**
             * @description What goes with it.
             * @default null
             */
            payload?: unknown;
        };
        /** @description A conversation that an agent has stored by itself. */
        Conversation: {
            /** @description The agent's name for it. */
            id: string;
            title: string;
            cwd?: string | null;
            updated_at: components["schemas"]["Timestamp"];
        };
        Conversations: {
            conversations: components["schemas"]["Conversation"][];
        };
        ConversationsQuery: {
            /** @description Where they were held: an absolute path. Where the daemon was started, if absent. */
            cwd?: string | null;
        };
        Create: {
            /** @description Chosen by the client, so that a retry is safe; made by the daemon if absent. */
            session_id?: string | null;
            runtime: string;
            /**
             * @description `cwd`, `system_prompt`, `model`, `mode`, `permission_mode`, `env`, `mcp_servers`, `title`, `client_tools`, and what the runtime adds.
             * @default {}
             */
            params?: {
                [key: string]: unknown;
            };
            /** @description A conversation that the agent has stored: the session begins with what was said in it. */
            adopt?: string | null;
        };
        /** @description What the JSON form answers. It is written by hand, because its events are already JSON. */
        EventPage: {
            events: unknown[];
            head: components["schemas"]["Seq"];
            has_more: boolean;
        };
        EventsQuery: {
            /**
             * Format: uint64
             * @description The last position the client has; also `Last-Event-ID`.
             */
            after?: number | null;
            /** Format: uint */
            limit?: number | null;
            /** @description Only these types, with commas between them. */
            types?: string | null;
            /** @description Another form of the log: `native`, or `snapshot` (a stream only). */
            dialect?: string | null;
        };
        Fork: {
            session_id?: string | null;
            /** @description The last turn to keep; the last one that ended, if absent. */
            at_turn?: components["schemas"]["TurnId"] | null;
        };
        Health: {
            status: string;
            version: string;
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
        ListQuery: {
            /**
             * @description Only archived sessions, instead of only the others.
             * @default false
             */
            archived?: boolean;
            runtime?: string | null;
            /** @description Part of a title or an id. */
            q?: string | null;
            /** Format: uint */
            limit?: number | null;
            cursor?: string | null;
        };
        /** @description A link that signs a browser in, once. */
        LoginLink: {
            /** @description Relative to the daemon's address. */
            path: string;
        };
        MessageContent: string | components["schemas"]["InputPart"][];
        /** @description One message of a person, or of whatever stands for one. */
        MessageId: string;
        Noted: {
            accepted: boolean;
            /** @description Where the log says so. */
            seq: components["schemas"]["Seq"];
        };
        /** @description What a page measures, where the person is. */
        PageStep: ("sent_to_accepted" | "accepted_to_first_event" | "first_event_to_first_status" | "first_status_to_first_text" | "first_text_to_painted" | "open_to_shell" | "open_to_messages" | "open_to_idle") | "backlog_age";
        Permission: {
            reply: components["schemas"]["PermissionReply"];
            /** @description Run the tool with this input instead. */
            updated_input?: unknown;
            /** @description Why, for the agent to read. */
            message?: string | null;
            /** @description Which of the offered rules `always` stores; the first, if absent. */
            rule?: string | null;
            /**
             * @description End the turn as well.
             * @default false
             */
            stop?: boolean;
        };
        /**
         * @description A person's answer to a permission request.
         * @enum {string}
         */
        PermissionReply: "once" | "always" | "reject";
        /** @description What a client reads of it. */
        Problem: {
            /** @description A URI reference for the kind of problem. */
            type: string;
            title: string;
            /** Format: uint16 */
            status: number;
            detail: string;
            /** @description A stable word. */
            code: string;
        } & {
            [key: string]: unknown;
        };
        /** @description What went wrong with a session, as its log says it. */
        Problem2: {
            code: string;
            message: string;
            /** @description What to do about it. */
            fix?: string | null;
        };
        Queue: {
            queue: components["schemas"]["QueueItem"][];
        };
        QueueItem: {
            message_id: components["schemas"]["MessageId"];
            preview: string;
            state: components["schemas"]["QueueState"];
        };
        /**
         * @description Where a message in the queue stands.
         * @enum {string}
         */
        QueueState: "waiting" | "returned";
        /** @description That a message was taken, and where it went. A retry with the same id gets the same receipt. */
        Receipt: {
            accepted: boolean;
            message_id: components["schemas"]["MessageId"];
            turn_id?: components["schemas"]["TurnId"] | null;
            queued: boolean;
            /**
             * Format: uint64
             * @description Its place in the queue, from 1.
             */
            position?: number | null;
        };
        RemoveQuery: {
            /**
             * @description Remove its facts and blobs as well.
             * @default false
             */
            purge?: boolean;
        };
        Reorder: {
            /** @description Message ids, first to be sent first. Those not named stay behind, in the order they have. */
            order: components["schemas"]["MessageId"][];
        };
        Resolved: {
            resolved: boolean;
            /** @description Where the log says so. */
            seq: components["schemas"]["Seq"];
        };
        Resume: {
            /** @description Another conversation of the agent than the one it had. */
            provider_session_id?: string | null;
        };
        Rollback: {
            /**
             * Format: uint
             * @description How many turns to take back.
             */
            turns: number;
            /**
             * @description Put the files that the agent changed back as well.
             * @default false
             */
            restore_files?: boolean;
        };
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
            origin: unknown;
            /** @description The runtime. */
            pipelineName: string;
            started_at?: components["schemas"]["Timestamp"] | null;
            completed_at?: components["schemas"]["Timestamp"] | null;
            completedAt?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            duration_ms?: number | null;
            /** Format: int64 */
            durationMs?: number | null;
            error?: string | null;
        };
        Send: {
            message: components["schemas"]["MessageContent"];
            /** @description Chosen by the client: the same id again is the same message, and is not sent twice. */
            message_id?: string | null;
            /**
             * @description What to do when a turn is running.
             * @default queue
             */
            when?: components["schemas"]["When"];
        };
        /**
         * Format: uint64
         * @description A position in one session's log. The first event has 1; `ZERO` stands before it.
         */
        Seq: number;
        /** @description An ask that nobody has answered yet. */
        SessionAsk: {
            session_id: components["schemas"]["SessionId"];
            session_title: string;
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
        };
        /** @description One persistent conversation with one runtime. */
        SessionId: string;
        SessionList: {
            sessions: components["schemas"]["SessionView"][];
            next_cursor?: string | null;
        };
        /** @description What a session is doing. */
        SessionStatus: ("idle" | "running" | "stopping" | "archived") | "waiting" | "failed";
        /** @description A session as clients see it. */
        SessionView: {
            session_id: components["schemas"]["SessionId"];
            runtime: string;
            status: components["schemas"]["SessionStatus"];
            head: components["schemas"]["Seq"];
            /** @description The turn that runs. */
            turn?: components["schemas"]["TurnId"] | null;
            title: string;
            archived: boolean;
            cwd?: string | null;
            model?: string | null;
            mode?: string | null;
            /** @description What the runtime's own settings were set to, as far as they were. */
            settings: {
                [key: string]: unknown;
            };
            provider_session_id?: string | null;
            /**
             * Format: uint
             * @description How many asks wait for a person.
             */
            asks: number;
            /**
             * Format: uint
             * @description How many messages wait for their turn.
             */
            queued: number;
            /** @description What went wrong since the last turn began. */
            problem?: components["schemas"]["Problem2"] | null;
            capabilities: components["schemas"]["Capabilities"];
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
        };
        Setting: {
            name: string;
            takes: components["schemas"]["Takes"];
            /** @description The words to choose from. */
            choices?: string[] | null;
        };
        SharedState: {
            /** @description Any JSON; an empty object as long as nobody has set it. */
            state: unknown;
            /** @description Where the log last changed it. */
            seq: components["schemas"]["Seq"];
        };
        /** @description A JSON Patch (RFC 6902). */
        StatePatch: {
            [key: string]: unknown;
        }[];
        Stop: {
            /** @description Stop only this turn, and nothing if it has ended. */
            turn_id?: components["schemas"]["TurnId"] | null;
        };
        Stopped: {
            stopped: boolean;
        };
        StreamQuery: {
            /**
             * Format: uint64
             * @description The position of the view the client holds.
             */
            after?: number | null;
            /**
             * Format: uint
             * @description How many messages a snapshot has.
             */
            messages?: number | null;
        };
        /** @description What a setting may be set to. */
        Takes: "choice" | "choice_or_object" | "text" | "number";
        /**
         * Format: date-time
         * @description Milliseconds since 1970, written as RFC 3339 with milliseconds: `2026-11-15T12:00:00.123Z`.
         */
        Timestamp: string;
        Timing: {
            step: components["schemas"]["PageStep"];
            /** Format: double */
            ms: number;
        };
        Timings: {
            timings: components["schemas"]["Timing"][];
        };
        ToolResult: {
            /** @description What the tool gave: any JSON. */
            output: unknown;
            /**
             * @description The tool failed, or will not be run; `output` says why.
             * @default false
             */
            is_error?: boolean;
        };
        /** @description From a user message, or another trigger, to `done`. */
        TurnId: string;
        Until: "idle";
        Update: {
            title?: string | null;
            model?: string | null;
            mode?: string | null;
            /**
             * @description Parameters that may change after creation: `client_tools`, and those of the runtime.
             * @default {}
             */
            settings?: {
                [key: string]: unknown;
            };
        };
        Value: {
            value: unknown;
        };
        ViewQuery: {
            /**
             * Format: uint
             * @description How many messages.
             */
            messages?: number | null;
            /** @description The `before` of a newer window: the messages before that one. */
            before?: string | null;
        };
        /** @description What to do with a message to a session that is busy. */
        When: "queue" | "steer" | "reject";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
