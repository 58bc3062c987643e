/**
 * What crosses between the threads of a process, in forms of which a structured clone is cheap, and
 * whole: bytes, and errors with their code and their facts.
 */
import { shownValue } from '../base/shown-value.ts'
import { StreamsError, errorCodes, isStreamsError, type ErrorCode } from '../errors.ts'

/**
 * Bytes between threads. Short ones go as a text of one character for each byte: half the cost of an
 * array (measured), which is a block of memory of its own.
 */
export type WireBytes = string | Uint8Array

/** Above this a text costs more than an array. */
const textBytesMax = 4096

/** Copies: what the bytes were borrowed from may be used again at once. */
export function writeBytes(bytes: Uint8Array): WireBytes {
  if (bytes.length > textBytesMax) return new Uint8Array(bytes)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** The bytes; throws for anything else. */
export function readBytes(wire: unknown): Buffer {
  if (typeof wire === 'string') return Buffer.from(wire, 'latin1')
  if (wire instanceof Uint8Array) return Buffer.from(wire.buffer, wire.byteOffset, wire.byteLength)
  throw new TypeError(`bytes were expected, not ${shownValue(wire)}`)
}

/** Anything that was thrown in a thread. */
export interface WireError {
  /** Undefined: not one of ours. */
  readonly code: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly cause: WireError | undefined
}

/** Causes of causes that cross. */
const causesMax = 4

/** What was thrown, as it can cross. */
export function writeError(error: unknown, causesLeft = causesMax): WireError {
  const { name, message, stack, cause } =
    error instanceof Error
      ? error
      : { name: 'Error', message: String(error), stack: undefined, cause: undefined }
  return {
    code: isStreamsError(error) ? error.code : undefined,
    context: isStreamsError(error) ? crossable(error.context) : {},
    name,
    message,
    stack,
    cause: cause === undefined || causesLeft === 0 ? undefined : writeError(cause, causesLeft - 1),
  }
}

/** The same, but for values that cannot be cloned, such as functions, which are shown. */
export function crossable(context: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(context).map(([name, value]) => {
    try {
      return [name, structuredClone(value)]
    } catch {
      return [name, shownValue(value)]
    }
  })
  return Object.fromEntries(entries) as Record<string, unknown>
}

/** The error, as it was thrown there; throws for what is none. */
export function readError(wire: unknown): Error {
  if (!isWireError(wire)) throw new TypeError(`an error was expected, not ${shownValue(wire)}`)
  const cause = wire.cause === undefined ? undefined : readError(wire.cause)
  const options = cause === undefined ? undefined : { cause }
  const error =
    wire.code === undefined
      ? Object.assign(new Error(wire.message, options), { name: wire.name })
      : new StreamsError(wire.code as ErrorCode, wire.context, options)
  if (wire.stack !== undefined) error.stack = wire.stack
  return error
}

function isWireError(wire: unknown): wire is WireError {
  if (typeof wire !== 'object' || wire === null) return false
  const { code, context, name, message, stack } = wire as Record<string, unknown>
  const isOurs = code === undefined || errorCodes.includes(code as ErrorCode)
  const isText = typeof name === 'string' && typeof message === 'string'
  const hasFacts = typeof context === 'object' && context !== null
  return isOurs && isText && hasFacts && (stack === undefined || typeof stack === 'string')
}
