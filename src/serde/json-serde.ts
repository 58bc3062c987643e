/** Values as JSON, in UTF-8 and without spaces. */
import { asBuffer } from '../base/bytes.ts'
import { serdeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'
import { validate, type StandardSchema } from './standard-schema.ts'

function textOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    // A cycle, or a bigint.
    throw serdeError('json', 'serialize', error)
  }
  if (text === undefined) throw serializeError('json', `${shown(value)} has no JSON form`)
  if (text === '{}' && value instanceof Promise) {
    throw serializeError('json', 'a promise has no JSON form: wait for it, as mapValuesAsync does')
  }
  return text
}

/**
 * Makes a serde for values as JSON. With a schema (of zod, valibot, ArkType or any other that
 * implements Standard Schema, synchronous) whatever is read is validated, and is what the schema
 * returns; what is written is not, since TypeScript has seen it.
 *
 * @example
 * const orders = topic('orders', { key: serdes.string, value: serdes.json<Order>() })
 */
export function jsonSerde<T>(schema?: StandardSchema<T>): Serde<T> {
  const parse = (text: string): T => {
    const value: unknown = JSON.parse(text)
    return schema === undefined ? (value as T) : validate(schema, value)
  }
  return Object.freeze({
    name: 'json',
    serialize: (value: T): Buffer => Buffer.from(textOf(value)),
    deserialize: (bytes: Uint8Array): T => {
      try {
        return parse(asBuffer(bytes).toString())
      } catch (error) {
        throw serdeError('json', 'deserialize', error)
      }
    },
    text: { format: textOf, parse },
  })
}
