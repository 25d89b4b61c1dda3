// What this daemon can do that another one may not: read from its own document of routes, once, when it matters.

import { request } from './api'

type Document = { paths?: Record<string, Record<string, unknown> | undefined> }

let document: Promise<Document> | undefined

export async function hasRoute(method: string, path: string): Promise<boolean> {
  document ??= request<Document>('GET', '/api/openapi.json')
  try {
    return (await document).paths?.[path]?.[method] !== undefined
  } catch {
    document = undefined
    return false
  }
}
