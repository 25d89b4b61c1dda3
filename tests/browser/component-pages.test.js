// The page of somebody's own component, in a frame of the workbench: it draws, and reaches nothing else.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { framed, VIEW } from './framed.js'
import { Daemon, close, open } from './support.js'

after(close)

// What is refused is said in the console, so this page is not one on which nothing goes wrong.
test("a component of one's own loads its files in a frame, and reaches nothing else", async (t) => {
  const daemon = await Daemon.start()
  t.after(() => daemon.end())
  const folder = join(daemon.data, 'components', 'probe')
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(VIEW)) await writeFile(join(folder, name), content)
  const { components, problems } = await daemon.call('POST', '/api/components/reload', {})
  assert.deepEqual(problems, [])
  const { page, context, elsewhere } = await open(daemon)
  t.after(() => context.close())
  for (const sandbox of ['allow-scripts allow-forms', undefined]) {
    assert.deepEqual(await framed(page, components[0].view.url, sandbox), {
      origin: 'null',
      classic: true,
      module: true,
      style: 'rgb(1, 2, 3)',
      picture: true,
      parent: 'refused',
      cookie: 'refused',
      storage: 'refused',
      popup: 'refused',
      evaluated: 'refused',
      api: 'refused',
      own: 'refused',
      elsewhere: 'refused',
    })
  }
  assert.equal(new URL(page.url()).pathname, '/', 'the page around it is where it was')
  assert.deepEqual(elsewhere, [])
})
