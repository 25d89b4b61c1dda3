import { useAui, useAuiState } from '@assistant-ui/react'
import { daemon, eventually } from '../daemon.js'
import { render } from '../page.js'

const { token } = daemon

//@ docs/assistant-ui.md: import { HttpAgent }

let say: ((text: string) => void) | undefined

function Thread() {
  const aui = useAui()
  const messages = useAuiState(({ thread }) => thread.messages)
  say = (text) => aui.thread().append(text)
  return <article>{messages.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')).join()).join()}</article>
}

export default async function (t) {
  const place = render(t, <Chat><Thread /></Chat>)
  await eventually('the page', () => say)
  say?.('echo hello from assistant-ui')
  await eventually('an answer', () => place.textContent?.includes(',hello from assistant-ui'))
}
