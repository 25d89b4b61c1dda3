// A plan that waits for approval, found in what the agent asks.

import type { PermissionBlock } from 'turnloom'

/** Tools that ask for nothing but approval of a plan. */
const APPROVALS = new Set(['ExitPlanMode', 'exit_plan_mode'])

/** The plan as it is written; empty where the agent wrote none; nothing where the ask is not about a plan. */
export function planOf(block: Pick<PermissionBlock, 'tool_name' | 'tool_input'>): string | undefined {
  if (!APPROVALS.has(block.tool_name)) return undefined
  const input = block.tool_input
  const plan = typeof input === 'object' && input !== null && 'plan' in input ? input.plan : undefined
  return typeof plan === 'string' ? plan.trim() : ''
}
