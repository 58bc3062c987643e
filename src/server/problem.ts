import { StreamsError, isStreamsError, type ErrorCode } from '../errors.ts'
import { jsonText } from './json-text.ts'

/** The content type of {@link Problem} (RFC 9457). */
export const problemContentType = 'application/problem+json; charset=utf-8'

/** Seconds after which what failed by the state of the cluster is worth another try. */
export const retryAfterSeconds = 1

/** An error as the HTTP service tells it. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ErrorCode
  readonly retriable: boolean
  readonly context: Readonly<Record<string, unknown>>
}

/** The error as a problem document. What is no StreamsError is a fault of ours: no word of it leaves. */
export function problemOf(error: unknown): Problem {
  const known = isStreamsError(error) ? error : new StreamsError('INTERNAL_ERROR')
  const { code, http, message, retriable, context } = known
  return {
    type: `urn:millpond:error:${code}`,
    title: titleOf(code),
    status: http,
    detail: message,
    code,
    retriable,
    context,
  }
}

/** The body of a problem, with members of its own beside those of all problems. */
export function problemText(
  problem: Problem,
  members: Readonly<Record<string, unknown>> = {},
): string {
  return jsonText({ ...problem, ...members })
}

function titleOf(code: ErrorCode): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
