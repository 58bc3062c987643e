import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  WindowedWorld,
  inWorld,
  windowSize,
  windowedEngines,
  type Row,
  type Variant,
} from '../../test/peers/windowed-world.ts'
import { compareBytes } from '../base/bytes.ts'
import { memoryEngine } from '../kv/memory-engine.ts'

const variants = (['windows', 'sessions'] as const).flatMap((kind) =>
  windowedEngines.flatMap(({ engine, make }) =>
    [true, false].map((caching) => ({
      name: `${kind}, ${caching ? 'cached' : 'uncached'}, over ${engine}`,
      kind,
      make,
      caching,
      closes: true,
      // Two segments of 100 s: rows lie in several of them, and none is too old.
      retention: 200_000,
    })),
  ),
)

/** What of a row its store is ordered by: the start of a window, the end of a session. */
const timeOf = ({ kind }: Variant, [, start, end]: Row): number =>
  kind === 'windows' ? start : end

/** By time, then by key. */
function byTime(variant: Variant, rows: readonly Row[]): Row[] {
  return rows.toSorted(
    (a, b) =>
      timeOf(variant, a) - timeOf(variant, b) || compareBytes(Buffer.from(a[0]), Buffer.from(b[0])),
  )
}

describe.each(variants)('what has closed in a store of $name', (variant) => {
  /** The time by which a store is asked. */
  const at = (start: number): number => (variant.kind === 'windows' ? start : start + windowSize)

  test('comes once, by time, wherever it lies', () => {
    inWorld(variant, (world) => {
      const put = (key: string, start: number, value: number | undefined): void =>
        world.put(key, start, start + windowSize, value)
      const row = (key: string, start: number, value: number): Row => [
        key,
        start,
        start + windowSize,
        value,
      ]
      put('in the engine', 3_000, 1)
      put('b', 1_000, 2)
      put('later', 110_000, 3)
      world.commit()
      world.writeAll()
      put('on its way', 2_000, 4)
      put('b', 1_000, 5)
      world.commit()
      world.store.writeBehind()
      put('a', 1_000, 6)
      put('in the engine', 3_000, 7)

      expect(world.closed(0, at(2_999))).toEqual([
        row('a', 1_000, 6),
        row('b', 1_000, 5),
        row('on its way', 2_000, 4),
      ])
      expect(world.closed(at(3_000), at(99_999))).toEqual([row('in the engine', 3_000, 7)])
      expect(world.closed(at(100_000), at(110_000))).toEqual([row('later', 110_000, 3)])
      expect(world.closed(at(110_001), at(150_000))).toEqual([])
    })
  })

  test('is without what was deleted, also where the engine still has it', () => {
    inWorld(variant, (world) => {
      for (const key of ['a', 'b', 'c']) world.put(key, 1_000, 2_000, 1)
      world.commit()
      world.writeAll()
      world.put('a', 1_000, 2_000, undefined)
      world.commit()
      world.put('b', 1_000, 2_000, undefined)
      expect(world.closed(0, 9_000)).toEqual([['c', 1_000, 2_000, 1]])
    })
  })

  test('is found again after a restart, from where the operator was', () => {
    inWorld(variant, (world) => {
      for (const start of [1_000, 2_000, 3_000]) world.put('a', start, start + 1_000, start)
      world.commit()
      world.writeAll()
      expect(world.closed(0, at(1_000))).toHaveLength(1)
      world.restart()
      world.restore()
      world.put('b', 2_500, 3_500, 7)
      expect(world.closed(at(1_001), at(3_000))).toEqual([
        ['a', 2_000, 3_000, 2_000],
        ['b', 2_500, 3_500, 7],
        ['a', 3_000, 4_000, 3_000],
      ])
    })
  })

  test('is restored with its times when the store had none before', () => {
    inWorld(variant, (world) => {
      const { engine } = world
      if (!engine.persistent) return
      const plain = new WindowedWorld(
        { ...variant, closes: false, make: () => engine },
        world.directory,
      )
      plain.put('a', 1_000, 2_000, 1)
      plain.commit()
      plain.writeAll()
      expect(plain.tables()).toEqual(['w/100000/0'])
      plain.store.close()
      world.log.push(...plain.log)
      world.committedOffset = world.log.length
      world.restart()
      expect(world.store.restoreOffset()).toBe(0)
      world.restore()
      expect(world.closed(0, 9_000)).toEqual([['a', 1_000, 2_000, 1]])
      world.commit()
      world.writeAll()
      expect(world.tables().toSorted()).toEqual(['w/100000+/0', 'w/100000+index/0'])
    })
  })

  test('leaves the engine with its segment', () => {
    inWorld(variant, (world) => {
      world.put('a', 1_000, 2_000, 1)
      world.commit()
      world.writeAll()
      world.put('b', 900_000, 901_000, 1)
      world.commit()
      world.writeAll()
      const own = world.engine.persistent ? ['w/100000+/9', 'w/100000+index/9'] : ['w/100000/9']
      expect(world.tables().toSorted()).toEqual(own)
    })
  })

  // What may happen, in any order.

  const key = fc.constantFrom('a', 'aa', 'b', 'b\0', '')
  const step = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        key,
        ahead: fc.nat(20),
        value: fc.option(fc.nat(1000), { nil: undefined }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('flush', 'commit', 'slice') }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('close' as const), by: fc.nat(6) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  )
  const unit = 4_500

  test.each([1_000_000, 2_000])('is complete, with %i bytes of cache', (cacheBytesMax) => {
    const property = fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      inWorld({ ...variant, cacheBytesMax }, (world) => {
        const rows = new Map<string, Row>()
        const committed = { rows: new Map(rows), start: 0 }
        // Windows that start before are closed, and nobody puts them any more.
        let start = 0
        const observed: [got: Row[], expected: Row[]][] = []
        for (const operation of steps) {
          switch (operation.kind) {
            case 'put': {
              const at = start + operation.ahead * unit
              if (at > 180_000) break
              world.put(operation.key, at, at + windowSize, operation.value)
              const id = `${at} ${operation.key}`
              if (operation.value === undefined) rows.delete(id)
              else rows.set(id, [operation.key, at, at + windowSize, operation.value])
              break
            }
            case 'close': {
              const next = start + operation.by * unit
              const expected = [...rows.values()].filter(
                ([, begin]) => begin >= start && begin < next,
              )
              observed.push([
                world.closed(start === 0 ? 0 : at(start), at(next) - 1),
                byTime(variant, expected),
              ])
              start = next
              break
            }
            case 'flush':
              world.store.flush()
              break
            case 'commit':
              world.commit()
              committed.rows = new Map(rows)
              committed.start = start
              break
            case 'slice':
              world.store.writeBehind()
              break
            case 'restart':
              world.restart()
              world.restore()
              rows.clear()
              for (const [id, row] of committed.rows) rows.set(id, row)
              start = committed.start
              break
            default:
              operation satisfies never
          }
        }
        for (const [got, expected] of observed) expect(got).toEqual(expected)
      })
    })
    fc.assert(property, { numRuns: variant.make === memoryEngine ? 150 : 20 })
  })
})
