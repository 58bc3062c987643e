import type { SerdeText } from '../serde/serde.ts'

/**
 * Values as JSON, for keys in URLs. Bytes are shown in base64, and whole numbers beyond 2^53 in quotes;
 * such keys are not found again by their text, only with `keyFormat=base64`.
 */
export function keyText<T>(): SerdeText<T> {
  return {
    format: (value) => JSON.stringify(value, replace) ?? 'null',
    parse: (text) => JSON.parse(text) as T,
  }
}

/** `this` holds the value as it was before `toJSON`, which a Buffer has. */
function replace(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[name]
  if (original instanceof Uint8Array) return Buffer.from(original).toString('base64')
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}
