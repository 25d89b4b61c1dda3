import assert from 'node:assert/strict'
import { contentOf, Turnloom } from 'turnloom'
import { useAsks, usePictureUrl, useSession, useSessions } from 'turnloom/react'
import { daemon, eventually } from '../daemon.js'
import { render } from '../page.js'

const turnloom = new Turnloom({ url: daemon.url, token: daemon.token, streams: 'sse' })
const id = 'docs-react'
const block: { blob?: { id: string } } = {}
let sending: ((message: string) => Promise<unknown>) | undefined

function Page() {
  //@ docs/sdk.md: const { view, connection
  sending = send
  return (
    <main>
      <output>{[connection.state, error?.code, src, typeof stop, typeof loadOlder].join()}</output>
      <article>{view?.messages.map(contentOf).join()}</article>
      <nav>{sessions?.map(({ session_id }) => session_id).join()}</nav>
      <aside>{asks?.map(({ session_id }) => session_id).join()}</aside>
    </main>
  )
}

export default async function (t) {
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  const place = render(t, <Page />)
  const shown = (element: string) => place.querySelector(element)?.textContent ?? ''
  await eventually('the view', () => shown('output') === 'live,,,function,function')
  await sending?.('permission')
  await eventually('an ask', () => shown('aside').includes(id))
  await daemon.answer(id)
  await eventually('the answer', () => shown('article').includes('Done, with your permission.'))
  assert.ok(shown('nav').includes(id))
}
