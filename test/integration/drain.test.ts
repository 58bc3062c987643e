/** The end of a process by SIGTERM, while records come in. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { StreamsGroupCoordinator } from '../../src/client/streams-group-coordinator.ts'
import type { TopicPartition } from '../../src/client/topic-metadata.ts'
import { KafkaStreams } from '../../src/index.ts'
import { BackgroundLoad } from './background-load.ts'
import { drainConfig, drainCounts, drainTopology, type DrainSettings } from './drain-topology.ts'
import { TestCluster, groupProtocol } from './test-cluster.ts'
import { until } from './until.ts'

const partitions = 3
const keys = ['a', 'b', 'c', 'd', 'e']
const recordsPerWrite = 50
/** Nothing is written while so much has not come out yet. */
const aheadMax = 500
const program = fileURLToPath(new URL('drain-instance.ts', import.meta.url))

/** A process, with what it has printed. */
class Instance implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly lines: string[] = []

  constructor(settings: DrainSettings) {
    const args = ['--import', 'tsx', program, JSON.stringify(settings)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface({ input: child.stdout }).on('line', (line) => this.lines.push(line.trim()))
    this.#child = child
  }

  /** Resolves when it has ended, and all that it printed is here. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown> {
    const child = this.#child
    if (child.exitCode === null && child.signalCode === null) {
      const closed = once(child, 'close')
      child.kill(signal)
      await closed
    }
    return child.exitCode ?? child.signalCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL')
  }
}

const partitionsOf = (topic: string): TopicPartition[] =>
  Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))

/** Records that the process has written so far. */
async function copied(cluster: TestCluster): Promise<number> {
  const ends = await listOffsets(cluster.client, partitionsOf(cluster.name('out')), 'latest')
  return [...ends.values()].reduce((sum, end) => sum + end, 0)
}

/** Writes numbers until it is over; resolves with how many. */
async function writeNumbers(cluster: TestCluster, isOver: AbortSignal): Promise<number> {
  let written = 0
  while (!isOver.aborted) {
    for (let index = 0; index < recordsPerWrite; index += 1) {
      const key = Buffer.from(keys[written % keys.length] ?? '')
      const partition = cluster.producer.partitionFor(key, cluster.name('in'))
      const value = Buffer.from(String(written))
      cluster.producer.send(cluster.name('in'), partition, key, value, Date.now(), [])
      written += 1
    }
    await cluster.producer.flush()
    const isFarAhead = async (): Promise<boolean> => written - (await copied(cluster)) > aheadMax
    await until(async () => isOver.aborted || !(await isFarAhead()))
  }
  return written
}

async function memberCount(cluster: TestCluster, groupId: string): Promise<number> {
  if (groupProtocol === 'classic') {
    const [group] = await new Admin(cluster.client).describeGroups([groupId])
    return group?.members.length ?? 0
  }
  await using coordinator = new StreamsGroupCoordinator(cluster.client, groupId)
  return (await coordinator.describe({ timeoutMs: 10_000 })).members.length
}

const isClassic = groupProtocol === 'classic'

test.for([
  ['at-least-once', 'leaves its group', undefined, isClassic ? ['LeaveGroup'] : []],
  ['exactly-once', 'stays in its group', 'one', []],
] as const)(
  'a process that gets SIGTERM under load answers nobody, flushes, commits, and %s %s',
  { timeout: 120_000 },
  async ([processingGuarantee, , groupInstanceId, last], { signal }) => {
    await using cluster = await TestCluster.start()
    for (const name of ['in', 'out']) await cluster.createTopic(name, partitions)
    const applicationId = cluster.name('drain')
    const settings: DrainSettings = {
      brokers: [cluster.address],
      applicationId,
      stateDir: join(cluster.directory, 'state'),
      groupProtocol,
      processingGuarantee,
      ...(groupInstanceId !== undefined && { groupInstanceId }),
      input: cluster.name('in'),
      output: cluster.name('out'),
    }
    await using instance = new Instance(settings)
    await until(() => instance.lines.includes('running'), signal)
    await using load = new BackgroundLoad((isOver) => writeNumbers(cluster, isOver))
    await until(async () => (await copied(cluster)) > 200, signal)

    expect(await instance.end('SIGTERM')).toBe(0)
    const written = await load.end()
    const commit = processingGuarantee === 'exactly-once' ? 'EndTxn' : 'OffsetCommit'
    // Produce may go out before the port is closed, and does not have to: all may be with the broker.
    const requests = instance.lines.filter((line) => line !== 'Produce')
    expect(requests).toEqual(['running', commit, ...last, 'ended'])
    expect(instance.lines.lastIndexOf('Produce')).toBeLessThan(instance.lines.indexOf(commit))

    // What was written is what was committed, to the record.
    const inputs = partitionsOf(cluster.name('in'))
    const offsets = await fetchCommittedOffsets(cluster.client, applicationId, inputs)
    const committed = [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
    expect((await cluster.read('out', 'read_committed')).length).toBe(committed)
    expect(committed).toBeGreaterThan(0)
    expect(await memberCount(cluster, applicationId)).toBe(groupInstanceId === undefined ? 0 : 1)

    // Whoever comes next waits for nobody, and goes on from there.
    const stateDir =
      groupInstanceId === undefined ? join(cluster.directory, 'next') : settings.stateDir
    await using next = new KafkaStreams(
      drainTopology(settings),
      drainConfig({ ...settings, stateDir }),
    )
    await next.start()
    const total = async (): Promise<number> => {
      let sum = 0
      for await (const [, count] of next.store(drainCounts).range()) sum += count
      return sum
    }
    await until(async () => (await total()) === written, signal)
    // Only who has left his state behind has to restore it.
    const restored = next.metrics.recordsRestored.value
    expect(restored > 0).toBe(groupInstanceId === undefined)
    await next.close()
    const values = (await cluster.read('out', 'read_committed')).map(({ value }) => Number(value))
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: written }, (_, at) => at))
  },
)
