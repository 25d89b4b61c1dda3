import { actionsOf, isBuiltin, Turnloom, watchComponents } from 'turnloom'
import { daemon, eventually } from '../daemon.js'

export default async function () {
  const turnloom = new Turnloom({ url: daemon.url, token: daemon.token })
  const id = 'docs-components'
  const draw = (rows: unknown[]) => void rows
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  await turnloom.postMessage(id, 'buttons')
  //@ docs/sdk.md: const stop = watchComponents
  const pressed = async () => (await turnloom.getEvents(id, { types: ['component_callback'] })).events.length > 0
  await eventually('something is shown and pressed', pressed)
  stop()
}
