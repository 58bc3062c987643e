/** UUIDs as their text (org.apache.kafka.common.serialization.UUIDSerializer). */
import { asBuffer } from '../base/bytes.ts'
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const notUuid = (value: unknown): Error => serializeError('uuid', `${shown(value)} is not a UUID`)

/** A UUID in its 36 character text form, in lower case on the wire; upper case is taken too. */
export const uuidSerde: Serde<string> = Object.freeze({
  name: 'uuid',
  serialize: (value: string): Buffer => {
    if (typeof value !== 'string' || !pattern.test(value)) throw notUuid(value)
    return Buffer.from(value.toLowerCase(), 'latin1')
  },
  deserialize: (bytes: Uint8Array): string => {
    const text = asBuffer(bytes).toString('latin1')
    if (!pattern.test(text)) throw deserializeError('uuid', `${shown(text)} is not a UUID`)
    return text.toLowerCase()
  },
  text: {
    format: (value: string) => value.toLowerCase(),
    parse: (text: string) => {
      if (!pattern.test(text)) throw new Error(`${shown(text)} is not a UUID`)
      return text.toLowerCase()
    },
  },
  identity: (value: string) => {
    if (typeof value !== 'string') throw notUuid(value)
    return value.toLowerCase()
  },
  sizeOf: () => 56,
})
