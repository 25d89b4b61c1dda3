// Every call a program makes. Not here: those about work that begins by itself (`automation.ts`), how a request is made, and how a stream comes back.

import { AutomationCalls } from './automation.js'
import { streamEvents, streamTurn, type StreamEventsOptions, type StreamTurnOptions } from './events.js'
import type { StreamOptions } from './follow.js'
import { streamAsks, streamInbox, streamSessions, type StreamSessionsOptions } from './lists.js'
import type { ByteRange, CallOptions } from './request.js'
import { pathOf as of } from './streams.js'
import { SessionTools } from './tools.js'
import { streamTasks, type ListTasks, type Task, type TaskEvent, type TaskList } from './tasks.js'
import type * as Types from './types.js'
import { streamView, type StreamViewOptions } from './view/stream.js'
import type { Part, View } from './view/types.js'
import { streamWire, type StreamWireOptions, type WireLine } from './wire.js'

export class Turnloom extends AutomationCalls {
  readonly #tools = new Map<string, SessionTools>()

  /** Whether the daemon is up; needs no token. */
  health(options?: CallOptions): Promise<Types.Health> {
    return this.read('/health', {}, options)
  }

  /** The runtimes: which are installed, what each can do, and what keeps one from working. */
  async listAgents(options?: CallOptions): Promise<Types.Agent[]> {
    return (await this.read<{ agents: Types.Agent[] }>('/api/agents', {}, options)).agents
  }

  /** What an agent has stored by itself and can become a session (`adopt`). */
  async listConversations(
    runtime: string,
    query: { cwd: string },
    options?: CallOptions,
  ): Promise<Types.Conversation[]> {
    const path = `/api/agents/${encodeURIComponent(runtime)}/conversations`
    return (await this.read<{ conversations: Types.Conversation[] }>(path, query, options)).conversations
  }

  /** With a `session_id` of your own, the same call again gives the same session. */
  createSession(session: Types.CreateSession, options?: CallOptions): Promise<Types.Session> {
    return this.send('POST', '/api/sessions', session, options)
  }

  /** Newest activity first. `next_cursor` of one answer is the `cursor` of the next. */
  listSessions(query: Types.ListSessions = {}, options?: CallOptions): Promise<Types.SessionList> {
    return this.read('/api/sessions', query, options)
  }

  /** The list of sessions, each time it has changed: newest activity first, a new list each time. */
  streamSessions(options: StreamSessionsOptions = {}): AsyncGenerator<Types.SessionList, void, undefined> {
    return streamSessions(this.streams, options)
  }

  getSession(id: string, options?: CallOptions): Promise<Types.Session> {
    return this.read(of(id), {}, options)
  }

  updateSession(id: string, fields: Types.UpdateSession, options?: CallOptions): Promise<Types.Session> {
    return this.send('PATCH', of(id), fields, options)
  }

  /** Nothing runs in it any more; everything can still be read. */
  archiveSession(id: string, options?: CallOptions): Promise<Types.Session> {
    return this.send('DELETE', of(id), undefined, options)
  }

  unarchiveSession(id: string, options?: CallOptions): Promise<Types.Session> {
    return this.send('POST', of(id, 'unarchive'), undefined, options)
  }

  /** Removes it for good, with everything that was said in it. */
  deleteSession(id: string, options?: CallOptions): Promise<void> {
    return this.requester.json(of(id), { ...options, method: 'DELETE', query: { purge: true } })
  }

  resumeSession(
    id: string,
    body: { provider_session_id?: string } = {},
    options?: CallOptions,
  ): Promise<Types.Session> {
    return this.send('POST', of(id, 'resume'), body, options)
  }

  forkSession(id: string, body: Types.ForkSession = {}, options?: CallOptions): Promise<Types.Session> {
    return this.send('POST', of(id, 'fork'), body, options)
  }

  rollbackSession(id: string, body: Types.RollbackSession, options?: CallOptions): Promise<Types.Session> {
    return this.send('POST', of(id, 'rollback'), body, options)
  }

  async compactSession(id: string, options?: CallOptions): Promise<void> {
    await this.send('POST', of(id, 'compact'), undefined, options)
  }

  /** Resolves when the message is durable. With a `message_id` of your own, sending it again is safe. */
  postMessage(id: string, message: Message, options?: CallOptions): Promise<Types.Receipt> {
    return this.send('POST', of(id, 'message'), asSend(message), options)
  }

  /** Resolves when the turn is settled; `false` when none ran. `then: 'hold'` keeps what waits in the queue until `continueQueue`. */
  async stop(
    id: string,
    body: { turn_id?: string; then?: 'hold' | 'continue' } = {},
    options?: CallOptions,
  ): Promise<boolean> {
    return (await this.send<{ stopped: boolean }>('POST', of(id, 'stop'), body, options)).stopped
  }

  /** Ends one task or sub-agent of the background. Resolves when the agent was told; the log says when it has ended. */
  async stopBackground(id: string, backgroundId: string, options?: CallOptions): Promise<void> {
    await this.send('POST', `${of(id, 'background', backgroundId)}/stop`, undefined, options)
  }

  /** Lets the messages that are held go on. */
  async continueQueue(id: string, options?: CallOptions): Promise<Types.QueueItem[]> {
    return (await this.send<Queue>('POST', of(id, 'continue'), undefined, options)).queue
  }

  async getQueue(id: string, options?: CallOptions): Promise<Types.QueueItem[]> {
    return (await this.read<Queue>(of(id, 'queue'), {}, options)).queue
  }

  /** `order` has every message id that waits. */
  async reorderQueue(id: string, order: string[], options?: CallOptions): Promise<Types.QueueItem[]> {
    return (await this.send<Queue>('PATCH', of(id, 'queue'), { order }, options)).queue
  }

  /** All that a message that waits says. */
  getQueued(id: string, messageId: string, options?: CallOptions): Promise<{ message_id: string; content: Part[] }> {
    return this.read(of(id, 'queue', messageId), {}, options)
  }

  /** Other words for a message that waits; it keeps its place, its pictures and its files. */
  async editQueued(id: string, messageId: string, message: string, options?: CallOptions): Promise<Types.QueueItem[]> {
    return (await this.send<Queue>('PATCH', of(id, 'queue', messageId), { message }, options)).queue
  }

  async removeFromQueue(id: string, messageId: string, options?: CallOptions): Promise<Types.QueueItem[]> {
    return (await this.send<Queue>('DELETE', of(id, 'queue', messageId), undefined, options)).queue
  }

  /** A session as a file: everything that was said, and what belongs to it. */
  exportSession(id: string, options?: CallOptions): Promise<Blob> {
    return this.requester.blob(of(id, 'export'), options)
  }

  /** Adds a session from such a file, under its own id or another. */
  importSession(
    file: Blob | string,
    query: { session_id?: string } = {},
    options?: CallOptions,
  ): Promise<Types.Session> {
    return this.requester.json('/api/sessions/import', { ...options, method: 'POST', query, file })
  }

  /** What the session and its agent write to each other, from now on. */
  streamWire(id: string, options: StreamWireOptions = {}): AsyncGenerator<WireLine, void, undefined> {
    return streamWire(this.requester, id, options)
  }

  /** The turns that run, over all sessions, oldest first. */
  async listTasks(options?: CallOptions): Promise<Task[]> {
    return (await this.read<{ tasks: Task[] }>('/api/tasks/active', {}, options)).tasks
  }

  /** Turns of all sessions, running and ended, newest first. `next_cursor` of one answer is the `cursor` of the next. */
  findTasks(query: ListTasks = {}, options?: CallOptions): Promise<TaskList> {
    return this.read('/api/tasks', query, options)
  }

  /** The turns of all sessions: what starts, goes on and ends. */
  streamTasks(options: StreamOptions = {}): AsyncGenerator<TaskEvent, void, undefined> {
    return streamTasks(this.streams, options)
  }

  /** What became of a turn, and whether it is alive. One that ended long ago is found with its session's id. */
  getRun(turnId: string, query: { session_id?: string } = {}, options?: CallOptions): Promise<Types.RunStatus> {
    return this.read(`/api/agent-runs/${encodeURIComponent(turnId)}/status`, query, options)
  }

  /** Stops a turn; one that is dead by force. With `force` only one that is. */
  cancelRun(
    turnId: string,
    query: { session_id?: string; force?: boolean } = {},
    options?: CallOptions,
  ): Promise<Types.Cancelled> {
    const path = `/api/agent-runs/${encodeURIComponent(turnId)}/cancel`
    return this.requester.json(path, { ...options, method: 'POST', query })
  }

  /** A page of the log. */
  getEvents<T extends Types.EventType = Types.EventType>(
    id: string,
    query: { after?: number; limit?: number; types?: readonly T[] } = {},
    options?: CallOptions,
  ): Promise<Types.EventPage<T>> {
    return this.read(of(id, 'events'), query, options)
  }

  /** The log from a position on, and then whatever comes. Ends when the loop is left, or by the signal. */
  streamEvents<T extends Types.EventType = Types.EventType>(
    id: string,
    options: StreamEventsOptions<T> = {},
  ): AsyncGenerator<Types.EventOf<T>, void, undefined> {
    return streamEvents(this.streams, id, options)
  }

  /** Sends a message and gives the events of its turn, until `done`. Leaving the loop does not stop the turn. */
  streamTurn(
    id: string,
    message: Message,
    options: StreamTurnOptions = {},
  ): AsyncGenerator<Types.SessionEvent, void, undefined> {
    return streamTurn(this.streams, id, asSend(message), options)
  }

  /** The conversation as people read it. `before` of one answer leads to older messages. */
  getView(id: string, query: Types.ViewQuery = {}, options?: CallOptions): Promise<View> {
    return this.read(of(id, 'view'), query, options)
  }

  /** The files that the session has changed, the newest change first, with what is different now. */
  async getFiles(id: string, query: { path?: string } = {}, options?: CallOptions): Promise<Types.FileChange[]> {
    return (await this.read<{ files: Types.FileChange[] }>(of(id, 'files'), query, options)).files
  }

  /** The conversation as people read it, each time it has changed: always the same object, changed in place, unless `copies` are wanted. */
  streamView(id: string, options: StreamViewOptions = {}): AsyncGenerator<View, void, undefined> {
    return streamView(this.streams, id, options)
  }

  /** What waits for a person, over all sessions, oldest first. */
  async listAsks(options?: CallOptions): Promise<Types.Ask[]> {
    return (await this.read<{ asks: Types.Ask[] }>('/api/asks', {}, options)).asks
  }

  /** What waits for a person, each time it has changed. */
  streamAsks(options: StreamOptions = {}): AsyncGenerator<Types.Ask[], void, undefined> {
    return streamAsks(this.streams, options)
  }

  /** What waits for a person over all sessions, what failed, and what finished unread; with `all` also what was read. */
  getInbox({ all, ...options }: CallOptions & { all?: boolean } = {}): Promise<Types.Inbox> {
    return this.read('/api/inbox', { all }, options)
  }

  /** The inbox, each time it has changed. */
  streamInbox(
    options: StreamOptions & { all?: boolean | undefined } = {},
  ): AsyncGenerator<Types.Inbox, void, undefined> {
    return streamInbox(this.streams, options)
  }

  /** Marks something as read: devices are not told of it any more, and what only was news leaves the inbox. */
  readInboxItem(itemId: string, options?: CallOptions): Promise<void> {
    return this.send('POST', inboxPath(itemId, 'read'), undefined, options)
  }

  unreadInboxItem(itemId: string, options?: CallOptions): Promise<void> {
    return this.send('POST', inboxPath(itemId, 'unread'), undefined, options)
  }

  /** Takes something out of the way: for some minutes, or until a time. */
  snoozeInboxItem(
    itemId: string,
    time: { minutes: number } | { until: string },
    options?: CallOptions,
  ): Promise<{ snoozed_until: string }> {
    return this.send('POST', inboxPath(itemId, 'snooze'), time, options)
  }

  unsnoozeInboxItem(itemId: string, options?: CallOptions): Promise<void> {
    return this.send('POST', inboxPath(itemId, 'unsnooze'), undefined, options)
  }

  /** Marks what a session had to tell as read, up to a place in its log; or every turn that ended. */
  readInbox(which: { session_id?: string; seq?: number } = {}, options?: CallOptions): Promise<{ marked: number }> {
    return this.send('POST', '/api/inbox/read', which, options)
  }

  /** Which devices are told of the inbox, and when; and the key that browsers subscribe with. */
  getNotifications(options?: CallOptions): Promise<Types.Notifications> {
    return this.read('/api/notifications', {}, options)
  }

  updateNotifications(changes: Types.NotificationSettingsPatch, options?: CallOptions): Promise<Types.Notifications> {
    return this.send('PATCH', '/api/notifications', changes, options)
  }

  /** Adds a browser, by its `PushSubscription`, or a service such as ntfy. The same address again is the same device. */
  addNotificationDevice(device: Types.NewNotificationDevice, options?: CallOptions): Promise<Types.NotificationDevice> {
    return this.send('POST', '/api/notifications/devices', device, options)
  }

  removeNotificationDevice(deviceId: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', devicePath(deviceId), undefined, options)
  }

  testNotificationDevice(deviceId: string, options?: CallOptions): Promise<Types.NotificationTried> {
    return this.send('POST', `${devicePath(deviceId)}/test`, undefined, options)
  }

  replyPermission(id: string, askId: string, answer: Permission, options?: CallOptions): Promise<Types.Resolved> {
    const body = typeof answer === 'string' ? { reply: answer } : answer
    return this.send('POST', of(id, 'permissions', askId), body, options)
  }

  /** One list of answers for each question. */
  replyQuestion(id: string, askId: string, answers: string[][], options?: CallOptions): Promise<Types.Resolved> {
    return this.send('POST', of(id, 'questions', askId), { answers }, options)
  }

  rejectQuestion(id: string, askId: string, options?: CallOptions): Promise<Types.Resolved> {
    return this.send('POST', `${of(id, 'questions', askId)}/reject`, undefined, options)
  }

  answerInterrupt(id: string, interruptId: string, value: unknown, options?: CallOptions): Promise<Types.Resolved> {
    return this.send('POST', of(id, 'interrupt', interruptId), { value }, options)
  }

  /** The result of a call of one of the `client_tools`: the `tool_use_id` stands in its `interrupt`. Taken once. */
  giveToolResult(
    id: string,
    toolUseId: string,
    result: Types.ToolResult,
    options?: CallOptions,
  ): Promise<Types.Resolved> {
    return this.send('POST', of(id, 'tool-results', toolUseId), result, options)
  }

  /** The rules that count in a session or in a directory, the modes, and what is wrong with files of rules. */
  getPolicy(query: { session?: string; cwd?: string } = {}, options?: CallOptions): Promise<Types.Policy> {
    return this.read('/api/policy', query, options)
  }

  /** Only what is wrong with files of rules that count there. */
  async getPolicyProblems(
    query: { session?: string; cwd?: string } = {},
    options?: CallOptions,
  ): Promise<Types.PolicyProblem[]> {
    return (await this.read<{ problems: Types.PolicyProblem[] }>('/api/policy/problems', query, options)).problems
  }

  /** What people have answered *always* to. */
  async listRules(options?: CallOptions): Promise<Types.StoredRule[]> {
    return (await this.read<{ rules: Types.StoredRule[] }>('/api/rules', {}, options)).rules
  }

  /** Takes back an *always*: equal calls ask again. */
  removeRule(ruleId: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', `/api/rules/${encodeURIComponent(ruleId)}`, undefined, options)
  }

  /** What would change if these were the user's own rules. With `sessions` it is told in parts: `next_cursor` of one is the `cursor` of the next. */
  testRules(proposed: Types.ProposedRules, options?: CallOptions): Promise<Types.RulesTest> {
    return this.send('POST', '/api/policy/test', proposed, options)
  }

  /** Rules that would answer what people keep answering. */
  async suggestRules(query: { since?: string } = {}, options?: CallOptions): Promise<Types.RuleSuggestion[]> {
    const path = '/api/policy/suggestions'
    return (await this.read<{ suggestions: Types.RuleSuggestion[] }>(path, query, options)).suggestions
  }

  /** The user's own rules, as the text that they are. */
  getOwnRules(options?: CallOptions): Promise<Types.OwnRules> {
    return this.read('/api/policy/own', {}, options)
  }

  /** Other rules in their place; `was` is the `sha256` of those that were read. What is wrong is refused with its line. */
  replaceOwnRules(rules: { text: string; was: string }, options?: CallOptions): Promise<Types.OwnRules> {
    return this.send('PUT', '/api/policy/own', rules, options)
  }

  /** One more rule, in TOML without `[[rule]]`. One that is there is not added twice. */
  addOwnRule(rule: string, options?: CallOptions): Promise<Types.AddedRule> {
    return this.send('POST', '/api/policy/own/rules', { rule }, options)
  }

  /** The tools that this program runs for the agent of a session: `tools(id).registerTool(name, schema, handler)`. */
  tools(id: string): SessionTools {
    const known = this.#tools.get(id) ?? new SessionTools(this, id)
    this.#tools.set(id, known)
    return known
  }

  /** The document that the agent and all clients share; an empty object as long as nobody has set it. */
  getState(id: string, options?: CallOptions): Promise<Types.SharedState> {
    return this.read(of(id, 'state'), {}, options)
  }

  /** Changes the shared document, all of the patch or nothing, and gives what it is then. */
  patchState(id: string, patch: Types.PatchOperation[], options?: CallOptions): Promise<Types.SharedState> {
    return this.send('PATCH', of(id, 'state'), patch, options)
  }

  /** The components that agents may show; with a `session`, also its own. */
  listComponents(
    query: { session?: string; surface?: Types.Surface } = {},
    options?: CallOptions,
  ): Promise<Types.ComponentList> {
    return this.read('/api/components', query, options)
  }

  getComponent(name: string, options?: CallOptions): Promise<Types.ComponentEntry> {
    return this.read(`/api/components/${encodeURIComponent(name)}`, {}, options)
  }

  /** Tells the agent what was done in one of its components. Resolves when that is in the log. */
  callBack(
    id: string,
    componentId: string,
    action: Types.ComponentAction,
    options?: CallOptions,
  ): Promise<Types.Noted> {
    return this.send('POST', `${of(id, 'components', componentId)}/callback`, action, options)
  }

  /** The address of a page of the log, for other programs; they need the token. */
  eventsUrl(id: string, query: { after?: number; limit?: number } = {}): string {
    return this.requester.address(of(id, 'events'), query)
  }

  /** What was too large for its event, or some bytes of it. */
  getBlob(blobId: string, options?: CallOptions & { range?: ByteRange }): Promise<Blob> {
    return this.requester.blob(blob(blobId), options)
  }

  /** The address of the same, for links and pictures of a page that is signed in; others use `getPictureUrl`. */
  blobUrl(blobId: string): string {
    return this.requester.address(blob(blobId))
  }

  /** The same as a picture that a page can show. Pictures are kept as the base64 that came. */
  getPicture(blobId: string, options?: CallOptions): Promise<Blob> {
    return this.requester.blob(blob(blobId), { ...options, accept: 'image/*' })
  }

  /** An address for `<img src>`: it needs no token and works for some minutes, for whoever has it. */
  async getPictureUrl(blobId: string, options?: CallOptions): Promise<string> {
    return (await this.getPictureLink(blobId, options)).url
  }

  /** The same address, and how many milliseconds it works. */
  async getPictureLink(blobId: string, options?: CallOptions): Promise<{ url: string; expiresInMs: number }> {
    type Link = { path: string; expires_in: number }
    const link = await this.send<Link>('POST', `${blob(blobId)}/link`, undefined, options)
    return { url: this.requester.address(link.path), expiresInMs: link.expires_in * 1_000 }
  }

  /** An address that signs a browser in, once and soon. */
  async makeLoginLink(options?: CallOptions): Promise<string> {
    const { path } = await this.send<{ path: string }>('POST', '/api/login-links', {}, options)
    return this.requester.address(path)
  }

  /** The browsers that are signed in, last seen first. */
  async listSignIns(options?: CallOptions): Promise<Types.SignIn[]> {
    return (await this.read<{ sign_ins: Types.SignIn[] }>('/api/sign-ins', {}, options)).sign_ins
  }

  /** Signs a browser out; `current` is the one that asks. What it has open is closed. */
  endSignIn(signInId: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', `/api/sign-ins/${encodeURIComponent(signInId)}`, undefined, options)
  }

  /** Signs every browser out. */
  endAllSignIns(options?: CallOptions): Promise<void> {
    return this.send('DELETE', '/api/sign-ins', undefined, options)
  }

  /** Tells what a page has measured, for the daemon's metrics. */
  reportTimings(timings: Types.PageTiming[], options?: CallOptions): Promise<void> {
    return this.send('POST', '/api/timings', { timings }, options)
  }
}

/** A text, or a message with all that can be said about it. */
export type Message = string | Types.SendMessage
/** A reply alone, or with all that can be said about it. */
export type Permission = Types.PermissionReply | Types.PermissionAnswer

interface Queue {
  queue: Types.QueueItem[]
}

const asSend = (message: Message): Types.SendMessage => (typeof message === 'string' ? { message } : message)

const blob = (id: string) => `/api/blobs/${encodeURIComponent(id)}`

const inboxPath = (itemId: string, what: string) => `/api/inbox/${encodeURIComponent(itemId)}/${what}`
const devicePath = (deviceId: string) => `/api/notifications/devices/${encodeURIComponent(deviceId)}`
