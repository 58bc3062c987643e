/**
 * What a program of the simulation is: a topology, a load, and a model of its own that tells what its stores hold
 * when all that was sent is processed, by a few lines that share nothing with the engine.
 */
import { randomInteger, type Random } from '../../src/base/random.ts'
import { isStreamsError } from '../../src/errors.ts'
import {
  nullable,
  serdes,
  type KafkaStreams,
  type KeyValueStoreDescriptor,
  type QueryOptions,
  type Topology,
} from '../../src/index.ts'
import type { ReadRecord } from '../../src/testing/topic-reader.ts'
import type { SentRecord, SentRecords } from './sent-records.ts'

/** Store contents as text, by key. */
export type Rows = Map<string, string>

export interface SimulatedProgram {
  readonly name: string
  /** Names of the topics that it reads, with how many partitions each has. */
  readonly inputs: ReadonlyMap<string, number>
  readonly topology: Topology
  /** How many active tasks all instances have together. */
  taskCount(sent: SentRecords): number
  /** False: its result depends on what record caches leave out. */
  readonly mayCache: boolean
  /** `counts` may be too high where records are processed twice; `latest` may not be wrong at all. */
  readonly result: 'counts' | 'latest'
  /** The input that partitions may be added to; absent: the stores depend on how many there are. */
  readonly growing?: string
  /** The input of which each instance has all rows; absent: there is none. */
  readonly global?: string
  /** The next record of the load. */
  next(random: Random): NextRecord
  /** Records that move stream time so far that all windows close: sent when all others are processed. */
  closing?(sent: SentRecords): readonly NextRecord[]
  /** What this instance holds. Nothing, where {@link SimulatedProgram.output} tells the rows. */
  rows(streams: KafkaStreams, sent: SentRecords): Promise<Rows>
  /** What an instance does not have yet, of what all of them have; undefined: nothing. */
  missing?(streams: KafkaStreams, sent: SentRecords): Promise<string | undefined>
  /** A topic that it writes, and the rows that are told by what is committed there. */
  readonly output?: {
    readonly name: string
    rows(records: readonly ReadRecord<string, string>[]): Rows
  }
  /** What all instances hold together in the end. */
  expected(sent: SentRecords): Rows
  /** Whether a row may be there, besides what is expected; absent: none may. */
  mayHave?(key: string, value: string, sent: SentRecords): boolean
  /** A key that a question may be about, whether it was sent or not. */
  someKey(random: Random): string
  /** One question; undefined: the key is not there. */
  ask(streams: KafkaStreams, key: string, how: Consistency): Promise<string | undefined>
  /** Whether an answer about the key can be, with what was sent so far. */
  judge(key: string, answer: string, sent: SentRecords): Judgement
  /** The store that is asked, where the values of a key have an order. */
  readonly copy?: {
    readonly store: LoggedStore
    /** Values that a key has later are higher; infinite: nothing is known of an answer. */
    order(answer: string | undefined): number
  }
  /** The least that an owner may answer, since so much is committed; absent: nothing is known. */
  least?(key: string, sent: SentRecords, commits: CommittedOffsets): number
}

/** A store whose changelog can be read. */
export interface LoggedStore {
  readonly name: string
  readonly key: { deserialize(bytes: Buffer): string }
  readonly value: { deserialize(bytes: Buffer): unknown }
}

/** How true an answer has to be. */
export type Consistency = Pick<QueryOptions, 'consistency' | 'maxLag'>

/** A record of the load, which is so much older than the moment at which it is sent. */
export interface NextRecord extends Pick<SentRecord, 'topic' | 'key' | 'value'> {
  /** Milliseconds; less than 0: of the future. Default 0. */
  readonly ageMs?: number
  /**
   * True: no other record of its key has the same time where records may be processed twice, since it matters then
   * what was there before.
   */
  readonly isDistinct?: boolean
}

/** How far the group has committed; undefined: nothing. */
export interface CommittedOffsets {
  committed(topic: string, partition: number): number | undefined
}

/** `too-high`: only of what may be processed twice. */
export type Judgement = 'possible' | 'too-high' | 'impossible'

/** How big a program is. */
export interface ProgramSize {
  readonly partitions: number
  readonly keys: number
  /** False: stores in memory. */
  readonly persistent: boolean
}

export type ProgramMaker = (size: ProgramSize) => SimulatedProgram

/** What programs share that read one topic, of keys `k0`, `k1` and so on, and have a task for each of its partitions. */
export function ofOneInput(
  { name }: { readonly name: string },
  { partitions, keys }: ProgramSize,
): Pick<SimulatedProgram, 'inputs' | 'taskCount' | 'mayCache' | 'result' | 'next' | 'someKey'> {
  return {
    inputs: new Map([[name, partitions]]),
    taskCount: () => partitions,
    mayCache: true,
    result: 'counts',
    next: (random) => ({ topic: name, key: `k${randomInteger(random, keys)}`, value: 'x' }),
    someKey: (random) => `k${randomInteger(random, keys + 1)}`,
  }
}

/** What programs share that keep a count for each key in a store that can be asked. */
export function ofCounts(
  store: KeyValueStoreDescriptor<string, number>,
  count: (sent: SentRecords) => ReadonlyMap<string, number>,
): Pick<SimulatedProgram, 'rows' | 'expected' | 'ask' | 'judge' | 'copy'> {
  return {
    rows: (streams) => rowsOf(streams.store(store).range()),
    expected: (sent) => asRows(count(sent)),
    ask: async (streams, key, how) => answered(await streams.store(store).get(key, how)),
    judge: (key, answer, sent) => judgeCount(answer, count(sent).get(key)),
    copy: { store, order: (answer = '0') => Number(answer) },
  }
}

/** Values that may be absent. */
export const text = nullable(serdes.string)

/** Counts what was sent by a key of its own, and looks at each record once. */
export function counter(
  keysOf: (record: SentRecord) => readonly string[],
): (sent: SentRecords) => Map<string, number> {
  const counts = new Map<string, number>()
  let seen = 0
  return ({ all }) => {
    for (const record of all.slice(seen)) {
      for (const key of keysOf(record)) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    seen = all.length
    return counts
  }
}

export function judgeCount(answer: string, most = 0): Judgement {
  if (most === 0) return 'impossible'
  return Number(answer) > most ? 'too-high' : 'possible'
}

export const asRows = (counts: ReadonlyMap<string, number>): Rows =>
  new Map([...counts].map(([key, count]) => [key, String(count)]))

export async function rowsOf(scan: AsyncIterable<readonly [string, unknown]>): Promise<Rows> {
  const rows: Rows = new Map()
  for await (const [key, value] of scan) rows.set(key, String(value))
  return rows
}

/** An instance that holds no partition of the store says so, and has no rows. */
export async function rowsOrNone(
  program: SimulatedProgram,
  options: { streams: KafkaStreams; sent: SentRecords },
): Promise<Rows> {
  try {
    return await program.rows(options.streams, options.sent)
  } catch (error) {
    if (isStreamsError(error, 'STORE_MIGRATED')) return new Map()
    throw error
  }
}

export const asJudgement = (isPossible: boolean): Judgement =>
  isPossible ? 'possible' : 'impossible'

export function answered(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

/** The number in a value such as `v17`; infinite where there is no value. */
export function numberIn(value: string | undefined): number {
  return value === undefined ? Infinity : Number(value.replace(/^\D+/, ''))
}

export function withoutNulls(rows: ReadonlyMap<string, string | null>): Rows {
  const kept: Rows = new Map()
  for (const [key, value] of rows) if (value !== null) kept.set(key, value)
  return kept
}
