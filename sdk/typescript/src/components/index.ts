// Components without a framework: what they take, how their props change, and which are shown.

export type * from './builtin.js'
export { mergeProps, type MergeMode, type Props, type PropsChange } from './merge.js'
export {
  actionsOf,
  componentsOf,
  isBuiltin,
  streamComponents,
  watchComponents,
  type BuiltinComponent,
  type ComponentActions,
  type ShownComponent,
  type WatchComponentsOptions,
} from './watch.js'
