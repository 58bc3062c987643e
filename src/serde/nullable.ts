import { assertSerde } from './assert-serde.ts'
import type { Serde } from './serde.ts'

/** A serde whose values may be null: {@link nullable}. */
export interface NullableSerde<T> extends Serde<T | null> {
  readonly inner: Serde<T>
}

/**
 * Says in the types that null may stand in place of a value: a tombstone in a topic, a missing
 * element in a list. The bytes of everything else are those of the inner serde; null itself never
 * reaches a serde.
 *
 * @example
 * const customers = topic('customers', { key: serdes.string, value: nullable(serdes.json<Customer>()) })
 */
export function nullable<T>(inner: Serde<T>): NullableSerde<T> {
  assertSerde(inner, { part: 'value', of: 'nullable()' })
  const { text, identity, baseKey, sizeOf } = inner
  const present = (value: T | null): T => value as T
  return Object.freeze({
    name: inner.name,
    inner,
    serialize: (value: T | null) => inner.serialize(present(value)),
    deserialize: (bytes: Uint8Array): T | null => inner.deserialize(bytes),
    ...(text && {
      text: {
        format: (value: T | null) => text.format(present(value)),
        parse: (shown: string) => text.parse(shown),
      },
    }),
    ...(identity && { identity: (value: T | null) => identity(present(value)) }),
    ...(baseKey && { baseKey: (value: T | null) => baseKey(present(value)) }),
    ...(sizeOf && { sizeOf: (value: T | null) => (value === null ? 0 : sizeOf(value)) }),
  })
}

/** The serde below, when it is a {@link nullable} one. */
export function withoutNull(serde: Serde<unknown>): Serde<unknown> {
  return 'inner' in serde ? (serde as NullableSerde<unknown>).inner : serde
}
