/** True and false as one byte (org.apache.kafka.common.serialization.BooleanSerializer). */
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

/** 0x01 and 0x00 on the wire; every other byte is refused. */
export const booleanSerde: Serde<boolean> = Object.freeze({
  name: 'boolean',
  serialize: (value: boolean): Buffer => {
    if (typeof value !== 'boolean') {
      throw serializeError('boolean', `${shown(value)} is not true or false`)
    }
    return Buffer.from([value ? 1 : 0])
  },
  deserialize: (bytes: Uint8Array): boolean => {
    if (bytes.length !== 1) throw deserializeError('boolean', `${bytes.length} bytes instead of 1`)
    const byte = bytes[0] as number
    if (byte > 1) throw deserializeError('boolean', `the byte is ${byte}, not 0 or 1`)
    return byte === 1
  },
  text: {
    format: (value: boolean) => String(value),
    parse: (text: string) => {
      if (text !== 'true' && text !== 'false')
        throw new Error(`${shown(text)} is not true or false`)
      return text === 'true'
    },
  },
  identity: (value: boolean) => value,
  sizeOf: () => 8,
})
