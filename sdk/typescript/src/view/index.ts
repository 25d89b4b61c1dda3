// Everything about views but the connection: the shapes, and how one is brought forward.

export { apply, reconcile } from './apply.js'
export { contentOf } from './content.js'
export { applied } from './copy.js'
export type * from './types.js'
