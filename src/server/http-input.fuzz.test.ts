/**
 * Random questions over HTTP, against a plain reading of the rules: whatever is asked, the answer is
 * never a 500, and what is not exactly right is refused and not read as something else.
 */
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HttpInstance } from '../../test/peers/http-instance.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, type AnyStore } from '../store/descriptor.ts'
import { openPort } from './http-listener.ts'

/** Tests are the same in every run; another seed is for the one who looks for more. */
const seed = 41

const page = '/v1/stores/counts/keys'
const value = '/v1/stores/counts/keys/a'
const count = '/v1/stores/counts/count'

/** The parameters of each route, as docs/reference/http.md lists them. */
const parameters: Readonly<Record<string, readonly string[]>> = {
  [page]: ['from', 'to', 'prefix', 'reverse', 'limit', 'cursor', 'allowPartial', 'keyFormat'],
  [value]: ['keyFormat'],
  [count]: ['allowPartial'],
  '/v1/stores': [],
  '/v1/metadata/stores/counts': [],
  '/v1/metadata/stores/counts/keys/a': ['keyFormat'],
}
const routes = Object.keys(parameters)

const numbers = [
  '0',
  '1',
  '007',
  '10',
  '1000',
  '1001',
  '-1',
  '1.5',
  '1e2',
  '0x10',
  ' 1',
  '1_0',
  '١',
]
const others = [
  '',
  'true',
  'false',
  'TRUE',
  'text',
  'base64',
  'YQ==',
  'a',
  'ä',
  '\u0000',
  '%',
  '💧',
]
const someText = fc.oneof(
  fc.constantFrom(...numbers, ...others),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const someName = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...(parameters[page] ?? [])) },
  { weight: 1, arbitrary: fc.constantFrom('partitions', 'Limit', '__proto__', 'constructor', '') },
  { weight: 1, arbitrary: someText },
)
type Pair = readonly [name: string, text: string]
const somePairs: fc.Arbitrary<Pair[]> = fc.array(fc.tuple(someName, someText), { maxLength: 4 })

/** What a parameter may be, where that does not depend on the store. */
const isRight: Readonly<Record<string, (text: string) => boolean>> = {
  limit: (text) => /^[0-9]{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= 1000,
  reverse: (text) => text === 'true' || text === 'false',
  allowPartial: (text) => text === 'true' || text === 'false',
  keyFormat: (text) => text === 'text' || text === 'base64',
}

/** True when the rules of parameters alone refuse the question. */
function isWrong(route: string, pairs: readonly Pair[]): boolean {
  const names = pairs.map(([name]) => name)
  return (
    new Set(names).size < names.length ||
    pairs.some(([name, text]) => {
      if (!(parameters[route] ?? []).includes(name)) return true
      return isRight[name]?.(text) === false
    })
  )
}

/** What may be answered, as status and code. */
function allowed(route: string, pairs: readonly Pair[]): string[] {
  if (isWrong(route, pairs)) return ['400 QUERY_INVALID']
  const given = new Map(pairs)
  // A cursor and base64 have rules of their own, which other tests hold.
  const isPlain = !given.has('cursor') && given.get('keyFormat') !== 'base64'
  return isPlain ? ['200 '] : ['200 ', '400 QUERY_INVALID', '400 KEY_INVALID', '404 KEY_NOT_FOUND']
}

function queryOf(pairs: readonly Pair[]): string {
  return pairs.map((pair) => pair.map((text) => encodeURIComponent(text)).join('=')).join('&')
}

function instance(store: AnyStore): HttpInstance {
  const made = new HttpInstance(store)
  for (const key of ['a', 'b', 'c', 'ä']) made.target.put(key, 1)
  return made
}

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

describe('questions over HTTP', () => {
  test('a query string is answered when it follows the rules, and refused when not', async () => {
    await using http = instance(counts)
    const seen = new Set<number>()
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), somePairs, async (route, pairs) => {
        const { status, body } = await http.get(`${route}?${queryOf(pairs)}`)
        seen.add(status)
        expect(allowed(route, pairs)).toContain(`${status} ${body.code ?? ''}`)
      }),
      { seed, numRuns: 500 },
    )
    expect(seen).toEqual(new Set([200, 400]))
    expect(http.faults).toEqual([])
  })

  test('any characters behind the question mark are an answer or a refusal', async () => {
    await using http = instance(counts)
    const printable = fc.string({
      unit: fc.constantFrom(...'abkeylimt=&&==%20%C3+;/?:@[]{}|^`"<>\\0159.-_~!$\'()*,'.split('')),
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), printable, async (route, query) => {
        const { status } = await http.get(`${route}?${query}`)
        expect([200, 400]).toContain(status)
      }),
      { seed, numRuns: 500 },
    )
    expect(http.faults).toEqual([])
  })

  test.each([
    ['string', serdes.string],
    ['long', serdes.long],
    ['bytes', serdes.bytes],
    ['json', serdes.json()],
    ['uuid', serdes.uuid],
    ['list of ints', serdes.list(serdes.int)],
  ])('any key and any store are an answer or a refusal, with keys of %s', async (_name, key) => {
    const store = keyValueStore('counts', { key: key as Serde<unknown>, value: serdes.long })
    await using http = new HttpInstance(store)
    const segment = fc.oneof(
      fc.constantFrom(
        'counts',
        'count',
        'keys',
        '..',
        '.',
        '',
        '%2F',
        '%00',
        '1',
        '-1',
        '[]',
        'null',
      ),
      someText.map((text) => encodeURIComponent(text)),
    )
    const route = fc.constantFrom(
      (a: string, b: string) => `/v1/stores/${a}/keys/${b}`,
      (a: string, b: string) => `/v1/stores/${a}/keys?from=${b}`,
      (a: string, b: string) => `/v1/stores/${a}/keys?prefix=${b}&keyFormat=base64`,
      (a: string, b: string) => `/v1/stores/${a}/keys?cursor=${b}`,
      (a: string, b: string) => `/v1/metadata/stores/${a}/keys/${b}`,
      (a: string, b: string) => `/v1/stores/counts/keys/${a}?keyFormat=${b}`,
      (a: string, b: string) => `/${a}/${b}`,
    )
    await fc.assert(
      fc.asyncProperty(route, segment, segment, async (make, a, b) => {
        const { status } = await http.get(make(a, b))
        expect([200, 400, 404]).toContain(status)
      }),
      { seed, numRuns: 150 },
    )
    expect(http.faults).toEqual([])
  })

  test('bytes that are nearly HTTP are an answer, a refusal or an end, and others are served on', async () => {
    await using http = instance(counts)
    const seen = new Set<number>()
    const port = await openPort(http.app, { host: '127.0.0.1', port: 0 })
    const method = fc.oneof(
      { weight: 3, arbitrary: fc.constant('GET') },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS, 'get', 'NONSENSE', '') },
    )
    const header = fc.constantFrom(
      'Content-Length: 5',
      'Content-Length: -1',
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      'Upgrade: h2c',
      'Connection: upgrade',
      'Accept: application/x-ndjson',
      'Accept: \u00ff',
      'Millpond-Hop: 1',
      'Millpond-Hop: 99',
      'Content-Type: application/json',
      'no header',
    )
    const request = fc
      .tuple(
        method,
        fc.constantFrom(...routes, '*', 'http://a/livez', '//', '/livez#x', '/\u00ff'),
        fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9'),
        fc.array(header, { maxLength: 3 }),
        fc.constantFrom('', 'hello', '{', '0\r\n\r\n'),
      )
      .map(([verb, path, version, headers, body]) => {
        const head = [`${verb} ${path} ${version}`, 'Host: a', 'Connection: close', ...headers]
        return `${head.join('\r\n')}\r\n\r\n${body}`
      })
    const damaged = fc
      .tuple(request, fc.nat(200), fc.integer({ min: -2, max: 255 }))
      .map(([text, at, byte]) => {
        const bytes = Buffer.from(text, 'latin1')
        // -1: as it is; -2: cut off; else one byte is another.
        if (byte >= 0) bytes[at % bytes.length] = byte
        return byte === -2 ? bytes.subarray(0, at) : bytes
      })
    await fc.assert(
      fc.asyncProperty(damaged, async (bytes) => {
        const answer = await answerTo(port, bytes)
        const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) =>
          Number(status),
        )
        for (const status of statuses) seen.add(status)
      }),
      { seed, numRuns: 400 },
    )
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 404, 405]))
    expect([...seen].filter((status) => status >= 500)).toEqual([])
    expect(http.faults).toEqual([])
    expect(await answerTo(port, Buffer.from('GET /livez HTTP/1.0\r\n\r\n'))).toContain('200 OK')
  })
})

/** All that the service says to these bytes, behind which the client has no more to say. */
function answerTo(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.end(bytes))
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}
