import { MemoryEngine } from '../../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type {
  AnyStoreView,
  LocalPartition,
  PartitionHosts,
  QueryAvailability,
  QueryTarget,
  ThreadPartition,
} from '../../src/query/query-target.ts'
import { findInWorkers, type WorkerQueries } from '../../src/query/worker-queries.ts'
import type { AnyStore } from '../../src/store/descriptor.ts'
import { noHeaders } from '../../src/store/state-store.ts'
import { buildStore, type BuiltStore } from '../../src/store/store-builder.ts'

/** Partitions of every store. */
export const partitionCount = 3

/** The partition in which a key is, of text. */
export function partitionOf(key: string): number {
  return partitionForKey(Buffer.from(key), partitionCount)
}

/** What a test says of a partition that is no owner at work. */
interface Stand {
  readonly role: 'active' | 'standby'
  readonly state: 'restoring' | 'running'
  readonly lag: number | undefined
  readonly isCutOff?: boolean
}

/** A thread with real stores, one for each partition that it holds. */
export class StoreInstance implements QueryTarget {
  availability: QueryAvailability = 'running'
  hostsKnown = true
  readonly metrics = new StreamsMetrics()
  /** By partition, the stores of a task by name. */
  readonly tasks = new Map<number, ReadonlyMap<string, BuiltStore>>()
  /** Of partitions that are not as an owner has them that runs. */
  readonly stands = new Map<number, Stand>()
  /** Workers in other threads. */
  readonly workers: WorkerQueries[] = []
  readonly #descriptors: readonly AnyStore[]

  constructor(descriptors: readonly AnyStore[], held: readonly number[] = [0, 1, 2]) {
    this.#descriptors = descriptors
    for (const partition of held) {
      const stores = descriptors.map((one) => [one.name, this.#build(one)] as const)
      this.tasks.set(partition, new Map(stores))
    }
  }

  #build(descriptor: AnyStore): BuiltStore {
    const engine = new MemoryEngine()
    return buildStore(
      { descriptor, timestamped: descriptor.kind === 'window' || descriptor.kind === 'key-value' },
      {
        taskId: '0_0',
        partition: 0,
        record: { timestamp: 5, offset: 0, topic: '', partition: 0, headers: noHeaders },
        engine: () => engine,
        changelog: { write: () => undefined },
        cacheBytesMax: 1_000_000,
        metrics: this.metrics,
      },
    )
  }

  /** The store that has a key; the first one of the instance when no name is given. */
  of(key: string, name = this.#descriptors[0]?.name ?? ''): BuiltStore {
    const store = this.tasks.get(partitionOf(key))?.get(name)
    if (store === undefined) throw new Error(`the partition of ${key} is not here`)
    return store
  }

  get storeNames(): string[] {
    return this.#descriptors.map(({ name }) => name)
  }

  descriptor(name: string): AnyStore | undefined {
    return this.#descriptors.find((one) => one.name === name)
  }

  isGlobal(): boolean {
    return false
  }

  partitionCount(): number {
    return partitionCount
  }

  local(name: string, partition: number): LocalPartition | undefined {
    const store = this.tasks.get(partition)?.get(name)
    if (store === undefined) return undefined
    const position = { lines: { [partition]: 100 + partition } }
    const stand = this.stands.get(partition)
    const view = (store as { readView(): AnyStoreView }).readView()
    return { role: 'active', state: 'running', lag: 0, position, view, ...stand }
  }

  inThread(name: string, partition: number): ThreadPartition | undefined {
    return findInWorkers(this.workers, name, partition)
  }

  hosts(): PartitionHosts {
    return { active: undefined, standby: [] }
  }
}
