import { useEffect, useRef } from 'react'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { follow } from '../../../examples/use-chat/follow.js'
import { daemon, eventually } from '../daemon.js'
import { render } from '../page.js'

const { token } = daemon

function Page() {
  //@ docs/dialects.md: const chat = useChat
  //@ docs/dialects.md: const now = useRef(chat)
  const asked = chat.messages.flatMap(({ parts }) => parts).find((part) => 'approval' in part && part.state === 'approval-requested')
  const id = asked && 'approval' in asked ? asked.approval?.id : undefined
  return (
    <main>
      <article>{chat.messages.flatMap(({ parts }) => parts).map((part) => part.type === 'text' && part.text).join()}</article>
      <button onClick={() => void chat.sendMessage({ text: 'permission' })}>Send</button>
      {id && <button onClick={() => void chat.addToolApprovalResponse({ id, approved: true })}>Allow</button>}
    </main>
  )
}

export default async function (t) {
  const place = render(t, <Page />)
  const shown = (text: string) => eventually(text, () => place.querySelector('article')?.textContent?.includes(text))
  const press = async (name: string) => (await eventually(name, () => [...place.querySelectorAll('button')].find(({ textContent }) => textContent === name))).click()
  await press('Send')
  await press('Allow')
  await shown('Done, with your permission.')
  // What somebody else says is shown too.
  await daemon.call('POST', '/api/sessions/my-session/message', { message: 'echo from elsewhere' })
  await shown('from elsewhere')
}
