// More than text, with the hooks of the SDK: what the agent shows, a document that both sides change, a tool that this page runs, and what waits.

import { StrictMode, memo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { contentOf, Turnloom } from 'turnloom'
import { useAsks, useComponentActions, useComponents, useSession, useSharedState, useTool } from 'turnloom/react'

import { session as id, token, url } from '../daemon.js'

const turnloom = new Turnloom({ url, token, client: 'components-example' })

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

function Page() {
  const session = useSession(turnloom, id)
  const components = useComponents(session)
  const { asks } = useAsks(turnloom, { session: id })
  const [calls, setCalls] = useState(0)
  const lookUp = ({ city }) => {
    setCalls((known) => known + 1)
    return { city, sky: 'clear' }
  }
  const description = 'The weather in a city, as this page knows it.'
  const tool = useTool(session, 'get_weather', CITY, lookUp, { description })
  const say = (event) => {
    event.preventDefault()
    void session.send(event.target.elements.message.value)
    event.target.reset()
  }
  return (
    <main>
      <header>
        <h1>Components</h1>
        <output>
          {tool.isRegistered ? 'get_weather is offered' : (tool.error?.message ?? session.connection.state)}
        </output>
      </header>
      <section role="log" aria-label="Conversation">
        {session.view?.messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
        {components.map((component) => (
          <Shown key={component.component_id} session={session} component={component} />
        ))}
        {session.error && <p role="alert">{session.error.hint ?? session.error.message}</p>}
      </section>
      <State session={session} />
      <output aria-label="Calls">{calls} calls</output>
      <p role="status">{asks?.length ? `${asks.length} waiting for you` : 'Nothing waits'}</p>
      <form onSubmit={say}>
        <input
          name="message"
          aria-label="Message"
          placeholder="buttons, interrupt, state …"
          autoComplete="off"
          required
        />
        <button className="primary">Send</button>
      </form>
    </main>
  )
}

const Message = memo(({ message }) => {
  const text = contentOf(message)
  return text ? <article className={message.role}>{text}</article> : null
})

/** Drawn by name where the page knows it; everything else as what it holds. Props come from an agent: they are text, never HTML. */
const Shown = memo(({ session, component }) => {
  const actions = useComponentActions(session, component)
  const { props } = component
  const [value, setValue] = useState('')
  return (
    <div className="ask" role="group" aria-label={component.name}>
      <p>{String(props.title ?? component.name)}</p>
      {typeof props.text === 'string' ? <p>{props.text}</p> : <Values props={props} />}
      {(Array.isArray(props.actions) ? props.actions : []).map(({ action, name, label, payload }) => (
        <button key={action ?? name} onClick={() => actions.callback(action ?? name, payload)}>
          {label}
        </button>
      ))}
      {component.waiting !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void actions.resolve(value)
          }}
        >
          <input aria-label="Your answer" value={value} onChange={(event) => setValue(event.target.value)} />
          <button className="primary">Answer</button>
        </form>
      )}
    </div>
  )
})

const Values = ({ props }) => <pre>{JSON.stringify(props, null, 2)}</pre>

/** Whoever changes it, everybody sees it. */
function State({ session }) {
  const { state, change } = useSharedState(session)
  const add = () => change((state) => void (state.rows = (state.rows ?? 0) + 1))
  return (
    <p>
      <output aria-label="Rows">{state?.rows ?? 0} rows</output> <button onClick={add}>One row more</button>
    </p>
  )
}

// The session is made by whoever comes first, under the name that stands in the address.
await turnloom.createSession({ session_id: id, runtime: 'mock' }).catch((error) => {
  if (error.code !== 'session_exists') throw error
})
createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)
