import type { Windowed } from '../../serde/windowed.ts'
import type { SessionStore } from '../../store/session-store.ts'
import type { TimestampedWindowStore } from '../../store/window-store.ts'
import type { TableView, ValueGetter } from './table-view.ts'

/** The rows of a window store. Java's KStreamWindowAggregateValueGetter. */
export function windowView(storeName: string): TableView {
  return {
    storeNames: [storeName],
    open: (context) =>
      new WindowRows(context.store(storeName) as TimestampedWindowStore<unknown, unknown>),
  }
}

/** The rows of a session store; the timestamp of one is its end. Java's KTableSessionWindowValueGetter. */
export function sessionView(storeName: string): TableView {
  return {
    storeNames: [storeName],
    open: (context) => new SessionRows(context.store(storeName) as SessionStore<unknown, unknown>),
  }
}

class WindowRows implements ValueGetter {
  readonly isVersioned = false
  timestamp = -1
  readonly #store: TimestampedWindowStore<unknown, unknown>

  constructor(store: TimestampedWindowStore<unknown, unknown>) {
    this.#store = store
  }

  get(key: unknown): unknown {
    const { key: inner, window } = key as Windowed<unknown>
    const row = this.#store.fetch(inner, window.start)
    if (row === undefined) return undefined
    this.timestamp = row.timestamp
    return row.value
  }

  getAsOf(): never {
    throw new TypeError(`the store ${this.#store.name} keeps no old values`)
  }
}

class SessionRows implements ValueGetter {
  readonly isVersioned = false
  timestamp = -1
  readonly #store: SessionStore<unknown, unknown>

  constructor(store: SessionStore<unknown, unknown>) {
    this.#store = store
  }

  get(key: unknown): unknown {
    const { key: inner, window } = key as Windowed<unknown>
    this.timestamp = window.end
    return this.#store.fetchSession(inner, window.start, window.end)
  }

  getAsOf(): never {
    throw new TypeError(`the store ${this.#store.name} keeps no old values`)
  }
}
