/**
 * `npm run bench:peers`: the same jobs in Java Kafka Streams and in Millpond, in turn, on one real
 * broker. docs/internals/benchmarks.md tells what is measured.
 *
 *     npm run bench:peers -- [--small] [--jobs stateless,join] [--records N] [--rounds N]
 *                            [--node 24|system|PATH] [--json FILE] [--profile DIRECTORY]
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { kafkaUnavailable } from '../../test/peers/kafka-cluster.ts'
import { BenchCluster, partitions } from './bench-cluster.ts'
import {
  buildJava,
  buildMillpond,
  jvmOptions,
  producerSettings,
  resolveNode,
  versions,
} from './build.ts'
import { leaveProgramCore, pinning } from './cores.ts'
import { jobs, type Job } from './jobs.ts'
import {
  cacheBytes,
  commitIntervalMs,
  measure,
  type LoadOptions,
  type Peer,
  type Round,
} from './measure.ts'
import { jobResult, machine, table, type JobResult, type Results } from './report.ts'

interface Options {
  readonly jobs: readonly Job[]
  readonly records: number | undefined
  readonly rounds: number
  readonly node: string
  readonly isSmall: boolean
  readonly json: string | undefined
  readonly profile: string | undefined
}

/** Throws an Error with what is wrong with the command line. */
function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      jobs: { type: 'string' },
      records: { type: 'string' },
      rounds: { type: 'string' },
      node: { type: 'string', default: '24' },
      json: { type: 'string' },
      profile: { type: 'string' },
      small: { type: 'boolean', default: false },
    },
  })
  const { small: isSmall, node, json, profile } = values
  const records = values.records === undefined ? undefined : Number(values.records)
  const rounds = Number(values.rounds ?? (isSmall ? 1 : 3))
  for (const [name, count] of Object.entries({ records: records ?? 1, rounds })) {
    if (!Number.isInteger(count) || count < 1) throw new Error(`--${name} must be a whole number`)
  }
  const wanted = values.jobs?.split(',') ?? jobs.map(({ name }) => name)
  const unknown = wanted.find((name) => !jobs.some((job) => job.name === name))
  if (unknown !== undefined) {
    throw new Error(
      `there is no job ${unknown}; there are ${jobs.map((job) => job.name).join(', ')}`,
    )
  }
  const chosen = jobs.filter(({ name }) => wanted.includes(name))
  return { jobs: chosen, records, rounds, node, isSmall, json, profile }
}

function peersOf(node: string, profile: string | undefined): { peers: Peer[]; load: string[] } {
  const java = buildJava()
  const programs = buildMillpond()
  const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', resolve(profile)]
  const peers: Peer[] = [
    {
      name: 'java',
      command: (settings) => [
        ...java,
        ...Object.entries({ ...settings, ...producerSettings }).map(
          ([name, value]) => `${name}=${value}`,
        ),
      ],
    },
    {
      name: 'millpond',
      command: (settings) => [node, ...flags, join(programs, 'main.js'), JSON.stringify(settings)],
    },
  ]
  return { peers, load: [node, join(programs, 'http-load.js')] }
}

const loadTimes = { connections: 32, warmUpSeconds: 10, seconds: 10 }
const loadTimesSmall = { connections: 32, warmUpSeconds: 2, seconds: 2 }

interface Bench {
  readonly cluster: BenchCluster
  readonly options: Options
  readonly peers: readonly Peer[]
  readonly load: LoadOptions
  readonly signal: AbortSignal
}

/** Java, Millpond, Java, Millpond, … */
async function runJob(
  job: Job,
  { cluster, options, peers, load, signal }: Bench,
): Promise<JobResult> {
  const wanted = options.records ?? (options.isSmall ? job.recordsSmall : job.records)
  const sized = job.of(Math.ceil(wanted / job.multiple) * job.multiple)
  const topics = { input: `${job.name}-input`, table: `${job.name}-table` }
  for (const topic of Object.values(topics)) await cluster.createTopic(topic)
  await sized.produce?.(cluster, topics, signal)
  const rounds: Record<Peer['name'], Round[]> = { java: [], millpond: [] }
  for (let number = 1; number <= options.rounds; number += 1) {
    for (const peer of peers) {
      const round = await measure({ cluster, job, sized, topics, peer, number, load, signal })
      tellRound(job, peer, round)
      if (round !== undefined) rounds[peer.name].push(round)
    }
  }
  const checksums = new Set([...rounds.java, ...rounds.millpond].map(({ checksum }) => checksum))
  if (checksums.size > 1) throw new Error(`${job.name}: not all runs gave the same`)
  return jobResult(job, sized, rounds)
}

function tellRound(job: Job, peer: Peer, round: Round | undefined): void {
  const label = `${job.name.padEnd(15)} ${peer.name.padEnd(9)}`
  if (round === undefined) console.error(`${label} not yet in Millpond`)
  else {
    const { perSecond, totalSeconds, cpuSeconds, peakMemoryMb, ownMemoryMb } = round
    const memory = `${peakMemoryMb} MB, ${ownMemoryMb} MB of its own`
    const usage = `${cpuSeconds.toFixed(1)} s CPU, ${memory}`
    console.error(
      `${label} ${perSecond} ${job.unit}/s, ${totalSeconds.toFixed(1)} s in all, ${usage}`,
    )
  }
}

async function main(): Promise<number> {
  const missing = kafkaUnavailable()
  if (missing !== undefined) {
    console.error(missing)
    return 2
  }
  const options = readOptions()
  const stopped = new AbortController()
  // Some signals come twice, from the terminal and from tsx: the second must not end us at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => stopped.abort(new Error(`stopped by ${name}`)))
  const { signal } = stopped
  const node = resolveNode(options.node)
  const { peers, load: command } = peersOf(node, options.profile)
  leaveProgramCore()
  await using cluster = await BenchCluster.start()
  const load = { command, ...(options.isSmall ? loadTimesSmall : loadTimes) }
  const compared = versions(node, cluster.version)
  console.error(
    `${Object.entries(compared)
      .map((one) => one.join(' '))
      .join(', ')}; ${pinning}`,
  )
  const results: JobResult[] = []
  for (const job of options.jobs)
    results.push(await runJob(job, { cluster, options, peers, load, signal }))
  const report: Results = {
    date: new Date().toISOString(),
    machine: machine(),
    versions: compared,
    settings: {
      partitions,
      rounds: options.rounds,
      commitIntervalMs,
      cacheBytes,
      ...producerSettings,
      jvmOptions,
      connections: load.connections,
    },
    jobs: results,
  }
  console.log(table(report))
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  return 0
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  },
)
