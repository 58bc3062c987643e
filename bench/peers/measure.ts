import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchCluster } from './bench-cluster.ts'
import { onProgramCore } from './cores.ts'
import type { LoadPlan, LoadResult } from './http-load.ts'
import { difference, type Application, type InputTopics, type Job, type SizedJob } from './jobs.ts'
import type { Settings } from './millpond/settings.ts'
import { PeerProcess } from './peer-process.ts'
import { until, within } from './wait.ts'

const startTimeoutMs = 120_000
const processTimeoutMs = 600_000

/** Kafka Streams' own default. */
export const cacheBytes = 10 * 1024 * 1024
export const commitIntervalMs = 1000

/** One of the two sides. */
export interface Peer {
  readonly name: 'java' | 'millpond'
  readonly command: (settings: Settings) => string[]
}

/** How the HTTP client is run, and for how long. */
export interface LoadOptions {
  readonly command: readonly string[]
  readonly connections: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** What one run gave. */
export interface Round {
  /** In the unit of the job, between RUNNING (for a restore: its beginning) and the end. */
  readonly perSecond: number
  /** The same in the second half of the records: when the compilers have done their work. */
  readonly perSecondLate?: number
  /** From the start of the process until it was RUNNING. */
  readonly startSeconds: number
  /** From the start of the process until all was processed and committed, or restored. */
  readonly totalSeconds: number
  /** Processor time in all; of point reads, while they were measured. */
  readonly cpuSeconds: number
  readonly brokerCpuSeconds: number
  readonly peakMemoryMb: number
  /** The most without the pages of files that it has mapped. */
  readonly ownMemoryMb: number
  readonly load?: LoadResult
  /** Of what came out: equal on both sides, or none of it counts. */
  readonly checksum?: number
}

/** Everything that a round needs. */
export interface RoundOptions {
  readonly cluster: BenchCluster
  readonly job: Job
  readonly sized: SizedJob
  readonly topics: InputTopics
  readonly peer: Peer
  readonly number: number
  readonly load: LoadOptions
  readonly signal: AbortSignal
}

/** Runs the job once, from nothing. Resolves with undefined when that side cannot do it. */
export async function measure(options: RoundOptions): Promise<Round | undefined> {
  const { cluster, job, sized, topics, peer, number, signal } = options
  const id = `${job.name}-${peer.name}-${number}`
  const application = { id, output: `${id}-output` }
  await cluster.createTopic(application.output)
  await sized.prepare?.(cluster, application, signal)
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-peers-'))
  try {
    const command = peer.command({
      job: job.name,
      bootstrap: cluster.bootstrap,
      applicationId: id,
      stateDir,
      commitIntervalMs: job.commitIntervalMs ?? commitIntervalMs,
      cacheBytes,
      guarantee: job.guarantee ?? 'at-least-once',
      ...topics,
      output: application.output,
    })
    const brokerCpuBefore = cluster.cpuSeconds
    await using process = new PeerProcess(onProgramCore(command))
    const round = await follow(options, application, process)
    if (round === undefined) return undefined
    const brokerCpuSeconds = cluster.cpuSeconds - brokerCpuBefore
    await process.close()
    return { ...round, brokerCpuSeconds, ...(await verify(options, application)) }
  } finally {
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/** Where a run is at a moment. */
interface Sample {
  readonly at: number
  readonly records: number
}

async function follow(
  options: RoundOptions,
  application: Application,
  process: PeerProcess,
): Promise<Omit<Round, 'brokerCpuSeconds'> | undefined> {
  const { job, sized, peer, signal } = options
  const what = `${job.name} in ${peer.name}`
  const bound = { what: `the start of ${what}`, timeoutMs: startTimeoutMs, signal }
  const running = await process.event(['running', 'unsupported'], bound)
  if (running.event === 'unsupported') return undefined
  const seconds = (at: number): number => (at - process.startedAt) / 1000
  const startSeconds = seconds(running.at)
  if (job.name === 'restore') {
    if (Number(running.detail) !== sized.expected.records)
      throw new Error(`${what} restored ${running.detail} records`)
    const since = process.told('restoring')?.at ?? process.startedAt
    const perSecond = Math.round((sized.records * 1000) / (running.at - since))
    return { perSecond, startSeconds, totalSeconds: startSeconds, ...process.usage() }
  }
  const samples = await processed(options, application, process)
  const end = samples.at(-1) as Sample
  const usage = process.usage()
  const times = { startSeconds, totalSeconds: seconds(end.at) }
  if (sized.reads !== undefined) {
    const load = await ask(options, process)
    const after = process.usage()
    const cpuSeconds = after.cpuSeconds - usage.cpuSeconds
    const { perSecond } = load
    return { perSecond, load, ...times, ...after, cpuSeconds }
  }
  const middle = samples.find(({ records }) => records >= end.records / 2) as Sample
  return {
    perSecond: pace({ at: running.at, records: 0 }, end),
    ...(middle.at < end.at && { perSecondLate: pace(middle, end) }),
    ...times,
    ...usage,
  }
}

const pace = (from: Sample, to: Sample): number =>
  Math.round(((to.records - from.records) * 1000) / (to.at - from.at))

/** Waits until all is processed and committed; how the last of the topics went on is the result. */
async function processed(
  { cluster, job, sized, topics, peer, signal }: RoundOptions,
  application: Application,
  process: PeerProcess,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const wanted = sized.processed(topics, application)
  const paced = wanted.at(-1)?.[0]
  const what = `${job.name} in ${peer.name}`
  await until(
    async () => {
      process.assertAlive()
      let isDone = true
      for (const [topic, count] of wanted) {
        const records = await cluster.committed(application.id, topic)
        if (topic === paced) samples.push({ at: Date.now(), records })
        isDone &&= records >= count
      }
      return isDone
    },
    { what, timeoutMs: processTimeoutMs, signal },
  )
  return samples
}

async function ask(
  { job, sized, load, signal }: RoundOptions,
  process: PeerProcess,
): Promise<LoadResult> {
  const { command, connections, warmUpSeconds, seconds } = load
  const bound = { what: 'the address', timeoutMs: startTimeoutMs, signal }
  const { detail: url } = await process.event(['listening'], bound)
  const { keys, value } = sized.reads ?? { keys: 0, value: 0 }
  const plan: LoadPlan = { url, keys, value, connections, warmUpSeconds, seconds }
  await using client = new PeerProcess([...command, JSON.stringify(plan)])
  const timeoutMs = startTimeoutMs + (warmUpSeconds + seconds) * 1000
  const done = await client.event(['done'], { what: `the load of ${job.name}`, timeoutMs, signal })
  return JSON.parse(done.detail) as LoadResult
}

/** Throws when what came out is not what must come out. */
async function verify(
  { cluster, job, sized, peer, signal }: RoundOptions,
  application: Application,
): Promise<{ checksum?: number }> {
  if (sized.result === undefined) return {}
  const [kind, topic] = sized.result(application)
  const digest =
    kind === 'records' ? cluster.digest(topic, signal) : cluster.digestTable(topic, signal)
  const found = await within(digest, { what: topic, timeoutMs: processTimeoutMs, signal })
  const wrong = difference(sized.expected, found)
  if (wrong !== undefined) throw new Error(`${job.name} in ${peer.name} is wrong: ${wrong}`)
  return { checksum: found.checksum }
}
