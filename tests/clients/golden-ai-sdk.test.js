// The golden sequences of the AI SDK: the clients installed here do with them what is written there, and the daemon sends only what is accepted.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { SCRIPTS, cases, frames, gate, plain, sse } from './golden.js'
import { Daemon, eventually } from '../support/daemon.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

/** Whether a member that is missing counts as one that may be anything is decided by the version of the client's validator, not by the client. */
const LEFT_OUT = ['data-part-no-data']

const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }
const half = { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: 'Hel', state: 'streaming' }] }
const old = { id: 'a0', role: 'assistant', parts: [{ type: 'text', text: 'old' }] }

const approve = (id, approved = true, reason) => (chat) => chat.addToolApprovalResponse({ id, approved, reason })
const resume = (messages, id) => ({ messages, id, act: (chat) => chat.resumeStream() })
const goes = (...acts) => ({ text: 'go', acts })
const approved = { ...goes(approve('p1')), auto: 'lastAssistantMessageIsCompleteWithApprovalResponses' }
const tools = { ...goes(), auto: 'lastAssistantMessageIsCompleteWithToolCalls' }

/** What was done with the client, where it was more than saying something. The first response may wait after some chunks, until the client shows them. */
const SCENES = {
  'approval-flow-auto': { ...approved, acts: [approve('p1', true, 'fine')] },
  'approval-flow-new-message-id': approved,
  'approval-flow-reemit-input': approved,
  'approval-flow-provider-executed': approved,
  'approval-other-tool-running': approved,
  'approval-flow-denied': { ...approved, acts: [approve('p1', false, 'no')] },
  'approval-two-pending': { ...approved, acts: [approve('p1'), approve('p2', false)] },
  'approval-while-streaming': { ...approved, holds: 5, shows: 'approval-requested', until: ({ text }) => text.includes('approval-responded') },
  'approval-manual-send': goes(approve('p1'), (chat) => chat.sendMessage()),
  'approval-pending-new-text': goes((chat) => chat.sendMessage({ text: 'never mind' })),
  'client-tool-flow': { ...tools, acts: [(chat) => chat.addToolOutput({ tool: 'askUser', toolCallId: 'c1', output: { answer: 'yes' } })] },
  'auto-tool-hazard-plain': tools,
  'auto-tool-hazard-new-step': tools,
  'auto-tool-provider-executed': tools,
  'send-while-streaming': { text: 'one', holds: 3, shows: '"a"', acts: [(chat) => chat.sendMessage({ text: 'two' })], until: ({ requests }) => requests.length > 1 },
  'socket-cut': { holds: 3, shows: '"par"' },
  stop: { holds: 3, shows: '"a"', acts: [(chat) => chat.stop()] },
  regenerate: { messages: [user, old], act: (chat) => chat.regenerate() },
  'resume-none': resume([user]),
  'resume-replay-fresh': resume([user]),
  'resume-replay-over-partial': resume([user, half]),
  'resume-tail-over-partial': resume([user, half]),
  'resume-tail-same-start': resume([user, half]),
  'resume-tail-delta-only': resume([user, half]),
  'resume-other-id': resume([user, old]),
  'resume-user-message-missing': resume([]),
  'resume-404': resume([user]),
  'resume-chat-id-encoding': resume([user], 'a/b c'),
}

/** What the stand-in answers to each request. */
function answers(line, holds, door) {
  const status = /^(?:http|resume)-(\d+)$/.exec(line.case)
  if (status) return [() => new Response(line.error, { status: Number(status[1]) })]
  if (line.rawSse) return [() => new Response(line.rawSse)]
  const responses = line.responses ?? (line.chunks ? [{ chunks: line.chunks }] : [])
  if (responses.length === 0) return [() => new Response(null, { status: 204 })]
  return responses.map(({ chunks }, at) => ({ signal }) => {
    const pieces = new ReadableStream({
      async start(controller) {
        signal?.addEventListener('abort', () => controller.error(signal.reason))
        const say = (chunks) => controller.enqueue(new TextEncoder().encode(sse(chunks)))
        const first = at === 0 ? holds : undefined
        say(chunks.slice(0, first))
        if (first !== undefined) {
          await door.opened
          if (signal?.aborted) return
          if (line.case === 'socket-cut') return controller.error(new TypeError('terminated'))
          say(chunks.slice(first))
        }
        controller.enqueue(new TextEncoder().encode('data: [DONE]\n\n'))
        controller.close()
      },
    })
    return new Response(pieces)
  })
}

/** Plays a case with the client, and says what the client did. */
async function play(line, { ai, react }) {
  const { text = 'hi', id = 'chat1', messages, act, acts = [], auto, holds, shows, until } = SCENES[line.case] ?? {}
  const door = gate()
  const replies = answers(line, holds, door)
  const requests = []
  const fetch = async (url, init) => {
    requests.push({ method: init.method ?? 'GET', url: String(url).replace('http://golden', ''), body: init.body ? JSON.parse(init.body) : null })
    return replies[requests.length - 1](init)
  }
  let ids = 0
  const chat = new react.Chat({
    id,
    messages,
    generateId: () => `gen${++ids}`,
    transport: new ai.DefaultChatTransport({ api: 'http://golden/api/chat', fetch }),
    sendAutomaticallyWhen: auto && ai[auto],
  })
  const settled = () => chat.status === 'ready' || chat.status === 'error'
  let refused = false
  try {
    const said = act ? act(chat) : chat.sendMessage({ text })
    if (holds === undefined) await said
    else await eventually('the first pieces', () => chat.status === 'error' || JSON.stringify(chat.messages).includes(shows))
    const doing = []
    for (const then of acts) doing.push(holds === undefined ? await then(chat) : then(chat))
    if (until) await eventually('that was done', () => until({ text: JSON.stringify(chat.messages), requests }))
    door.open()
    await Promise.all([said, ...doing])
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // What this version has no call for.
    refused = true
  }
  const wanted = line.requests?.length ?? (line.verdict === 'accepted' ? line.responses?.length : undefined) ?? 1
  await eventually(`${line.case} is settled`, () => requests.length >= wanted && settled())
  return { verdict: refused || chat.status === 'error' ? 'rejected' : 'accepted', messages: plain(chat.messages), requests }
}

/** Data parts are named by the application. */
const kindOf = ({ type }) => (type.startsWith('data-') ? 'data-' : type)

for (const major of [5, 6, 7]) {
  describe(`golden: ai ${major}`, async () => {
    const [ai, react, all] = await Promise.all([import(`ai-${major}`), import(`ai-react-${major}`), cases(`ai-sdk-${major}`)])

    test('the client does with every case what is written there', async () => {
      for (const line of all.filter(({ case: name }) => !LEFT_OUT.includes(name))) {
        const { verdict, messages, requests } = await play(line, { ai, react })
        assert.equal(verdict, line.verdict, line.case)
        assert.deepEqual(messages, line.messages, line.case)
        if (line.requests) {
          const known = line.requests.map(({ method, url, body }) => ({ method, url, body }))
          assert.deepEqual(requests, known, line.case)
        }
      }
    })

    test('the daemon sends only kinds that are accepted', async () => {
      const accepted = all.filter((line) => line.verdict === 'accepted')
      const kinds = new Set(accepted.flatMap((line) => line.chunks ?? line.responses?.flatMap(({ chunks }) => chunks ?? []) ?? []).map(kindOf))
      // Shown as an error, which is what it is for.
      kinds.add('error')
      for (const script of SCRIPTS) {
        const id = `golden-${major}-${script.replaceAll(' ', '-')}`
        const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: script }] }
        for (const chunk of await frames(daemon, `/ai-sdk/chat?v=${major}`, { id, message, params: { pace_ms: 0 } })) {
          assert.ok(kinds.has(kindOf(chunk)), `${script}: ${JSON.stringify(chunk)}`)
        }
      }
    })
  })
}
