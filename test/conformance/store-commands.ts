/**
 * The processor `command`: the value of a record says what to do with a store, for the key of the record,
 * and what the store answers is forwarded. conformance/java's StoreCommands.java has the same commands.
 *
 *     window     put START VALUE · fetch START · of FROM TO · range KEY KEY TIME TIME
 *     session    put START END VALUE · remove START END · session START END · of END START
 *                range KEY KEY END START
 *     versioned  put TIME VALUE · delete TIME · get · get TIME
 *
 * `*` is an open bound, `-` as a value is none; `back` behind a scan reverses it.
 */
import type { ValueAndTimestamp } from '../../src/store/key-value-store.ts'
import type { SessionStore } from '../../src/store/session-store.ts'
import type { VersionedStore } from '../../src/store/versioned-store.ts'
import type { TimestampedWindowStore, WindowStore } from '../../src/store/window-store.ts'
import type { Windowed } from '../../src/store/windowed.ts'
import { InvalidCase } from './case.ts'
import { text } from './function-library.ts'

type Windows = WindowStore<unknown, unknown>
type TimestampedWindows = TimestampedWindowStore<unknown, unknown>
type Sessions = SessionStore<unknown, unknown>
type Versions = VersionedStore<unknown, unknown>

/** A record that has a command. */
export interface Command {
  readonly key: unknown
  readonly words: readonly string[]
  readonly timestamp: number
  /** The store's value keeps a timestamp. */
  readonly timestamped: boolean
}

/** Runs one, and shows what the store answers. */
export function runCommand(store: object, command: Command): string {
  if ('findSessions' in store) return sessionCommand(store as Sessions, command)
  if ('fetchRange' in store) return windowCommand(store as Windows | TimestampedWindows, command)
  if ('versions' in store) return versionCommand(store as Versions, command)
  throw new InvalidCase('there are no commands for such a store')
}

const time = (word: string | undefined): number => {
  if (word === undefined) throw new InvalidCase('a command lacks a time')
  return word === '*' ? Infinity : Number(word)
}
const lowest = (word: string | undefined): number => (word === '*' ? 0 : time(word))
const valueOf = (word: string | undefined): string | undefined => (word === '-' ? undefined : word)

/** The keys of a range; `*`: open. */
function keysOf(from = '*', to = '*'): { from?: unknown; to?: unknown } {
  return { ...(from !== '*' && { from }), ...(to !== '*' && { to }) }
}

const isBack = (words: readonly string[]): { reverse: boolean } => ({
  reverse: words.at(-1) === 'back',
})

function shown(value: unknown, timestamped: boolean): string {
  if (value === undefined || !timestamped) return text(value)
  const { value: inner, timestamp } = value as ValueAndTimestamp<unknown>
  return `${text(inner)}@${timestamp}`
}

function windowCommand(
  store: Windows | TimestampedWindows,
  { key, words, timestamp, timestamped }: Command,
): string {
  const [name = '', first, second, third, fourth] = words
  const rows = (found: Iterable<[Windowed<unknown>, unknown]>): string =>
    [...found]
      .map(([windowed, value]) => `${windowText(windowed)}=${shown(value, timestamped)}`)
      .join(' ')
  switch (name) {
    case 'put': {
      const value = valueOf(second)
      if (timestamped) (store as TimestampedWindows).put(key, value, timestamp, time(first))
      else (store as Windows).put(key, value, time(first))
      return 'done'
    }
    case 'fetch':
      return shown(store.fetch(key, time(first)), timestamped)
    case 'of': {
      const found = store.fetchRange(key, lowest(first), time(second), isBack(words))
      return [...found].map(([start, value]) => `${start}=${shown(value, timestamped)}`).join(' ')
    }
    case 'range': {
      const times = { timeFrom: lowest(third), timeTo: time(fourth) }
      return rows(store.range({ ...keysOf(first, second), ...times, ...isBack(words) }))
    }
    default:
      throw new InvalidCase(`a window store has no command ${name}`)
  }
}

function windowText({ key, window }: Windowed<unknown>): string {
  return `${text(key)}[${window.start}/${window.end}]`
}

function sessionCommand(store: Sessions, { key, words }: Command): string {
  const [name = '', first, second, third, fourth] = words
  const rows = (found: Iterable<[Windowed<unknown>, unknown]>): string =>
    [...found].map(([session, value]) => `${windowText(session)}=${text(value)}`).join(' ')
  switch (name) {
    case 'put':
      store.put({ key, window: { start: time(first), end: time(second) } }, valueOf(third))
      return 'done'
    case 'remove':
      store.remove({ key, window: { start: time(first), end: time(second) } })
      return 'done'
    case 'session':
      return text(store.fetchSession(key, time(first), time(second)))
    case 'of':
      return rows(store.findSessions(key, lowest(first), time(second), isBack(words)))
    case 'range': {
      const keys = keysOf(first, second)
      return rows(store.findSessionsRange(keys, lowest(third), time(fourth), isBack(words)))
    }
    default:
      throw new InvalidCase(`a session store has no command ${name}`)
  }
}

function versionCommand(store: Versions, { key, words }: Command): string {
  const [name = '', first, second] = words
  switch (name) {
    case 'put':
      return text(store.put(key, valueOf(second), time(first)) ?? 'latest')
    case 'delete':
      return versionText(store.delete(key, time(first)))
    case 'get':
      return versionText(first === undefined ? store.get(key) : store.get(key, time(first)))
    default:
      throw new InvalidCase(`a versioned store has no command ${name}`)
  }
}

/** Kafka Streams' typed store does not tell until when it is valid. */
function versionText(version: { value: unknown; timestamp: number } | undefined): string {
  return version === undefined ? text(undefined) : `${text(version.value)}@${version.timestamp}`
}
