import { describe, expect, test } from 'vitest'
import type { Setting } from 'turnloom'
import { changedSettings, settingName, settingText } from '../src/lib/settings'

const settings: Setting[] = [
  { name: 'effort', takes: 'text', choices: ['low', 'high'] },
  { name: 'approval_policy', takes: 'choice_or_object', choices: ['never'] },
  { name: 'max_thinking_tokens', takes: 'number' },
]

describe('settings', () => {
  test('have names that people read', () => {
    expect(settingName('approval_policy')).toBe('Approval policy')
  })

  test('are shown as they would be written', () => {
    expect(['low', 8000, { granular: {} }, undefined, null].map(settingText)).toEqual([
      'low',
      '8000',
      '{"granular":{}}',
      '',
      '',
    ])
  })

  test('are sent only where they differ', () => {
    const known = { effort: 'low', max_thinking_tokens: 8000 }
    const same = { effort: 'low', approval_policy: ' ', max_thinking_tokens: '8000' }
    expect(changedSettings(settings, known, same)).toEqual({})
    const other = { effort: 'high ', approval_policy: '{"granular":{}}', max_thinking_tokens: '0' }
    expect(changedSettings(settings, known, other)).toEqual({
      effort: 'high',
      approval_policy: { granular: {} },
      max_thinking_tokens: 0,
    })
    expect(changedSettings(settings, undefined, {})).toEqual({})
  })

  test('that cannot be read go as they were written, for the daemon to say so', () => {
    const odd = { max_thinking_tokens: 'many', approval_policy: '{"granular"' }
    expect(changedSettings(settings, {}, odd)).toEqual(odd)
  })
})
