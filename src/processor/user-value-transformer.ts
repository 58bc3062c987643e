import { StreamsError } from '../errors.ts'
import type { RecordHeaders } from '../store/state-store.ts'
import type { Stores } from './local-store.ts'
import type { NodeContext } from './processor.ts'
import type { RecordMetadata } from './record-metadata.ts'
import { withContext } from './user-processor.ts'
import type { ValueTransformerContext, ValueTransformerSupplier } from './value-transformer.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- variance: suppliers of any types fit
export type AnyValueTransformerSupplier = ValueTransformerSupplier<any, any, any, any>

/** The row that a transformer is asked for, as its context shows it. */
export interface TransformedRow {
  readonly timestamp: number
  readonly headers: RecordHeaders
  readonly recordMetadata: RecordMetadata | undefined
}

/** A transformer of the user in one node of one task. */
export interface OpenTransformer {
  /** Undefined stands for no value, in and out. */
  transform(value: unknown, key: unknown): unknown
  close(): void
}

/** Makes the user's transformer for a node; it sees of the row what `row` says at that moment. */
export function openTransformer(
  node: NodeContext,
  options: {
    readonly supplier: AnyValueTransformerSupplier
    readonly stores: Stores
    readonly row: TransformedRow
  },
): OpenTransformer {
  const { supplier, stores, row } = options
  const context = Object.defineProperties(withContext(node, stores, {}), {
    timestamp: { get: () => row.timestamp, enumerable: true },
    headers: { get: () => row.headers, enumerable: true },
    recordMetadata: { get: () => row.recordMetadata, enumerable: true },
  }) as ValueTransformerContext
  const given: unknown = supplier(context)
  const transform = transformOf(given)
  return {
    transform: (value, key) => {
      const result = transform(value, key) ?? undefined
      if (result instanceof Promise) {
        // What comes of it is nobody's any more.
        result.catch(() => undefined)
        throw new StreamsError('PROCESSOR_ASYNC', { node: node.node })
      }
      return result
    },
    close: () => {
      if (typeof given === 'object') (given as { close?: () => void }).close?.()
    },
  }
}

type Transform = (value: unknown, key: unknown) => unknown

function transformOf(given: unknown): Transform {
  if (typeof given === 'function') return given as Transform
  const { transform } = (given ?? {}) as { transform?: unknown }
  if (typeof transform === 'function') return transform.bind(given) as Transform
  throw new Error(
    'the supplier of transformValues must return a function, or an object with a method transform',
  )
}
