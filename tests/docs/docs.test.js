// Everything that the documentation shows, as somebody would do it, with the real programs. Each module below runs one kind of it, and claims the blocks it runs.

import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'

import { daemon } from './daemon.js'
import { blocks, claim, find, ROOT, unclaimed } from './pages.js'

import './commands.js'
import './requests.js'
import './settings.js'
import './words.js'
import './lists.js'
import './snippets.js'

after(() => daemon.stop())

/** Blocks that are not run here: where they begin, what runs them instead, or why nothing does. */
const ELSEWHERE = [
  { page: 'sdk/typescript/README.md', begins: 'import { contentOf, Turnloom, TurnloomError }', by: 'sdk/typescript/tests/readme.test.js' },
  { page: 'docs/scripted-model.md', begins: 'model = "gpt-5.5"', by: 'tests/agents/both/guide.rs' },
  { page: 'docs/api.md', begins: 'content_type_overrides:', by: 'tests/generators/python.test.js' },
  // npm has only later versions of its client, which speak another protocol; what 0.1 calls was recorded.
  { page: 'docs/dialects.md', begins: 'const client = await SandboxAgent.connect', by: 'tests/http/universal_recorded.rs' },
  { page: 'docs/webhooks.md', begins: '{\n  "type": "turn.completed"', by: 'tests/http/webhooks.rs' },
  { page: 'docs/components.md', begins: 'The person used the screen:', by: 'tests/agents/both/components.rs' },
  { page: 'ARCHITECTURE.md', begins: 'crates/core ', why: 'a map' },
  { page: 'ARCHITECTURE.md', begins: 'agent ─pipe─▶', why: 'a picture' },
  { page: 'web/README.md', begins: 'src/lib/', why: 'a map' },
]

/** Pages whose Python the tests of its SDK run, every block in its order. */
const PYTHON = { pages: ['docs/python.md', 'sdk/python/README.md'], by: 'sdk/python/tests/test_docs.py' }

test('every block is run, here or elsewhere', async () => {
  blocks.filter(({ page, language }) => language === 'python' && PYTHON.pages.includes(page)).forEach(claim)
  await access(join(ROOT, PYTHON.by))
  for (const { page, begins, by } of ELSEWHERE) {
    claim(find(page, begins))
    if (by) await access(join(ROOT, by))
  }
  assert.deepEqual(unclaimed(), [])
})
