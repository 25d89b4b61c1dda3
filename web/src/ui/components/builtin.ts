// The components that this page draws itself. Each is a file of its own, loaded when the first one of its kind is seen.

import type { Component } from 'svelte'
import type { Drawn } from './drawn'

type Module = { default: Component<Drawn> }

const LOADERS: Record<string, () => Promise<Module>> = {
  approval: () => import('./Approval.svelte'),
  chart: () => import('./Chart.svelte'),
  code: () => import('./CodeText.svelte'),
  code_diff: () => import('./CodeDiff.svelte'),
  file_list: () => import('./FileList.svelte'),
  form: () => import('./Form.svelte'),
  gallery: () => import('./Gallery.svelte'),
  image: () => import('./ImageFigure.svelte'),
  json: () => import('./JsonValue.svelte'),
  key_values: () => import('./KeyValues.svelte'),
  map: () => import('./MapPlot.svelte'),
  markdown: () => import('./MarkdownText.svelte'),
  metrics: () => import('./Metrics.svelte'),
  plan_editor: () => import('./PlanEditor.svelte'),
  progress: () => import('./Progress.svelte'),
  research_progress: () => import('./ResearchProgress.svelte'),
  search_results: () => import('./SearchResults.svelte'),
  table: () => import('./DataTable.svelte'),
  timeline: () => import('./Timeline.svelte'),
  tree: () => import('./Tree.svelte'),
  weather: () => import('./Weather.svelte'),
}

/** Those that are drawn with what is there while more is coming. */
const GROWING = new Set(['approval', 'form', 'plan_editor', 'progress', 'research_progress'])

const loaded = new Map<string, Component<Drawn>>()

export const isBuiltin = (name: string) => Object.hasOwn(LOADERS, name)
export const hasSkeleton = (name: string) => isBuiltin(name) && !GROWING.has(name)
/** What it is drawn by, if that is here already. */
export const drawerOf = (name: string) => loaded.get(name)

export async function loadDrawer(name: string): Promise<Component<Drawn> | undefined> {
  const loader = isBuiltin(name) ? LOADERS[name] : undefined
  if (!loader) return undefined
  const known = loaded.get(name) ?? (await loader()).default
  loaded.set(name, known)
  return known
}
