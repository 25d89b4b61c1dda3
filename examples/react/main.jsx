// Sessions side by side, with the hooks of the SDK: a list that is always current, the conversation that is open, and what it asks.

import { StrictMode, memo, useEffect, useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Turnloom } from 'turnloom'
import { usePictureUrl, useSession, useSessions } from 'turnloom/react'

import { token, url } from '../daemon.js'

const turnloom = new Turnloom({ url, token, client: 'react-example' })

/** The session that is open stands behind the #, so that a page that is loaded again shows the same one. */
function useHash() {
  const [hash, setHash] = useState(location.hash.slice(1))
  useEffect(() => {
    const changed = () => setHash(location.hash.slice(1))
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return hash
}

function Page() {
  const id = useHash()
  const { sessions, connection, error } = useSessions(turnloom, { limit: 50 })
  const create = async () => {
    const session = await turnloom.createSession({ runtime: 'mock' })
    location.hash = session.session_id
  }
  return (
    <div className="sides">
      <nav aria-label="Sessions">
        <button onClick={create}>New session</button>
        {error && <p role="alert">{error.hint ?? error.message}</p>}
        {sessions?.map((session) => (
          <a
            key={session.session_id}
            href={`#${session.session_id}`}
            aria-current={session.session_id === id ? 'page' : undefined}
          >
            {session.title || session.session_id}
            <span>{session.status}</span>
          </a>
        ))}
        {connection.state !== 'live' && <output>{connection.state}</output>}
      </nav>
      {id && <Session key={id} id={id} />}
    </div>
  )
}

function Session({ id }) {
  const { view, connection, error, send, stop, loadOlder } = useSession(turnloom, id)
  const say = (event) => {
    event.preventDefault()
    const { message } = event.target.elements
    void send(message.value)
    event.target.reset()
  }
  const end = useRef(null)
  const newest = view?.messages.at(-1)
  useEffect(() => void end.current?.scrollIntoView(), [newest])
  return (
    <main>
      <header>
        <h1>{view?.session.title || 'React'}</h1>
        <output>{connection.state}</output>
      </header>
      <section role="log" aria-label="Conversation">
        {view?.before && <button onClick={loadOlder}>Older messages</button>}
        {view?.messages.map((message) => (
          <Message key={message.id} session={id} message={message} />
        ))}
        {error && <p role="alert">{error.hint ?? error.message}</p>}
        {newest && <div ref={end} />}
      </section>
      <form onSubmit={say}>
        <input name="message" aria-label="Message" placeholder="Message" autoComplete="off" required />
        {view?.session.turn && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <button className="primary">Send</button>
      </form>
    </main>
  )
}

/** What did not change is the same object, so only the message that grows is drawn again. */
const Message = memo(function Message({ session, message }) {
  return (
    <article className={message.role}>
      {message.blocks.map((block) => (
        <Block key={block.id} session={session} block={block} />
      ))}
    </article>
  )
})

function Block({ session, block }) {
  switch (block.kind) {
    case 'text':
      return <p>{block.text}</p>
    case 'error':
      return <p role="alert">{block.message}</p>
    case 'image':
      return <Picture block={block} />
    case 'tool':
      return <Row text={`${block.tool} ${block.summary}`} state={block.status} />
    case 'permission':
      return <Permission session={session} block={block} />
    case 'question':
      return <Question session={session} block={block} />
    default:
      return null
  }
}

const Row = ({ text, state }) => (
  <div className="tool">
    {text}
    <span>{state}</span>
  </div>
)

/** A small picture came with its block; a large one has an address of its own, which needs no token. */
function Picture({ block }) {
  const large = usePictureUrl(turnloom, block.blob?.id)
  const source = block.data ? `data:${block.media_type};base64,${block.data}` : large
  return source ? <img src={source} alt="" /> : null
}

function Permission({ session, block: { ask_id, title, state } }) {
  if (state !== 'pending') return <Row text={title} state={state} />
  const reply = (answer) => () => turnloom.replyPermission(session, ask_id, answer)
  return (
    <div className="ask">
      <p>{title}</p>
      <button className="primary" onClick={reply('once')}>
        Allow
      </button>
      <button onClick={reply('reject')}>Reject</button>
    </div>
  )
}

function Question({ session, block: { ask_id, questions, state, answers } }) {
  const prompts = questions.map(({ prompt }) => prompt).join(' ')
  if (state !== 'pending') return <Row text={prompts} state={answers?.join('; ') ?? state} />
  const answer = (event) => {
    event.preventDefault()
    const given = new FormData(event.target)
    void turnloom.replyQuestion(
      session,
      ask_id,
      questions.map((_, at) => given.getAll(`${at}`)),
    )
  }
  return (
    <form className="ask" onSubmit={answer}>
      {questions.map(({ prompt, options, multiple }, at) => (
        <fieldset key={at}>
          <legend>{prompt}</legend>
          {options.map(({ label }) => (
            <label key={label}>
              <input type={multiple ? 'checkbox' : 'radio'} name={at} value={label} /> {label}
            </label>
          ))}
        </fieldset>
      ))}
      <button className="primary">Answer</button>
      <button type="button" onClick={() => turnloom.rejectQuestion(session, ask_id)}>
        Skip
      </button>
    </form>
  )
}

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)
