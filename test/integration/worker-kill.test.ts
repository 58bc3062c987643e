/**
 * Processes of several threads, of which one is killed at any moment. They run what was built: `npm run build`
 * first, as `npm test` does.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { TestCluster, groupProtocol } from './test-cluster.ts'
import { until } from './until.ts'

const partitions = 6
const wordCount = 100
const recordsPerWrite = 100
/** Nothing is written while the application is so far behind. */
const lagMax = 2000
const program = fileURLToPath(new URL('threaded-instance.js', import.meta.url))
const all = Array.from({ length: partitions }, (_, partition) => partition)

/** A process with two workers. */
class Instance implements AsyncDisposable {
  readonly #child: ChildProcess
  /** Active tasks of each of its workers, as it told them last. */
  tasks: readonly number[] = []

  constructor(cluster: TestCluster, name: string) {
    const module = new URL('threaded-words.js', import.meta.url)
    module.searchParams.set('input', cluster.name('words'))
    const names = [module.href, cluster.address, cluster.name('counts')]
    const settings = [...names, join(cluster.directory, name), groupProtocol]
    const child = spawn(process.execPath, [program, ...settings], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.tasks = JSON.parse(line) as number[]
    })
    this.#child = child
  }

  get areAllBusy(): boolean {
    return this.tasks.length === 2 && this.tasks.every((count) => count > 0)
  }

  get taskCount(): number {
    return this.tasks.reduce((sum, count) => sum + count, 0)
  }

  /** Ends it; resolves with its exit code, or the signal that ended it. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> {
    const child = this.#child
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    }
    return child.exitCode ?? child.signalCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL')
  }
}

/** What was written, and how far the application is with it. */
class Words {
  readonly #cluster: TestCluster
  readonly #all: readonly { readonly topic: string; readonly partition: number }[]
  readonly counts = new Map<string, number>()
  written = 0

  constructor(cluster: TestCluster) {
    this.#cluster = cluster
    this.#all = all.map((partition) => ({ topic: cluster.name('words'), partition }))
  }

  /** There is always more to do, until the signal aborts. */
  async writeUntil(signal: AbortSignal): Promise<void> {
    const { producer } = this.#cluster
    while (!signal.aborted) {
      for (let index = 0; index < recordsPerWrite; index += 1) {
        const word = `word-${this.written % wordCount}`
        const bytes = Buffer.from(word)
        const partition = partitionForKey(bytes, partitions)
        producer.send(this.#cluster.name('words'), partition, bytes, bytes, systemClock.now(), [])
        this.written += 1
        this.counts.set(word, (this.counts.get(word) ?? 0) + 1)
      }
      await producer.flush()
      await until(async () => signal.aborted || this.written - (await this.committed()) < lagMax)
    }
  }

  async committed(): Promise<number> {
    const { client } = this.#cluster
    const offsets = await fetchCommittedOffsets(client, this.#cluster.name('counts'), this.#all)
    return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
  }

  async areCommitted(): Promise<boolean> {
    const ends = await listOffsets(this.#cluster.client, this.#all, 'latest')
    const end = [...ends.values()].reduce((sum, one) => sum + one, 0)
    return (await this.committed()) === end
  }

  /** The latest count of each word in the changelog, of what was committed. */
  async counted(): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    const records = await this.#cluster.read('counts-counts-changelog', 'read_committed')
    for (const { key, value } of records) {
      if (key === null || value === null)
        throw new Error('a count is neither deleted nor without a key')
      counts.set(key.toString(), serdes.long.deserialize(value))
    }
    return counts
  }
}

/** Both have some of the tasks, and all threads of one of them work. */
function areShared(a: Instance, b: Instance): boolean {
  const haveSome = a.taskCount > 0 && b.taskCount > 0
  return haveSome && a.taskCount + b.taskCount === partitions && (a.areAllBusy || b.areAllBusy)
}

test(
  'another process takes over from one of several threads that is killed, and counts exactly once',
  { timeout: 240_000 },
  async ({ signal }) => {
    await using cluster = await TestCluster.start()
    await cluster.createTopic('words', partitions)
    const words = new Words(cluster)
    const instances = { a: new Instance(cluster, 'a'), b: new Instance(cluster, 'b') }
    await using _a = instances.a
    await using _b = instances.b
    const isOver = new AbortController()
    const load = words.writeUntil(isOver.signal)
    // The streams protocol lets a worker have none: four of them have two tasks at most.
    await until(() => areShared(instances.a, instances.b), signal)
    const victim = instances.a.areAllBusy ? 'a' : 'b'
    const other = instances[victim === 'a' ? 'b' : 'a']
    const goesOn = async (): Promise<void> => {
      const some = (await words.committed()) + lagMax
      await until(async () => (await words.committed()) > some, signal)
    }
    await goesOn()
    // While records are in flight: there are always more.
    expect(await instances[victim].end('SIGKILL')).toBe('SIGKILL')
    await until(() => other.taskCount === partitions, signal)
    await goesOn()
    // What the threads left behind, of which each had its own tasks, is taken up again.
    await using again = new Instance(cluster, victim)
    await until(
      () => again.taskCount > 0 && again.taskCount + other.taskCount === partitions,
      signal,
    )
    await goesOn()
    expect(await other.end('SIGKILL')).toBe('SIGKILL')
    await until(() => again.taskCount === partitions, signal)

    isOver.abort()
    await load
    await until(() => words.areCommitted(), signal)
    expect(await words.counted()).toEqual(words.counts)
    expect(await again.end('SIGTERM')).toBe(0)
  },
)
