import { errorCode } from '../protocol/error-codes.ts'
import { kafkaFailure } from './kafka-failure.ts'

/** Options of the calls here: they are tried again while that can help, until the timeout. */
export interface AdminRequestOptions {
  /** Default 60 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** Those options as `KafkaClient.request` takes them; `restMs` is left of the timeout. */
export function requestOptions(
  { timeoutMs, signal }: AdminRequestOptions,
  restMs: number | undefined = timeoutMs,
): { deadlineMs?: number; signal?: AbortSignal } {
  return {
    ...(restMs !== undefined && { deadlineMs: restMs }),
    ...(signal && { signal }),
  }
}

/** Throws the `KAFKA_ERROR` of an answer about one subject, when it has one or is missing. */
export function throwFailure(
  api: string,
  subject: string,
  row: { readonly errorCode: number; readonly errorMessage?: string | null } | undefined,
): void {
  const code = row === undefined ? errorCode.UNKNOWN_SERVER_ERROR : row.errorCode
  if (code !== errorCode.NONE) throw kafkaFailure(api, code, { subject, detail: row?.errorMessage })
}
