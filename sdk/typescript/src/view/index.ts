// Everything about views but the connection: the shapes, and how one is brought forward. The workbench takes this part and no other.

export { apply, reconcile, type Op } from './apply.js'
export type * from './blocks.js'
export type * from './types.js'
