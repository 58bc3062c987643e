/**
 * Any value as JSON text. What JSON lacks becomes a string: a bigint and a number that is not finite
 * in decimal, bytes in base64. Nothing is null that was not null or undefined.
 */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return JSON.stringify(value, replace) ?? 'null'
}

/** `this` holds the value as it was before `toJSON`, which a Buffer has. */
function replace(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[name]
  if (original instanceof Uint8Array) return Buffer.from(original).toString('base64')
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return value
}
