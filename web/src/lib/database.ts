// Values that must outlive the page and are too large for local storage: one table in IndexedDB. A browser without IndexedDB keeps them in memory,
// as long as the page lives.

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

/** Resolves with undefined if the database cannot be used; the page's memory then serves as the store. */
async function transact<T>(
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

export async function putValue(key: string, value: unknown): Promise<void> {
  memory.set(key, value)
  await transact('readwrite', (table) => table.put(value, key))
}

export async function removeValue(key: string): Promise<void> {
  memory.delete(key)
  await transact('readwrite', (table) => table.delete(key))
}

export async function getValue<T>(key: string): Promise<T | undefined> {
  return ((await transact('readonly', (table) => table.get(key))) ?? memory.get(key)) as T | undefined
}

/** Every value whose key starts with the prefix. */
export async function getValues<T>(prefix: string): Promise<T[]> {
  const found = await transact('readonly', (table) => table.getAll(IDBKeyRange.bound(prefix, `${prefix}\uffff`)))
  return (found ?? [...memory].flatMap(([key, value]) => (key.startsWith(prefix) ? [value] : []))) as T[]
}
