// Rules as people see them: which count and where they stand, what was learned, the mode of a session, and what other rules would change.

import assert from 'node:assert/strict'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { allIsInside, axeFindings, conversation, eventually, none, send, session, showView, visit, workbench } from './fixture.js'

const PHONES = [390, 360].map((width) => ({ viewport: { width, height: 780 }, isMobile: true, hasTouch: true }))
const DEPLOY = '[[rule]]\nid = "deploy"\neffect = "ask"\ncommand = "make deploy"\nreason = "a person looks at deployments"\n'
const PUBLISH = 'bash npm publish --tag next'

const own = (daemon) => join(daemon.data, 'policy.toml')
const group = (page, name) => page.getByRole('region', { name, exact: true })
const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/${name}.png` })

/** Whether something can be seen in what scrolls around it. */
const isInSight = (element) => {
  const [box, frame] = [element.getBoundingClientRect(), element.closest('.scroller').getBoundingClientRect()]
  return box.top >= frame.top && box.bottom <= frame.bottom
}

/** Answers the ask of a session as somebody elsewhere does. */
const answer = async (daemon, id, body) => {
  const ask = await eventually('it asks', () => daemon.ask(id))
  await daemon.call('POST', `/api/sessions/${id}/permissions/${ask.ask_id}`, body)
  await daemon.untilIdle(id)
}

/** Three equal answers, a rule that was learned, and a call that was allowed. */
async function past(daemon, id = 'past') {
  await daemon.session(id, { mode: 'implement' })
  await daemon.say(id, 'bash touch new.txt')
  await daemon.untilIdle(id)
  for (let n = 0; n < 3; n++) {
    await daemon.say(id, PUBLISH)
    await answer(daemon, id, { reply: 'once' })
  }
}

async function learn(daemon, id, text, scope) {
  await daemon.session(id, { mode: 'implement' })
  await daemon.say(id, text)
  const ask = await eventually('it asks', () => daemon.ask(id))
  const { rule } = ask.request.options.find((option) => option.scope === scope)
  await answer(daemon, id, { reply: 'always', rule })
}

workbench('the rules of a session are listed by where they come from, with words, file and line', async (daemon, openPage) => {
  await writeFile(own(daemon), `# mine\n${DEPLOY}`)
  await daemon.session('ruled', { mode: 'implement' })
  const page = await openPage({ hash: session('ruled') })
  await page.getByRole('button', { name: 'Mode: implement' }).click()
  await page.getByRole('link', { name: 'All rules of this session' }).click()
  const deploy = group(page, 'Yours').getByRole('button', { name: /make deploy/ })
  await deploy.getByText('policy.toml:2').waitFor()
  await deploy.getByText('Asks').waitFor()
  await deploy.click()
  await group(page, 'Yours').getByText('a person looks at deployments').first().waitFor()
  await group(page, 'Yours').getByText(`${own(daemon)}, line 2`).waitFor()
  await group(page, 'Always denied').getByRole('button', { name: /^Every mode/ }).click()
  await group(page, 'Always denied').getByRole('button', { name: /works on disks/ }).waitFor()
  await group(page, 'Modes').getByText('counts here').waitFor()
  await group(page, 'Modes').getByText('Everything else: asks').first().waitFor()
  await page.getByRole('searchbox', { name: 'Search rules' }).fill('disks')
  await none(deploy)
  await group(page, 'Always denied').getByRole('button', { name: /works on disks/ }).waitFor()
  await page.getByRole('combobox', { name: 'Where' }).selectOption('In general')
  await eventually('it is about no session', () => page.evaluate(() => location.hash === '#/rules'))
  await none(page.getByText('counts here'))
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search commands' }).fill('try rules')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Try these rules' }).waitFor()
})

workbench('a file of rules that is wrong is named at the top and in the sessions it concerns, until it is mended', async (daemon, openPage) => {
  await daemon.session('ruled', { mode: 'implement' })
  await writeFile(own(daemon), `${DEPLOY}\n[[rule]]\neffect = "perhaps"\n`)
  const page = await openPage({ hash: session('ruled') })
  const banner = page.getByText(/policy\.toml, line 7/)
  await banner.waitFor()
  await shot(page, 'banner')
  await page.getByRole('link', { name: 'Look at the rules' }).click()
  const wrong = page.getByRole('alert').filter({ hasText: 'line 7' })
  await wrong.getByText(own(daemon)).waitFor()
  await wrong.getByText('every call asks').waitFor()
  await writeFile(own(daemon), DEPLOY)
  await wrong.waitFor({ state: 'detached' })
  await visit(daemon, page, 'ruled')
  await none(banner)
})

workbench('a project says whether its rules count', async (daemon, openPage) => {
  const cwd = join(daemon.data, 'project')
  await mkdir(join(cwd, '.turnloom'), { recursive: true })
  await writeFile(join(cwd, '.turnloom/policy.toml'), '[[rule]]\nid = "no-deploy"\neffect = "deny"\ncommand = "make deploy"\n')
  await daemon.session('ruled', { mode: 'bypass', cwd })
  const page = await openPage({ hash: '#/rules?session=ruled' })
  const project = group(page, 'Of the project')
  await project.getByText('does not count').waitFor()
  const line = await project.getByText(/^trusted_projects/).innerText()
  await writeFile(own(daemon), `${line}\n`)
  await project.getByText('Its rules count.').waitFor()
  await project.getByRole('button', { name: /make deploy/ }).getByText('no-deploy').waitFor()
  await visit(daemon, page, 'ruled')
  await send(page, 'bash make deploy')
  await conversation(page).getByText('denied by a rule').waitFor()
  await conversation(page).getByRole('button', { name: /Run make deploy/ }).click()
  await conversation(page).getByText(/Denied by/).getByText('of this project').waitFor()
  await conversation(page).getByRole('link', { name: 'Show rule project/no-deploy' }).click()
  await project.locator('.wanted').getByText('no-deploy').first().waitFor()
})

workbench('a session gets another mode: ours first, with words, and what cannot be promised says why', async (daemon, openPage) => {
  await mkdir(join(daemon.data, 'modes'))
  await writeFile(join(daemon.data, 'modes/careful.toml'), 'about = "As implement, and pushes nothing."\nextends = "implement"\n')
  await daemon.session('ruled', { mode: 'implement' })
  const page = await openPage({ hash: session('ruled') })
  const opener = page.getByRole('button', { name: 'Mode: implement' })
  await opener.click()
  const modes = page.getByRole('menu', { name: 'Modes' }).getByRole('menuitemradio')
  await modes.first().waitFor()
  assert.deepEqual((await modes.locator('.name').allInnerTexts()).slice(0, 5), ['plan', 'implement', 'ask', 'bypass', 'careful'])
  await page.getByText('As implement, and pushes nothing.').waitFor()
  await page.getByText('Reads and searches, and changes nothing.').waitFor()
  await shot(page, 'modes')
  await page.keyboard.press('Escape')
  await none(modes)
  await eventually('the focus is back', () => opener.evaluate((button) => button === document.activeElement))
  await opener.press('Enter')
  await page.getByRole('menuitemradio', { name: /^plan/ }).press('Enter')
  await page.getByRole('button', { name: 'Mode: plan' }).waitFor()
  await send(page, 'bash touch new.txt')
  await conversation(page).getByText('denied by a rule').waitFor()

  // It asks nobody, so nobody can hold it to rules.
  await daemon.call('POST', '/api/sessions', { session_id: 'exec', runtime: 'codex-exec', params: { title: 'exec' } })
  await visit(daemon, page, 'exec')
  await page.getByRole('button', { name: /^Mode:/ }).click()
  const implement = page.getByRole('menuitemradio', { name: /^implement/ })
  await implement.getByText(/cannot be held to them/).waitFor()
  assert.equal(await implement.getAttribute('aria-disabled'), 'true')
  await implement.click({ force: true })
  assert.equal((await daemon.show('exec')).mode, undefined)
  await page.getByRole('group', { name: "The agent's own" }).getByRole('menuitemradio', { name: /^plan/ }).waitFor()
})

workbench('what was learned is listed with who and where, and is taken back after a question', async (daemon, openPage) => {
  await learn(daemon, 'learned', PUBLISH, 'project')
  const page = await openPage({ hash: '#/rules?session=learned' })
  const learned = group(page, 'Learned')
  await learned.getByText('npm publish --tag next').first().waitFor()
  await learned.getByText(/One project, chosen by/).waitFor()
  await learned.getByText('The rule').click()
  await learned.getByText('command = "npm publish --tag next"').waitFor()
  const remove = learned.getByRole('button', { name: /^Remove rule/ })
  await remove.click()
  await page.keyboard.press('Escape')
  await eventually('nothing was removed', async () => (await remove.count()) === 1)
  await remove.click()
  await shot(page, 'learned')
  await learned.getByRole('button', { name: 'Remove', exact: true }).click()
  await learned.getByText('Nothing was answered with').waitFor()
  assert.deepEqual((await daemon.call('GET', '/api/rules')).rules, [])
  await visit(daemon, page, 'learned')
  await send(page, PUBLISH)
  await conversation(page).getByRole('button', { name: /Allow once/ }).waitFor()
})

workbench('rules are tried on what was recorded, and each call that would change is found', async (daemon, openPage) => {
  await writeFile(own(daemon), DEPLOY)
  await past(daemon)
  const page = await openPage({ hash: '#/rules/try' })
  const rules = page.getByRole('textbox', { name: /Your rules/ })
  await eventually('it begins with what is there', async () => (await rules.inputValue()) === DEPLOY)
  await rules.fill(`${DEPLOY}\n[[rule]]\neffect = "perhaps"\n`)
  await page.getByRole('button', { name: 'Try these rules' }).click()
  await page.getByRole('button', { name: 'Go to line 7' }).click()
  assert.equal(await rules.evaluate((field) => field.value.slice(field.selectionStart, field.selectionEnd)), '[[rule]]')

  await rules.fill('[[rule]]\nid = "no-touch"\neffect = "deny"\ncommand = ["touch *", "npm publish *"]\n')
  await page.getByRole('combobox', { name: 'Calls since' }).selectOption('the beginning')
  await page.getByRole('button', { name: 'Try these rules' }).click()
  const change = group(page, 'What would change')
  await change.getByRole('heading', { name: '4 calls would be decided differently' }).waitFor()
  await change.getByRole('button', { name: '3 asked about → denied' }).click()
  await eventually('only those', async () => (await change.getByRole('listitem').count()) === 3)
  await change.getByRole('button', { name: '3 asked about → denied' }).click()
  await shot(page, 'tried')
  await change.getByRole('link', { name: /touch new\.txt/ }).click()
  const row = conversation(page).getByRole('button', { name: /Run touch new\.txt/ })
  await row.waitFor()
  await eventually('it is open', async () => (await row.getAttribute('aria-expanded')) === 'true')
})

workbench('a link to a call leads to it, however far back it is', async (daemon, openPage) => {
  await daemon.longSession('long', 120)
  const page = await openPage({ hash: '#/s/long?call=t5' })
  const row = conversation(page).locator('[data-call="t5"]')
  await eventually('it is open and in sight', async () => (await row.getAttribute('aria-expanded')) === 'true' && (await row.evaluate(isInSight)))
  // Nothing pulls the reader away again.
  await conversation(page).getByText('number 5', { exact: true }).waitFor()
  assert.ok(await row.evaluate(isInSight))
  await page.goto(`${daemon.url}/#/s/long?call=nothing`)
  await page.getByText('is not in this conversation any more').waitFor()
})

workbench('a trial can be left, and begun again', async (daemon, openPage) => {
  await past(daemon)
  const page = await openPage({ hash: '#/rules/try' })
  let held
  await page.route('**/api/policy/test', (route) => (held = route))
  await page.getByRole('button', { name: 'Try these rules' }).click()
  await eventually('it was asked', () => held)
  await page.getByRole('region', { name: 'Proposed rules' }).getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('You left before the end').waitFor()
  await page.unroute('**/api/policy/test')
  await page.getByRole('button', { name: 'Try these rules' }).click()
  await page.getByRole('heading', { name: 'Nothing would change' }).waitFor()
})

workbench('a suggestion is added to the rules and counts, and rules are saved only if they are right and nobody else changed them', async (daemon, openPage) => {
  await past(daemon)
  const page = await openPage({ hash: '#/rules/try' })
  const suggestion = group(page, 'Suggested rules').getByRole('article').filter({ hasText: 'project =' }).first()
  await suggestion.getByText('It would have answered 3 asks').click()
  await suggestion.getByRole('link', { name: 'npm publish --tag next' }).first().waitFor()
  await shot(page, 'suggested')
  await suggestion.getByRole('button', { name: 'Add to my rules' }).click()
  await suggestion.getByText(/Added as/).waitFor()
  const text = await readFile(own(daemon), 'utf8')
  assert.match(text, /effect = "allow"\ncommand = "npm publish --tag next"/)
  assert.equal((await stat(own(daemon))).mode & 0o777, 0o600)
  const rules = page.getByRole('textbox', { name: /Your rules/ })
  await eventually('the draft has it', async () => (await rules.inputValue()) === text)
  await daemon.say('past', PUBLISH)
  await daemon.untilIdle('past')

  await rules.fill('[[rule]]\neffect = 1\n')
  await page.getByRole('button', { name: 'Save as my rules' }).click()
  await page.getByRole('alert').getByText(/policy\.toml:1/).waitFor()
  assert.equal(await readFile(own(daemon), 'utf8'), text)
  await writeFile(own(daemon), DEPLOY)
  await rules.fill(`${DEPLOY}# mine\n`)
  await page.getByRole('button', { name: 'Save as my rules' }).click()
  await page.getByText('have changed in the meantime').waitFor()
  await page.getByRole('button', { name: 'Back to mine' }).click()
  await rules.fill(`${DEPLOY}# mine\n`)
  await page.getByRole('button', { name: 'Save as my rules' }).click()
  await page.getByText('Saved.').waitFor()
  assert.equal(await readFile(own(daemon), 'utf8'), `${DEPLOY}# mine\n`)
})

workbench('an ask about a script shows each command, which of them decides, and the rule, with the way to it', async (daemon, openPage) => {
  await daemon.session('ruled', { mode: 'implement' })
  const page = await openPage({ hash: session('ruled') })
  await send(page, 'bash ls && npm publish && rm -rf /tmp/elsewhere')
  const acts = conversation(page).getByRole('list', { name: 'What it would do' })
  await eventually('each command', async () => (await acts.getByRole('listitem').count()) === 3)
  await acts.locator('.deciding').getByText('npm publish').waitFor()
  await acts.getByText('outside of the folder').waitFor()
  await shot(page, 'script')
  await conversation(page).getByRole('link', { name: 'Show rule implement/default' }).click()
  await page.locator('.rest.wanted').getByText('Everything else').waitFor()
})

workbench('an ask that ends by itself says how long it waits and what comes then', async (daemon, openPage) => {
  await daemon.session('limited', { mode: 'implement' })
  await daemon.say('limited', PUBLISH)
  await eventually('it asks', () => daemon.ask('limited'))
  const view = await daemon.call('GET', '/api/sessions/limited/view?messages=30')
  const block = view.messages.flatMap(({ blocks }) => blocks).find(({ kind }) => kind === 'permission')
  block.expiry = { at: new Date(Date.now() + 3_600_000).toISOString(), allowed: false }
  const page = await openPage({ sse: true })
  await showView(page, 'limited', view)
  await page.goto(`${daemon.url}/${session('limited')}`)
  await page.locator('.ask').getByText(/59\smin left, then it is rejected/).waitFor()
})

for (const colorScheme of ['light', 'dark']) {
  workbench(`the pages about rules are for everybody, on a desk and on a phone (${colorScheme})`, async (daemon, openPage) => {
    await writeFile(own(daemon), DEPLOY)
    await past(daemon)
    await learn(daemon, 'learned', 'bash npm install left-pad', 'user')
    await writeFile(own(daemon), `${DEPLOY}\n[[rule]]\neffect = "perhaps"\n`)
    for (const size of [{ viewport: { width: 1280, height: 800 } }, ...PHONES]) {
      const name = `${size.viewport.width}-${colorScheme}`
      const page = await openPage({ hash: '#/rules?session=past', colorScheme, bypassCSP: true, reducedMotion: 'reduce', ...size })
      await page.getByText('npm install left-pad').first().waitFor()
      // It is told above the rules when it is noticed, and moves them.
      await page.getByText(/unknown variant/).first().waitFor()
      await allIsInside(page, `the rules, ${name}`)
      await shot(page, `rules-${name}`)
      const keep = page.getByRole('button', { name: 'Keep' })
      // The title of the session may come just then and move the button away from under the pointer.
      await eventually('it asks', async () => {
        if (await keep.isVisible()) return true
        await group(page, 'Learned').getByRole('button', { name: /^Remove rule/ }).click({ timeout: 1000 }).catch(() => {})
        return keep.isVisible()
      })
      await keep.scrollIntoViewIfNeeded()
      await allIsInside(page, `a question about a rule, ${name}`)
      await shot(page, `learned-${name}`)
      assert.deepEqual(await axeFindings(page), [], name)
      await page.goto(`${daemon.url}/#/rules/try`)
      await page.getByRole('textbox', { name: /Your rules/ }).fill('[[rule]]\nid = "no"\neffect = "deny"\ncommand = ["touch *", "npm publish *"]\n')
      await page.getByRole('combobox', { name: 'Calls since' }).selectOption('the beginning')
      await page.getByRole('button', { name: 'Try these rules' }).click()
      await page.getByRole('heading', { name: /would be decided differently/ }).waitFor()
      await group(page, 'Suggested rules').getByRole('article').first().waitFor()
      await allIsInside(page, `trying rules, ${name}`)
      await shot(page, `try-${name}`)
      await group(page, 'Suggested rules').scrollIntoViewIfNeeded()
      await shot(page, `suggested-${name}`)
      assert.deepEqual(await axeFindings(page), [], name)
      await visit(daemon, page, 'past')
      await page.getByRole('button', { name: 'Mode: implement' }).click()
      await page.getByRole('menuitemradio', { name: /^bypass/ }).waitFor()
      await allIsInside(page, `the modes, ${name}`)
      await shot(page, `modes-${name}`)
      assert.deepEqual(await axeFindings(page), [], name)
      await page.keyboard.press('Escape')
      await page.context().close()
    }
  })
}
