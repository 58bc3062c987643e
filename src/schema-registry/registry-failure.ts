import { StreamsError, type ErrorCode } from '../errors.ts'
import type { RegistryAnswer } from './exchange.ts'

/** Characters of what a registry says that stand in a message. */
const messageCharactersMax = 400

/** The error for an answer that no other attempt can change. */
export function failureOfAnswer(answer: RegistryAnswer, about: string): StreamsError {
  if ('failure' in answer) {
    return new StreamsError('SCHEMA_REGISTRY_UNAVAILABLE', { about, detail: answer.failure })
  }
  const { status, text } = answer
  const { code, message } = bodyOf(text)
  const context = {
    about,
    status,
    ...(code === undefined ? {} : { registryCode: code }),
    detail: sentenceOf(status, code, message),
  }
  return new StreamsError(codeOf(status, code), context)
}

/** The error for an answer that is not what was asked for. */
export function invalidAnswer(about: string, detail: string, cause?: unknown): StreamsError {
  return new StreamsError('SCHEMA_REGISTRY_FAILED', { about, detail }, { cause })
}

function codeOf(status: number, code: number | undefined): ErrorCode {
  switch (status) {
    case 401:
    case 403:
      return 'SCHEMA_REGISTRY_UNAUTHORIZED'
    case 404:
      // 40401 and its like are about what was asked for; a route that does not exist is another thing.
      return code !== undefined && code > 40_400
        ? 'SCHEMA_REGISTRY_NOT_FOUND'
        : 'SCHEMA_REGISTRY_FAILED'
    case 409:
      return 'SCHEMA_REGISTRY_INCOMPATIBLE'
    case 422:
      return 'SCHEMA_REGISTRY_SCHEMA_INVALID'
    default:
      return 'SCHEMA_REGISTRY_FAILED'
  }
}

function bodyOf(text: string): { code?: number; message?: string } {
  try {
    const { error_code: code, message } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return {
      ...(typeof code === 'number' ? { code } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    }
  } catch {
    // A proxy in between has its own pages.
    return {}
  }
}

function sentenceOf(status: number, code: number | undefined, message: string | undefined): string {
  if (message === undefined || message === '') return `status ${status}`
  const short =
    message.length > messageCharactersMax ? `${message.slice(0, messageCharactersMax)}…` : message
  const line = short.replaceAll(/\s+/g, ' ').trim().replace(/\.+$/, '')
  return `${line} (${code === undefined || code === status ? `status ${status}` : `error ${code}`})`
}
