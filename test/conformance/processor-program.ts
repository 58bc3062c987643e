import { TopologyBuilder } from '../../src/dsl/topology-builder.ts'
import { timestamped, type StoreAccess } from '../../src/processor/local-store.ts'
import {
  keyValueStore,
  sessionStore,
  versionedStore,
  windowStore,
  type KeyValueStoreDescriptor,
  type WindowStoreDescriptor,
} from '../../src/store/descriptor.ts'
import type { Topology } from '../../src/topology/topology.ts'
import { InvalidCase, listOf, type ProcessorStore, type Step } from './case.ts'
import { serdeOf } from './formats.ts'
import { libraryFunction, text } from './function-library.ts'
import { readingOf, topicsOf } from './ops/op.ts'
import { processorOf } from './processors.ts'

/** Whether the steps are those of Java's Topology, not of StreamsBuilder. */
export function isProcessorProgram(steps: readonly Step[]): boolean {
  return steps.some(({ op }) => op === 'source')
}

/** Writes a program of the steps source, processor, store, sink and so on. */
export function buildProcessorProgram(steps: readonly Step[]): Topology {
  const program = new ProcessorProgram(steps)
  for (const step of steps) program.add(step)
  return program.builder.build()
}

class ProcessorProgram {
  readonly builder = new TopologyBuilder()
  /** Stores by name: a processor may be added before the store that it will use. */
  readonly #stores: ReadonlyMap<string, StoreAccess>

  constructor(steps: readonly Step[]) {
    const stores = steps.filter(({ op }) => op.toLowerCase().endsWith('store'))
    this.#stores = new Map(stores.map((step) => [step.name ?? '', storeOf(step)]))
  }

  add(step: Step): void {
    const { builder } = this
    const { op, name = '', processors = [] } = step
    const parents = listOf(step.from)
    const spec = listOf(step.with)[0] ?? ''
    switch (op) {
      case 'source':
        this.#addSource(step)
        break
      case 'processor':
        builder.addProcessor(name, processorOf(spec, this.#storesOf(step)), { parents })
        break
      case 'store':
        builder.addStateStore(this.#store(name), { processors })
        break
      case 'connect':
        builder.connectProcessorAndStateStores(processors[0] ?? '', ...this.#storesOf(step))
        break
      case 'readOnlyStore':
        builder.addReadOnlyStateStore(this.#store(name), this.#kept(step))
        break
      case 'globalStore':
        builder.addGlobalStore(this.#store(name), this.#kept(step))
        break
      case 'sink':
        this.#addSink(step)
        break
      default:
        throw new InvalidCase(`${op} does not go with source, processor, store and sink`)
    }
  }

  #addSource(step: Step): void {
    const { name = '', pattern } = step
    if (pattern === undefined) this.builder.addSource(name, topicsOf(step))
    else this.builder.addSource(name, new RegExp(pattern), readingOf(step))
  }

  #addSink(step: Step): void {
    const { name = '', with: spec } = step
    const parents = listOf(step.from)
    const [topic] = topicsOf(step)
    if (topic !== undefined) {
      this.builder.addSink(name, topic, { parents })
      return
    }
    const choose = libraryFunction(listOf(spec)[0] ?? '')
    const chooser = (value: unknown, key: unknown): string => text(choose(value, key))
    const serdes = { key: serdeOf(step.key), value: serdeOf(step.value) }
    this.builder.addSink(name, chooser, { parents, ...serdes })
  }

  #kept(step: Step) {
    const { name = '', source = '', processors = [], with: spec } = step
    const [topic] = topicsOf(step)
    if (topic === undefined) throw new InvalidCase(`${step.op} needs a topic`)
    const supplier = processorOf(listOf(spec)[0] ?? '', [this.#store(name)])
    return { source, topic, processor: processors[0] ?? '', supplier: supplier as never }
  }

  #store(name: string): StoreAccess {
    const store = this.#stores.get(name)
    if (store === undefined) throw new InvalidCase(`there is no store ${name}`)
    return store
  }

  #storesOf({ stores = [] }: Step): StoreAccess[] {
    // One that is nowhere: Kafka Streams is to say what it thinks of that, and so are we.
    return stores.map((name) => this.#stores.get(name) ?? storeOf({ name }))
  }
}

/** The descriptor of a store as a case states it. */
export function storeOf(spec: ProcessorStore): StoreAccess {
  const { name, kind = 'key-value', caching = false, persistent, changelog } = spec
  const { retention, windowSize, retainDuplicates, historyRetention = 0 } = spec
  const serdes = { key: serdeOf(spec.key), value: serdeOf(spec.value) }
  const options = { ...serdes, caching, persistent, changelog }
  switch (kind) {
    case 'key-value':
      return dated(spec, keyValueStore(name ?? '', options))
    case 'window': {
      const windows = { retention, windowSize, retainDuplicates }
      return dated(spec, windowStore(name ?? '', { ...options, ...windows }))
    }
    case 'session':
      return sessionStore(name ?? '', { ...options, retention })
    case 'versioned':
      return versionedStore(name ?? '', { ...serdes, persistent, changelog, historyRetention })
    default:
      throw new TypeError(kind satisfies never)
  }
}

function dated(
  { timestamped: isTimestamped = false }: ProcessorStore,
  descriptor: KeyValueStoreDescriptor<unknown, unknown> | WindowStoreDescriptor<unknown, unknown>,
): StoreAccess {
  return isTimestamped ? timestamped(descriptor) : descriptor
}
