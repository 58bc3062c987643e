/** One suite for every way in which stores of windows and of sessions are built. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  WindowedWorld,
  forEver,
  inWorld,
  windowSize,
  windowedEngines,
  type RangeOptions,
  type Row,
  type Variant,
} from '../../test/peers/windowed-world.ts'
import { memoryEngine } from '../kv/memory-engine.ts'
import { StampedWindowStore } from './typed-window-stores.ts'
import type { Windowed } from './windowed.ts'

const byText = (left: unknown, right: unknown): number => String(left).localeCompare(String(right))

const variants = (['windows', 'sessions'] as const).flatMap((kind) =>
  windowedEngines.flatMap(({ engine, make }) =>
    [true, false].map((caching) => ({
      name: `${kind}, ${caching ? 'cached' : 'uncached'}, over ${engine}`,
      kind,
      make,
      caching,
    })),
  ),
)

describe.each(variants)('a store of $name', (variant) => {
  const { kind, caching } = variant

  test('shows what was put, before and after flush, commit and write-behind', () => {
    inWorld(variant, (world) => {
      const check = (): void => {
        expect(world.get('a', 1_000, 2_000)).toBe(1)
        expect(world.get('a', 2_000, 3_000)).toBe(undefined)
        expect(world.get('b', 1_000, 2_000)).toBe(undefined)
        expect(world.rowsOf('a', 0, Infinity)).toEqual([
          ['a', 1_000, 2_000, 1],
          ['a', 9_000, 10_000, 3],
        ])
        expect(world.rowsOf('a', 0, Infinity, true)).toEqual(
          world.rowsOf('a', 0, Infinity).toReversed(),
        )
        expect(world.rows().toSorted(byText)).toEqual([
          ['a', 1_000, 2_000, 1],
          ['a', 9_000, 10_000, 3],
          ['c', 9_000, 10_000, 4],
        ])
        expect(world.rows({ reverse: true })).toEqual(world.rows().toReversed())
      }
      world.put('a', 1_000, 2_000, 1)
      world.put('b', 1_000, 2_000, 2)
      world.put('a', 9_000, 10_000, 3)
      world.put('c', 9_000, 10_000, 4)
      world.put('b', 1_000, 2_000, undefined)
      check()
      world.store.flush()
      check()
      world.commit()
      check()
      while (world.store.writeBehind()) check()
      check()
    })
  })

  test('writes the changelog in the bytes of Kafka Streams', () => {
    inWorld(variant, (world) => {
      world.put('k', 1_000, 2_000, 7)
      world.store.flush()
      world.put('k', 1_000, 2_000, undefined)
      world.store.flush()
      const time = (ms: number): string => ms.toString(16).padStart(16, '0')
      const key = kind === 'windows' ? `6b${time(1_000)}00000000` : `6b${time(2_000)}${time(1_000)}`
      const written = world.log.map((record) => ({
        ...record,
        key: Buffer.from(record.key, 'latin1').toString('hex'),
      }))
      expect(written).toEqual([
        { key, value: 7, timestamp: 2_000 },
        { key, value: null, timestamp: 2_000 },
      ])
    })
  })

  test('what leaves the cache is forwarded with its window, in the order of the updates', () => {
    inWorld({ ...variant, caching: true }, (world) => {
      world.put('a', 1_000, 2_000, 1)
      world.put('b', 1_000, 2_000, 2)
      world.put('a', 1_000, 2_000, 3)
      world.store.flush()
      const window = { start: 1_000, end: 2_000 }
      expect(world.forwarded).toEqual([
        { key: 'b', window, value: 2, old: undefined, timestamp: 2_000 },
        { key: 'a', window, value: 3, old: undefined, timestamp: 2_000 },
      ])
      world.put('a', 1_000, 2_000, undefined)
      world.put('c', 1_000, 2_000, undefined)
      world.store.flush()
      expect(world.forwarded.slice(2)).toEqual([
        { key: 'a', window, value: undefined, old: 3, timestamp: 2_000 },
      ])
    })
  })

  test('a scan goes on as it began, whatever is written, flushed and dropped', () => {
    inWorld({ ...variant, retention: 120_000 }, (world) => {
      for (const key of ['a', 'b', 'c']) world.put(key, 1_000, 2_000, 1)
      world.put('a', 61_000, 62_000, 2)
      world.commit()
      world.writeAll()
      world.put('b', 1_000, 2_000, 5)
      const all = world.rows()
      const ofKey = world.rowsOf('a', 0, Infinity)
      const { store } = world
      const scan = store.range()
      const keyScan =
        store instanceof StampedWindowStore ? store.fetchRange('a', 0, Infinity) : store.fetch('a')
      scan.next()
      world.put('a', 1_000, 2_000, 9)
      world.put('bb', 1_000, 2_000, 9)
      world.put('c', 1_000, 2_000, undefined)
      world.put('z', 1_000_000, 1_001_000, 9)
      world.commit()
      world.writeAll()
      expect([...scan]).toHaveLength(all.length - 1)
      expect([...keyScan]).toHaveLength(ofKey.length)
    })
  })

  test('a scan that is left ends its readers', () => {
    inWorld(variant, (world) => {
      for (const key of ['a', 'b']) world.put(key, 1_000, 2_000, 1)
      world.commit()
      world.writeAll()
      world.put('c', 1_000, 2_000, 1)
      for (const [{ key }] of world.store.range() as Iterable<[Windowed<string>, unknown]>) {
        if (key === 'a') break
      }
      using scan = world.store.range()
      scan.next()
      expect(world.metrics.openIterators.value).toBe(1)
    })
  })

  test('rows that are too old are not seen, and leave the engine with the commit', () => {
    inWorld({ ...variant, retention: 120_000 }, (world) => {
      world.put('a', 1_000, 2_000, 1)
      world.put('a', 59_000, 60_000, 2)
      world.commit()
      world.writeAll()
      expect(world.tables()).toContain('w/60000/0')
      world.put('b', 300_000, 301_000, 3)
      world.store.flush()
      expect(world.tables().includes('w/60000/0')).toBe(world.engine.persistent)
      world.commit()
      world.writeAll()
      expect(world.tables()).toEqual(['w/60000/5'])
      // As in Kafka Streams, the cache still has them.
      expect(world.rowsOf('a', 0, Infinity)).toHaveLength(caching ? 2 : 0)
      expect(world.get('a', 1_000, 2_000)).toBe(caching ? 1 : undefined)
    })
  })

  test('what comes too late is not put, but counted and logged', () => {
    inWorld({ ...variant, retention: 120_000 }, (world) => {
      world.put('a', 500_000, 501_000, 1)
      world.put('b', 1_000, 2_000, 2)
      world.store.flush()
      world.commit()
      world.writeAll()
      expect(world.metrics.droppedRecords()).toEqual(new Map([['expired-window', 1]]))
      expect(world.log).toHaveLength(2)
      expect(world.tables()).toEqual(['w/60000/8'])
    })
  })

  test('a crash before the commit keeps what the last commit saw', () => {
    inWorld({ ...variant, retention: 120_000 }, (world) => {
      world.put('a', 1_000, 2_000, 1)
      world.commit()
      world.writeAll()
      world.put('b', 500_000, 501_000, 2)
      world.store.flush()
      world.restart()
      world.restore()
      expect(world.rows()).toEqual([['a', 1_000, 2_000, 1]])
    })
  })

  test('S32: what is too old is not restored', () => {
    inWorld({ ...variant, retention: 120_000 }, (world) => {
      world.put('a', 1_000, 2_000, 1)
      world.commit()
      world.put('b', 300_000, 301_000, 2)
      world.commit()
      const { log } = world
      inWorld({ ...variant, retention: 120_000 }, (other) => {
        other.log.push(...log)
        other.committedOffset = log.length
        other.restore()
        expect(other.rows()).toEqual([['b', 300_000, 301_000, 2]])
        expect(other.tables()).not.toContain(other.engine.persistent ? '' : 'w/60000/0')
        other.commit()
        other.writeAll()
        expect(other.tables()).toEqual(['w/60000/5'])
        expect(other.store.restoreOffset()).toBe(2)
      })
    })
  })

  test('S32: a tombstone for what was never there is restored, and a record without its times is not', () => {
    inWorld(variant, (world) => {
      world.store.restore(Buffer.from('k'.padEnd(17, '\0')), null, 5)
      world.store.restore(Buffer.from('short'), Buffer.alloc(4), 5)
      world.store.restored(1)
      expect(world.rows()).toEqual([])
    })
  })

  test('rows of another segment interval are restored anew', () => {
    const directory = mkdtempSync(join(tmpdir(), 'millpond-windows-'))
    const before = new WindowedWorld({ ...variant, retention: 120_000 }, directory)
    before.put('a', 1_000, 2_000, 1)
    before.commit()
    before.writeAll()
    before.engine.close()
    const after = new WindowedWorld({ ...variant, retention: 240_000 }, directory)
    after.log.push(...before.log)
    expect(after.store.restoreOffset()).toBe(0)
    after.restore()
    expect(after.rows()).toEqual([['a', 1_000, 2_000, 1]])
    expect(after.tables()).toEqual(['w/120000/0'])
    after.engine.close()
    rmSync(directory, { recursive: true, force: true })
  })

  test('a key that is null is refused', () => {
    inWorld(variant, (world) => {
      const nothing = null as unknown as string
      const message = 'The key is not valid for the store w: it is null.'
      expect(() => world.put(nothing, 1, 1_001, 1)).toThrow(message)
      expect(() => world.get(nothing, 1, 1_001)).toThrow(message)
      expect(() => world.rowsOf(nothing, 0, 1)).toThrow(message)
    })
  })

  // What may happen, in any order.

  const key = fc.constantFrom('a', 'aa', 'b', 'b\0', '')
  const start = fc.nat(20).map((number) => number * 9_000)
  const place = fc.record({ key, start })
  const step = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        place,
        value: fc.option(fc.nat(1000), { nil: undefined }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('get' as const), place }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('rowsOf' as const),
        key,
        lowest: start,
        highest: start,
        reverse: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('rows' as const),
        range: fc.record(
          { from: key, to: key, lowest: start, highest: start, reverse: fc.boolean() },
          { requiredKeys: [] },
        ),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('flush', 'commit', 'slice') }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  )

  test.each([1_000_000, 2_000])('survives anything, with %i bytes of cache', (cacheBytesMax) => {
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      inWorld({ ...variant, cacheBytesMax }, (world) => {
        const model = new Model(kind)
        for (const operation of steps) {
          for (const { got, expected } of apply(operation, world, model)) {
            expect(got).toEqual(expected)
          }
        }
        world.commit()
        world.writeAll()
        expect(sorted(world.rows())).toEqual(sorted(model.rows({})))
      })
    })
    fc.assert(property, { numRuns: variant.make === memoryEngine ? 150 : 40 })
  })
})

interface Place {
  readonly key: string
  readonly start: number
}

type Step =
  | { kind: 'put'; place: Place; value: number | undefined }
  | { kind: 'get'; place: Place }
  | { kind: 'rowsOf'; key: string; lowest: number; highest: number; reverse: boolean }
  | { kind: 'rows'; range: RangeOptions }
  | { kind: 'flush' | 'commit' | 'slice' | 'restart' }

/** Rows of a store that forgets nothing. */
class Model {
  readonly #kind: Variant['kind']
  readonly #rows = new Map<string, Row>()

  constructor(kind: Variant['kind']) {
    this.#kind = kind
  }

  put({ key, start }: Place, value: number | undefined): void {
    if (value === undefined) this.#rows.delete(`${start} ${key}`)
    else this.#rows.set(`${start} ${key}`, [key, start, start + windowSize, value])
  }

  get({ key, start }: Place): number | undefined {
    return this.#rows.get(`${start} ${key}`)?.[3]
  }

  rows({ from, to, lowest = 0, highest = Infinity }: RangeOptions): Row[] {
    return [...this.#rows.values()].filter(
      ([key, start, end]) =>
        (from === undefined || key >= from) &&
        (to === undefined || key <= to) &&
        (this.#kind === 'windows' ? start : end) >= lowest &&
        start <= highest,
    )
  }

  clear(): void {
    this.#rows.clear()
  }
}

/** By start, then by key. */
function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))
}

interface Observation {
  readonly got: unknown
  readonly expected: unknown
}

function apply(operation: Step, world: WindowedWorld, model: Model): Observation[] {
  switch (operation.kind) {
    case 'put': {
      const { place, value } = operation
      world.put(place.key, place.start, place.start + windowSize, value)
      model.put(place, value)
      return []
    }
    case 'get': {
      const { key, start } = operation.place
      return [
        { got: world.get(key, start, start + windowSize), expected: model.get({ key, start }) },
      ]
    }
    case 'rowsOf': {
      const { key, lowest, highest, reverse } = operation
      const expected = sorted(model.rows({ from: key, to: key, lowest, highest }))
      if (reverse) expected.reverse()
      return [{ got: world.rowsOf(key, lowest, highest, reverse), expected }]
    }
    case 'rows': {
      const { range } = operation
      const got = world.rows(range)
      const reversed = world.rows({ ...range, reverse: range.reverse !== true })
      return [
        { got: sorted(got), expected: sorted(model.rows(range)) },
        { got: reversed, expected: got.toReversed() },
        // In memory by time; on disk segment by segment, which is by time as well.
        { got: inOrder(got, range.reverse === true, world.engine.persistent), expected: true },
      ]
    }
    case 'flush':
      world.store.flush()
      return []
    case 'commit':
      world.commit()
      return []
    case 'slice':
      world.store.writeBehind()
      return []
    case 'restart':
      world.restart()
      world.restore()
      replay(world, model)
      return [{ got: sorted(world.rows()), expected: sorted(model.rows({})) }]
    default:
      return operation satisfies never
  }
}

/** In memory rows come by time; on disk by segment, each in the order of the bytes of its keys. */
function inOrder(rows: readonly Row[], reverse: boolean, persistent: boolean): boolean {
  const interval = persistent ? forEver / 2 : 1
  const forward = reverse ? rows.toReversed() : rows
  return forward.every(([, start], index) => {
    const before = forward[index - 1]
    return before === undefined || Math.floor(before[1] / interval) <= Math.floor(start / interval)
  })
}

/** What the changelog says up to the last commit. */
function replay(world: WindowedWorld, model: Model): void {
  model.clear()
  for (const { key, value } of world.log) {
    const bytes = Buffer.from(key, 'latin1')
    const isWindow = world.store instanceof StampedWindowStore
    const at = bytes.length - (isWindow ? 12 : 8)
    const start = Number(bytes.readBigInt64BE(at))
    const name = bytes.toString('utf8', 0, bytes.length - (isWindow ? 12 : 16))
    model.put({ key: name, start }, value ?? undefined)
  }
}
