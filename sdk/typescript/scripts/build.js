// Compiles the sources into `dist`, which holds nothing else: a file that was renamed does not stay behind under its old name.

import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'

const folder = new URL('..', import.meta.url)
rmSync(new URL('dist', folder), { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
try {
  execFileSync(process.execPath, [compiler, '--project', new URL('tsconfig.json', folder).pathname], {
    stdio: 'inherit',
  })
} catch {
  process.exitCode = 1 // the compiler has said why
}
