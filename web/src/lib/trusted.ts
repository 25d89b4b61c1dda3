// Addresses of scripts that are ours. The page is served under a policy that takes no other on trust.

interface ScriptUrls {
  createScriptURL: (url: string) => string
}
interface Factory {
  createPolicy: (name: string, rules: ScriptUrls) => ScriptUrls
}

const policies = new Map<string, ScriptUrls | undefined>()

/** Each policy is made once; its name stands in the page's content security policy. */
export function trustedScript(policy: 'turnloom-worker' | 'turnloom-notices', url: string): string {
  const types = (globalThis as { trustedTypes?: Factory }).trustedTypes
  if (!policies.has(policy)) policies.set(policy, types?.createPolicy(policy, { createScriptURL: (given) => given }))
  return policies.get(policy)?.createScriptURL(url) ?? url
}
