// Calls about work that begins by itself, and what it may cost: channels, webhooks, schedules, spending. Not here: every other call (`client.ts`).

import type { StreamOptions } from './follow.js'
import { streamAutomation } from './lists.js'
import { Requester, type CallOptions, type ClientOptions, type Request } from './request.js'
import { Streams } from './streams.js'
import type * as Types from './types.js'

export class AutomationCalls {
  protected readonly requester: Requester
  protected readonly streams: Streams

  constructor(options: ClientOptions = {}) {
    this.requester = new Requester(options)
    this.streams = new Streams(this.requester)
  }

  /** How other services talk to agents, by name. */
  async listChannels(options?: CallOptions): Promise<Types.Channel[]> {
    return (await this.read<{ channels: Types.Channel[] }>('/api/channels', {}, options)).channels
  }

  getChannel(name: string, options?: CallOptions): Promise<Types.Channel> {
    return this.read(channelPath(name), {}, options)
  }

  /** Makes a channel. Its secrets are kept and not shown again. */
  createChannel(channel: Types.NewChannel, options?: CallOptions): Promise<Types.Channel> {
    return this.send('POST', '/api/channels', channel, options)
  }

  /** Changes what is given of a channel; `null` takes back what was set. */
  updateChannel(name: string, changes: Types.ChannelPatch, options?: CallOptions): Promise<Types.Channel> {
    return this.send('PATCH', channelPath(name), changes, options)
  }

  /** Removes a channel; its sessions stay. */
  removeChannel(name: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', channelPath(name), undefined, options)
  }

  /** The newest deliveries of a channel first. */
  async listChannelDeliveries(
    name: string,
    query: { limit?: number } = {},
    options?: CallOptions,
  ): Promise<Types.ChannelDelivery[]> {
    const path = `${channelPath(name)}/deliveries`
    return (await this.read<{ deliveries: Types.ChannelDelivery[] }>(path, query, options)).deliveries
  }

  /** Tries a delivery again that failed: its turn, or its answer. */
  retryChannelDelivery(name: string, deliveryId: string, options?: CallOptions): Promise<Types.ChannelDelivery> {
    return this.send('POST', `${channelPath(name)}/deliveries/${encodeURIComponent(deliveryId)}/retry`, {}, options)
  }

  /** Who is told what happens in sessions, oldest first. */
  async listWebhooks(options?: CallOptions): Promise<Types.Webhook[]> {
    return (await this.read<{ webhooks: Types.Webhook[] }>('/api/webhooks', {}, options)).webhooks
  }

  getWebhook(webhookId: string, options?: CallOptions): Promise<Types.Webhook> {
    return this.read(webhookPath(webhookId), {}, options)
  }

  /** Subscribes an address. The secret is made if none is given, and told once. */
  createWebhook(webhook: Types.NewWebhook, options?: CallOptions): Promise<Types.MadeWebhook> {
    return this.send('POST', '/api/webhooks', webhook, options)
  }

  updateWebhook(webhookId: string, changes: Types.WebhookPatch, options?: CallOptions): Promise<Types.Webhook> {
    return this.send('PATCH', webhookPath(webhookId), changes, options)
  }

  removeWebhook(webhookId: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', webhookPath(webhookId), undefined, options)
  }

  /** What was sent, what waits and what nobody took. */
  listWebhookDeliveries(webhookId: string, options?: CallOptions): Promise<Types.WebhookDeliveries> {
    return this.read(`${webhookPath(webhookId)}/deliveries`, {}, options)
  }

  /** Sends an event again that is listed. */
  redeliverWebhook(webhookId: string, deliveryId: string, options?: CallOptions): Promise<void> {
    return this.send('POST', `${webhookPath(webhookId)}/redeliver`, { delivery_id: deliveryId }, options)
  }

  /** Sends a test event at once, and tells what the receiver answered. */
  testWebhook(webhookId: string, options?: CallOptions): Promise<Types.WebhookTested> {
    return this.send('POST', `${webhookPath(webhookId)}/test`, {}, options)
  }

  /** Has prompts sent by themselves. With a `schedule_id` of its own, a retry is safe. */
  createSchedule(schedule: Types.NewSchedule, options?: CallOptions): Promise<Types.Schedule> {
    return this.send('POST', '/api/schedules', schedule, options)
  }

  async listSchedules(options?: CallOptions): Promise<Types.Schedule[]> {
    return (await this.read<{ schedules: Types.Schedule[] }>('/api/schedules', {}, options)).schedules
  }

  getSchedule(scheduleId: string, options?: CallOptions): Promise<Types.Schedule> {
    return this.read(`/api/schedules/${encodeURIComponent(scheduleId)}`, {}, options)
  }

  /** Changes a schedule; `{ paused: true }` pauses it. What is not given stays. */
  updateSchedule(scheduleId: string, update: Types.ScheduleUpdate, options?: CallOptions): Promise<Types.Schedule> {
    return this.send('PATCH', `/api/schedules/${encodeURIComponent(scheduleId)}`, update, options)
  }

  /** Removes a schedule and its history; the sessions of its runs stay. */
  removeSchedule(scheduleId: string, options?: CallOptions): Promise<void> {
    return this.send('DELETE', `/api/schedules/${encodeURIComponent(scheduleId)}`, undefined, options)
  }

  runSchedule(scheduleId: string, options?: CallOptions): Promise<Types.ScheduleRun> {
    return this.send('POST', `/api/schedules/${encodeURIComponent(scheduleId)}/run`, {}, options)
  }

  /** The runs of a schedule, the newest first: `next_cursor` of one page is the `cursor` of the next. */
  listRuns(
    scheduleId: string,
    page: { limit?: number; cursor?: string } = {},
    options?: CallOptions,
  ): Promise<Types.ScheduleRuns> {
    return this.read(`/api/schedules/${encodeURIComponent(scheduleId)}/runs`, page, options)
  }

  /** When a schedule would be due that is not there yet: in words, and the next times. */
  previewSchedule(preview: Types.SchedulePreview, options?: CallOptions): Promise<Types.ScheduleTimes> {
    return this.send('POST', '/api/schedules/preview', preview, options)
  }

  /** Numbers that are others when schedules, channels or webhooks have changed: the first at once, then each time. */
  streamAutomation(options: StreamOptions = {}): AsyncGenerator<Types.AutomationVersions, void, undefined> {
    return streamAutomation(this.streams, options)
  }

  /** What all sessions have spent, today, by day and by group, and the limits of all. */
  getUsage(query: { days?: number; group?: string } = {}, options?: CallOptions): Promise<Types.Spending> {
    return this.read('/api/usage', query, options)
  }

  protected read<T>(path: string, query: NonNullable<Request['query']>, options?: CallOptions): Promise<T> {
    return this.requester.json(path, { ...options, query })
  }

  protected send<T>(method: string, path: string, body: unknown, options?: CallOptions): Promise<T> {
    return this.requester.json(path, { ...options, method, body })
  }
}

const channelPath = (name: string) => `/api/channels/${encodeURIComponent(name)}`
const webhookPath = (id: string) => `/api/webhooks/${encodeURIComponent(id)}`
