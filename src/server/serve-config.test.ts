import { expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { Topology } from '../topology/topology.ts'
import { serve } from './serve.ts'
import { resolveServeConfig, type ServeConfig } from './serve-config.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const topology: Topology = {
  subtopologies: [
    {
      id: 0,
      nodes: [],
      sources: [],
      processors: [],
      sinks: [],
      stores: [{ descriptor: counts, timestamped: true }],
      repartitionSources: [],
    },
  ],
  globalStores: [],
  nodeNames: [],
  copartitionGroups: [],
  copartitionedSources: [],
  describe: () => '',
}

const config = (more: Readonly<Record<string, unknown>> = {}): ServeConfig => ({
  applicationId: 'word-count',
  brokers: ['localhost:9092'],
  http: { port: 7070 },
  ...more,
})

const failureOf = (more: Readonly<Record<string, unknown>>): StreamsError => {
  try {
    resolveServeConfig(topology, config(more))
  } catch (error) {
    return error as StreamsError
  }
  throw new Error('nothing was refused')
}

test('the service listens on loopback, exposes nothing and advertises itself', () => {
  const resolved = resolveServeConfig(topology, config())
  expect(resolved.host).toBe('127.0.0.1')
  expect(resolved.port).toBe(7070)
  expect(resolved.exposure.stores).toEqual([])
  expect(resolved.allowRemotePeers).toBe(false)
  expect(resolved.endpoint(7070)).toEqual({ host: '127.0.0.1', port: 7070 })
})

test('the port that was opened is advertised when any was asked for', () => {
  const { endpoint } = resolveServeConfig(topology, config({ http: { port: 0 } }))
  expect(endpoint(49_152)).toEqual({ host: '127.0.0.1', port: 49_152 })
})

test.each([
  ['pod-1.local', { host: 'pod-1.local', port: 7070 }],
  ['pod-1.local:80', { host: 'pod-1.local', port: 80 }],
  ['[fd00::1]:80', { host: 'fd00::1', port: 80 }],
])('others reach the service at %s when that is advertised', (advertise, expected) => {
  const http = { port: 7070, host: '0.0.0.0', advertise }
  const { endpoint } = resolveServeConfig(topology, config({ http, auth: 'none' }))
  expect(endpoint(7070)).toEqual(expected)
})

test.each(['0.0.0.0', '192.168.1.2', '::', 'pod-1.local', '127.0.0.1.example.com'])(
  'the host %s is refused without auth',
  (host) => {
    expect(failureOf({ http: { port: 7070, host } })).toMatchObject({
      code: 'LISTENER_INSECURE',
      context: { host },
    })
  },
)

test.each(['127.0.0.1', '127.8.0.1', '::1', 'localhost', 'LOCALHOST'])(
  'the host %s needs no auth',
  (host) => {
    expect(resolveServeConfig(topology, config({ http: { port: 7070, host } })).host).toBe(host)
  },
)

test.each([
  ['http', { http: undefined }],
  ['http.port', { http: {} }],
  ['http.port', { http: { port: 65_536 } }],
  ['http.port', { http: { port: '7070' } }],
  ['http.host', { http: { port: 1, host: '' } }],
  ['http.dashboard', { http: { port: 1, dashboard: true } }],
  ['http.advertise', { http: { port: 1, advertise: 'a:b:c' } }],
  ['http.advertise', { http: { port: 1, advertise: 'host:99999' } }],
  ['http.advertise', { http: { port: 1, host: '0.0.0.0' }, auth: 'none' }],
  ['auth', { auth: 'jwt' }],
  ['endpoint', { endpoint: { host: 'a', port: 1 } }],
  ['expose', { expose: { others: { operations: ['get'] } } }],
  ['expose.counts', { expose: { counts: { operations: [] } } }],
  ['expose.counts', { expose: { counts: { operations: ['top'] } } }],
  ['expose.counts', { expose: { counts: true } }],
  ['brokers', { brokers: [] }],
  ['comitInterval', { comitInterval: 5 }],
  ['toString', { toString: 5 }],
  ['expose', { expose: null }],
  ['expose', { expose: 'counts' }],
  ['expose', { expose: ['counts'] }],
  ['http.advertise', { http: { port: 1, advertise: 7 } }],
  ['http', { http: 7070 }],
  ['http', { http: [7070] }],
  ['signal', { signal: 'SIGTERM' }],
  ['signal', { signal: {} }],
])('a wrong %s is named', (option, more) => {
  expect(failureOf(more)).toMatchObject({ code: 'CONFIG_INVALID', context: { option } })
})

/** As a program in JavaScript calls it, which no compiler has read. */
const untyped = serve as unknown as (...args: unknown[]) => Promise<unknown>

test.each([
  ['no options', [topology], 'http'],
  ['null', [topology, null], 'http'],
  ['empty options', [topology, {}], 'http'],
  ['a text', [topology, 'localhost:9092'], 'config'],
  ['only a port', [topology, { http: { port: 0 } }], 'applicationId'],
])('serve with %s says what is missing', async (_what, args, option) => {
  await expect(untyped(...args)).rejects.toMatchObject({
    name: 'StreamsError',
    code: 'CONFIG_INVALID',
    context: { option },
  })
})

test.each([[[]], [[undefined, config()]], [[{ build: () => topology }, config()]]])(
  'serve without a topology says so',
  async (args) => {
    await expect(untyped(...args)).rejects.toMatchObject({
      code: 'TOPOLOGY_INVALID',
      message: expect.stringContaining('the first argument must be what builder.build() returns'),
    })
  },
)
