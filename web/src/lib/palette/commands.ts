// What the palette offers, for where the page is now.

import { abilities, statusWord, titleOf } from '../activity'
import { rulesHash, TRY_RULES } from '../address'
import { api } from '../api'
import { current } from '../conversation.svelte'
import { copyText } from '../copy'
import { prefs } from '../prefs.svelte'
import { closeTab, router, sessionHash } from '../navigation'
import { screen } from '../screen.svelte'
import { sessions } from '../sessions.svelte'
import { ui } from '../ui.svelte'

export interface Command {
  id: string
  name: string
  hint?: string
  run: () => unknown
}

export function commands(): Command[] {
  const list: Command[] = [
    { id: 'new', name: 'New session', hint: 'Alt N', run: () => router.go('#/new') },
    { id: 'tasks', name: 'Everything that runs', hint: 'Alt T', run: () => (ui.tasks = true) },
    { id: 'asks', name: 'Needs you', hint: `${sessions.needs} waiting`, run: () => router.go('#/asks') },
  ]
  const conversation = current.conversation
  const can = abilities(sessions.byId(conversation?.id))
  if (conversation) {
    const id = conversation.id
    if (conversation.running) list.push({ id: 'stop', name: 'Stop the running turn', run: () => conversation.stop() })
    list.push(
      { id: 'plan', name: 'Show the plan', run: () => prefs.showPanel('plan') },
      { id: 'files', name: 'Show changed files', run: () => prefs.showPanel('files') },
      { id: 'inspector', name: 'Show the inspector', run: () => prefs.showPanel('inspector') },
      { id: 'session-rules', name: 'Rules of this session', run: () => router.go(rulesHash({ session: id })) },
    )
    if (can?.compact) list.push({ id: 'compact', name: 'Compact the conversation', run: () => api.compactSession(id) })
    if (can?.fork) {
      const fork = async () => router.go(sessionHash((await api.forkSession(id)).session_id))
      list.push({ id: 'fork', name: 'Fork this session', run: fork })
    }
    const archive = async () => {
      await api.archiveSession(id)
      sessions.drop(id)
      closeTab(id)
      if (router.session === id) router.go('#/')
    }
    if (can && !conversation.view?.session.archived)
      list.push({ id: 'archive', name: 'Archive this session', run: archive })
    list.push({ id: 'close', name: 'Close this tab', hint: 'Alt W', run: () => closeTab(id) })
    list.push({ id: 'copy-id', name: 'Copy the session id', run: () => copyText(id) })
  }
  list.push(
    { id: 'rules', name: 'Rules', hint: 'What agents may do', run: () => router.go(rulesHash()) },
    { id: 'try-rules', name: 'Try rules', hint: 'What would change', run: () => router.go(TRY_RULES) },
    {
      id: 'schedules',
      name: 'Schedules',
      hint: 'Prompts that are sent by themselves',
      run: () => router.go('#/schedules'),
    },
    { id: 'channels', name: 'Channels', hint: 'Services that talk to agents', run: () => router.go('#/channels') },
    { id: 'webhooks', name: 'Webhooks', hint: 'Who is told what happens', run: () => router.go('#/webhooks') },
    { id: 'spending', name: 'Spending', hint: 'What was spent, and may be', run: () => router.go('#/spending') },
    { id: 'light', name: 'Theme: light', run: () => prefs.setTheme('light') },
    { id: 'dark', name: 'Theme: dark', run: () => prefs.setTheme('dark') },
    { id: 'system', name: 'Theme: as the system', run: () => prefs.setTheme('system') },
    {
      id: 'column',
      name: screen.isNarrow ? 'Widen the sessions column' : 'Narrow the sessions column',
      run: () => screen.setNarrow(!screen.isNarrow),
    },
    {
      id: 'notify',
      name: prefs.notify ? 'Do not notify me' : 'Notify me when a session needs me',
      run: async () => (await import('../devices/browser'))[prefs.notify ? 'disable' : 'enable'](),
    },
    {
      id: 'sign-out',
      name: 'Sign out of this browser',
      run: async () => {
        if (prefs.device) await (await import('../devices/browser')).disable()
        await api.endSignIn('current')
        ui.signedOut = true
      },
    },
    { id: 'help', name: 'Keyboard shortcuts', run: () => (ui.help = true) },
  )
  const rows = sessions.all.map((session) => ({
    // A session may be called like a command.
    id: `session ${session.session_id}`,
    name: titleOf(session),
    hint: [session.runtime, statusWord(session)].filter(Boolean).join(' · '),
    run: () => router.go(sessionHash(session.session_id)),
  }))
  return [...list.slice(0, 3), ...rows, ...list.slice(3)]
}
