// What the first load costs: the page, and every script and style sheet it names, compressed as browsers receive them.
import { readFileSync } from 'node:fs'
import { brotliCompressSync } from 'node:zlib'

const KIB = 1024
const LIMITS = { js: 104 * KIB, css: 15 * KIB }
const assets = new URL('../../crates/turnloom/assets/', import.meta.url)

const page = readFileSync(new URL('index.html', assets), 'utf8')
const named = [...page.matchAll(/(?:src|href)="\/([^"]+\.(js|css))"/g)]
const totals = { js: 0, css: 0 }
for (const [, path, kind] of named) {
  const size = brotliCompressSync(readFileSync(new URL(path, assets))).length
  totals[kind] += size
  console.log(`${(size / KIB).toFixed(1).padStart(7)} KiB  ${path}`)
}
let over = false
for (const [kind, limit] of Object.entries(LIMITS)) {
  const ok = totals[kind] <= limit
  over ||= !ok
  console.log(
    `${kind}: ${(totals[kind] / KIB).toFixed(1)} of ${limit / KIB} KiB brotli${ok ? '' : ' — over the budget'}`,
  )
}
process.exit(over ? 1 : 0)
