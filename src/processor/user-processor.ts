/**
 * Runs what users write against the Processor API as nodes of a task: gives them their context, and
 * records as objects, which is what the engine's own operators do without.
 */
import { shownValue } from '../base/shown-value.ts'
import { noHeaders } from '../store/state-store.ts'
import { assertDone } from './assert-done.ts'
import { FixedKeyRecord } from './fixed-key-record.ts'
import type { StoreAccess, Stores } from './local-store.ts'
import type {
  FixedKeyProcessorContext,
  ProcessingContext,
  ProcessorContext,
} from './processor-context.ts'
import type { FixedKeyProcessorSupplier, ProcessorSupplier } from './processor-supplier.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from './processor.ts'
import { openStore, openStores } from './user-stores.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- variance: suppliers of any types fit
export type AnyProcessorSupplier = ProcessorSupplier<any, any, any, any, any>
// oxlint-disable-next-line typescript/no-explicit-any -- as above
export type AnyFixedKeyProcessorSupplier = FixedKeyProcessorSupplier<any, any, any, any>

type AnyForward = Pick<ProcessorContext<unknown, unknown>, 'forward'>
type FixedKeyForward = Pick<FixedKeyProcessorContext<unknown, unknown>, 'forward'>

/** The node of a `process` step. */
export function userProcessor(supplier: AnyProcessorSupplier, stores: Stores): NodeSupplier {
  const made = new WeakSet<object>()
  return (node) => {
    const context = withContext<AnyForward>(node, stores, {
      forward: ({ key, value, timestamp, headers = noHeaders }, options) => {
        if (headers !== noHeaders && headers !== node.headers) assertHeaders(headers)
        node.forwardRecord(key, value, timestamp, headers, options?.child)
      },
    })
    return nodeProcessor(supplier(context), made, (process) => (key, value) => {
      const { timestamp, headers } = node
      assertDone(process({ key, value, timestamp, headers }), node.node)
    })
  }
}

/** The node of a `processValues` step. */
export function userFixedKeyProcessor(
  supplier: AnyFixedKeyProcessorSupplier,
  stores: Stores,
): NodeSupplier {
  const made = new WeakSet<object>()
  return (node) => {
    const context = withContext<FixedKeyForward>(node, stores, {
      forward: (record, options) => {
        if (!(record instanceof FixedKeyRecord)) {
          throw new Error(
            'processValues forwards only the record that it was given, or one that was derived from it: record.withValue(value)',
          )
        }
        const { key, value, timestamp, headers } = record
        if (headers !== node.headers) assertHeaders(headers)
        node.forwardRecord(key, value, timestamp, headers, options?.child)
      },
    })
    return nodeProcessor(supplier(context), made, (process) => (key, value) => {
      const { timestamp, headers } = node
      assertDone(process(new FixedKeyRecord(key, value, timestamp, headers)), node.node)
    })
  }
}

/** Refuses what could not be written: a step far below would fail with it, or a test would not at all. */
function assertHeaders(headers: unknown): void {
  const isList = Array.isArray(headers)
  if (isList && headers.every(isHeader)) return
  const wrong: unknown = isList ? headers.find((header) => !isHeader(header)) : headers
  const needs = 'headers are a list of pairs, each a name and bytes or null'
  throw new TypeError(`${needs}; forward was given ${shownValue(wrong)}`)
}

function isHeader(header: unknown): boolean {
  if (!Array.isArray(header) || header.length !== 2) return false
  const [name, value] = header as unknown[]
  return typeof name === 'string' && (value === null || value instanceof Uint8Array)
}

/** What every processor sees. Functions, not methods, so that it can take the context apart. */
export function withContext<Forward extends object>(
  node: NodeContext,
  stores: Stores,
  forward: Forward,
): ProcessingContext & Forward {
  return {
    ...forward,
    applicationId: node.applicationId,
    taskId: node.taskId,
    stores: openStores(node, stores) as ProcessingContext['stores'],
    store: (access: StoreAccess) => openStore(node, access) as never,
    get recordMetadata() {
      return node.recordMetadata
    },
    get streamTime() {
      return node.streamTime
    },
    wallClockTime: () => node.wallClockTime(),
    schedule: (interval, type, punctuator, options) =>
      node.schedule(interval, type, punctuator, options),
    commit: () => node.commit(),
  }
}

type Process = (record: object) => unknown

function nodeProcessor(
  given: unknown,
  made: WeakSet<object>,
  processing: (process: Process) => NodeProcessor['process'],
): NodeProcessor {
  if (typeof given === 'function') return { process: processing(given as Process) }
  const processor = (given ?? {}) as { process?: unknown; close?: unknown }
  if (typeof processor.process !== 'function') {
    throw new Error(
      'the supplier of a processor must return a function, or an object with a method process',
    )
  }
  if (made.has(processor)) {
    throw new Error('the supplier must make a new processor for each task, it returned one again')
  }
  made.add(processor)
  const { process, close } = processor as { process: Process; close?: () => void }
  const node = { process: processing(process.bind(processor)) }
  return close === undefined ? node : { ...node, close: () => close.call(processor) }
}
