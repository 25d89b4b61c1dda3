// What must outlive the page and is too large for local storage: one table in the browser's own database. Where there is none, it lasts as long as
// the page does.

const memory = new Map<string, unknown>()
let opened: Promise<IDBDatabase | undefined> | undefined

function database(): Promise<IDBDatabase | undefined> {
  opened ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open('turnloom', 1)
      request.onupgradeneeded = () => request.result.createObjectStore('kept')
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => resolve(undefined)
    } catch {
      resolve(undefined)
    }
  })
  return opened
}

/** Resolves when it is done, and when it cannot be done: then the memory of the page has to do. */
async function within<T>(
  mode: IDBTransactionMode,
  act: (table: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  const base = await database()
  if (!base) return undefined
  return new Promise((resolve) => {
    try {
      const transaction = base.transaction('kept', mode)
      const request = act(transaction.objectStore('kept'))
      transaction.oncomplete = () => resolve(request.result)
      transaction.onerror = transaction.onabort = () => resolve(undefined)
    } catch {
      resolve(undefined)
    }
  })
}

export async function keep(key: string, value: unknown): Promise<void> {
  memory.set(key, value)
  await within('readwrite', (table) => table.put(value, key))
}

export async function forget(key: string): Promise<void> {
  memory.delete(key)
  await within('readwrite', (table) => table.delete(key))
}

export async function kept<T>(key: string): Promise<T | undefined> {
  return ((await within('readonly', (table) => table.get(key))) ?? memory.get(key)) as T | undefined
}

/** Everything that is kept under keys that begin so. */
export async function keptUnder<T>(prefix: string): Promise<T[]> {
  const found = await within('readonly', (table) => table.getAll(IDBKeyRange.bound(prefix, `${prefix}\uffff`)))
  return (found ?? [...memory].flatMap(([key, value]) => (key.startsWith(prefix) ? [value] : []))) as T[]
}
