// Makes the types of the API and of the events from the documents that the daemon's code gives (docs/reference), and those of the built-in
// components from the registry itself.
// With `--check` it writes nothing and fails when what is committed is not current.

import { readFile, writeFile } from 'node:fs/promises'

import openapiTS, { astToString } from 'openapi-typescript'

import { registrySchemas } from './registry.js'

const REFERENCE = new URL('../../../docs/reference/', import.meta.url)
/** The built-in components, as the daemon has them. */
const REGISTRY = new URL('../../../crates/core/src/component/builtin.jsonl', import.meta.url)
const GENERATED = new URL('../src/generated/', import.meta.url)

/** The routes that this client calls. Other people's protocols have clients of their own. */
const isOurs = (path) => path === '/health' || path.startsWith('/api/')

const QUERIES = ['ListQuery', 'RemoveQuery', 'EventsQuery', 'ViewQuery', 'StreamQuery', 'ConversationsQuery']

const HEADER = '// Made by `npm run generate` from docs/reference. Do not edit.\n\n'

/** The schemas that our routes and the stream of a view lead to. The routes themselves are in `client.ts`, where one can read them. */
function ownSchemas(document, streams) {
  const schemas = {}
  const visit = (value) => {
    for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name in schemas) continue
      schemas[name] = document.components.schemas[name] ?? streams.components.schemas[name]
      visit(schemas[name])
    }
  }
  visit(Object.entries(document.paths).filter(([path]) => isOurs(path)))
  // Queries are written out in the routes, and have their schemas beside them.
  visit([...QUERIES, 'ViewOps'].map((name) => ({ $ref: `#/components/schemas/${name}` })))
  return asDocument(Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))))
}

function eventSchemas({ $defs, ...event }) {
  // It says which language the document is in, not what an event is.
  delete event.$schema
  const text = JSON.stringify({ Event: event, ...$defs }).replaceAll('"#/$defs/', '"#/components/schemas/')
  return asDocument(JSON.parse(text))
}

/** What the generator reads. */
const asDocument = (schemas) => ({
  openapi: '3.1.0',
  info: { title: '', version: '' },
  paths: {},
  components: { schemas },
})

const read = async (name) => JSON.parse(await readFile(new URL(name, REFERENCE), 'utf8'))
const made = {
  'api.ts': ownSchemas(await read('openapi.json'), await read('asyncapi.json')),
  'events.ts': eventSchemas(await read('events.schema.json')),
  'components.ts': asDocument(registrySchemas(await readFile(REGISTRY, 'utf8'))),
}

const stale = []
for (const [name, document] of Object.entries(made)) {
  const text = HEADER + astToString(await openapiTS(document))
  const place = new URL(name, GENERATED)
  if (!process.argv.includes('--check')) await writeFile(place, text)
  else if ((await readFile(place, 'utf8').catch(() => '')) !== text) stale.push(name)
}
if (stale.length > 0) {
  console.error(`src/generated is not current (${stale.join(', ')}); run \`cargo xtask gen\` and commit it`)
  process.exitCode = 1
}
