import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import type { ShownComponent } from 'turnloom'
import { useComponentActions, useComponents, useSession, useSharedState, useTool } from 'turnloom/react'
import { daemon, eventually } from '../daemon.js'
import { render } from '../page.js'

const turnloom = new Turnloom({ url: daemon.url, token: daemon.token, streams: 'sse' })
const id = 'docs-react-parts'
const schema = { type: 'object' }
const component: ShownComponent = { component_id: 'x', name: 'chart', surface: 'chat', props: {} }
let add: (() => Promise<void>) | undefined

function Page() {
  //@ docs/sdk.md: const session = useSession
  add = () => change((state: { rows?: number }) => void (state.rows = 1))
  return (
    <main>
      <output>{[isRegistered, typeof callback, typeof resolve, typeof patch, components.length].join()}</output>
      <aside>{JSON.stringify(state)}</aside>
    </main>
  )
}

export default async function (t) {
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  const place = render(t, <Page />)
  const shown = (element: string) => place.querySelector(element)?.textContent ?? ''
  await eventually('the tool is offered', () => shown('output') === 'true,function,function,function,0')
  await add?.()
  await eventually('the state', () => shown('aside') === '{"rows":1}')
  assert.deepEqual((await turnloom.getState(id)).state, { rows: 1 })
}
