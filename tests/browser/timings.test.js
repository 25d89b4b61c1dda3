// How long the steps between a person and the agent take: all that only the page can know is measured, shown, and told to the daemon.

import { conversation, eventually, send, session, workbench } from './fixture.js'

const STEPS = {
  SubmitToShown: 'Submit to shown',
  SentToAccepted: 'Send to accepted',
  AcceptedToFirstEvent: 'Accepted to first event',
  FirstEventToFirstStatus: 'First event to first status',
  FirstStatusToFirstText: 'Status to first text',
  FirstTextToPainted: 'Text to paint',
  BacklogAge: 'Age of the oldest',
  OpenToShell: 'Open session to shell',
  OpenToLive: 'Open session to live',
  OpenToMessages: 'Open session to messages',
  OpenToIdle: 'Open session to rest',
}

workbench('every step is measured, in the inspector and in the metrics', async (daemon, openPage) => {
  await daemon.session('timed', { pace_ms: 5 })
  await daemon.say('timed', 'echo before')
  await daemon.untilIdle('timed')
  const page = await openPage({ hash: session('timed') })
  await conversation(page).getByText('before').last().waitFor()
  await page.keyboard.press('Control+.')
  const isShown = async (label) => {
    const value = page.getByRole('tabpanel').locator('dt', { hasText: label }).locator('xpath=following-sibling::dd[1]')
    await eventually(`${label} is shown`, async () => /\d/.test(await value.innerText()))
  }
  // A page that is not live yet would get the whole turn in one piece, without its steps.
  await isShown(STEPS.OpenToLive)
  await send(page, 'stream 20 10')
  await daemon.untilIdle('timed')
  for (const label of Object.values(STEPS)) await isShown(label)
  const metrics = async () => (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text()
  for (const step of Object.keys(STEPS)) {
    await eventually(`${step} is told`, async () => new RegExp(`page_milliseconds_count\\{step="${step}"\\} [1-9]`).test(await metrics()))
  }
})
