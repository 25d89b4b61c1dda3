// What the tests of other people's clients share.

/** The parts of an AI SDK message without what depends on how often a client came and went. */
export function normalMessage(message) {
  const kept = []
  for (const part of message.parts) {
    if (part.type === 'step-start') continue
    const { approval: _a, callProviderMetadata: _c, providerMetadata: _p, rawInput: _r, ...rest } = JSON.parse(JSON.stringify(part))
    delete rest.id
    const before = kept.at(-1)
    if ((part.type === 'text' || part.type === 'reasoning') && before?.type === part.type) before.text += part.text
    else kept.push(rest)
  }
  return kept
}
