/**
 * Runs one job until its standard input closes, and tells the runner what happens: a line of JSON for
 * each event. Main.java is its counterpart.
 */
import { KafkaStreams, type StreamsConfig, type Topology } from 'millpond'
import { counts } from './counts.ts'
import { exactlyOnce } from './exactly-once.ts'
import { join } from './join.ts'
import { pointReads, serveCounts } from './point-reads.ts'
import { restore } from './restore.ts'
import type { PeerEvent, Settings } from './settings.ts'
import { stateless } from './stateless.ts'
import { windowedCount } from './windowed-count.ts'
import { wordCount } from './word-count.ts'

/** Jobs that are not here Millpond cannot do. */
const jobs: Readonly<Record<string, (settings: Settings) => Topology>> = {
  stateless,
  'word-count': wordCount,
  'exactly-once': exactlyOnce,
  'windowed-count': windowedCount,
  join,
  restore,
  'point-reads': pointReads,
}

const closeTimeoutMs = 10_000

function tell(event: PeerEvent['event'], detail = ''): void {
  process.stdout.write(`${JSON.stringify({ event, at: Date.now(), detail })}\n`)
}

const inputClosed = new Promise<void>((resolve) => {
  process.stdin.once('end', resolve).resume()
})

function configOf(settings: Settings): StreamsConfig {
  return {
    applicationId: settings.applicationId,
    brokers: [settings.bootstrap],
    stateDir: settings.stateDir,
    commitInterval: settings.commitIntervalMs,
    cacheBytes: settings.cacheBytes,
    processingGuarantee: settings.guarantee,
  }
}

async function run(topology: Topology, config: StreamsConfig): Promise<void> {
  await using streams = new KafkaStreams(topology, config)
  streams.on('restore', ({ phase }) => phase === 'start' && tellRestoring())
  await streams.start()
  tell('running', String(streams.metrics.recordsRestored.value))
  await Promise.race([inputClosed, streams.closed])
  await streams.close({ timeout: closeTimeoutMs })
}

async function answer(topology: Topology, config: StreamsConfig): Promise<void> {
  await using service = await serveCounts(topology, config)
  tell('running')
  tell('listening', `${service.url}/v1/stores/${counts.name}/keys/`)
  await Promise.race([inputClosed, service.closed])
}

let isRestoringTold = false

function tellRestoring(): void {
  if (!isRestoringTold) tell('restoring')
  isRestoringTold = true
}

async function main(settings: Settings): Promise<void> {
  const job = jobs[settings.job]
  if (job === undefined) {
    tell('unsupported')
    return
  }
  await (settings.job === 'point-reads' ? answer : run)(job(settings), configOf(settings))
}

await main(JSON.parse(process.argv[2] ?? '{}') as Settings)
process.exit(0)
