import { beforeEach, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import type { KvEngine, KvTransaction } from '../kv/kv.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import type { PinnedTable } from './pinned-table.ts'
import { plainFormat, timestampedFormat } from './stored-value.ts'
import { WriteBehind } from './write-behind.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

/** Transactions of the engine in memory, with failures on demand. */
class FaultyEngine extends MemoryEngine {
  failCommits = 0
  failPuts = 0
  puts = 0

  override begin(): KvTransaction {
    const transaction = super.begin()
    const fail = (): never => {
      throw new StreamsError('DISK_FAILED', { path: 'data.mdb', detail: 'no space left' })
    }
    return {
      get isOpen() {
        return transaction.isOpen
      },
      put: (table, key, value) => {
        this.puts += 1
        if (this.failPuts > 0 && this.puts === this.failPuts) fail()
        transaction.put(table, key, value)
      },
      delete: (table, key) => transaction.delete(table, key),
      commit: () => {
        if (this.failCommits > 0) {
          this.failCommits -= 1
          fail()
        }
        return transaction.commit()
      },
      discard: () => transaction.discard(),
    }
  }
}

let engine: FaultyEngine
let buffer: WriteBehind

beforeEach(() => {
  engine = new FaultyEngine()
  buffer = WriteBehind.of(engine)
})

function put(table: PinnedTable, key: string, value: string | null): void {
  table.put(bytes(key), key, value === null ? null : bytes(value), 1)
}

function get(table: PinnedTable, key: string): string | undefined {
  return table.get(bytes(key), key)?.value.toString()
}

function engineRows(name: string, from: KvEngine = engine): string[] {
  return [...from.table(name).range()].map(({ key, value }) => `${String(key)}=${String(value)}`)
}

function rows(table: PinnedTable, reverse = false): string[] {
  const seen: string[] = []
  using scan = table.scan({ reverse })
  for (let row = scan.next(); row !== undefined; row = scan.next()) {
    seen.push(`${String(row.key)}=${String(row.value)}`)
  }
  return seen
}

const drain = (): void => {
  while (buffer.writeSlice());
}

test('an engine has one buffer', () => {
  expect(WriteBehind.of(engine)).toBe(buffer)
  expect(WriteBehind.of(new MemoryEngine())).not.toBe(buffer)
})

test('what is not committed never reaches the engine', () => {
  const table = buffer.table('t', plainFormat)
  put(table, 'a', '1')
  drain()
  expect(engineRows('t')).toEqual([])
  expect(get(table, 'a')).toBe('1')
  table.committed(1)
  put(table, 'a', '2')
  put(table, 'b', '2')
  drain()
  expect(engineRows('t')).toEqual(['a=1'])
  expect(table.restoreOffset()).toBe(1)
  expect(rows(table)).toEqual(['a=2', 'b=2'])
})

test('a batch is visible all at once, with its offset, after many slices', () => {
  const table = buffer.table('t', plainFormat)
  const keys = Array.from({ length: 5000 }, (_, index) => `key-${String(index).padStart(4, '0')}`)
  for (const key of keys) put(table, key, 'v')
  table.committed(5000)
  let slices = 0
  while (buffer.writeSlice()) {
    slices += 1
    expect(engine.table('t').approximateEntryCount()).toBe(0)
    expect(table.restoreOffset()).toBe(0)
    expect(get(table, 'key-0000')).toBe('v')
  }
  expect(slices).toBeGreaterThan(20)
  expect(engineRows('t')).toEqual(keys.map((key) => `${key}=v`))
  expect(table.restoreOffset()).toBe(5000)
  expect(table.pinnedBytes()).toBe(0)
})

test('where a transaction lasts one turn, none is open between two slices, and the batch is whole', () => {
  class OneTurnEngine extends MemoryEngine {
    override readonly transactionSpan = 'one-turn'
    transaction: KvTransaction | undefined

    override begin(): KvTransaction {
      this.transaction = super.begin()
      return this.transaction
    }
  }
  const oneTurn = new OneTurnEngine()
  const behind = WriteBehind.of(oneTurn)
  const table = behind.table('t', plainFormat)
  const other = behind.table('u', plainFormat)
  for (let row = 0; row < 5000; row += 1) put(table, `k${row}`, 'v')
  put(other, 'a', '1')
  expect(table.uncommittedBytes()).toBe(table.pinnedBytes())
  table.committed(5000)
  other.committed(7)
  expect(table.uncommittedBytes()).toBe(0)
  const states = new Set<string>()
  let isMore = true
  while (isMore) {
    isMore = behind.writeSlice()
    expect(oneTurn.transaction?.isOpen).not.toBe(true)
    states.add(
      `${table.restoreOffset()} ${other.restoreOffset()} ${engineRows('t', oneTurn).length}`,
    )
  }
  expect([...states]).toEqual(['0 0 0', '5000 7 5000'])
})

test('rows with large values make smaller slices', () => {
  const table = buffer.table('t', plainFormat)
  for (let row = 0; row < 20; row += 1) put(table, `k${row}`, 'x'.repeat(100_000))
  table.committed(20)
  let slices = 1
  while (buffer.writeSlice()) slices += 1
  expect(slices).toBeGreaterThan(6)
})

test('commits during a batch wait for the next one, and are united', () => {
  const table = buffer.table('t', plainFormat)
  put(table, 'a', '1')
  put(table, 'b', '1')
  table.committed(2)
  buffer.writeSlice()
  put(table, 'a', '2')
  table.committed(3)
  put(table, 'b', null)
  table.committed(4)
  put(table, 'c', '5')
  expect(rows(table)).toEqual(['a=2', 'c=5'])
  const states = new Set<string>()
  while (buffer.writeSlice()) states.add(`${engineRows('t').join()} ${table.restoreOffset()}`)
  states.add(`${engineRows('t').join()} ${table.restoreOffset()}`)
  expect([...states]).toEqual([' 0', 'a=1,b=1 2', 'a=2 4'])
  expect(rows(table)).toEqual(['a=2', 'c=5'])
})

test('all tables of an engine become visible in the same step', () => {
  const counts = buffer.table('counts', plainFormat)
  const sums = buffer.table('sums', timestampedFormat)
  put(counts, 'a', '1')
  put(sums, 'a', '10')
  counts.committed(1)
  sums.committed(7)
  const states = new Set<string>()
  let isMore = true
  while (isMore) {
    isMore = counts.writeBehind()
    states.add(`${counts.restoreOffset()} ${sums.restoreOffset()}`)
  }
  expect([...states]).toEqual(['0 0', '1 7'])
  expect(get(sums, 'a')).toBe('10')
  expect(sums.get(bytes('a'), 'a')?.timestamp).toBe(1)
})

test('a batch that another write discards is written from its beginning', () => {
  const table = buffer.table('t', plainFormat)
  for (let row = 0; row < 1000; row += 1) put(table, `k${row}`, 'v')
  table.committed(1000)
  for (let slice = 0; slice < 4; slice += 1) buffer.writeSlice()
  engine.table('other').put(bytes('x'), bytes('y'))
  expect(engineRows('t')).toEqual([])
  drain()
  expect(engineRows('t')).toHaveLength(1000)
  expect(engineRows('other')).toEqual(['x=y'])
})

test.each(['put', 'commit'])(
  'when the disk fails at a %s, nothing is lost or half visible',
  (at) => {
    const table = buffer.table('t', plainFormat)
    for (let row = 0; row < 600; row += 1) put(table, `k${row}`, 'v')
    table.committed(600)
    if (at === 'put') engine.failPuts = 300
    else engine.failCommits = 1
    expect(drain).toThrow('Writing data.mdb failed: no space left.')
    expect(engineRows('t')).toEqual([])
    expect(table.restoreOffset()).toBe(0)
    expect(get(table, 'k599')).toBe('v')
    put(table, 'k0', 'w')
    table.committed(601)
    drain()
    expect(engineRows('t')).toHaveLength(600)
    expect(engine.table('t').get(bytes('k0'))?.toString()).toBe('w')
    expect(table.restoreOffset()).toBe(601)
  },
)

test('a commit without rows moves the offset, one with the same offset does nothing', () => {
  const table = buffer.table('t', plainFormat)
  table.committed(5)
  expect(buffer.writeSlice()).toBe(true)
  drain()
  expect(table.restoreOffset()).toBe(5)
  table.committed(5)
  expect(buffer.writeSlice()).toBe(false)
})

test('a key that the engine cannot store is refused when it is put, not when it is written', () => {
  class NarrowEngine extends MemoryEngine {
    override readonly keyBytesMax = 3
  }
  const table = WriteBehind.of(new NarrowEngine()).table('t', plainFormat)
  const refused = { code: 'KEY_TOO_LONG', context: { store: 't', bytes: 4, limit: 3 } }
  expect(() => put(table, 'long', '1')).toThrow(expect.objectContaining(refused))
  expect(() => table.restore(bytes('long'), bytes('1'), 1)).toThrow(
    expect.objectContaining(refused),
  )
  put(table, 'long', null)
  expect(table.pinnedBytes()).toBeLessThan(1000)
  put(table, 'key', '1')
  expect(get(table, 'key')).toBe('1')
})

test('a store without changelog is written without an offset', () => {
  const table = buffer.table('t', plainFormat)
  put(table, 'a', '1')
  table.committed(undefined)
  drain()
  expect(engineRows('t')).toEqual(['a=1'])
  expect(table.restoreOffset()).toBe(0)
})

test('restored rows are read at once, gathered, and written when the task runs', () => {
  const table = buffer.table('t', plainFormat)
  const borrowed = bytes('1')
  table.restore(bytes('a'), borrowed, 1)
  borrowed.fill('x')
  table.restore(bytes('b'), bytes('2'), 2)
  table.restore(bytes('b'), null, 3)
  table.restored(2)
  expect(rows(table)).toEqual(['a=1'])
  expect(buffer.writeSlice()).toBe(false)
  table.committed(3)
  drain()
  expect(engineRows('t')).toEqual(['a=1'])
  expect(table.restoreOffset()).toBe(3)
})

test('restoring writes by itself when much has been gathered, and holds no more than a bound', () => {
  const table = buffer.table('t', plainFormat)
  const value = Buffer.alloc(100_000, 'v')
  let most = 0
  for (let offset = 0; offset < 1000; offset += 1) {
    table.restore(bytes(`k${offset}`), value, 1)
    table.restored(offset)
    most = Math.max(most, table.pinnedBytes())
  }
  expect(most).toBeLessThan(40_000_000)
  expect(table.restoreOffset()).toBeGreaterThan(500)
  table.close()
  expect(table.restoreOffset()).toBe(1000)
  expect(engineRows('t')).toHaveLength(1000)
})

test('close writes what is committed of its own table', () => {
  const table = buffer.table('t', plainFormat)
  put(table, 'a', '1')
  table.committed(1)
  put(table, 'b', '2')
  table.close()
  expect(engineRows('t')).toEqual(['a=1'])
  expect(table.restoreOffset()).toBe(1)
  expect(buffer.writeSlice()).toBe(false)
})

test('a scan of all stages, in both directions, shows the newest of each key', () => {
  const table = buffer.table('t', plainFormat)
  for (const key of ['a', 'b', 'c', 'd', 'e']) put(table, key, 'engine')
  table.committed(1)
  drain()
  for (const key of ['b', 'c', 'd']) put(table, key, 'writing')
  put(table, 'f', 'writing')
  table.committed(2)
  buffer.writeSlice()
  put(table, 'c', 'waiting')
  put(table, 'd', null)
  table.committed(3)
  put(table, 'e', null)
  put(table, 'd', 'open')
  const expected = ['a=engine', 'b=writing', 'c=waiting', 'd=open', 'f=writing']
  expect(rows(table)).toEqual(expected)
  expect(rows(table, true)).toEqual(expected.toReversed())
  using held = table.scan({})
  drain()
  put(table, 'a', null)
  const seen: string[] = []
  for (let row = held.next(); row !== undefined; row = held.next()) seen.push(String(row.key))
  expect(seen.join('')).toBe('abcdf')
})
