// What an integrator writes with the generated types: every path, parameter, body and answer is checked by the compiler.

import createClient from 'openapi-fetch'

import type { components, paths } from './generated/api.js'

type Event = components['schemas']['Event']

export async function talk(baseUrl: string, token: string) {
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  const id = 'typescript'
  const { data: made } = await client.POST('/api/sessions', { body: { session_id: id, runtime: 'mock', params: { pace_ms: 0 } } })
  if (!made) throw new Error('no session')
  // What may be absent is optional, and nothing is `null` that cannot be.
  const model: string | undefined = made.model
  if (model !== undefined) throw new Error('the mock has no model')
  const path = { id: made.session_id }
  const { data: receipt } = await client.POST('/api/sessions/{id}/message', { params: { path }, body: { message: 'permission' } })
  if (!receipt?.accepted) throw new Error('not accepted')
  const asked = async () => (await client.GET('/api/asks')).data?.asks.find((ask) => ask.session_id === id)
  let ask = await asked()
  while (!ask) ask = await asked()
  const { data: session } = await client.GET('/api/sessions/{id}', { params: { path } })
  const answered = { params: { path: { ...path, ask_id: ask.ask_id } }, body: { reply: 'once' as const } }
  const { error } = await client.POST('/api/sessions/{id}/permissions/{ask_id}', answered)
  if (error) throw new Error(error.detail)
  let events: Event[] = []
  while (!events.some(({ type }) => type === 'done')) {
    const { data } = await client.GET('/api/sessions/{id}/events', { params: { path, query: { limit: 1000 } } })
    events = data?.events ?? []
  }
  const { data: view } = await client.GET('/api/sessions/{id}/view', { params: { path, query: { messages: 5 } } })
  // A type of event tells what is in it.
  const text = events.flatMap((event) => (event.type === 'delta' ? [event.data.text] : [])).join('')
  if (view?.messages.at(-1)?.content !== text) throw new Error('the view says something else')
  return { answer: text, waiting: session?.asks, kinds: events.map(({ type }) => type) }
}
