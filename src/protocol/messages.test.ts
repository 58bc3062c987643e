import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { apis } from './apis.ts'
import type { AnyField, Fields } from './field.ts'
import { Reader } from './reader.ts'
import type { AnyApi, Message } from './schema.ts'
import { Writer } from './writer.ts'

/**
 * One vector a line, made by `conformance/java/MessageVectors.java` with the message classes of
 * kafka-clients 4.4.0: for every API, version and direction a message in which no field has its
 * default (`filled`), and one with nulls, empty lists and -1.
 */
interface Vector {
  readonly key: number
  readonly direction: 'request' | 'response'
  readonly version: number
  readonly filled: boolean
  readonly hex: string
  /** The fields of this version as Kafka's own JSON form: bytes as base64, uuids as base64url. */
  readonly body: Readonly<Record<string, unknown>>
}

const vectors: readonly Vector[] = readFileSync(
  new URL('message-vectors.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector)

function apiOf(key: number): AnyApi {
  const api = apis.get(key)
  if (api === undefined) throw new Error(`no API ${key}`)
  return api
}

function messageOf({ key, direction }: Vector): Message<unknown, unknown> {
  return apiOf(key)[direction]
}

/** Kafka's JSON form as our values: only bytes differ. */
function valueOf(field: AnyField, json: unknown): unknown {
  if (json === null) return null
  if (field.kind === 'bytes') return Buffer.from(json as string, 'base64')
  if (field.kind === 'array' && field.element !== undefined) {
    const { element } = field
    return (json as readonly unknown[]).map((one) => valueOf(element, one))
  }
  if (field.fields !== undefined) return structOf(field.fields, json)
  return json
}

function structOf(fields: Fields, json: unknown): Record<string, unknown> {
  const entries = Object.entries(json as Record<string, unknown>).map(([name, value]) => {
    const field = fields[name]
    if (field === undefined) throw new Error(`the table has no field ${name}`)
    return [name, valueOf(field, value)] as const
  })
  return Object.fromEntries(entries)
}

/** Cuts a decoded value down to the fields that `like` has. */
function cutTo(like: unknown, value: unknown): unknown {
  if (Array.isArray(like) && Array.isArray(value))
    return value.map((one, index) => cutTo(like[index], one))
  if (typeof like !== 'object' || like === null || Buffer.isBuffer(like)) return value
  const values = value as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(like).map(([name, part]) => [name, cutTo(part, values[name])]),
  )
}

const outcomes = ['read', 'malformed']

describe.each([...apis.values()])('$name', (api) => {
  const own = vectors.filter(({ key }) => key === api.key)

  test('there are vectors for every version and direction', () => {
    const [min, max] = api.versions
    const versions = Array.from({ length: max - min + 1 }, (_, index) => min + index)
    for (const direction of ['request', 'response'])
      for (const filled of [true, false])
        expect(
          own
            .filter((vector) => vector.direction === direction && vector.filled === filled)
            .map(({ version }) => version),
        ).toEqual(versions)
  })

  test('it writes the bytes that the Java client writes', () => {
    const writer = new Writer()
    for (const vector of own) {
      const message = messageOf(vector)
      writer.reset()
      message.encode(vector.version, structOf(message.fields, vector.body), writer)
      expect({ of: nameOf(vector), hex: writer.finish().toString('hex') }).toEqual({
        of: nameOf(vector),
        hex: vector.hex,
      })
    }
  })

  test('it reads what the Java client wrote, to the last byte', () => {
    for (const vector of own) {
      const message = messageOf(vector)
      const reader = new Reader(Buffer.from(vector.hex, 'hex'))
      const decoded = message.decode(vector.version, reader)
      const expected = structOf(message.fields, vector.body)
      expect({
        of: nameOf(vector),
        body: cutTo(expected, decoded),
        rest: reader.remaining,
      }).toEqual({ of: nameOf(vector), body: expected, rest: 0 })
    }
  })

  test('what was decoded can be encoded again', () => {
    const writer = new Writer()
    for (const vector of own) {
      const message = messageOf(vector)
      const decoded = message.decode(vector.version, new Reader(Buffer.from(vector.hex, 'hex')))
      writer.reset()
      message.encode(vector.version, decoded, writer)
      expect({ of: nameOf(vector), hex: writer.finish().toString('hex') }).toEqual({
        of: nameOf(vector),
        hex: vector.hex,
      })
    }
  })

  test('a message cut short anywhere is malformed', () => {
    const read: string[] = []
    for (const vector of own) {
      const whole = Buffer.from(vector.hex, 'hex')
      for (let length = 0; length < whole.length; length += 1)
        if (outcome(messageOf(vector), vector.version, whole.subarray(0, length)) === 'read')
          read.push(`${nameOf(vector)} cut to ${length} bytes`)
    }
    expect(read).toEqual([])
  })

  test('a message with a wrong byte is read or malformed, and nothing else', () => {
    const filled = own.filter((vector) => vector.filled)
    fc.assert(
      fc.property(
        fc.constantFrom(...filled),
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        (vector, position, byte) => {
          const bytes = Buffer.from(vector.hex, 'hex')
          if (bytes.length > 0) bytes[position % bytes.length] = byte
          expect(outcomes).toContain(outcome(messageOf(vector), vector.version, bytes))
        },
      ),
      { seed: api.key, numRuns: 500 },
    )
  })

  test('random bytes are read or malformed, and nothing else', () => {
    fc.assert(
      fc.property(fc.constantFrom(...own), fc.uint8Array({ maxLength: 200 }), (vector, bytes) => {
        expect(outcomes).toContain(outcome(messageOf(vector), vector.version, Buffer.from(bytes)))
      }),
      { seed: api.key, numRuns: 300 },
    )
  })
})

test('the map of all APIs has one table for each key', () => {
  expect([...apis.keys()]).toEqual([...new Set(vectors.map(({ key }) => key))])
  for (const [key, api] of apis) expect(api.key).toBe(key)
})

test('a version outside the table is refused by name and range', () => {
  const failure = thrownBy(() => apiOf(3).request.encode(13, {}, new Writer()))
  expect(isStreamsError(failure, 'PROTOCOL_UNSUPPORTED_VERSION')).toBe(true)
  expect(String(failure)).toContain(
    'Version 13 of Metadata request is not supported: known are 0 to 12.',
  )
})

function nameOf({ key, direction, version, filled }: Vector): string {
  return `${apiOf(key).name} ${direction} v${version}${filled ? ', filled' : ''}`
}

/** Any error but PROTOCOL_MALFORMED, with all its facts, passes through and fails the test. */
function outcome(
  message: Message<unknown, unknown>,
  version: number,
  bytes: Buffer,
): 'read' | 'malformed' {
  try {
    message.decode(version, new Reader(bytes))
    return 'read'
  } catch (error) {
    if (!isStreamsError(error, 'PROTOCOL_MALFORMED')) throw error
    const { api, field, position } = error.context
    if (api !== `${message.name} v${version}` || field === undefined) throw error
    if (typeof position !== 'number' || position > bytes.length) throw error
    return 'malformed'
  }
}

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
