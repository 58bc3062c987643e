import { StreamsError, messageOf } from '../errors.ts'

/** `SERDE_FAILED` for bytes that are not what the serde writes; `detail` says in plain words why. */
export function deserializeError(serde: string, detail: string): StreamsError {
  return new StreamsError('SERDE_FAILED', { serde, operation: 'deserialize', detail })
}

/** `SERDE_FAILED` for a value that has no bytes; `detail` says in plain words why. */
export function serializeError(serde: string, detail: string): StreamsError {
  return new StreamsError('SERDE_FAILED', { serde, operation: 'serialize', detail })
}

/** What a serde threw, as `SERDE_FAILED`; what already is a StreamsError stays as it is. */
export function serdeError(
  serde: string,
  operation: 'serialize' | 'deserialize',
  error: unknown,
): StreamsError {
  if (error instanceof StreamsError) return error
  return new StreamsError(
    'SERDE_FAILED',
    { serde, operation, detail: messageOf(error) },
    { cause: error },
  )
}

/** A value as it can stand in a sentence: short, and never the whole of it. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
