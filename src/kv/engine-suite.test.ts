/** One suite for every engine: what holds for one holds for all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rocksdbEngines } from '../../test/peers/rocksdb.ts'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import { silentLog } from '../base/log.ts'
import { journalStateEngine } from '../testing/journal-engine.ts'
import type {
  KvEngine,
  KvEngineFactory,
  KvIterator,
  KvRange,
  KvSnapshot,
  KvTransaction,
} from './kv.ts'
import { lmdbEngine } from './lmdb-engine.ts'
import { memoryEngine } from './memory-engine.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const row = (key: string, value: string): string => `${key}=${value}`

/** Rows as `key=value`, in the order in which they come. */
function rows(iterator: KvIterator): string[] {
  return [...iterator].map(({ key, value }) =>
    row(key.toString('latin1'), value.toString('latin1')),
  )
}

function put(engine: KvEngine, table: string, entries: Record<string, string>): void {
  const batch = engine.batch()
  for (const [key, value] of Object.entries(entries)) {
    batch.put(engine.table(table), bytes(key), bytes(value))
  }
  batch.commit()
}

const get = (engine: KvEngine, table: string, key: string): string | undefined =>
  engine.table(table).get(bytes(key))?.toString('latin1')

const engines: { name: string; make: KvEngineFactory }[] = [
  { name: 'memory', make: memoryEngine },
  { name: 'lmdb', make: lmdbEngine({ disk: systemDisk, clock: systemClock }) },
  {
    name: 'journal',
    make: journalStateEngine.factory({ disk: systemDisk, clock: systemClock, log: silentLog }),
  },
  ...rocksdbEngines.map((make) => ({ name: 'rocksdb', make })),
]

describe.each(engines)('$name engine', ({ make }) => {
  let directory: string
  let engine: KvEngine

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'millpond-kv-'))
    engine = make(directory)
  })

  afterEach(() => {
    engine.close()
    rmSync(directory, { recursive: true, force: true })
  })

  test('a key that was never put has no value', () => {
    expect(get(engine, 't', 'a')).toBeUndefined()
  })

  test('a put replaces, a delete removes, a delete of nothing does nothing', () => {
    const table = engine.table('t')
    table.put(bytes('a'), bytes('1'))
    table.put(bytes('a'), bytes('2'))
    expect(get(engine, 't', 'a')).toBe('2')
    table.delete(bytes('a'))
    table.delete(bytes('a'))
    expect(get(engine, 't', 'a')).toBeUndefined()
    expect(rows(table.range())).toEqual([])
  })

  test('empty keys, empty values and keys of zero bytes are kept, in their order', () => {
    put(engine, 't', {
      '\0\0': 'c',
      '': 'a',
      '\0': 'b',
      '\x01': '',
      '\0\x01': 'd',
      '\xff\xff': 'z',
    })
    const all = ['=a', '\0=b', '\0\0=c', '\0\x01=d', '\x01=', '\xff\xff=z']
    expect(rows(engine.table('t').range())).toEqual(all)
    expect(rows(engine.table('t').range({ reverse: true }))).toEqual(all.toReversed())
    expect(get(engine, 't', '')).toBe('a')
    expect(get(engine, 't', '\x01')).toBe('')
    expect(rows(engine.table('t').range({ to: bytes('') }))).toEqual(['=a'])
    expect(rows(engine.table('t').range({ to: bytes(''), toExclusive: true }))).toEqual([])
    engine.table('t').delete(bytes(''))
    expect(rows(engine.table('t').range()).at(0)).toBe('\0=b')
  })

  test('the order is that of unsigned bytes', () => {
    put(engine, 't', { '\x7f': '2', '\x80': '3', 'a\xff': '5', a: '4', '\xff': '6', '\x01': '1' })
    expect(rows(engine.table('t').range()).map((text) => text.at(-1))).toEqual([
      '1',
      '4',
      '5',
      '2',
      '3',
      '6',
    ])
  })

  test.each<[string, KvRange, string]>([
    ['everything', {}, 'b d f h'],
    ['from a key that is there', { from: bytes('d') }, 'd f h'],
    ['from a key that is not', { from: bytes('c') }, 'd f h'],
    ['to a key, inclusive', { to: bytes('f') }, 'b d f'],
    ['to a key, exclusive', { to: bytes('f'), toExclusive: true }, 'b d'],
    ['between two', { from: bytes('c'), to: bytes('g') }, 'd f'],
    ['one key', { from: bytes('d'), to: bytes('d') }, 'd'],
    ['no key', { from: bytes('d'), to: bytes('d'), toExclusive: true }, ''],
    ['from after to', { from: bytes('g'), to: bytes('c') }, ''],
    ['before all', { to: bytes('a') }, ''],
    ['after all', { from: bytes('i') }, ''],
    ['everything, backwards', { reverse: true }, 'h f d b'],
    ['backwards to a key', { from: bytes('d'), reverse: true }, 'h f d'],
    ['backwards from a key', { to: bytes('f'), reverse: true }, 'f d b'],
    ['backwards from before a key', { to: bytes('f'), toExclusive: true, reverse: true }, 'd b'],
    ['backwards between two', { from: bytes('c'), to: bytes('g'), reverse: true }, 'f d'],
    ['backwards, from after to', { from: bytes('g'), to: bytes('c'), reverse: true }, ''],
    ['backwards before all', { to: bytes('a'), reverse: true }, ''],
    [
      'bounds longer than any key',
      { from: bytes('b'.padEnd(9000, 'b')), to: bytes('h'.padEnd(9000, 'h')) },
      'd f h',
    ],
    [
      'the same backwards',
      { from: bytes('b'.padEnd(9000, 'b')), to: bytes('h'.padEnd(9000, 'h')), reverse: true },
      'h f d',
    ],
  ])('a range: %s', (_name, range, expected) => {
    put(engine, 't', { f: '', b: '', h: '', d: '' })
    const keys = [...engine.table('t').range(range)].map(({ key }) => key.toString())
    expect(keys.join(' ')).toBe(expected)
  })

  test('long keys and large values are kept', () => {
    const key = 'k'.repeat(4000)
    const value = 'v'.repeat(3_000_000)
    put(engine, 't', { [key]: value, small: 'x' })
    expect(get(engine, 't', key)).toBe(value)
    expect(get(engine, 't', 'small')).toBe('x')
    expect(rows(engine.table('t').range())).toEqual([row(key, value), 'small=x'])
  })

  test('the rows of an iterator are the reader’s', () => {
    put(engine, 't', { a: '1', b: '2' })
    const read = [...engine.table('t').range()]
    engine.table('t').get(bytes('b'))
    put(engine, 't', { a: '3', b: '4' })
    expect(read.map(({ key, value }) => `${String(key)}${String(value)}`)).toEqual(['a1', 'b2'])
  })

  test('what was put may be changed by the caller after the commit', () => {
    const value = bytes('before')
    const batch = engine.batch()
    batch.put(engine.table('t'), bytes('a'), value)
    batch.commit()
    value.fill(0)
    expect(get(engine, 't', 'a')).toBe('before')
  })

  test('an iterator sees the table as it was when it began', () => {
    put(engine, 't', { a: '1', b: '2', c: '3' })
    using forward = engine.table('t').range()
    using backward = engine.table('t').range({ reverse: true })
    expect(forward.next().value?.key.toString()).toBe('a')
    put(engine, 't', { aa: 'new', b: 'changed', d: 'new' })
    engine.table('t').delete(bytes('c'))
    expect(rows(forward)).toEqual(['b=2', 'c=3'])
    expect(rows(backward)).toEqual(['c=3', 'b=2', 'a=1'])
    expect(rows(engine.table('t').range())).toEqual(['a=1', 'aa=new', 'b=changed', 'd=new'])
  })

  test('an iterator ends for good, and counts as open until then', () => {
    put(engine, 't', { a: '1', b: '2' })
    const iterator = engine.table('t').range()
    expect(engine.metrics().openIterators).toBe(1)
    iterator.next()
    iterator.return?.()
    expect(engine.metrics().openIterators).toBe(0)
    expect(iterator.next()).toEqual({ done: true, value: undefined })
    expect(rows(engine.table('t').range())).toEqual(['a=1', 'b=2'])
    expect(engine.metrics().openIterators).toBe(0)
  })

  test('a snapshot sees all tables as they were', () => {
    put(engine, 't', { a: '1' })
    put(engine, 'u', { b: '2' })
    using snapshot = engine.snapshot()
    put(engine, 't', { a: '3', c: '4' })
    engine.table('u').delete(bytes('b'))
    engine.table('v').put(bytes('d'), bytes('5'))
    expect(snapshot.table('t').get(bytes('a'))?.toString()).toBe('1')
    expect(snapshot.table('t').get(bytes('c'))).toBeUndefined()
    expect(rows(snapshot.table('u').range())).toEqual(['b=2'])
    expect(rows(snapshot.table('v').range())).toEqual([])
    expect(snapshot.table('v').get(bytes('d'))).toBeUndefined()
    expect(engine.metrics().openSnapshots).toBe(1)
    snapshot.close()
    expect(engine.metrics().openSnapshots).toBe(0)
    expect(get(engine, 't', 'a')).toBe('3')
  })

  test('a batch over several tables is seen as a whole', () => {
    const batch = engine.batch()
    batch.put(engine.table('t'), bytes('a'), bytes('1'))
    batch.put(engine.table('u'), bytes('b'), bytes('2'))
    batch.delete(engine.table('t'), bytes('a'))
    batch.put(engine.table('t'), bytes('a'), bytes('3'))
    expect(get(engine, 't', 'a')).toBeUndefined()
    expect(get(engine, 'u', 'b')).toBeUndefined()
    batch.commit()
    expect(get(engine, 't', 'a')).toBe('3')
    expect(get(engine, 'u', 'b')).toBe('2')
  })

  test('a transaction is seen at its end, over many turns of the event loop', async () => {
    put(engine, 't', { a: '1', b: '2' })
    engine.table('u')
    const transaction = engine.begin()
    transaction.put(engine.table('t'), bytes('a'), bytes('3'))
    await new Promise((resolve) => systemClock.setImmediate(() => resolve(undefined)))
    transaction.delete(engine.table('t'), bytes('b'))
    transaction.put(engine.table('u'), bytes('c'), bytes('4'))
    await new Promise((resolve) => systemClock.setTimer(2, () => resolve(undefined)))
    using during = engine.table('t').range()
    using snapshot = engine.snapshot()
    expect(get(engine, 't', 'a')).toBe('1')
    expect(get(engine, 'u', 'c')).toBeUndefined()
    expect(transaction.commit()).toBe(true)
    expect(transaction.isOpen).toBe(false)
    expect(rows(during)).toEqual(['a=1', 'b=2'])
    expect(rows(snapshot.table('t').range())).toEqual(['a=1', 'b=2'])
    expect(rows(engine.table('t').range())).toEqual(['a=3'])
    expect(get(engine, 'u', 'c')).toBe('4')
  })

  test('a transaction that is discarded leaves nothing', () => {
    const transaction = engine.begin()
    transaction.put(engine.table('t'), bytes('a'), bytes('1'))
    transaction.discard()
    transaction.discard()
    expect(transaction.commit()).toBe(false)
    expect(get(engine, 't', 'a')).toBeUndefined()
    engine.begin().discard()
  })

  test.each<[string, (engine: KvEngine) => void]>([
    ['a batch', (engine) => put(engine, 't', { other: '1' })],
    ['a put', (engine) => engine.table('t').put(bytes('other'), bytes('1'))],
    ['a delete', (engine) => engine.table('t').delete(bytes('other'))],
    ['a new table', (engine) => engine.table('new')],
    ['a dropped table', (engine) => engine.dropTable('u')],
  ])('%s discards the open transaction', (_name, write) => {
    put(engine, 't', { a: '1' })
    put(engine, 'u', { b: '2' })
    const transaction = engine.begin()
    transaction.put(engine.table('t'), bytes('a'), bytes('2'))
    write(engine)
    expect(transaction.isOpen).toBe(false)
    transaction.put(engine.table('t'), bytes('a'), bytes('3'))
    expect(transaction.commit()).toBe(false)
    expect(get(engine, 't', 'a')).toBe('1')
    engine.begin().commit()
  })

  test('a dropped table is gone at once, and can be made anew', () => {
    put(engine, 't', { a: '1' })
    put(engine, 'u', { a: '2' })
    engine.dropTable('t')
    engine.dropTable('never there')
    expect(engine.tableNames()).toEqual(['u'])
    expect(get(engine, 't', 'a')).toBeUndefined()
    put(engine, 't', { b: '3' })
    expect(rows(engine.table('t').range())).toEqual(['b=3'])
    expect(get(engine, 'u', 'a')).toBe('2')
  })

  test('readers go on to see a table that was dropped', () => {
    put(engine, 't', { a: '1', b: '2' })
    using iterator = engine.table('t').range()
    using snapshot = engine.snapshot()
    engine.dropTable('t')
    expect(engine.tableNames()).toEqual([])
    put(engine, 't', { c: '3' })
    expect(rows(iterator)).toEqual(['a=1', 'b=2'])
    expect(rows(snapshot.table('t').range({ reverse: true }))).toEqual(['b=2', 'a=1'])
    expect(rows(engine.table('t').range())).toEqual(['c=3'])
    engine.dropTable('t')
    snapshot.close()
    expect(engine.tableNames()).toEqual([])
  })

  test('many tables can be made and dropped', () => {
    for (let segment = 0; segment < 300; segment += 1) {
      put(engine, `segment.${segment}`, { a: String(segment) })
      if (segment >= 20) engine.dropTable(`segment.${segment - 20}`)
    }
    expect(engine.tableNames()).toHaveLength(20)
    expect(get(engine, 'segment.299', 'a')).toBe('299')
  })

  test('counts its rows', () => {
    put(engine, 't', { a: '1', b: '2', c: '3' })
    engine.table('t').delete(bytes('b'))
    put(engine, 't', { a: '4' })
    expect(engine.table('t').approximateEntryCount()).toBe(2)
    expect(engine.metrics().entryCount).toBe(2)
    expect(engine.metrics().sizeBytes).toBeGreaterThan(0)
  })

  test('close ends readers, and is idempotent', () => {
    put(engine, 't', { a: '1', b: '2' })
    const iterator = engine.table('t').range()
    engine.snapshot()
    engine.begin()
    engine.close()
    engine.close()
    expect(iterator.next().done).toBe(true)
  })

  test('behaves as a sorted list of rows, whatever is done in whatever order', () => {
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 60 }), (operations) => {
        const home = mkdtempSync(join(tmpdir(), 'millpond-kv-'))
        const world = new World(make, home)
        try {
          for (const step of operations) {
            for (const { got, expected } of world.apply(step)) expect(got).toEqual(expected)
          }
          for (const { got, expected } of world.observeAll()) expect(got).toEqual(expected)
        } finally {
          world.engine.close()
          rmSync(home, { recursive: true, force: true })
        }
      }),
      { numRuns: make === memoryEngine ? 300 : 60, seed: 20_261_129 },
    )
  })
})

// The model: what an engine must look like from outside.

const keyOf = fc.constantFrom(
  '',
  '\0',
  '\0\0',
  '\0a',
  'a',
  'ab',
  'b',
  'c',
  '\xfe',
  '\xff',
  '\xff\xff',
  'k'.repeat(4024),
)
const tableOf = fc.constantFrom('t', 'u', 'v')
const valueOf = fc.oneof(
  fc.constantFrom('', '1', '22', 'x'.repeat(500)),
  fc.constant('y'.repeat(40_000)),
)
const rangeOf = fc.record(
  { from: keyOf, to: keyOf, toExclusive: fc.boolean(), reverse: fc.boolean() },
  { requiredKeys: [] },
)
const write = fc.record({
  table: tableOf,
  key: keyOf,
  value: fc.option(valueOf, { nil: undefined }),
})

type Write = typeof write extends fc.Arbitrary<infer T> ? T : never
type Bounds = typeof rangeOf extends fc.Arbitrary<infer T> ? T : never

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      writes: fc.array(write, { maxLength: 8 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const), write }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('stage' as const), write }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('begin' as const, 'commit' as const, 'discard' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('iterate' as const),
      table: tableOf,
      bounds: rangeOf,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('iterate-snapshot' as const),
      table: tableOf,
      bounds: rangeOf,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('step' as const, 'end' as const),
      index: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('snapshot' as const, 'release' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), table: tableOf }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

type Tables = Map<string, Map<string, string>>

const copyOf = (tables: Tables): Tables =>
  new Map([...tables].map(([name, table]) => [name, new Map(table)]))

function expectedRows(table: Map<string, string> | undefined, bounds: Bounds): string[] {
  const { from, to, toExclusive, reverse } = bounds
  const inRange = [...(table ?? [])]
    .filter(([key]) => from === undefined || key >= from)
    .filter(([key]) => to === undefined || (toExclusive === true ? key < to : key <= to))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => row(key, value))
  return reverse === true ? inRange.toReversed() : inRange
}

const rangeBytes = ({ from, to, toExclusive, reverse }: Bounds): KvRange => ({
  ...(from !== undefined && { from: bytes(from) }),
  ...(to !== undefined && { to: bytes(to) }),
  ...(toExclusive !== undefined && { toExclusive }),
  ...(reverse !== undefined && { reverse }),
})

/** What was read from the engine, and what the model says. */
interface Observation {
  readonly got: unknown
  readonly expected: unknown
}

const nothing: readonly Observation[] = []

class World {
  engine: KvEngine
  readonly #make: KvEngineFactory
  readonly #directory: string
  #tables: Tables = new Map()
  #iterators: { iterator: KvIterator; expected: string[] }[] = []
  #snapshot: { snapshot: KvSnapshot; tables: Tables } | undefined
  #transaction: { transaction: KvTransaction; writes: Write[] } | undefined

  constructor(make: KvEngineFactory, directory: string) {
    this.#make = make
    this.#directory = directory
    this.engine = make(directory)
  }

  #model(table: string): Map<string, string> {
    const rows = this.#tables.get(table) ?? new Map<string, string>()
    this.#tables.set(table, rows)
    return rows
  }

  /** Also in the model a table must be there; making one discards the transaction. */
  #open(table: string): ReturnType<KvEngine['table']> {
    if (!this.#tables.has(table)) this.#transaction = undefined
    this.#model(table)
    return this.engine.table(table)
  }

  #write(writes: readonly Write[]): void {
    for (const { table, key, value } of writes) {
      if (value === undefined) this.#model(table).delete(key)
      else this.#model(table).set(key, value)
    }
  }

  apply(step: Operation): readonly Observation[] {
    switch (step.kind) {
      case 'batch': {
        const batch = this.engine.batch()
        for (const { table, key, value } of step.writes) {
          if (value === undefined) batch.delete(this.#open(table), bytes(key))
          else batch.put(this.#open(table), bytes(key), bytes(value))
        }
        batch.commit()
        if (step.writes.length > 0) this.#transaction = undefined
        this.#write(step.writes)
        return nothing
      }
      case 'write': {
        const { table, key, value } = step.write
        if (value === undefined) this.#open(table).delete(bytes(key))
        else this.#open(table).put(bytes(key), bytes(value))
        this.#transaction = undefined
        this.#write([step.write])
        return nothing
      }
      case 'begin':
        this.#transaction?.transaction.discard()
        this.#transaction = { transaction: this.engine.begin(), writes: [] }
        return nothing
      case 'stage': {
        const { table, key, value } = step.write
        const opened = this.#open(table)
        if (this.#transaction === undefined) return nothing
        if (value === undefined) this.#transaction.transaction.delete(opened, bytes(key))
        else this.#transaction.transaction.put(opened, bytes(key), bytes(value))
        this.#transaction.writes.push(step.write)
        return nothing
      }
      case 'commit':
        if (this.#transaction === undefined) return nothing
        return this.#commit(this.#transaction)
      case 'discard':
        this.#transaction?.transaction.discard()
        this.#transaction = undefined
        return nothing
      case 'iterate':
        this.#iterators.push({
          iterator: this.#open(step.table).range(rangeBytes(step.bounds)),
          expected: expectedRows(this.#tables.get(step.table), step.bounds),
        })
        return nothing
      case 'iterate-snapshot': {
        const held = this.#snapshot
        if (held === undefined) return nothing
        const table = held.tables.get(step.table)
        this.#iterators.push({
          iterator: held.snapshot.table(step.table).range(rangeBytes(step.bounds)),
          expected: expectedRows(table, step.bounds),
        })
        return this.#observeSnapshot(held)
      }
      case 'step': {
        const held = this.#iterators[step.index]
        if (held === undefined) return nothing
        const { value } = held.iterator.next()
        const got = value && row(value.key.toString('latin1'), value.value.toString('latin1'))
        return [{ got, expected: held.expected.shift() }]
      }
      case 'end': {
        return this.#iterators.splice(step.index, 1).map(observeRest)
      }
      case 'snapshot':
        this.#release()
        this.#snapshot = { snapshot: this.engine.snapshot(), tables: copyOf(this.#tables) }
        return nothing
      case 'release':
        this.#release()
        return nothing
      case 'drop':
        if (this.#tables.delete(step.table)) this.#transaction = undefined
        this.engine.dropTable(step.table)
        return nothing
      case 'reopen':
        this.#reopen()
        return nothing
      default:
        return step satisfies never
    }
  }

  #commit({ transaction, writes }: { transaction: KvTransaction; writes: Write[] }): Observation[] {
    this.#transaction = undefined
    const got = transaction.commit()
    this.#write(writes)
    return [{ got, expected: true }]
  }

  #release(): void {
    this.#snapshot?.snapshot.close()
    this.#snapshot = undefined
  }

  #reopen(): void {
    const { persistent } = this.engine
    this.#iterators = []
    this.#snapshot = undefined
    this.#transaction = undefined
    this.engine.close()
    this.engine = this.#make(this.#directory)
    if (!persistent) this.#tables = new Map()
  }

  #observeSnapshot({ snapshot, tables }: { snapshot: KvSnapshot; tables: Tables }): Observation[] {
    return ['t', 'u', 'v'].flatMap((name) =>
      ['', '\0', 'a', '\xff'].map((key) => ({
        got: snapshot.table(name).get(bytes(key))?.toString('latin1'),
        expected: tables.get(name)?.get(key),
      })),
    )
  }

  observeAll(): Observation[] {
    const held = [
      ...(this.#snapshot === undefined ? [] : this.#observeSnapshot(this.#snapshot)),
      ...this.#iterators.map(observeRest),
    ]
    this.#release()
    // What is open may be counted already.
    this.#transaction?.transaction.discard()
    const before = [
      { got: this.engine.metrics().openIterators, expected: 0 },
      { got: this.engine.tableNames(), expected: [...this.#tables.keys()].sort() },
      ...this.#observeTables(),
    ]
    this.#reopen()
    return [...held, ...before, ...this.#observeTables()]
  }

  #observeTables(): Observation[] {
    return [...this.#tables].flatMap(([name, model]) => {
      const table = this.engine.table(name)
      return [
        { got: rows(table.range()), expected: expectedRows(model, {}) },
        { got: table.approximateEntryCount(), expected: model.size },
        ...[...model].map(([key, expected]) => ({ got: get(this.engine, name, key), expected })),
      ]
    })
  }
}

function observeRest(held: { iterator: KvIterator; expected: string[] }): Observation {
  return { got: rows(held.iterator), expected: held.expected }
}
