/** The outermost layer of session stores (org.apache.kafka.streams.state.internals.MeteredSessionStore). */
import { assertSession } from './assert-time.ts'
import { scanClosed } from './closed-windows.ts'
import type { EntryRow, EntryRows } from './entry-table.ts'
import type { RangeOptions, StoreIterator } from './key-value-store.ts'
import type { SessionStore } from './session-store.ts'
import { noTimestamp } from './stored-value.ts'
import type { SessionKeys, WindowedQuery } from './windowed-keys.ts'
import { scanByTime } from './windowed-scan.ts'
import { SessionReadView } from './windowed-read-views.ts'
import { WindowedStore } from './windowed-store.ts'
import type { Windowed } from './windowed.ts'

const keyAndValue = <K, A>({ key, value }: EntryRow<Windowed<K>, A>): [Windowed<K>, A] => [
  key,
  value,
]

/** A store of sessions. Java's SessionStore. */
export class TypedSessionStore<K, A>
  extends WindowedStore<K, A, SessionKeys>
  implements SessionStore<K, A>
{
  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]> {
    const query = this.queryOfKey(key, earliestEnd, latestStart, options)
    return this.iterate(this.scanKey(key, query), keyAndValue<K, A>)
  }

  findSessionsRange(
    range: { from?: K; to?: K },
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]> {
    const query = this.queryOfKeys(range, earliestEnd, latestStart, options)
    return this.iterate(this.scanKeys(query), keyAndValue<K, A>)
  }

  fetchSession(key: K, start: number, end: number): A | undefined {
    return this.entries.get(this.sought(key, start, end))?.value
  }

  fetch(key: K, options?: { reverse?: boolean }): StoreIterator<[Windowed<K>, A]> {
    return this.findSessions(key, 0, Infinity, options)
  }

  range(options: RangeOptions<K> = {}): StoreIterator<[Windowed<K>, A]> {
    return this.findSessionsRange(options, 0, Infinity, options)
  }

  protected override scanKey(key: K, query: WindowedQuery): EntryRows<Windowed<K>, A> {
    // What is in the order of the bytes has those first that began first.
    if (this.keys.order !== 'key-latest-start') return super.scanKey(key, query)
    return scanByTime(this.table, query)
  }

  /** What queries read. */
  readView(): SessionReadView<K, A> {
    return new SessionReadView(this.viewed())
  }

  put({ key, window }: Windowed<K>, aggregate: A | undefined): void {
    const { start, end } = window
    assertSession(start, end, this.name)
    this.entries.put(this.sought(key, start, end), aggregate ?? undefined, noTimestamp)
  }

  remove({ key, window }: Windowed<K>): void {
    const { start, end } = window
    assertSession(start, end, this.name)
    this.entries.remove(this.sought(key, start, end))
  }

  /** As `findSessionsByEnd`, for an operator that asks for no session twice. */
  closedSessions(earliestEnd: number, latestEnd: number): StoreIterator<[Windowed<K>, A]> {
    const query = this.queryOfKeys({}, earliestEnd, Infinity, {})
    const rows = scanClosed(this.table, { ...query, latestEnd, withExpired: true })
    return this.iterate(rows, keyAndValue<K, A>)
  }

  findSessionsByEnd(earliestEnd: number, latestEnd: number): StoreIterator<[Windowed<K>, A]> {
    const query = this.queryOfKeys({}, earliestEnd, Infinity, {})
    const rows = scanByTime(this.table, { ...query, latestEnd, withExpired: true })
    return this.iterate(rows, keyAndValue<K, A>)
  }
}
