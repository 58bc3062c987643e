/** Nothing (org.apache.kafka.common.serialization.VoidSerializer). */
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

/**
 * For keys or values that are always null. A null never reaches a serde, so that whatever does is
 * refused, in both directions.
 */
export const voidSerde: Serde<null> = Object.freeze({
  name: 'void',
  serialize: (value: null): never => {
    throw serializeError('void', `${shown(value)} is not null`)
  },
  deserialize: (bytes: Uint8Array): never => {
    throw deserializeError('void', `there are ${bytes.length} bytes where null must be`)
  },
})
