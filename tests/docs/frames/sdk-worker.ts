import { Turnloom } from 'turnloom'
import { daemon } from '../daemon.js'

const { url, token } = daemon

// Only its types are looked at: examples/tests/worker.test.js makes it with Vite, for a browser.
//@ docs/sdk.md: import workerUrl from

export { turnloom }
