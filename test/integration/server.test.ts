import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve, type ServeConfig, type Service } from '../../src/server/index.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import {
  counts,
  isEqual,
  poem,
  startedCluster,
  taskIds,
  wordCount,
  wordCounts,
} from './word-count.ts'

const expose = { 'word-counts': { operations: ['get', 'range'] } } as const

/** A service with a state directory of its own (by name), and short timeouts. */
function start(
  cluster: TestCluster,
  name: string,
  config: Partial<ServeConfig> = {},
): Promise<Service> {
  return serve(wordCount(cluster), {
    applicationId: cluster.name('word-count'),
    brokers: [cluster.address],
    stateDir: join(cluster.directory, name),
    commitInterval: 100,
    sessionTimeout: 1500,
    heartbeatInterval: 100,
    http: { port: 0 },
    expose,
    logger: 'silent',
    ...config,
  })
}

interface Body {
  readonly key: string
  readonly value: number
  readonly code: string
  readonly state: string
  readonly rows: readonly { readonly key: string; readonly value: number }[]
  readonly cursor: string | null
  readonly meta: {
    readonly servedBy: string | readonly string[]
    readonly partitions: readonly number[]
    readonly position: unknown
  }
}

async function get(url: string): Promise<{ status: number; headers: Headers; body: Body }> {
  const response = await fetch(url)
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Body,
  }
}

const store = (service: Service): string => `${service.url}/v1/stores/word-counts`

/** All rows over HTTP, page by page. */
async function pages(service: Service, limit: number): Promise<[string, number][]> {
  const rows: [string, number][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await get(`${store(service)}/keys?limit=${limit}${next}`)
    if (status !== 200) throw new Error(body.code)
    expect(body.rows.length).toBeLessThanOrEqual(limit)
    rows.push(...body.rows.map(({ key, value }): [string, number] => [key, value]))
    cursor = body.cursor
  }
  return rows
}

test('whoever is served may ask at once, also an instance that has no task yet', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const services = await Promise.all([start(cluster, 'a'), start(cluster, 'b')])
  await using a = services[0]
  await using b = services[1]
  const first = await Promise.all([a, b].map((service) => service.store(wordCounts).get('never')))
  expect(first).toEqual([undefined, undefined])
  for (const service of [a, b]) {
    await until(async () => (await service.store(wordCounts).get('to')) === 4, signal)
  }
})

const sortedCounts = Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))

test(
  'two services answer for all words, and the one that stays goes on alone',
  {
    timeout: 60_000,
  },
  async ({ signal }) => {
    await using cluster = await startedCluster()
    await cluster.write('lines', poem)
    await using a = await start(cluster, 'a')
    await using b = await start(cluster, 'b')
    const endpoints = [a, b].map(({ url }) => new URL(url).host)

    for (const service of [a, b]) {
      await until(async () => isEqual(counts, Object.fromEntries(await pages(service, 3))), signal)
      expect(await pages(service, 3)).toEqual(sortedCounts)
    }
    await until(() => taskIds(a.streams).length === 4 && a.streams.state === 'running', signal)

    const servedBy = new Set<unknown>()
    for (const [word, count] of Object.entries(counts)) {
      const answers = [await get(`${store(a)}/keys/${word}`), await get(`${store(b)}/keys/${word}`)]
      for (const { status, body } of answers) {
        expect([status, body.key, body.value]).toEqual([200, word, count])
        servedBy.add(body.meta.servedBy)
      }
      expect(answers[0]?.body.meta.servedBy).toBe(answers[1]?.body.meta.servedBy)
      expect(await a.store(wordCounts).get(word)).toBe(count)
      expect(await b.store(wordCounts).get(word)).toBe(count)
    }
    expect(servedBy).toEqual(new Set(endpoints))

    const page = await get(`${store(a)}/keys?limit=100`)
    expect(page.body.meta).toMatchObject({
      partitions: [0, 1, 2, 3],
      servedBy: [...endpoints].sort(),
      partial: false,
    })
    const absent = await get(`${store(a)}/keys/never`)
    expect([absent.status, absent.body.code]).toEqual([404, 'KEY_NOT_FOUND'])
    expect(Object.fromEntries(await b.store(wordCounts).getMany(['to', 'never', 'be']))).toEqual({
      to: 4,
      be: 2,
    })
    const rows: [string, number][] = []
    for await (const row of a.store(wordCounts).range({ from: 'o', reverse: true })) rows.push(row)
    expect(rows).toEqual(sortedCounts.filter(([word]) => word >= 'o').reverse())
    expect(await a.store(wordCounts).approximateEntryCount()).toBe(10)
    for (const service of [a, b]) {
      expect((await get(`${service.url}/livez`)).status).toBe(200)
      expect((await get(`${service.url}/readyz`)).status).toBe(200)
    }

    await b.close()
    await expect(fetch(`${b.url}/livez`)).rejects.toThrow('fetch failed')
    await until(async () => isEqual(counts, Object.fromEntries(await pages(a, 100))), signal)
    const alone = await get(`${store(a)}/keys/to`)
    expect([alone.body.value, alone.body.meta.servedBy]).toEqual([4, endpoints[0]])
  },
)

test(
  'while instances come and go each answer is right, or a 503 that says when to ask again',
  {
    timeout: 60_000,
  },
  async ({ signal }) => {
    await using cluster = await startedCluster()
    await cluster.write('lines', poem)
    await using a = await start(cluster, 'a')
    await until(async () => isEqual(counts, Object.fromEntries(await pages(a, 100))), signal)

    const outcomes = new Map<string, number>()
    const over = new AbortController()
    /** Asks for all words, one after the other, until the coming and going is over. */
    const ask = async (): Promise<void> => {
      while (!over.signal.aborted) {
        for (const [word, count] of Object.entries({ ...counts, never: 0 })) {
          const { status, headers, body } = await get(`${store(a)}/keys/${word}`)
          const answer = status === 503 ? `503 ${headers.get('retry-after')}` : String(status)
          const wrong = status === 200 && body.value !== count ? ` but ${body.value}` : ''
          const outcome = `${word === 'never' ? 'absent' : 'present'}: ${answer}${wrong}`
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
      }
    }
    const asking = Promise.all([ask(), ask(), ask(), ask()])
    for (const name of ['b', 'c']) {
      const other = await start(cluster, name)
      await until(() => taskIds(other.streams).length === 4, signal)
      await until(async () => isEqual(counts, Object.fromEntries(await pages(other, 100))), signal)
      await other.close()
      await until(async () => isEqual(counts, Object.fromEntries(await pages(a, 100))), signal)
    }
    over.abort()
    await asking
    const expected = ['present: 200', 'absent: 404', 'present: 503 1', 'absent: 503 1']
    expect([...outcomes.keys()].filter((outcome) => !expected.includes(outcome))).toEqual([])
    expect(outcomes.get('present: 200')).toBeGreaterThan(0)
    expect(outcomes.get('absent: 404')).toBeGreaterThan(0)
  },
)

test('the port answers 503 before the instance runs, and serve waits until it does', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  // No broker is there, so it cannot come to run before it is asked.
  const controller = new AbortController()
  const starting = start(cluster, 'a', {
    brokers: ['127.0.0.1:1'],
    http: { port },
    signal: controller.signal,
  })
  starting.catch(() => undefined)
  const early = await until(() => get(`${url}/v1/stores/word-counts/keys/to`), signal)
  expect(early.status).toBe(503)
  expect(early.headers.get('retry-after')).toBe('1')
  expect(['STREAMS_NOT_STARTED', 'STREAMS_REBALANCING']).toContain(early.body.code)
  controller.abort()
  await expect(starting).rejects.toMatchObject({ code: 'ABORTED' })

  // The source topic is not there: the start fails, and nothing is left open.
  await expect(start(cluster, 'a', { http: { port } })).rejects.toMatchObject({
    code: 'SOURCE_TOPIC_MISSING',
  })
  await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed')

  await cluster.createTopic('lines', 2)
  await using service = await start(cluster, 'b', { http: { port } })
  expect(service.streams.state).toBe('running')
  expect((await get(`${url}/readyz`)).body.state).toBe('running')
  expect((await get(`${url}/v1/stores`)).status).toBe(200)
})

test('a port in use is named', async () => {
  await using cluster = await startedCluster()
  await using service = await start(cluster, 'a')
  const port = Number(new URL(service.url).port)
  await expect(start(cluster, 'b', { http: { port } })).rejects.toMatchObject({
    code: 'ADDRESS_IN_USE',
    context: { port },
  })
})

test('a signal closes the service, and `closed` tells when that is done', async () => {
  await using cluster = await startedCluster()
  const controller = new AbortController()
  const service = await start(cluster, 'a', { signal: controller.signal })
  controller.abort()
  await service.closed
  expect(service.streams.state).toBe('not-running')
  await expect(start(cluster, 'b', { signal: controller.signal })).rejects.toMatchObject({
    code: 'ABORTED',
  })
})

test('an instance that failed is not alive, and says so until it is closed', async ({ signal }) => {
  await using cluster = await startedCluster()
  const broken = wordCount(cluster, {
    ...wordCounts,
    value: {
      ...wordCounts.value,
      serialize: () => {
        throw new Error('no such value')
      },
    },
  })
  await using service = await serve(broken, {
    applicationId: cluster.name('word-count'),
    brokers: [cluster.address],
    stateDir: join(cluster.directory, 'a'),
    commitInterval: 100,
    http: { port: 0 },
    expose,
    logger: 'silent',
  })
  await cluster.write('lines', poem)
  await expect(service.closed).rejects.toThrow('no such value')
  const alive = await until(async () => {
    const answer = await get(`${service.url}/livez`)
    return answer.status === 503 ? answer : undefined
  }, signal)
  expect(alive.body).toMatchObject({ code: 'STREAMS_STOPPED', state: 'error' })
  const refused = await get(`${store(service)}/keys/to`)
  expect(refused.body.code).toBe('STREAMS_STOPPED')
  // Those in the process learn why; others only that it is so.
  expect(JSON.stringify(refused.body)).not.toContain('no such value')
  await expect(service.store(wordCounts).get('to')).rejects.toMatchObject({
    code: 'STREAMS_STOPPED',
    cause: { message: expect.stringContaining('no such value') },
  })
})

test('bytes that are no HTTP get a problem document, and others are served on', async () => {
  await using cluster = await startedCluster()
  await using service = await start(cluster, 'a')
  const port = Number(new URL(service.url).port)
  for (const bytes of ['nonsense\r\n\r\n', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`]) {
    const answer = await raw(port, bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('"code":"REQUEST_MALFORMED"')
  }
  expect((await get(`${service.url}/livez`)).status).toBe(200)
})

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(bytes))
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
