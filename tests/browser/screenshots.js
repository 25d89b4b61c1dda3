// The pictures of the documentation: `npm run screenshots`, with TURNLOOM_PROGRAM set. Looked at before they are committed.

import { createHmac } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { Daemon, close, conversation, eventually, isShown, open, send, toTop } from './support.js'

const FOLDER = new URL('../../docs/images/', import.meta.url).pathname

const daemon = await Daemon.start()

/** The pages about rules, with a past that has something to say about them. */
async function rules() {
  const deploy = '[[rule]]\nid = "deploy"\neffect = "ask"\ncommand = ["npm run deploy *", "make deploy"]\nreason = "a person looks at deployments"\n'
  await writeFile(join(daemon.data, 'policy.toml'), deploy)
  const cwd = join(daemon.data, 'weave')
  await mkdir(cwd)
  await daemon.session('pattern', { title: 'Weave the pattern', mode: 'implement', cwd })
  for (const command of ['npm test', 'git commit -m "Warp"', 'npm publish --tag next', 'npm publish --tag next', 'npm publish --tag next', 'git push --force']) {
    await daemon.say('pattern', `bash ${command}`)
    await eventually('it asks, or is over', async () => (await daemon.ask('pattern')) ?? (await daemon.show('pattern')).turn === undefined)
    const ask = await daemon.ask('pattern')
    const always = ask?.request.options.find((option) => option.scope === 'project' && command.startsWith('git'))
    if (ask) await daemon.call('POST', `/api/sessions/pattern/permissions/${ask.ask_id}`, always ? { reply: 'always', rule: always.rule } : { reply: 'once' })
    await daemon.untilIdle('pattern')
  }
  const desk = { width: 1440, height: 900 }
  const shown = await open(daemon, { hash: '#/rules?session=pattern', viewport: desk, colorScheme: 'light' })
  await shown.page.getByRole('region', { name: 'Yours', exact: true }).getByText('make deploy').first().waitFor()
  await shown.page.screenshot({ path: `${FOLDER}rules-light.png` })
  await shown.context.close()
  const tried = await open(daemon, { hash: '#/rules/try', viewport: desk, colorScheme: 'dark' })
  await tried.page.getByRole('textbox', { name: /Your rules/ }).fill(`${deploy}\n[[rule]]\nid = "no-publish"\neffect = "deny"\ncommand = ["npm publish *", "git push --force *"]\n`)
  await tried.page.getByRole('button', { name: 'Try these rules' }).click()
  await tried.page.getByRole('heading', { name: /would be decided differently/ }).waitFor()
  await tried.page.screenshot({ path: `${FOLDER}try-rules-dark.png` })
  await tried.context.close()
}
/** A schedule that has run, and a channel that was delivered to. */
async function automation() {
  const desk = { width: 1440, height: 900 }
  await daemon.call('POST', '/api/schedules', {
    schedule_id: 'nightly',
    title: 'Update the dependencies, every night',
    when: { type: 'cron', expression: '0 3 * * *' },
    zone: 'Europe/Berlin',
    prompt: 'echo Three packages were updated, and all tests pass. Last night: {{last_result}}',
    runtime: 'mock',
    params: { pace_ms: 0, mode: 'implement' },
    budget: { usd: 2 },
  })
  for (let run = 1; run <= 3; run++) {
    await daemon.call('POST', '/api/schedules/nightly/run', {})
    await eventually('it has run', async () => {
      const { runs } = await daemon.call('GET', '/api/schedules/nightly/runs')
      return runs.length === run && runs[0].state === 'ended'
    })
  }
  const secret = 'a secret that GitHub has too'
  await daemon.call('POST', '/api/channels', { name: 'issues', kind: 'github', runtime: 'mock', params: { pace_ms: 0 }, secret: { value: secret }, message: '{/issue/body}' })
  for (const [number, login, key] of [[7, 'ada', secret], [8, 'grace', secret], [9, 'mallory', 'another secret']]) {
    const body = JSON.stringify({ action: 'opened', issue: { number, title: 'It does not start', body: 'echo Try the new version.' }, repository: { full_name: 'loom/turn' }, sender: { login, type: 'User' } })
    const signature = createHmac('sha256', key).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-github-event': 'issues', 'x-github-delivery': `delivery-${number}`, 'x-hub-signature-256': `sha256=${signature}` }
    await fetch(`${daemon.url}/hooks/issues`, { method: 'POST', headers, body })
  }
  const zone = { timezoneId: 'Europe/Berlin', viewport: desk }
  const schedule = await open(daemon, { hash: '#/schedules/nightly', colorScheme: 'light', ...zone })
  await schedule.page.getByText('Completed').first().waitFor()
  await schedule.page.screenshot({ path: `${FOLDER}schedule-light.png` })
  await schedule.context.close()
  const channel = await open(daemon, { hash: '#/channels/issues', colorScheme: 'dark', ...zone })
  await eventually('both are done', async () => (await channel.page.getByText('Done').count()) === 2)
  await channel.page.getByText('How to set it up').click()
  await channel.page.screenshot({ path: `${FOLDER}channel-dark.png` })
  await channel.context.close()
}

/** A session that asks, and the top of it. */
async function sessions() {
  for (const [size, viewport] of [['desktop', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844 }]]) {
    for (const colorScheme of ['light', 'dark']) {
      const name = `${size}-${colorScheme}`
      const id = `Show ${name}`.replace(' ', '-').toLowerCase()
      await daemon.session(id, { title: 'Weave the pattern', model: 'mock-1', mode: 'implement' })
      const { page, context } = await open(daemon, { hash: '#/s/try-me', viewport, colorScheme, isMobile: size === 'phone', hasTouch: size === 'phone' })
      await conversation(page).getByText('I am the mock agent').waitFor()
      await page.goto(`${daemon.url}/#/s/${id}`)
      await isShown(page, 'Weave the pattern')
      await send(page, 'demo')
      await page.getByRole('button', { name: /Allow once/ }).waitFor()
      await page.waitForTimeout(500) // a picture is taken when motion has ended
      await page.screenshot({ path: `${FOLDER}${name}.png` })
      await page.getByRole('button', { name: /Allow once/ }).click()
      await page.getByText('Which thread shall I use?').waitFor()
      await toTop(page)
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${FOLDER}${name}-top.png` })
      await context.close()
      await daemon.call('DELETE', `/api/sessions/${id}?purge=true`)
    }
  }
}

/** All of them, or those that are named. */
const groups = { sessions, rules, automation }
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(groups)
try {
  for (const name of wanted) await groups[name]()
} finally {
  await daemon.end()
  await close()
}
