import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock, sleep } from '../../src/base/clock.ts'
import { randomInteger, seededRandom, type Random } from '../../src/base/random.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { BackgroundLoad } from './background-load.ts'
import { TestCluster, groupProtocol } from './test-cluster.ts'
import { until } from './until.ts'

/**
 * `MILLPOND_KILL_SECONDS=300 npx vitest test/integration/exactly-once-kill.test.ts` is the long form: so
 * long, one instance is killed every five seconds. It prints what it has done.
 */
const killSeconds = Number(process.env['MILLPOND_KILL_SECONDS'] ?? 0)
const isLong = killSeconds > 0
const killIntervalMs = 5000
/** The short form ends after so many, the long one by the clock. */
const roundsOfShort = 6
/** Records that come in at once; there are always more to come. */
const recordsPerWrite = 100
/** Nothing is written while the application is so far behind. */
const lagMax = 3000
const keyCount = isLong ? 200_000 : 400
const wordCount = 50
const partitions = 8
const instanceCount = 3
const sessionMs = isLong ? 6000 : 3000
const timeoutMs = 240_000 + 2 * killSeconds * 1000

const program = fileURLToPath(new URL('exactly-once-instance.ts', import.meta.url))

/** Three processes of one application, of which any can be killed and started again. */
class Instances implements AsyncDisposable {
  readonly #children: ChildProcess[] = []
  /** When each had its tasks first. */
  readonly #running: Promise<unknown>[] = []
  readonly #cluster: TestCluster

  constructor(cluster: TestCluster) {
    this.#cluster = cluster
    for (let index = 0; index < instanceCount; index += 1) this.#start(index)
  }

  #start(index: number): void {
    const cluster = this.#cluster
    const topics = ['input', 'copies'].map((short) => cluster.name(short))
    const directory = join(cluster.directory, `instance-${index}`)
    const names = [cluster.address, cluster.name('counts'), ...topics, directory]
    const settings = [...names, `${sessionMs}`, groupProtocol]
    const child = spawn(process.execPath, ['--import', 'tsx', program, ...settings], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#running[index] = once(createInterface({ input: child.stdout }), 'line')
    this.#children[index] = child
  }

  /** Kills one, as a machine that loses its power would, or ends it as an operator does; starts it again. */
  async replace(index: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#children[index]
    if (child === undefined) throw new Error('there is no such instance')
    // It is killed at any moment, but must have begun to listen to be told to end.
    if (signal === 'SIGTERM') await this.#running[index]
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code, killedBy] = (await exited) as [number | null, string | null]
    const isAsWished = signal === 'SIGKILL' ? killedBy === signal : code === 0
    if (!isAsWished) throw new Error(`instance ${index} ended with ${code ?? killedBy}`)
    this.#start(index)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }),
    )
  }
}

/** What was written, and what must come of it. */
class Input {
  readonly #cluster: TestCluster
  readonly #random: Random
  readonly byKey = new Map<string, number>()
  readonly byValue = new Map<string, number>()
  written = 0

  constructor(cluster: TestCluster, random: Random) {
    this.#cluster = cluster
    this.#random = random
  }

  async write(records: number): Promise<void> {
    const { producer } = this.#cluster
    const topic = this.#cluster.name('input')
    for (let index = 0; index < records; index += 1) {
      const key = `key-${randomInteger(this.#random, keyCount)}`
      const word = `word-${randomInteger(this.#random, wordCount)}`
      const value = Buffer.from(`${this.written} ${word}`)
      const partition = partitionForKey(Buffer.from(key), partitions)
      producer.send(topic, partition, Buffer.from(key), value, systemClock.now(), [])
      this.written += 1
      this.byKey.set(key, (this.byKey.get(key) ?? 0) + 1)
      this.byValue.set(word, (this.byValue.get(word) ?? 0) + 1)
    }
    await producer.flush()
  }
}

/** Writes as fast as the application commits, so that there is always more to do. */
async function writeUntil(
  signal: AbortSignal,
  input: Input,
  progress: () => Promise<number>,
): Promise<void> {
  while (!signal.aborted) {
    await input.write(recordsPerWrite)
    await until(async () => signal.aborted || input.written - (await progress()) < lagMax)
  }
}

/** Records of a topic that the application has committed. */
async function committed(cluster: TestCluster, topic: string): Promise<number> {
  const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('counts'), all)
  return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
}

async function endOf(cluster: TestCluster, topic: string): Promise<number> {
  const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  const ends = await listOffsets(cluster.client, all, 'latest')
  return [...ends.values()].reduce((sum, end) => sum + end, 0)
}

/** The latest value of each key in a changelog, of what was committed. */
async function countsIn(cluster: TestCluster, store: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { key, value } of await cluster.read(`counts-${store}-changelog`, 'read_committed')) {
    if (key === null || value === null)
      throw new Error('a count is neither deleted nor without a key')
    counts.set(key.toString(), serdes.long.deserialize(value))
  }
  return counts
}

const sorted = (counts: Map<string, number>): [string, number][] =>
  [...counts].sort(([a], [b]) => (a < b ? -1 : 1))

test(
  'whatever is killed under load, each record is counted and copied exactly once',
  { timeout: timeoutMs },
  async ({ signal }) => {
    await using cluster = await TestCluster.start()
    for (const short of ['input', 'copies']) await cluster.createTopic(short, partitions)
    const random = seededRandom(11)
    const input = new Input(cluster, random)
    await using instances = new Instances(cluster)
    const topics = { input: cluster.name('input'), copies: cluster.name('copies') }
    const startedAt = systemClock.monotonic()
    const done = { SIGKILL: 0, SIGTERM: 0 }
    await using load = new BackgroundLoad((isOver) =>
      writeUntil(isOver, input, () => committed(cluster, topics.input)),
    )
    const isDone = (round: number): boolean =>
      isLong ? systemClock.monotonic() - startedAt >= killSeconds * 1000 : round === roundsOfShort
    for (let round = 0; !isDone(round); round += 1) {
      if (isLong) await sleep(systemClock, killIntervalMs, signal)
      // Copies that have just been written are most likely not committed.
      const some = (await endOf(cluster, topics.copies)) + 100 + randomInteger(random, 1000)
      await until(async () => (await endOf(cluster, topics.copies)) > some, signal)
      const how = round % 4 === 3 ? 'SIGTERM' : 'SIGKILL'
      await instances.replace(randomInteger(random, instanceCount), how)
      done[how] += 1
    }
    await load.end()
    const repartition = cluster.name('counts-by-value-repartition')
    for (const topic of [cluster.name('input'), repartition]) {
      await until(
        async () => (await committed(cluster, topic)) === (await endOf(cluster, topic)),
        signal,
      )
    }
    const copies = (await cluster.read('copies', 'read_committed'))
      .map(({ value }) => Number.parseInt(String(value), 10))
      .sort((a, b) => a - b)
    expect(copies).toEqual(Array.from({ length: input.written }, (_, index) => index))
    expect(sorted(await countsIn(cluster, 'by-key'))).toEqual(sorted(input.byKey))
    expect(sorted(await countsIn(cluster, 'by-value'))).toEqual(sorted(input.byValue))
    const seconds = Math.round((systemClock.monotonic() - startedAt) / 1000)
    const { written: records, byKey } = input
    if (isLong)
      console.log(JSON.stringify({ groupProtocol, records, keys: byKey.size, ...done, seconds }))
  },
)
