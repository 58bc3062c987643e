/** Serdes, topics and stores that must compile. Checked by `tsc`, never run. */
import {
  keyValueStore,
  nullable,
  serdes,
  sessionStore,
  topic,
  versionedStore,
  windowStore,
  type AnyStore,
  type KeyValueStoreDescriptor,
  type RawKey,
  type Serde,
  type SessionStoreDescriptor,
  type StandardSchema,
  type Topic,
  type VersionedStoreDescriptor,
  type WindowStoreDescriptor,
  type Windowed,
} from 'millpond'
import { same } from './same.ts'

export function types(): void {
  same<typeof serdes.string, Serde<string>>(true)
  same<typeof serdes.long, Serde<number>>(true)
  same<typeof serdes.bigint, Serde<bigint>>(true)
  same<typeof serdes.buffer, Serde<Buffer>>(true)
  same<typeof serdes.void, Serde<null>>(true)
  const tags = serdes.list(serdes.string)
  same<typeof tags, Serde<string[]>>(true)
  const gaps = serdes.list(nullable(serdes.int))
  same<typeof gaps, Serde<(number | null)[]>>(true)
  const windowed = serdes.timeWindowed(serdes.uuid, 1_000)
  same<typeof windowed, Serde<Windowed<string>>>(true)
  const sessions = serdes.sessionWindowed(serdes.int)
  same<typeof sessions, Serde<Windowed<number>>>(true)
}

export function ofASchema<T>(schema: StandardSchema<T>): Topic<RawKey, T> {
  return topic('checked', { value: serdes.json(schema) })
}

export function ownSerde(): Serde<Date> {
  return {
    name: 'date',
    serialize: (date) => serdes.long.serialize(date.getTime()),
    deserialize: (bytes) => new Date(serdes.long.deserialize(bytes)),
    identity: (date) => date.getTime(),
    sizeOf: () => 16,
    text: { format: (date) => date.toISOString(), parse: (text) => new Date(text) },
  }
}

export function topics(): void {
  const raw = topic('raw', { value: serdes.bytes })
  same<typeof raw, Topic<RawKey, Uint8Array>>(true)
  const keyed = topic('keyed', {
    key: serdes.int,
    value: serdes.json<{ at: number }>(),
    timestamp: ({ at }, key, time, { partitionTime, headers }) =>
      Math.max(at, key, time, partitionTime, headers.length),
    offsetReset: 'none',
  })
  same<typeof keyed, Topic<number, { at: number }>>(true)
}

export function descriptors(): AnyStore[] {
  const both = { key: serdes.string, value: serdes.double }
  const rows = keyValueStore('rows', { ...both, persistent: false, caching: false })
  same<typeof rows, KeyValueStoreDescriptor<string, number>>(true)
  const windows = windowStore('windows', { ...both, retention: 10, windowSize: 5 })
  same<typeof windows, WindowStoreDescriptor<string, number>>(true)
  const sessions = sessionStore('sessions', { ...both, changelog: false })
  same<typeof sessions, SessionStoreDescriptor<string, number>>(true)
  const versions = versionedStore('versions', {
    ...both,
    historyRetention: 100,
    changelog: { 'min.insync.replicas': '2' },
  })
  same<typeof versions, VersionedStoreDescriptor<string, number>>(true)
  return [rows, windows, sessions, versions]
}
