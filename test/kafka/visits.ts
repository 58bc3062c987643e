import { join } from 'node:path'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../src/client/offsets.ts'
import {
  StreamsBuilder,
  joinWindows,
  serdes,
  sessionStore,
  sessionWindows,
  timeWindows,
  topic,
  windowStore,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type { TestCluster } from '../integration/test-cluster.ts'
import { until } from '../integration/until.ts'
import { runTurn } from './java-programs.ts'

const partitionCount = 2
const second = 1_000
const late = 3_600 * second

const text = { key: serdes.string, value: serdes.string }
const counts = { key: serdes.string, value: serdes.long }
const inWindow = windowStore('in-window', counts)
const inSession = sessionStore('in-session', text)

/** What Visits.java computes, in the same steps under the same names. */
function visitsTopology(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  const pages = builder.stream(topic(cluster.name('visits'), text))
  const byVisitor = pages.groupByKey()
  byVisitor
    .windowedBy(timeWindows({ size: 10 * second, advance: 5 * second, grace: late }))
    .count({ store: inWindow })
  byVisitor.windowedBy(sessionWindows({ gap: 3 * second, grace: late })).aggregate(
    () => '',
    (seen, page) => `${seen}${page};`,
    (one, other) => one + other,
    { store: inSession },
  )
  byVisitor
    .windowedBy(timeWindows({ size: 10 * second, grace: 2 * second }))
    .emitStrategy('on-window-close')
    .count({ store: windowStore('closed', { ...counts, caching: false, retention: late }) })
    .toStream((_count, { key, window }) => `${key}@${window.start}`, { key: serdes.string })
    .mapValues(String)
    .to(topic(cluster.name('counts'), text))
  pages
    .leftJoin(
      builder.stream(topic(cluster.name('purchases'), text)),
      (page, article) => `${page} ${article ?? 'null'}`,
      {
        windows: joinWindows({ difference: 2 * second, grace: 50 * second }),
        name: 'bought',
        storeName: 'bought',
      },
    )
    .to(topic(cluster.name('pairs'), text))
  return builder.build()
}

/** Somebody, what it is about, and when: seconds after the beginning. */
export type Visit = readonly [who: string, what: string, time: number]

/** An application that Java and Millpond take turns to be: visits in windows, and purchases that follow. */
export class Visits {
  readonly cluster: TestCluster
  readonly applicationId: string
  /** When it all begins: a broker deletes what is too old for the retention of a changelog. */
  static readonly beginning = Math.floor(Date.now() / 1_000_000) * 1_000_000
  readonly #cacheBytes: number

  /** @param short names the application within the cluster. */
  constructor(cluster: TestCluster, short: string, cacheBytes: number) {
    this.cluster = cluster
    this.applicationId = cluster.name(short)
    this.#cacheBytes = cacheBytes
  }

  static async createTopics(cluster: TestCluster): Promise<void> {
    for (const short of ['visits', 'purchases', 'counts', 'pairs'])
      await cluster.createTopic(short, partitionCount)
  }

  async write(short: 'visits' | 'purchases', rows: readonly Visit[]): Promise<void> {
    const { producer } = this.cluster
    for (const [who, what, time] of rows) {
      const key = Buffer.from(who)
      const partition = partitionForKey(key, partitionCount)
      const timestamp = Visits.beginning + time * second
      producer.send(this.cluster.name(short), partition, key, Buffer.from(what), timestamp, [])
    }
    await producer.flush()
  }

  /** Kafka Streams processes all input, commits, and leaves; the rows of its stores, in order. */
  async runJava(directory: string, signal: AbortSignal): Promise<string[]> {
    const { cluster, applicationId } = this
    const topics = ['visits', 'purchases', 'counts', 'pairs'].map((short) => cluster.name(short))
    const stateDirectory = join(cluster.directory, directory)
    const rows = await runTurn(
      'Visits',
      [cluster.address, applicationId, ...topics, stateDirectory, String(this.#cacheBytes)],
      signal,
    )
    return rows.map(sinceBeginning).sort()
  }

  /** An instance of Millpond that has not been started. */
  millpond(directory: string): KafkaStreams {
    return this.cluster.streams(visitsTopology(this.cluster), directory, {
      applicationId: this.applicationId,
      cacheBytes: this.#cacheBytes,
    })
  }

  /** Resolves when the application has processed and committed all of its input. */
  async processed(signal: AbortSignal): Promise<void> {
    const { client } = this.cluster
    const partitions = ['visits', 'purchases'].flatMap((short) =>
      Array.from({ length: partitionCount }, (_, partition) => ({
        topic: this.cluster.name(short),
        partition,
      })),
    )
    await until(async () => {
      const ends = await listOffsets(client, partitions, 'latest')
      const committed = await fetchCommittedOffsets(client, this.applicationId, partitions)
      return partitions.every(({ topic: name, partition }) => {
        const key = partitionKey(name, partition)
        return (committed.get(key)?.offset ?? 0) === ends.get(key)
      })
    }, signal)
  }

  /** What was written to a topic of results, in an order that says nothing. */
  static async written(cluster: TestCluster, short: 'counts' | 'pairs'): Promise<string[]> {
    const records = await cluster.read(short)
    return records
      .map(({ key, value, timestamp }) =>
        sinceBeginning([key?.toString(), value?.toString(), timestamp].join('\t')),
      )
      .sort()
  }

  /** Keys, values and timestamps in a changelog, partition by partition. */
  async changelog(store: string): Promise<string[]> {
    const short = this.cluster.own([this.applicationId])[0] ?? ''
    const records = await this.cluster.read(`${short}-${store}-changelog`)
    return records
      .sort((one, other) => one.partition - other.partition || one.offset - other.offset)
      .map(({ partition, key, value, timestamp }) =>
        [partition, key?.toString('hex'), value?.toString('hex') ?? 'null', timestamp].join('\t'),
      )
  }
}

/** Times are shown as seconds after the beginning. */
function sinceBeginning(row: string): string {
  return row.replaceAll(/\d{13}/g, (time) => String((Number(time) - Visits.beginning) / second))
}

/** The rows that an instance of Millpond holds, in order. */
export async function rowsOfVisits(streams: KafkaStreams): Promise<string[]> {
  const rows: string[] = []
  for await (const [{ key, window }, count] of streams.store(inWindow).range())
    rows.push(['in-window', key, window.start, window.end, count].join('\t'))
  for await (const [{ key, window }, pages] of streams.store(inSession).range())
    rows.push(['in-session', key, window.start, window.end, pages].join('\t'))
  return rows.map(sinceBeginning).sort()
}
