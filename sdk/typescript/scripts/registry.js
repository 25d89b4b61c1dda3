// The schemas of the built-in components, as one document for the generator: what each takes, sends and answers.

const REF = '"#/$defs/'

/** `lines` is the registry: one entry of JSON per line. */
export function registrySchemas(lines) {
  const entries = lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line))
  const shared = {}
  /** A schema whose own definitions stand beside the others, under the name of its component. */
  const take = (name, { $defs = {}, ...schema }) => {
    const rename = (value) => JSON.parse(JSON.stringify(value).replaceAll(REF, `"#/components/schemas/${name}_`))
    for (const [key, definition] of Object.entries($defs)) shared[`${name}_${key}`] = forTypes(rename(definition))
    return forTypes(rename(schema))
  }
  const table = (pick) => {
    const rows = entries.flatMap((entry) => (pick(entry) ? [[entry.name, pick(entry)]] : []))
    return { type: 'object', properties: Object.fromEntries(rows), required: rows.map(([name]) => name) }
  }
  return {
    Props: table(({ name, props }) => take(name, props)),
    Callbacks: table(({ name, callbacks = [] }) => ({
      type: 'object',
      properties: Object.fromEntries(callbacks.map((callback) => [callback.name, take(name, callback.payload)])),
      required: callbacks.map((callback) => callback.name),
    })),
    Answers: table(({ name, resolves }) => resolves && take(name, resolves)),
    ...shared,
  }
}

/** Any value is `unknown`, an object that says nothing has any keys, and fixed lists have a length. */
function forTypes(schema) {
  if (schema === true) return {}
  if (Array.isArray(schema)) return schema.map(forTypes)
  if (typeof schema !== 'object' || schema === null) return schema
  const { properties, ...rest } = schema
  const made = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, key === 'enum' || key === 'required' ? value : forTypes(value)]),
  )
  if (properties) {
    made.properties = Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, forTypes(value)]))
  } else if (schema.type === 'object' && schema.additionalProperties === undefined) made.additionalProperties = {}
  // The generator would make a list of any length up to this, spelled out.
  delete made.maxItems
  delete made.minItems
  return made
}
