// A chat with the AI SDK's hook and its default transport.

import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { StrictMode, useEffect, useRef } from 'react'
import { createRoot } from 'react-dom/client'

import { headers, session, url } from '../daemon.js'
import { follow } from './follow.js'

const api = `${url}/ai-sdk/chat`
const transport = new DefaultChatTransport({ api, headers })

/** What was said before this page was loaded. A session that is not there yet begins with the first message. */
const response = await fetch(`${api}/${session}/messages`, { headers })
const messages = response.ok ? await response.json() : []

/** A permission and a question are answered in different ways; the page goes on after either. */
const isAnswered = (chat) =>
  lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)

function Page() {
  const chat = useChat({
    id: session,
    messages,
    transport,
    // Follows the turn that runs when the page is loaded, and goes on by itself when somebody has answered.
    resume: true,
    sendAutomaticallyWhen: isAnswered,
  })
  // What others say and answer in the same session is shown as well.
  const now = useRef(chat)
  now.current = chat
  useEffect(() => follow({ url, session, headers, chat: () => now.current }), [])
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming'
  const send = (event) => {
    event.preventDefault()
    const { message } = event.target.elements
    void chat.sendMessage({ text: message.value })
    event.target.reset()
  }
  // Closing the connection stops nothing; this does.
  const stop = () => fetch(`${api}/${session}/stop`, { method: 'POST', headers })
  const end = useRef(null)
  useEffect(() => void end.current?.scrollIntoView(), [chat.messages])
  return (
    <main>
      <header>
        <h1>useChat</h1>
        <output>{chat.status}</output>
      </header>
      <section role="log" aria-label="Conversation">
        {chat.messages.map((message) => (
          <article key={message.id} className={message.role}>
            {message.parts.map((part, at) => (
              <Part key={at} part={part} chat={chat} />
            ))}
          </article>
        ))}
        {chat.error && <p role="alert">{chat.error.message}</p>}
        {chat.messages.length > 0 && <div ref={end} />}
      </section>
      <form onSubmit={send}>
        <input name="message" aria-label="Message" placeholder="Message" autoComplete="off" required autoFocus />
        {isBusy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <button className="primary">Send</button>
      </form>
    </main>
  )
}

function Part({ part, chat }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'tool-ask_user') return <Questions part={part} answer={chat.addToolOutput} />
  if (part.type !== 'dynamic-tool') return null
  if (part.state === 'approval-requested') {
    const reply = (approved) => () => void chat.addToolApprovalResponse({ id: part.approval.id, approved })
    return (
      <div className="ask">
        <p>The agent wants to use {part.toolName}.</p>
        <pre>{part.input.command ?? JSON.stringify(part.input, null, 2)}</pre>
        <button className="primary" onClick={reply(true)}>
          Allow
        </button>
        <button onClick={reply(false)}>Reject</button>
      </div>
    )
  }
  return (
    <div className="tool">
      {part.toolName} {part.input?.command ?? part.input?.file_path}
      <span>{STATES[part.state] ?? 'running'}</span>
    </div>
  )
}

/** What the agent asks is a tool that the page runs: its output is the answers, a list for each question. */
function Questions({ part, answer }) {
  const { questions = [] } = part.input ?? {}
  const call = { tool: 'ask_user', toolCallId: part.toolCallId }
  if (part.state !== 'input-available') {
    const given = part.output?.answers?.map((answers) => answers.join(', ')).join('; ')
    return (
      <div className="tool">
        {questions.map(({ prompt }) => prompt).join(' ')}
        <span>{given ?? 'skipped'}</span>
      </div>
    )
  }
  const submit = (event) => {
    event.preventDefault()
    const given = new FormData(event.target)
    const answers = questions.map((_, at) => given.getAll(`${at}`).filter(Boolean))
    void answer({ ...call, output: { answers } })
  }
  const skip = () => void answer({ ...call, state: 'output-error', errorText: 'not answered' })
  return (
    <form className="ask" onSubmit={submit}>
      {questions.map(({ prompt, options, multiple, free_text }, at) => (
        <fieldset key={at}>
          <legend>{prompt}</legend>
          {options.map(({ label, description }) => (
            <label key={label} title={description}>
              <input type={multiple ? 'checkbox' : 'radio'} name={at} value={label} /> {label}
            </label>
          ))}
          {(free_text || options.length === 0) && (
            <input name={at} aria-label={prompt} placeholder="In your own words" />
          )}
        </fieldset>
      ))}
      <button className="primary">Answer</button>
      <button type="button" onClick={skip}>
        Skip
      </button>
    </form>
  )
}

const STATES = { 'output-available': 'done', 'output-error': 'failed', 'output-denied': 'rejected' }

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)
