import { describe, expect, it } from 'vitest'
import type { PermissionBlock, Session, View } from 'turnloom'
import { activityWords, needsYou, statusWord } from '../src/lib/activity'
import { fixParts } from '../src/lib/fix'
import { planOf } from '../src/lib/plan'
import { causeOf, endWords, isReason } from '../src/lib/stopped'
import { inside, permissionTitle, ruleParts } from '../src/lib/tools'

const retrying = (activity: object) =>
  activityWords({ asks: [], activity: { state: 'retrying', since: '', ...activity } } as unknown as View, 'Claude Code')

describe('a retry', () => {
  it('says the attempt once, of how many, and when', () => {
    const detail = { max_retries: 10, retry_delay_ms: 4200 }
    expect(retrying({ label: 'Retrying, attempt 2 (overloaded)', attempt: 2, detail })).toBe(
      'Retrying (overloaded), attempt 2 of 10, in 4.2\u202fs',
    )
  })
  it('leaves out what the agent does not tell, and does not repeat what its own words say', () => {
    expect(retrying({ label: 'Retrying, attempt 3', attempt: 3 })).toBe('Retrying, attempt 3')
    expect(retrying({ label: 'Reconnecting... 2/5', attempt: 2 })).toBe('Reconnecting... 2/5')
    expect(retrying({})).toBe('Retrying')
  })
})

describe('a fix', () => {
  it('has a command to copy only where there is one', () => {
    const commands = (fix: string) => fixParts(fix).flatMap(({ text, kind }) => (kind === 'command' ? [text] : []))
    expect(commands('run `turnloom doctor`, then send the message again')).toEqual(['turnloom doctor'])
    expect(commands('turnloom up')).toEqual(['turnloom up'])
    expect(commands('send the message again; the conversation is resumed')).toEqual([])
    expect(commands('log in with `codex login`, or set OPENAI_API_KEY for the daemon')).toEqual(['codex login'])
    for (const name of ['origins', 'hosts', 'token', 'profile', 'codex_home', 'env']) {
      expect(commands(`look at \`${name}\` in the config.toml`)).toEqual([])
      expect(fixParts(`look at \`${name}\``).at(-1)).toEqual({ text: name, kind: 'name' })
    }
    expect(
      fixParts('run `a` or `b`')
        .map((part) => part.text)
        .join(''),
    ).toBe('run a or b')
  })
})

describe('the end of a turn', () => {
  it('is said in words of people, once', () => {
    expect(endWords({ outcome: 'stopped', reason: 'stopped by web' })).toBe('Stopped by you')
    expect(endWords({ outcome: 'stopped', reason: 'stopped by ann' })).toBe('Stopped by ann')
    expect(endWords({ outcome: 'interrupted', reason: 'the daemon ended while this turn was running' })).toBe(
      'Cut off: Turnloom was restarted',
    )
    expect(endWords({ outcome: 'stopped', reason: 'web did not let the imported session run' })).toBe(
      'Not run: you did not let it',
    )
    expect(endWords({ outcome: 'failed', reason: 'out of tokens' })).toBe('Failed · out of tokens')
    expect(endWords({ outcome: 'completed', reason: 'whatever' })).toBe('')
  })
  it('has a cause that a person can read', () => {
    expect(causeOf('the daemon ended while this turn was running')).toBe('Turnloom was restarted')
    expect(causeOf("the agent's process ended")).toBe('The agent ended')
    expect(causeOf('out of paper')).toBe('Out of paper')
  })
  it('is known where a tool has nothing else to say', () => {
    expect(isReason('stopped by web')).toBe(true)
    expect(isReason('the turn was stopped')).toBe(true)
    expect(isReason('stopped by a breakpoint at line 3\nmore')).toBe(false)
    expect(isReason('the turn was long and said much')).toBe(false)
  })
})

describe('a plan that waits for approval', () => {
  it('is the document that the agent wrote', () => {
    expect(planOf({ tool_name: 'ExitPlanMode', tool_input: { plan: '# Plan\n', planFilePath: '/p' } })).toBe('# Plan')
    expect(planOf({ tool_name: 'ExitPlanMode', tool_input: {} })).toBe('')
    expect(planOf({ tool_name: 'Bash', tool_input: { command: 'ls' } })).toBeUndefined()
  })
})

describe('a permission for an edit', () => {
  const ask = (tool_name: string, title: string, tool_input: unknown) =>
    permissionTitle({ tool_name, title, tool_input } as PermissionBlock)
  it('says what would be done to the file', () => {
    expect(ask('Write', 'src/util.py', { file_path: '/code/src/util.py' })).toBe('Write src/util.py')
    expect(ask('MultiEdit', '/code/a.rs', { file_path: '/code/a.rs' })).toBe('Edit /code/a.rs')
    expect(ask('Bash', 'Run the tests', { command: 'npm test' })).toBe('Run the tests')
  })
})

describe('a choice that stores a rule', () => {
  const said = (label: string, rule?: string) =>
    ruleParts(label, rule)
      .map(({ text, exact }) => (exact ? `<${text}>` : text))
      .join('')
  it('names the exact rule once', () => {
    expect(said('Always allow Bash(ls:*) in this project', 'project: Bash(ls:*)')).toBe(
      'Always allow <Bash(ls:*)> in this project',
    )
    expect(said('Always', 'Bash(rm -rf build)')).toBe('Always <Bash(rm -rf build)>')
    expect(said('Yes, and do not ask again')).toBe('Yes, and do not ask again')
  })
})

describe('a path', () => {
  it('begins at the folder of the session', () => {
    expect(inside('/home/user/loom/src/a.rs', '/home/user/loom/')).toBe('src/a.rs')
    expect(inside('/home/user/loomery/a.rs', '/home/user/loom')).toBe('/home/user/loomery/a.rs')
    expect(inside('a.rs', undefined)).toBe('a.rs')
  })
})

describe('a session needs somebody', () => {
  const session = (more: Partial<Session>) => ({ status: 'idle', ...more }) as Session
  it('when it asks, when its ask was lost, and when messages are held', () => {
    const lost_ask = {
      ask_id: 'a',
      kind: 'permission',
      title: 'Run it',
      asked_at: '',
      lost_at: '',
      reason: 'the daemon ended',
    } as const
    expect(needsYou(session({ status: 'waiting', asks: 1 }))).toBe(true)
    expect(needsYou(session({ lost_ask }))).toBe(true)
    expect(statusWord(session({ lost_ask }))).toBe('not answered')
    expect(needsYou(session({ held: 2 }))).toBe(true)
    expect(needsYou(session({ held: 2, status: 'running' }))).toBe(false)
    expect(needsYou(session({ held: 2, archived: true }))).toBe(false)
    expect(needsYou(session({}))).toBe(false)
  })
})
