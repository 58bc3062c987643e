import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openTransactions } from '../../src/client/transaction-admin.ts'
import { groupProtocol, type TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, isEqual, poem, startedCluster } from './word-count.ts'

/**
 * `MILLPOND_TELL_TIMES=1 npx vitest test/integration/standby-kill.test.ts` prints how long after the kill
 * everything of the dead owner could be read again: from the copy, and from the next owner.
 */
const tellsTimes = process.env['MILLPOND_TELL_TIMES'] === '1'

const program = fileURLToPath(new URL('standby-instance.ts', import.meta.url))

/** An instance in a process of its own. Disposed, it is gone. */
class InstanceProcess implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  readonly url: Promise<string>

  constructor(cluster: TestCluster, name: string, guarantee: string) {
    const names = [cluster.name('word-count'), cluster.name('lines')]
    const settings = [...names, join(cluster.directory, name), guarantee, groupProtocol]
    this.#process = spawn(
      process.execPath,
      ['--import', 'tsx', program, cluster.address, ...settings],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    this.#exited = once(this.#process, 'exit')
    this.url = this.#firstLine()
  }

  async #firstLine(): Promise<string> {
    const { stdout } = this.#process
    if (stdout === null) throw new Error('the output is a pipe')
    for await (const line of createInterface({ input: stdout })) return line
    throw new Error('the instance ended before it ran')
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

interface Answer {
  readonly status: number
  readonly body: {
    readonly value?: number
    readonly code?: string
    readonly partitions?: readonly Partition[]
    readonly meta?: { readonly role: string; readonly lag: number; readonly servedBy: string }
  }
}

interface Partition {
  readonly partition: number
  readonly active: string | null
  readonly standby: readonly string[]
}

async function get(url: string): Promise<Answer> {
  const response = await fetch(url)
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.split(' ')[1])
}

/** The counts as the changelog has them. */
async function flushedCounts(cluster: TestCluster): Promise<Record<string, number>> {
  const flushed: Record<string, number> = {}
  for (const { key, value } of await cluster.read('word-count-word-counts-changelog'))
    flushed[String(key)] = Number(value?.readBigInt64BE())
  return flushed
}

/** Other words, without end: so that an owner has something under way whenever it is killed. */
async function writeNoise(cluster: TestCluster, signal: AbortSignal): Promise<void> {
  for (let index = 0; !signal.aborted; index += 1) {
    await cluster.write(
      'lines',
      Array.from({ length: 20 }, (_, word) => `noise-${index}-${word}`),
    )
  }
}

test.for(['at-least-once', 'exactly-once'])(
  'after kill -9 bounded reads go on at once, and the standby takes over without a restore, %s',
  { timeout: 240_000 },
  async (guarantee, { signal }) => {
    await using cluster = await startedCluster()
    await using a = new InstanceProcess(cluster, 'a', guarantee)
    await using b = new InstanceProcess(cluster, 'b', guarantee)
    const [killed, url] = await Promise.all([a.url, b.url])
    const host = new URL(killed).host
    await cluster.write('lines', poem)
    const path = `${url}/v1/stores/word-counts`
    // Each has some partitions, the other one copies of them, and all copies have all there is.
    await until(async () => {
      const { body } = await get(`${url}/v1/metadata/stores/word-counts`)
      const owners = new Set(body.partitions?.map(({ active }) => active))
      return owners.size === 2 && body.partitions?.every(({ standby }) => standby.length === 1)
    }, signal)
    const words = Object.entries(counts)
    await until(async () => {
      const answers = await Promise.all(words.map(([word]) => get(`${path}/keys/${word}`)))
      return answers.every(({ body }, index) => body.value === words[index]?.[1])
    }, signal)
    // What a killed owner has not written and committed is counted again by the next one.
    await until(async () => isEqual(counts, await flushedCounts(cluster)), signal)
    const read = ['lines', 'word-count-word-counts-repartition']
    await until(() => cluster.hasCommitted('word-count', ...read), signal)
    await until(async () => (await metric(url, 'millpond_standby_lag_records')) === 0, signal)
    await until(async () => (await get(`${killed}/readyz`)).status === 200, signal)
    const owned = await Promise.all(words.map(([word]) => get(`${path}/keys/${word}`)))
    const lost = words.filter((_, index) => owned[index]?.body.meta?.servedBy === host)
    expect(lost.length).toBeGreaterThan(0)
    const restoredBefore = await metric(url, 'millpond_records_restored_total')

    const isExactlyOnce = guarantee === 'exactly-once'
    const killing = new AbortController()
    // At least once, what was not committed would have to be restored.
    const noise = isExactlyOnce ? writeNoise(cluster, killing.signal) : undefined
    const prefix = `${cluster.name('word-count')}-`
    if (isExactlyOnce)
      await until(async () => (await openTransactions(cluster.client, prefix)).length === 2, signal)
    await a.kill()
    const killedAt = performance.now()
    killing.abort()
    await noise
    for (const [word, count] of lost) {
      // The lag is that of the last answer of a broker: the last records may still be on their way.
      const { body } = await until(async () => {
        const answer = await get(`${path}/keys/${word}?maxLag=0`)
        return answer.status === 200 && answer.body.value === count ? answer : undefined
      }, signal)
      expect(body.meta).toMatchObject({ lag: 0, role: 'standby' })
    }
    const boundedMs = performance.now() - killedAt
    // Nobody has said yet who owns them now, and nobody says that they are absent.
    const [word] = lost[0] ?? []
    expect(await get(`${path}/keys/${word}`)).toMatchObject({
      status: 503,
      body: { code: 'PEER_UNREACHABLE' },
    })

    for (const [one, count] of lost) {
      const answer = await until(async () => {
        const now = await get(`${path}/keys/${one}`)
        expect(now.status === 200 || now.status === 503).toBe(true)
        return now.status === 200 ? now : undefined
      }, signal)
      expect(answer.body).toMatchObject({ value: count, meta: { role: 'active' } })
    }
    const activeMs = performance.now() - killedAt
    if (tellsTimes) console.log(JSON.stringify({ guarantee, groupProtocol, boundedMs, activeMs }))
    if (isExactlyOnce) return
    expect((await metric(url, 'millpond_records_restored_total')) - restoredBefore).toBe(0)
  },
)
