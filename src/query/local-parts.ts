/**
 * Windows, sessions and versions that this instance holds, whichever of its threads has them. Tasks are
 * found anew for each question; a scan is of the store as it was when the scan of that partition began,
 * and ends with an error when the partition leaves in the middle.
 */
import { StreamsError } from '../errors.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import type { AnyStore } from '../store/descriptor.ts'
import type { StoreIterator } from '../store/key-value-store.ts'
import { assertConsistency, assertQueryOptions } from './consistency.ts'
import { keyBytesOf, ownedValue } from './descriptor-serdes.ts'
import {
  partitionCountOf,
  partitionsHere,
  queryableDescriptor,
  readableView,
} from './local-query.ts'
import { askHolder, workerFor } from './partition-holder.ts'
import {
  assertTimes,
  pointOf,
  scanOf,
  type PointQuestion,
  type RangeQuestion,
  type ScanQuestion,
} from './partition-question.ts'
import type { QueryTarget } from './query-target.ts'
import type { QueryOptions, QueryScanOptions } from './queryable-store.ts'
import { assertNotAborted } from './request.ts'
import { assertLimit } from './scan-bounds.ts'
import { scatter } from './scatter.ts'

/** The partitions of one store that this instance holds, in this thread or another one. */
export class LocalParts {
  readonly #target: QueryTarget
  readonly #descriptor: AnyStore

  constructor(target: QueryTarget, descriptor: AnyStore) {
    this.#target = target
    this.#descriptor = descriptor
  }

  get name(): string {
    return this.#descriptor.name
  }

  #check(options: QueryOptions = {}): void {
    assertQueryOptions(options)
    assertNotAborted({ store: this.name, signal: options.signal })
    assertConsistency(options)
    const { kind } = queryableDescriptor(this.#target, this.name)
    if (kind === this.#descriptor.kind) return
    const detail = `${this.name} is a ${kind} store, it is asked as a ${this.#descriptor.kind} store`
    throw new StreamsError('QUERY_INVALID', { store: this.name, detail })
  }

  /** The partition of a key, which must be here. */
  #partitionOf(key: unknown, options: QueryOptions): number {
    this.#check(options)
    const count = partitionCountOf(this.#target, this.name)
    return partitionForKey(keyBytesOf(this.#descriptor, key), count)
  }

  /** One value; it belongs to whoever asked. */
  async point(question: PointQuestion, options: QueryOptions = {}): Promise<unknown> {
    const store = this.name
    const partition = this.#partitionOf(question.key, options)
    assertTimes(question)
    const here = (): unknown => {
      const { view } = readableView(this.#target, store, partition, options)
      return ownedFound(this.#descriptor, question.kind, pointOf(view, question))
    }
    if (workerFor(this.#target, store, partition, options) === undefined) return here()
    return askHolder(this.#target, {
      store,
      partition,
      consistency: options,
      here,
      there: (worker) => worker.point(partition, question, { ...options, store }),
    })
  }

  /** Rows of the partition of a key, or of all partitions, one after the other; they belong to whoever asked. */
  async *scan(
    question: ScanQuestion,
    options: QueryScanOptions = {},
  ): AsyncGenerator<unknown, void, undefined> {
    const partitions =
      'key' in question
        ? [this.#partitionOf(question.key, options)]
        : await this.#allReadable(question, options)
    assertTimes(question)
    assertLimit(options.limit)
    let left = options.limit ?? Infinity
    for (const partition of partitions) {
      if (left <= 0) return
      for await (const row of await this.#begin(partition, question, { ...options, limit: left })) {
        yield row
        this.#check(options)
        left -= 1
        if (left <= 0) return
      }
    }
  }

  /** All partitions of this instance, each of which can be read. */
  async #allReadable(question: RangeQuestion, options: QueryScanOptions): Promise<number[]> {
    this.#check(options)
    for (const bound of [question.from, question.to]) {
      if (bound !== undefined) keyBytesOf(this.#descriptor, bound)
    }
    const store = this.name
    const partitions = partitionsHere(this.#target, store, options)
    const asked = { ...options, store }
    const { rest, failures } = await scatter(this.#target, partitions, asked, (worker, its) =>
      worker.check(its, asked),
    )
    // What another thread has given up meanwhile is not here.
    const here = partitionsHere(this.#target, store, options)
    for (const partition of here) {
      if (failures.has(partition)) throw failures.get(partition)
      if (rest.includes(partition)) readableView(this.#target, store, partition, options)
    }
    return here
  }

  #begin(
    partition: number,
    question: ScanQuestion,
    options: QueryScanOptions,
  ): Promise<AsyncIterable<unknown>> {
    const store = this.name
    return askHolder<AsyncIterable<unknown>>(this.#target, {
      store,
      partition,
      consistency: options,
      here: () => {
        const { view } = readableView(this.#target, store, partition, options)
        return ownedRows(this.#descriptor, question.kind, scanOf(view, question))
      },
      there: async (worker) => {
        const rows = worker.scan(partition, question, { ...options, store })
        // Whether the partition is still there, the first row tells.
        return resumed(await rows.next(), rows)
      },
    })
  }
}

/** The rows of a scan of this thread, which ends with the loop over them. */
async function* ownedRows(
  descriptor: AnyStore,
  kind: ScanQuestion['kind'],
  rows: StoreIterator<unknown>,
): AsyncGenerator<unknown, void, undefined> {
  using scan = rows
  for (const row of scan) yield ownedFound(descriptor, kind, row)
}

/** All rows of a scan of which the first was read. */
async function* resumed(
  first: IteratorResult<unknown, void>,
  rows: AsyncGenerator<unknown, void, undefined>,
): AsyncGenerator<unknown, void, undefined> {
  try {
    if (first.done !== true) yield first.value
    yield* rows
  } finally {
    await rows.return()
  }
}

/** What a view gave, with a value that belongs to whoever asked: see {@link ownedValue}. */
function ownedFound(
  descriptor: AnyStore,
  kind: PointQuestion['kind'] | ScanQuestion['kind'],
  found: unknown,
): unknown {
  switch (kind) {
    case 'window':
    case 'session':
      return ownedValue(descriptor, found)
    case 'version':
    case 'versions-of-key':
      return found
    case 'windows-of-key':
    case 'windows':
    case 'sessions-of-key':
    case 'sessions': {
      const [at, value] = found as [unknown, unknown]
      return [at, ownedValue(descriptor, value)]
    }
    default:
      return kind satisfies never
  }
}
