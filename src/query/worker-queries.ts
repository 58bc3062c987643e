import type { ConsistencyOptions } from './consistency.ts'
import type { PointQuestion, ScanQuestion } from './partition-question.ts'
import type { LocalPartition, StoreRow, StoreValue } from './query-target.ts'
import type { CountRequest, GetRequest, PageRequest } from './request.ts'

/** A partition that a thread holds, as it was when the thread said so. */
export interface PartitionStatus extends Omit<LocalPartition, 'view'> {
  readonly partition: number
}

/** A partition that gave an answer. */
export interface AnsweringPartition extends PartitionStatus {
  readonly lag: number
}

/** What a thread says to a question for several of its partitions. */
export interface PartitionsAnswer {
  readonly parts: readonly AnsweringPartition[]
  /** Why the others of the partitions cannot answer. */
  readonly failures: ReadonlyMap<number, unknown>
}

/** What every question to a thread says of itself. */
export interface WorkerQuestionOptions extends ConsistencyOptions {
  readonly store: string
  readonly signal?: AbortSignal | undefined
}

/**
 * Questions to the stores of a worker in another thread of this process. Whoever asks names the partition:
 * the thread answers for what it holds at the moment in which it is asked, and says `STORE_MIGRATED` or
 * `STREAMS_REBALANCING` for everything else, also when it ends before it has answered. Nothing here
 * waits for ever.
 */
export interface WorkerQueries {
  /** True: the thread has ended, or the port was closed. It holds nothing then. */
  readonly isClosed: boolean
  /**
   * In which role the thread holds a partition, as it has told last; undefined: not at all. Whoever is
   * told that a partition is not there finds it gone from here.
   */
  held(store: string, partition: number): LocalPartition['role'] | undefined
  /** State, lag and position as they are now, of those of the partitions that the thread holds. */
  status(store: string, partitions: readonly number[]): Promise<readonly PartitionStatus[]>
  /** Which of the partitions can be read, and why the others cannot. */
  check(partitions: readonly number[], options: WorkerQuestionOptions): Promise<PartitionsAnswer>
  get(
    partition: number,
    request: GetRequest,
  ): Promise<{ readonly part: AnsweringPartition; readonly found: StoreValue | undefined }>
  page(
    partitions: readonly number[],
    request: PageRequest,
  ): Promise<PartitionsAnswer & { readonly rows: readonly StoreRow[]; readonly more: boolean }>
  count(
    partitions: readonly number[],
    request: CountRequest,
  ): Promise<PartitionsAnswer & { readonly approximate: number }>
  /** What the view of such a store gives for one value of windows, sessions or versions. */
  point(
    partition: number,
    question: PointQuestion,
    options: WorkerQuestionOptions,
  ): Promise<unknown>
  /**
   * What the view gives for a scan of windows, sessions or versions, as they are when the first row is
   * asked for. Leaving the loop ends the scan in the thread.
   */
  scan(
    partition: number,
    question: ScanQuestion,
    options: WorkerQuestionOptions & { readonly limit?: number | undefined },
  ): AsyncGenerator<unknown, void, undefined>
  /** Ends all questions that are open. */
  close(): void
}

/** Who of the workers in other threads holds a partition: the owner before a copy. */
export function findInWorkers(
  workers: Iterable<WorkerQueries>,
  store: string,
  partition: number,
): { readonly role: LocalPartition['role']; readonly worker: WorkerQueries } | undefined {
  let copy: ReturnType<typeof findInWorkers>
  for (const worker of workers) {
    const role = worker.held(store, partition)
    if (role === 'standby') copy ??= { role, worker }
    else if (role !== undefined) return { role, worker }
  }
  return copy
}
