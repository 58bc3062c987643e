import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../base/disk.ts'
import { serdes } from '../serde/serdes.ts'
import { decodeHeld } from './buffer-changelog.ts'
import {
  BufferValueReader,
  bufferValue,
  bufferValueBytes,
  encodeBufferValue,
} from './buffer-value.ts'
import { ChangeBuffer } from './change-buffer.ts'
import { keyValueStore } from './descriptor.ts'
import { HashOrderedKeys } from './hash-ordered-keys.ts'
import type { RecordContext, RecordHeaders } from './state-store.ts'

/** Made with the classes of Kafka Streams 4.4.0: HashSet<Bytes>, BufferValue and the helper that reads changelogs. */
interface Vectors {
  hashSets: { added: string[]; order: string[] }[][]
  values: {
    prior: string | null
    old: string | null
    new: string | null
    headers: [string, string | null][]
    topic: string
    offset: number
    partition: number
    timestamp: number
    bytes: number
    hex: string
  }[]
  changelog: {
    version: number | null
    held: string | null
    value: string
    restored: { time: number; hex: string } | null
  }[]
}

const vectorsPath = fileURLToPath(new URL('change-buffer.vectors.json', import.meta.url))
const vectors = JSON.parse(String(systemDisk.readFile(vectorsPath))) as Vectors

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytesOf = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text))

test.each(vectors.hashSets.map((rounds, index) => ({ index, rounds })))(
  'keys come in the order of a Java hash set, which stays large when it was emptied: $index',
  ({ rounds }) => {
    const keys = new HashOrderedKeys()
    for (const { added, order } of rounds) {
      for (const hex of added) {
        const key = Buffer.from(hex, 'hex')
        keys.add(key, key.toString('latin1'))
      }
      expect(keys.drain().map(hexOf)).toEqual(order)
    }
    expect(keys.size).toBe(0)
  },
)

test.each(vectors.values)('a value is written and counted as in Java: $hex', (given) => {
  const { timestamp, offset, topic, partition, bytes, hex } = given
  const headers = given.headers.map(([name, value]) => [name, bytesOf(value)] as const)
  const origin = { timestamp, offset, topic, partition, headers }
  const [prior, old, value] = [given.prior, given.old, given.new].map(bytesOf)
  const held = bufferValue(origin, { prior: prior ?? null, old: old ?? null, new: value ?? null })

  expect(hexOf(encodeBufferValue(held))).toBe(hex)
  expect(bufferValueBytes(held)).toBe(bytes)
  expect(new BufferValueReader(Buffer.from(hex, 'hex')).value()).toEqual(held)
})

function readHeld({ version, held, value }: Vectors['changelog'][number]): unknown {
  const headers: RecordHeaders =
    version === null ? [['x', Buffer.from('y')]] : [['v', Buffer.from([version])]]
  const record = { timestamp: 5, offset: 9, topic: 'app-buffer-changelog', partition: 2, headers }
  const [time, found] = decodeHeld(Buffer.from(value, 'hex'), record, bytesOf(held))
  return { time, hex: hexOf(encodeBufferValue(found)) }
}

test.each(vectors.changelog.filter(({ restored }) => restored !== null))(
  'version $version is read as in Java, with $held held: $value',
  (given) => {
    expect(readHeld(given)).toEqual(given.restored)
  },
)

test.each(vectors.changelog.filter(({ restored }) => restored === null))(
  'what Java cannot read is refused, as version $version: $value',
  (given) => {
    expect(() => readHeld(given)).toThrow(/./)
  },
)

interface Written {
  key: string
  value: string | null
  timestamp: number
  headers: RecordHeaders | undefined
}

interface Setup {
  buffer: ChangeBuffer
  record: RecordContext
  written: Written[]
  /** `key=new(old)@timestamp` of all that comes up to that buffer time. */
  emit: (upTo: number) => string[]
}

function setup(mode: 'logged' | 'unlogged' = 'logged'): Setup {
  const record = { timestamp: 0, offset: 0, topic: 'in', partition: 0, headers: [] }
  const written: Written[] = []
  const descriptor = keyValueStore('buffer', { key: serdes.string, value: serdes.string })
  const changelog = {
    write: (
      _store: string,
      key: Buffer,
      value: Buffer | null,
      timestamp: number,
      headers?: RecordHeaders,
    ) => written.push({ key: String(key), value: value && hexOf(value), timestamp, headers }),
  }
  const buffer = new ChangeBuffer({
    descriptor: descriptor as never,
    record,
    changelog: mode === 'logged' ? changelog : undefined,
  })
  return {
    buffer,
    record,
    written,
    emit(upTo) {
      const emitted: string[] = []
      buffer.emitWhile(
        () => buffer.minTime <= upTo,
        (key, newValue, oldValue, { timestamp }) =>
          emitted.push(`${String(key)}=${String(newValue)}(${String(oldValue)})@${timestamp}`),
      )
      return emitted
    },
  }
}

describe('a buffer', () => {
  test('lets changes go by time, then by key', () => {
    const { buffer, emit } = setup()
    buffer.put(2, 'b', '1', undefined)
    buffer.put(1, 'c', '2', undefined)
    buffer.put(2, 'a', '3', undefined)
    buffer.put(3, 'd', '4', undefined)

    expect(emit(0)).toEqual([])
    expect(emit(2)).toEqual(['c=2(undefined)@0', 'a=3(undefined)@0', 'b=1(undefined)@0'])
    expect([buffer.recordCount, buffer.minTime]).toEqual([1, 3])
  })

  test('keeps the place of a key, and the last of its changes with its record', () => {
    const { buffer, record, emit } = setup()
    buffer.put(1, 'a', '1', '0')
    buffer.put(2, 'b', '1', undefined)
    record.timestamp = 9
    buffer.put(5, 'a', '2', '1')

    expect(emit(1)).toEqual(['a=2(1)@9'])
  })

  test('knows what steps below have last heard of a key', () => {
    const { buffer, emit } = setup()
    buffer.put(1, 'a', '1', '0')
    buffer.put(1, 'a', '2', '1')
    buffer.put(1, 'b', '1', undefined)

    expect(buffer.priorValue('a')).toEqual(['0'])
    expect(buffer.priorValue('b')).toEqual([undefined])
    expect(buffer.priorValue('c')).toBe(undefined)
    emit(1)
    expect(buffer.priorValue('a')).toBe(undefined)
  })

  test('holds a change until it was emitted: a failure below leaves it there', () => {
    const { buffer } = setup()
    buffer.put(1, 'a', '1', undefined)

    expect(() =>
      buffer.emitWhile(
        () => true,
        () => {
          throw new Error('below')
        },
      ),
    ).toThrow('below')
    expect(buffer.recordCount).toBe(1)
  })

  test('counts what it holds as Java does', () => {
    const { buffer, record, emit } = setup()
    record.headers = [['name', Buffer.from('v')]] as never
    buffer.put(1, 'key', 'value', undefined)
    // Time 8, key 3, value 5; of the record: time 8, offset 8, topic 2, partition 4, headers 4 + 1.
    expect(buffer.bytes).toBe(43)
    record.headers = []
    buffer.put(1, 'key', 'v', 'value')
    // The old value counts; the prior one, none, does not.
    expect(buffer.bytes).toBe(39)
    emit(1)
    expect([buffer.bytes, buffer.memoryBytes()]).toEqual([0, 0])
  })

  test('writes what has changed at a flush, with the time of the writing', () => {
    const { buffer, written, emit } = setup()
    buffer.put(1, 'a', '1', undefined)
    buffer.put(1, 'a', '2', '1')
    buffer.put(5, 'b', '1', undefined)
    emit(1)

    expect(buffer.flush()).toBe(true)
    expect(written).toEqual([
      { key: 'a', value: null, timestamp: -1, headers: undefined },
      {
        key: 'b',
        value: `${'00'.repeat(16)}00000002696e0000000000000000ffffffffffffffff00000001310000000000000005`,
        timestamp: -1,
        headers: [['v', Buffer.from([3])]],
      },
    ])
    expect(buffer.flush()).toBe(false)
  })

  test('comes back from its changelog, and writes nothing for that', () => {
    const first = setup()
    first.record.timestamp = 7
    first.buffer.put(1, 'a', '1', '0')
    first.buffer.put(1, 'gone', '1', undefined)
    first.buffer.flush()
    const { buffer, emit, written } = setup()
    const record = { timestamp: 0, offset: 0, topic: 'log', partition: 0 }
    for (const { key, value, headers = [] } of first.written) {
      const bytes = value === null ? null : Buffer.from(value, 'hex')
      buffer.restoreRecord(Buffer.from(key), bytes, { ...record, headers })
    }
    buffer.restoreRecord(Buffer.from('gone'), null, { ...record, headers: [] })
    buffer.restoreRecord(Buffer.from('never'), null, { ...record, headers: [] })

    expect([buffer.recordCount, buffer.bytes]).toEqual([1, 33])
    expect(buffer.flush()).toBe(false)
    expect(buffer.priorValue('a')).toEqual(['0'])
    expect(emit(1)).toEqual(['a=1(0)@7'])
    expect(written).toEqual([])
  })

  test('has a place behind all others for what never comes up', () => {
    const { buffer, written, emit } = setup()
    buffer.put(Infinity, 'a', '1', undefined)
    buffer.flush()
    const restored = setup()
    const record = { timestamp: 0, offset: 0, topic: 'log', partition: 0 }
    const [{ value, headers = [] } = { value: null }] = written
    restored.buffer.restoreRecord(Buffer.from('a'), Buffer.from(value ?? '', 'hex'), {
      ...record,
      headers,
    })

    expect(value?.slice(-16)).toBe('7fffffffffffffff')
    expect(emit(Number.MAX_SAFE_INTEGER)).toEqual([])
    expect(restored.buffer.minTime).toBe(Infinity)
  })

  test('without a changelog writes nothing', () => {
    const { buffer, written } = setup('unlogged')
    buffer.put(1, 'a', '1', undefined)

    expect([buffer.logged, buffer.flush(), written]).toEqual([false, false, []])
  })
})
