// The daemon, as this page calls it: one client of the SDK, which has every call, every stream and every error. Not here: state.

import { Turnloom } from 'turnloom'
import { trustedScript } from './trusted'
import { ui } from './ui.svelte'
import workerUrl from './worker?sharedworker&url'

const startWorker = () => new SharedWorker(trustedScript('turnloom-worker', workerUrl), { name: 'turnloom' })

export const api = new Turnloom({
  url: '',
  client: 'web',
  // All pages of this browser share one WebSocket, which the worker has; so however many there are, requests find a way.
  worker: startWorker,
  // Where WebSockets do not get through, only the open session and the tasks are followed, and the lists with these.
  listsFromTasks: true,
  onUnauthorized: () => (ui.signedOut = true),
})
