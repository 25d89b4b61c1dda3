// Pictures of every page, in both sizes and both themes, to be looked at: `npm run screenshots -- FOLDER`, with TURNLOOM_PROGRAM set.

import { Stage } from './support.js'

const [folder = '/tmp'] = process.argv.slice(2)
const stage = await Stage.open()
try {
  for (const [size, viewport] of [
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 844 }],
  ]) {
    for (const colorScheme of ['light', 'dark']) {
      for (const name of ['react', 'use-chat', 'http-agent', 'sdk']) {
        const id = `${name}-${size}-${colorScheme}`
        const { page, context, log, say } = await stage.visit(name, id, { viewport, colorScheme })
        await say('tool')
        await log.getByText('Three tools worked and one did not.').waitFor()
        await say('permission')
        await page.getByRole('button', { name: 'Allow' }).waitFor()
        await page.screenshot({ path: `${folder}/${id}.png` })
        await context.close()
      }
    }
  }
} finally {
  await stage.close()
}
