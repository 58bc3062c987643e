import { readFileSync } from 'node:fs'
import { serdes, type Serde } from 'millpond'
import { expect, test } from 'vitest'

const page = readFileSync(new URL('../../docs/reference/serdes.md', import.meta.url), 'utf8')

/** The bytes that the page shows for each serde. */
const listed = new Map(
  [...page.matchAll(/^\| `serdes\.(\w+)[^`]*` +\|(?: [^|]+\|){3} `?(\w+)`? +\|/gm)].map(
    ([, name = '', bytes = '']) => [name, bytes],
  ),
)

function bytesOf<T>(serde: Serde<T>, value: T): string {
  return Buffer.from(serde.serialize(value)).toString('hex')
}

test('the page docs/reference/serdes.md shows every serde, and its bytes', () => {
  const window = { start: 1, end: 2 }

  expect([...listed.keys()].sort()).toEqual(Object.keys(serdes).sort())
  expect(Object.fromEntries(listed)).toEqual({
    string: bytesOf(serdes.string, 'tea'),
    short: bytesOf(serdes.short, 1),
    int: bytesOf(serdes.int, -1),
    long: bytesOf(serdes.long, 1),
    bigint: bytesOf(serdes.bigint, -1n),
    float: bytesOf(serdes.float, 0.5),
    double: bytesOf(serdes.double, 0.5),
    boolean: bytesOf(serdes.boolean, true),
    bytes: bytesOf(serdes.bytes, Uint8Array.of(1, 2)),
    buffer: bytesOf(serdes.buffer, Buffer.from('a')),
    uuid: bytesOf(serdes.uuid, '123e4567-e89b-12d3-a456-426614174000'),
    void: 'null',
    orderedNumber: bytesOf(serdes.orderedNumber, -1),
    json: bytesOf(serdes.json<unknown>(), { a: [1] }),
    list: bytesOf(serdes.list(serdes.string), ['a']),
    timeWindowed: bytesOf(serdes.timeWindowed(serdes.string, 1), { key: 'a', window }),
    sessionWindowed: bytesOf(serdes.sessionWindowed(serdes.string), { key: 'a', window }),
  })
})
