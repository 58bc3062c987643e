import { join } from 'node:path'
import { Admin } from '../../src/client/admin.ts'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../src/client/offsets.ts'
import {
  StreamsBuilder,
  hours,
  joinWindows,
  keyValueStore,
  nullable,
  seconds,
  serdes,
  sessionStore,
  sessionWindows,
  slidingWindows,
  timeWindows,
  timestamped,
  topic,
  versionedStore,
  windowStore,
  type KStream,
  type KafkaStreams,
  type ProcessorSupplier,
  type Topology,
} from '../../src/index.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type { TestCluster } from '../integration/test-cluster.ts'
import { until } from '../integration/until.ts'
import { runTurn } from './java-programs.ts'

const second = 1_000
const late = hours(1)
const text = { key: serdes.string, value: serdes.string }
const rowText = { key: serdes.string, value: nullable(serdes.string) }
const textCounts = { key: serdes.string, value: serdes.long }
const tenSeconds = { windowSize: seconds(10), retention: late }

const keyValueStores = {
  lots: keyValueStore('lots', text),
  sellers: keyValueStore('sellers', { ...text, persistent: false }),
  'sold-by': keyValueStore('sold-by', text),
  people: keyValueStore('people', text),
  last: keyValueStore('last', text),
  best: keyValueStore('best', { ...text, persistent: false }),
}
const windowStores = {
  sliding: windowStore('sliding', textCounts),
  tumbling: windowStore('tumbling', { ...text, persistent: false }),
  closing: windowStore('closing', { ...textCounts, retention: late }),
  each: windowStore('each', { ...text, ...tenSeconds, retainDuplicates: true }),
  hourly: windowStore('hourly', { ...text, ...tenSeconds, persistent: false }),
}
const sessionStores = {
  visits: sessionStore('visits', { ...text, persistent: false }),
  spans: sessionStore('spans', { ...text, retention: late }),
}
const versioned = { ...text, historyRetention: late }

/** What Ledger.java does. */
const ledgerStores = {
  last: keyValueStores.last,
  best: timestamped(keyValueStores.best),
  each: windowStores.each,
  hourly: timestamped(windowStores.hourly),
  spans: sessionStores.spans,
  history: versionedStore('history', versioned),
}
const ledger: ProcessorSupplier<string, string, string, string, typeof ledgerStores> =
  ({ stores, forward }) =>
  (record) => {
    const { key: who, value: bid, timestamp: now } = record
    const { last, best, each, hourly, spans, history } = stores
    const hour = Math.trunc(now / (10 * second)) * 10 * second
    const found = best.get(who)
    const told = [
      last.get(who) ?? 'null',
      found === undefined ? '-' : `${found.value} since ${now - found.timestamp}`,
      [...each.fetchRange(who, now - 5 * second, now)].length,
      hourly.fetch(who, hour)?.value ?? '-',
      [...spans.findSessions(who, now - 3 * second, now)].length,
      history.get(who, now - 4 * second)?.value ?? '-',
    ].join('|')
    const isEnd = bid.endsWith(' x')
    each.put(who, bid, now)
    spans.put({ key: who, window: { start: now, end: now + second } }, bid)
    history.put(who, isEnd ? undefined : bid, now)
    if (isEnd) {
      last.delete(who)
      best.put(who, undefined, now)
      hourly.put(who, undefined, now, hour)
    } else {
      last.put(who, bid)
      hourly.put(who, bid, now, hour)
      if (found === undefined || bid > found.value) best.put(who, bid, now)
    }
    forward({ ...record, value: told })
  }

/** What Market.java computes, in the same steps under the same names. */
class Program {
  readonly #cluster: TestCluster
  readonly #builder = new StreamsBuilder({ optimize: 'all' })

  constructor(cluster: TestCluster) {
    this.#cluster = cluster
  }

  build(): Topology {
    const bids = this.#builder.stream(this.#topic('bids'))
    this.#joins(bids, this.#builder.stream(this.#topic('asks')))
    this.#lots()
    this.#windows(bids)
    bids
      .process(ledger, { name: 'ledger', stores: ledgerStores, ...text })
      .to(this.#topic('ledger'))
    return this.#builder.build()
  }

  #topic(short: string) {
    return topic(this.#cluster.name(short), text)
  }

  #rows(short: string) {
    return topic(this.#cluster.name(short), rowText)
  }

  #joins(bids: KStream<string, string>, asks: KStream<string, string>): void {
    const prices = this.#builder.table(this.#rows('prices'), {
      store: versionedStore('prices', versioned),
    })
    bids
      .join(prices, (bid, price) => `${bid} of ${price}`, { name: 'priced', grace: seconds(3) })
      .to(this.#topic('priced'))
    const people = this.#builder.globalTable(this.#rows('people'), { store: keyValueStores.people })
    bids
      .join(people, (bid, name) => `${bid} by ${name}`, {
        lookup: (_bid, who) => who,
        name: 'known',
      })
      .to(this.#topic('known'))
    const windows = joinWindows({ difference: seconds(3), grace: seconds(2) })
    bids
      .outerJoin(asks, (bid, ask) => `${bid ?? 'null'} and ${ask ?? 'null'}`, {
        windows,
        name: 'met',
        storeName: 'met',
      })
      .to(this.#topic('met'))
    bids
      .leftJoin(asks, (bid, ask) => `${bid} or ${ask ?? 'null'}`, {
        windows,
        name: 'quick',
        storeName: 'quick',
        stores: { persistent: false },
      })
      .to(this.#topic('quick'))
  }

  #lots(): void {
    const lots = this.#builder.table(this.#rows('lots'), { store: keyValueStores.lots })
    const sellers = this.#builder.table(this.#rows('sellers'), { store: keyValueStores.sellers })
    lots.join(sellers, (lot, name) => `${lot} of ${name}`, {
      foreignKey: (lot) => lot.split(' ')[0],
      name: 'selling',
      store: keyValueStores['sold-by'],
    })
    lots
      .suppress({ until: { timeLimit: seconds(5) }, buffer: 'unbounded', name: 'settling' })
      .toStream()
      .to(this.#rows('settled'))
  }

  #windows(bids: KStream<string, string>): void {
    const byWord = bids
      .map((bid, who) => [`${bid.split(' ')[0]} ${who}`, bid], text)
      .repartition({ ...text, name: 'by-word', partitions: 3 })
      .groupByKey()
    byWord
      .windowedBy(slidingWindows({ timeDifference: seconds(5), grace: late }))
      .count({ store: windowStores.sliding })
    byWord
      .windowedBy(timeWindows({ size: seconds(10), grace: late }))
      .reduce((one, other) => `${one}, ${other}`, { store: windowStores.tumbling })
    byWord.windowedBy(sessionWindows({ gap: seconds(3), grace: late })).aggregate(
      () => '',
      (seen, bid) => `${seen}${bid};`,
      (one, other) => one + other,
      { store: sessionStores.visits },
    )
    bids
      .groupByKey()
      .windowedBy(timeWindows({ size: seconds(10), grace: seconds(2) }))
      .count({ store: windowStores.closing })
      .suppress({ until: 'window-closes', buffer: 'unbounded', name: 'final' })
      .toStream((_count, { key }) => key, { key: serdes.string })
      .mapValues(String)
      .to(this.#topic('finals'))
  }
}

const partitionCount = 2
const inputs = ['bids', 'asks', 'prices', 'lots', 'sellers', 'people'] as const
const outputs = ['priced', 'known', 'met', 'quick', 'settled', 'finals', 'ledger'] as const
/** Topics that others are made of come first: a commit of them comes after what is made is written. */
const travelling = [
  ['bids', 'asks', 'prices', 'lots'],
  ['sellers', '-selling-subscription-registration-topic', '-by-word-repartition'],
  ['-selling-subscription-response-topic'],
]

/** A key, a value, and when: seconds after the beginning. Null deletes. */
export type MarketRecord = readonly [key: string, value: string | null, time: number]

/** An application with a store of nearly every kind, that Java and Millpond take turns to be. */
export class Market {
  /** When it all begins: a broker deletes what is too old for the retention of a changelog. */
  static readonly beginning = Math.floor(Date.now() / 1_000_000) * 1_000_000
  readonly cluster: TestCluster
  readonly applicationId: string
  readonly #groupProtocol: 'classic' | 'streams'
  readonly #guarantee: 'at-least-once' | 'exactly-once'

  constructor(
    cluster: TestCluster,
    options: {
      groupProtocol: 'classic' | 'streams'
      guarantee: 'at-least-once' | 'exactly-once'
    },
  ) {
    this.cluster = cluster
    this.applicationId = cluster.name('market')
    this.#groupProtocol = options.groupProtocol
    this.#guarantee = options.guarantee
  }

  async createTopics(): Promise<void> {
    for (const short of [...inputs, ...outputs])
      await this.cluster.createTopic(short, partitionCount, { 'retention.ms': '-1' })
  }

  /** Records have a header that tells how many have been written before. */
  async write(records: Partial<Record<(typeof inputs)[number], MarketRecord[]>>): Promise<void> {
    const { producer } = this.cluster
    for (const [short, rows] of Object.entries(records)) {
      for (const [of, what, time] of rows) {
        const key = Buffer.from(of)
        const value = what === null ? null : Buffer.from(what)
        const partition = partitionForKey(key, partitionCount)
        const timestamp = Market.beginning + time * second
        producer.send(this.cluster.name(short), partition, key, value, timestamp, [
          ['of', Buffer.from(`${short} ${time}`)],
        ])
      }
    }
    await producer.flush()
  }

  /** Kafka Streams processes all input, commits, and leaves; the rows of its stores, in order. */
  async runJava(directory: string, signal: AbortSignal): Promise<string[]> {
    const { cluster, applicationId } = this
    const guarantee = this.#guarantee === 'exactly-once' ? 'exactly_once_v2' : 'at_least_once'
    const rows = await runTurn(
      'Market',
      [
        cluster.address,
        applicationId,
        join(cluster.directory, directory),
        guarantee,
        cluster.name(''),
      ],
      signal,
      this.#groupProtocol,
    )
    return rows.map(sinceBeginning).sort()
  }

  /** The same of Millpond. */
  async runMillpond(directory: string, signal: AbortSignal): Promise<string[]> {
    const streams = this.cluster.streams(new Program(this.cluster).build(), directory, {
      applicationId: this.applicationId,
      cacheBytes: 0,
      groupProtocol: this.#groupProtocol,
      processingGuarantee: this.#guarantee,
      standbyReplicas: 0,
    })
    await streams.start()
    await this.#processed(signal)
    const rows = await rowsOfMarket(streams)
    await streams.close({ leaveGroup: true })
    return rows
  }

  async #processed(signal: AbortSignal): Promise<void> {
    const { client } = this.cluster
    for (const shorts of travelling) {
      await until(async () => {
        const partitions = await this.#partitionsOf(shorts)
        const ends = await listOffsets(client, partitions, 'latest')
        const committed = await fetchCommittedOffsets(client, this.applicationId, partitions)
        return partitions.every(({ topic: name, partition }) => {
          const key = partitionKey(name, partition)
          return (committed.get(key)?.offset ?? 0) === ends.get(key)
        })
      }, signal)
    }
  }

  async #partitionsOf(shorts: readonly string[]): Promise<{ topic: string; partition: number }[]> {
    const names = shorts.map((short) =>
      short.startsWith('-') ? this.applicationId + short : this.cluster.name(short),
    )
    const known = await this.cluster.client.topicMetadata(names)
    return names.flatMap((name) => {
      const count = known.get(name)?.partitions.length ?? 0
      if (count === 0) throw new Error(`there is no topic ${name} yet`)
      return Array.from({ length: count }, (_, partition) => ({ topic: name, partition }))
    })
  }

  /** What is committed of the inputs: offsets, and the times that lie beside them. */
  async committed(): Promise<Record<string, { offset: number; metadata: string }>> {
    const partitions = await this.#partitionsOf(['bids', 'asks', 'prices', 'lots', 'sellers'])
    const { client } = this.cluster
    const found = await fetchCommittedOffsets(client, this.applicationId, partitions)
    const rows = [...found].map(
      ([partition, { offset, metadata }]) =>
        [this.cluster.own([partition])[0], { offset, metadata }] as const,
    )
    return Object.fromEntries(rows)
  }

  /**
   * All that was written to the topics of results, in an order that says nothing. What a join gives up to
   * wait for has the headers of the record at which it looked.
   */
  async results(): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {}
    for (const short of outputs) {
      const rows: string[] = []
      for (const record of await this.cluster.read(short, 'read_committed'))
        rows.push(
          sinceBeginning(
            [
              record.partition,
              record.key?.toString(),
              record.value?.toString() ?? 'null',
              record.timestamp,
              short === 'met' || short === 'quick' ? '' : shownHeaders(record.headers),
            ].join('\t'),
          ),
        )
      found[short] = rows.sort()
    }
    return found
  }

  /**
   * What the changelogs of the application come to: of each key the last row, in bytes. Of a store with
   * duplicates all rows, without the numbers that tell equal keys apart.
   */
  async changelogs(): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = {}
    const prefix = Buffer.from(this.cluster.name('')).toString('hex')
    const topics = await new Admin(this.cluster.client).listTopics()
    for (const short of this.cluster.own(topics.keys())) {
      const store = /^market-(.+)-changelog$/.exec(short)?.[1]
      if (store === undefined) continue
      const hasDuplicates = withDuplicates.has(store)
      const rows = new Map<string, string>()
      const isTimed = !withoutTime.has(store)
      for (const record of await this.cluster.read(short, 'read_committed')) {
        const { partition, offset, key, value, timestamp, headers } = record
        const shown = hasDuplicates ? key?.subarray(0, -4) : key
        const place = [partition, shown?.toString('hex')].join('\t')
        const unique = hasDuplicates ? `${place}\t${offset}` : place
        if (value === null) rows.delete(unique)
        else {
          // What is held back knows where it came from.
          const bytes = value.toString('hex').replaceAll(prefix, 'prefix')
          const time = isTimed ? timestamp : 'now'
          rows.set(unique, [place, bytes, time, shownHeaders(headers)].join('\t'))
        }
      }
      found[store] = [...rows.values()].sort()
    }
    return found
  }
}

const withDuplicates = new Set([
  'each',
  'met-outer-this-join-store',
  'met-outer-other-join-store',
  'quick-this-join-store',
  'quick-outer-other-join-store',
])
/** Their changelogs have the time of the writing. */
const withoutTime = new Set(['final-store', 'settling-store'])

function shownHeaders(headers: readonly (readonly [string, Buffer | null])[]): string {
  return headers.map(([name, value]) => `${name}=${value?.toString()}`).join(',')
}

/** Times are shown as seconds after the beginning. */
function sinceBeginning(row: string): string {
  return row.replaceAll(/\d{13}/g, (time) => String((Number(time) - Market.beginning) / second))
}

/** The rows that an instance of Millpond holds, in order. */
async function rowsOfMarket(streams: KafkaStreams): Promise<string[]> {
  const rows: string[] = []
  for (const [name, store] of Object.entries(keyValueStores))
    for await (const [key, value] of streams.store(store).range())
      rows.push([name, key, value].join('\t'))
  for (const [name, store] of [...Object.entries(windowStores), ...Object.entries(sessionStores)]) {
    for await (const [{ key, window }, value] of streams.store(store).range())
      rows.push([name, key, window.start, window.end, value].join('\t'))
  }
  return rows.map(sinceBeginning).sort()
}
