import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sleep, systemClock } from '../../base/clock.ts'
import { silentLog } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import { systemTransport } from '../../base/transport.ts'
import { Admin } from '../../client/admin.ts'
import { KafkaClient } from '../../client/kafka-client.ts'
import { Producer } from '../../client/producer.ts'
import { StreamsError, isStreamsError } from '../../errors.ts'
import { applicationId, textLines, wordCounts } from '../word-count.ts'
import { isAllProcessed } from './count-completion.ts'
import { DemoCluster } from './demo-cluster.ts'
import type { DemoOptions } from './demo-options.ts'
import { HttpReader } from './http-reader.ts'
import { LineFeeder } from './line-feeder.ts'
import { failureLine } from './parent-link.ts'
import { preflight } from './preflight.ts'
import { ReadingProgress } from './reading-progress.ts'
import { StatusLine } from './status-line.ts'
import { documentationInputs, namedInputs } from './text-input.ts'
import { SignalHandlers } from './signal-handlers.ts'
import { topWords } from './top-words.ts'

/** Partitions of the topic with the lines, and so of the counts. */
const partitions = 6

/** Lines a second of the documentation: slow enough to watch. */
const documentationRate = 5

const topWordsMax = 10
const completionIntervalMs = 200

/** Exit codes of the demo. */
export const demoExit = { done: 0, failed: 1, interrupted: 130 }

/** What talks to the broker for the demo itself. */
interface Kafka {
  readonly client: KafkaClient
  readonly admin: Admin
  readonly producer: Producer
}

/**
 * Word count to watch: a dev broker and the instances as processes of their own, a text that is read
 * line by line, and a line that tells how it goes. Returns the exit code when everything has stopped.
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  await preflight(options)
  const isTemporary = options.dataDir === undefined
  const dataDir = isTemporary
    ? mkdtempSync(join(tmpdir(), 'millpond-demo-'))
    : resolve(options.dataDir)
  const demo = new Demo(options, dataDir)
  try {
    return await demo.run()
  } finally {
    if (isTemporary) rmSync(dataDir, { recursive: true, force: true })
  }
}

class Demo {
  readonly #options: DemoOptions
  readonly #dataDir: string
  readonly #status = new StatusLine(process.stderr)
  readonly #http = new HttpReader()
  readonly #cluster: DemoCluster
  /** Aborts when the demo is to stop, whatever the reason. */
  readonly #stop = new AbortController()
  #failure: string | undefined
  #kafka: Kafka | undefined
  #feeder: LineFeeder | undefined
  #isCounted = false

  constructor(options: DemoOptions, dataDir: string) {
    this.#options = options
    this.#dataDir = dataDir
    const { instances, port } = options
    this.#cluster = new DemoCluster({
      dataDir,
      instances,
      port,
      http: this.#http,
      say: (line) => this.#status.say(line),
      fail: (reason) => this.#fail(reason),
    })
  }

  async run(): Promise<number> {
    const signals = new SignalHandlers({
      onStop: () => this.#interrupt(),
      onKill: () => this.#killAll(),
      onRestart: () => void this.#cluster.restart(),
    })
    try {
      await this.#work()
    } catch (error) {
      // What was given up because the demo stops is no failure.
      if (!isStreamsError(error, 'ABORTED')) this.#noteFailure(failureLine(error))
    }
    this.#stop.abort()
    try {
      await this.#shutDown()
    } finally {
      signals.remove()
    }
    return this.#exitCode()
  }

  async #work(): Promise<void> {
    this.#status.say('Starting a broker and the instances …')
    const broker = await this.#unlessStopped(this.#cluster.startBroker())
    const kafka = connect(broker)
    this.#kafka = kafka
    const { signal } = this.#stop
    await kafka.admin.createTopics([{ topic: textLines.name, partitions }], { signal })
    await kafka.client.topicMetadata([textLines.name], { signal })
    const watching = this.#watch()
    await this.#unlessStopped(this.#cluster.startInstances(broker))
    this.#introduce(broker)
    await this.#feed(kafka)
    if (this.#options.once && !signal.aborted) await this.#finish(kafka)
    else await aborted(signal)
    this.#stop.abort()
    await watching
  }

  /** The outcome, or `ABORTED` when the demo is to stop before there is one. */
  async #unlessStopped<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined)
    const stopped = aborted(this.#stop.signal).then((): never => {
      throw new StreamsError('ABORTED', { what: 'the start of the demo' })
    })
    stopped.catch(() => undefined)
    return await Promise.race([work, stopped])
  }

  /** Reads what there is to read; returns at its end, or when the demo is to stop. */
  async #feed({ producer }: Kafka): Promise<void> {
    const { input, once } = this.#options
    const isDocumentation = input.length === 0
    const rate = this.#options.rate ?? (isDocumentation && !once ? documentationRate : undefined)
    const progress = new ReadingProgress(join(this.#dataDir, 'input.json'))
    const { signal } = this.#stop
    const feeder = new LineFeeder({ producer, topic: textLines.name, progress, rate, signal })
    this.#feeder = feeder
    const inputs = isDocumentation ? documentationInputs() : namedInputs(input)
    await feeder.feed(inputs)
    if (isDocumentation && !once) {
      while (!signal.aborted) {
        progress.clear()
        await feeder.feed(inputs)
      }
    }
    if (!once && !signal.aborted) this.#status.say('The input is read. Ctrl-C stops the demo.')
  }

  /** Waits until everything is counted, and prints the most frequent words. */
  async #finish(kafka: Kafka): Promise<void> {
    const { signal } = this.#stop
    while (!(await isAllProcessed(kafka, applicationId, textLines.name, signal))) {
      if (!this.#cluster.instances.some(({ isAlive }) => isAlive)) {
        throw new Error('No instance is left to count the words.')
      }
      await sleep(systemClock, completionIntervalMs, signal)
      if (signal.aborted) return
    }
    const options = { store: wordCounts.name, limit: topWordsMax, signal }
    const words = await topWords(this.#http, this.#cluster.ports, options)
    this.#status.clear()
    process.stdout.write(words.map(({ word, count }) => `${word}\t${count}\n`).join(''))
    this.#isCounted = true
  }

  /** Tells how things are until the demo stops. */
  async #watch(): Promise<void> {
    const { signal } = this.#stop
    let before = systemClock.monotonic()
    while (!signal.aborted) {
      await sleep(systemClock, this.#status.intervalMs, signal)
      const instances = this.#cluster.instances
      const deltas = await Promise.all(instances.map((instance) => instance.refresh()))
      if (signal.aborted) return
      const now = systemClock.monotonic()
      const processed = deltas.reduce((sum, delta) => sum + delta, 0)
      const rate = Math.round((processed * 1000) / (now - before))
      before = now
      const states = instances.map(({ status: { name, state } }) => `${name} ${state}`)
      const lines = number(this.#feeder?.lines ?? 0)
      this.#status.update(
        [`${lines} lines read`, `${number(rate)} records/s`, ...states].join(' · '),
      )
    }
  }

  #introduce(broker: string): void {
    const { input, dataDir } = this.#options
    const names = input.map((path) => (path === '-' ? 'standard input' : path))
    const texts = names.length === 0 ? "the project's documentation" : names.join(', ')
    const place = dataDir === undefined ? 'a temporary directory' : this.#dataDir
    this.#status.say(`Counting the words of ${texts}`)
    this.#status.say(`  broker      ${broker}, data in ${place}`)
    for (const { name, port, pid } of this.#cluster.instances) {
      this.#status.say(
        `  ${name}  http://localhost:${port ?? 'unknown'}  (process ${pid ?? 'unknown'})`,
      )
    }
    const { ports } = this.#cluster
    const [first, last] = [ports[0], ports.at(-1)]
    if (first === undefined || last === undefined) return
    const store = `/v1/stores/${wordCounts.name}`
    this.#status.say('Ask any of them:')
    this.#status.say(`  curl http://localhost:${first}${store}/keys/kafka`)
    this.#status.say(`  curl 'http://localhost:${last}${store}/keys?prefix=ka&limit=10'`)
    this.#status.say('Ctrl-C stops everything.')
  }

  #interrupt(): void {
    if (!this.#stop.signal.aborted) this.#status.say('Stopping … (Ctrl-C again: at once)')
    this.#stop.abort()
  }

  #killAll(): void {
    this.#cluster.kill()
    this.#status.clear()
    if (this.#options.dataDir === undefined) {
      rmSync(this.#dataDir, { recursive: true, force: true })
    }
    process.exit(demoExit.interrupted)
  }

  /** The demo cannot go on. What fails while it stops is a consequence of that. */
  #fail(reason: string): void {
    if (!this.#stop.signal.aborted) this.#noteFailure(reason)
  }

  #noteFailure(reason: string): void {
    this.#failure ??= reason
    this.#stop.abort()
    // What is not acknowledged by now may never be, and nobody is to wait for it.
    void this.#kafka?.producer.close()
  }

  async #shutDown(): Promise<void> {
    try {
      await this.#kafka?.producer.close()
      await this.#kafka?.client.close()
      await this.#cluster.stop({ failed: this.#failure !== undefined })
    } finally {
      await this.#http[Symbol.asyncDispose]()
      this.#status.clear()
    }
  }

  #exitCode(): number {
    if (this.#failure !== undefined) {
      process.stderr.write(`millpond: ${this.#failure}\n`)
      return demoExit.failed
    }
    return this.#options.once && !this.#isCounted ? demoExit.interrupted : demoExit.done
  }
}

function connect(broker: string): Kafka {
  const client = new KafkaClient({
    brokers: [broker],
    clientId: 'millpond-demo',
    clock: systemClock,
    random: systemRandom,
    transport: systemTransport,
    log: silentLog,
  })
  return { client, admin: new Admin(client), producer: new Producer(client) }
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
