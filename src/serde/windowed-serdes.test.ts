import { describe, expect, test } from 'vitest'
import { nullable } from './nullable.ts'
import type { Serde } from './serde.ts'
import { serdes } from './serdes.ts'
import type { Windowed } from './windowed.ts'

const byWindow = serdes.timeWindowed(serdes.string, 10)
const bySession = serdes.sessionWindowed(serdes.string)
const numbersByWindow = serdes.timeWindowed(serdes.int, 10)

function windowed<K>(key: K, start: number, end: number): Windowed<K> {
  return { key, window: { start, end } }
}

// Made by Kafka Streams 4.4.0: WindowedSerdes.TimeWindowedSerde(…, 10) and sessionWindowedSerdeFrom.
const vectors: [serde: Serde<Windowed<unknown>>, key: Windowed<unknown>, hex: string][] = [
  [byWindow, windowed('key', 5, 15), '6b65790000000000000005'],
  [byWindow, windowed('', 1700000000000, 1700000000010), '0000018bcfe56800'],
  [numbersByWindow, windowed(-1, 0, 10), 'ffffffff0000000000000000'],
  [bySession, windowed('key', 5, 15), '6b6579000000000000000f0000000000000005'],
  [bySession, windowed('é', 7, 7), 'c3a900000000000000070000000000000007'],
] as [Serde<Windowed<unknown>>, Windowed<unknown>, string][]

describe("Java's bytes", () => {
  test.each(vectors)('%s: %j', (serde, key, hex) => {
    expect(Buffer.from(serde.serialize(key)).toString('hex')).toBe(hex)
    expect(serde.deserialize(Buffer.from(hex, 'hex'))).toEqual(key)
  })

  test.each([byWindow, bySession])('no bytes are no key, in %s', (serde) => {
    expect(serde.deserialize(Buffer.alloc(0))).toBe(null)
  })

  test.each([
    [byWindow, '00', '1 bytes are too few for a window'],
    [byWindow, '6bffffffffffffffff', 'no window goes from -1 to 9'],
    [bySession, '0000000000000000', '8 bytes are too few for a window'],
    [bySession, '6b00000000000000050000000000000007', 'no window goes from 7 to 5'],
  ])('what Java refuses is refused: %s %s', (serde, hex, detail) => {
    expect(() => serde.deserialize(Buffer.from(hex, 'hex'))).toThrow(detail)
  })
})

test('a window of unlimited windows has no end', () => {
  const unlimited = serdes.timeWindowed(serdes.string, Infinity)
  const bytes = unlimited.serialize(windowed('key', 5, Infinity))

  expect(unlimited.deserialize(bytes)).toEqual(windowed('key', 5, Infinity))
})

test('a window before 1970 has no bytes', () => {
  expect(() => byWindow.serialize(windowed('key', -5, 5))).toThrow('a window cannot be at -5')
})

test('the bytes that choose the partition are those of the key alone, also behind nullable', () => {
  const key = windowed('key', 5, 15)

  expect(byWindow.baseKey?.(key)).toEqual(Buffer.from('key'))
  expect(nullable(bySession).baseKey?.(key)).toEqual(Buffer.from('key'))
})

test('two keys have one identity when they have the same bytes', () => {
  const identity = (
    serde: Serde<Windowed<string>>,
    key: string,
    start: number,
    end: number,
  ): unknown => serde.identity?.(windowed(key, start, end))

  expect(identity(byWindow, 'a', 1, 11)).toBe(identity(byWindow, 'a', 1, 11))
  expect(identity(byWindow, 'a', 1, 11)).not.toBe(identity(byWindow, 'a', 2, 12))
  expect(identity(byWindow, '1@a', 1, 11)).not.toBe(identity(byWindow, 'a', 1, 11))
  expect(identity(bySession, 'a', 1, 11)).not.toBe(identity(bySession, 'a', 1, 12))
  expect(serdes.timeWindowed(serdes.json(), 1).identity).toBe(undefined)
})

test.each([-1, Number.NaN, 'x'])('windows cannot have the size %s', (size) => {
  expect(() => serdes.timeWindowed(serdes.string, size as number)).toThrow('the size of windows')
})
