import type { Windowed } from '../../serde/windowed.ts'
import type { SessionStore } from '../../store/session-store.ts'
import type { TimestampedWindowStore } from '../../store/window-store.ts'
import type { Windows } from '../windows.ts'
import { UnversionedRows, type TableView } from './table-view.ts'

/** The rows of an aggregation over windows. */
export function windowedView({ kind }: Windows, storeName: string): TableView {
  return {
    storeNames: [storeName],
    open: (context) => {
      const store = context.store(storeName)
      return kind === 'session'
        ? new SessionRows(store as SessionStore<unknown, unknown>)
        : new WindowRows(store as TimestampedWindowStore<unknown, unknown>)
    },
  }
}

/** The rows of a window store. Java's KStreamWindowAggregateValueGetter. */
class WindowRows extends UnversionedRows<TimestampedWindowStore<unknown, unknown>> {
  override get(key: unknown): unknown {
    const { key: inner, window } = key as Windowed<unknown>
    return this.valueIn(this.store.fetch(inner, window.start))
  }
}

/** The rows of a session store; the timestamp of one is its end. Java's KTableSessionWindowValueGetter. */
class SessionRows extends UnversionedRows<SessionStore<unknown, unknown>> {
  override get(key: unknown): unknown {
    const { key: inner, window } = key as Windowed<unknown>
    this.timestamp = window.end
    return this.store.fetchSession(inner, window.start, window.end)
  }
}
